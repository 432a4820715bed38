package sandbox_test

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

func clone3(args []uint64) (uintptr, unix.Errno) {
	pid, _, errno := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args[0])), uintptr(len(args)*8), 0)
	return pid, errno
}
