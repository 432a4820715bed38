package worker

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What each version of the kernel's interface added: https://docs.kernel.org/userspace-api/landlock.html
const (
	abiSynced = 8 // one call restricts every thread
	abiStrict = 6 // files, TCP, device ioctl, signals and abstract sockets: the least that counts as strict
)

// rights is the set of actions that a worker is refused, by the version that first knew them.
func rights(abi int) unix.LandlockRulesetAttr {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_REFER - 1} // every action of version 1
	for _, added := range []struct {
		abi  int
		bits uint64
		to   *uint64
	}{
		{2, unix.LANDLOCK_ACCESS_FS_REFER, &attr.Handled_access_fs},
		{3, unix.LANDLOCK_ACCESS_FS_TRUNCATE, &attr.Handled_access_fs},
		{4, unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, &attr.Handled_access_net},
		{5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV, &attr.Handled_access_fs},
		{6, unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL, &attr.Scoped},
		{9, unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX, &attr.Handled_access_fs},
		{10, unix.LANDLOCK_ACCESS_NET_BIND_UDP | unix.LANDLOCK_ACCESS_NET_CONNECT_SEND_UDP, &attr.Handled_access_net},
	} {
		if abi >= added.abi {
			*added.to |= added.bits
		}
	}
	return attr
}

// landlockABI is the version that the kernel speaks.
func landlockABI() (int, error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, fmt.Errorf("this kernel has no landlock, or it is off: %w", errno)
	}
	return int(abi), nil
}

// newRuleset returns a ruleset that refuses all of rights(abi).
func newRuleset(abi int) (int, error) {
	attr := rights(abi)
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return 0, fmt.Errorf("create the ruleset: %w", errno)
	}
	return int(fd), nil
}

// landlock refuses files, TCP, signals and abstract sockets on every thread. It returns the version that it used, also
// with the error that this version is less than strict.
func landlock() (abi int, err error) {
	if abi, err = landlockABI(); err != nil {
		return 0, err
	}
	if !rebornInside() {
		if err := restrictThreads(abi); err != nil {
			return 0, err
		}
	}
	if err := refused(); err != nil {
		return 0, err
	}
	if abi < abiStrict {
		return abi, fmt.Errorf("version %d of the kernel's interface, want %d", abi, abiStrict)
	}
	return abi, nil
}

// errCgo is what Go answers when C code owns the threads.
var errCgo = errors.New("this program is linked with C code, and the kernel's landlock is older than version 8")

func restrictThreads(abi int) error {
	fd, err := newRuleset(abi)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if abi >= abiSynced {
		_, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(fd), unix.LANDLOCK_RESTRICT_SELF_TSYNC, 0)
		return nonzero(errno)
	}
	_, _, errno := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0)
	if errno == unix.ENOTSUP {
		return errCgo
	}
	if errno == 0 {
		_, _, errno = syscall.AllThreadsSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(fd), 0, 0)
	}
	return nonzero(errno)
}

// nonzero is errno as an error, nil if it is none.
func nonzero(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

// refused sees that a file cannot be opened any more.
func refused() error {
	fd, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
		return errors.New("it was set, and files can still be opened")
	}
	return nil
}

// inside stands before Marker in the arguments of a worker that was started again under landlock.
const inside = "inside"

func rebornInside() bool { return len(os.Args) > 2 && os.Args[len(os.Args)-2] == inside }

// rebirth restricts this thread and starts the program again from it, since all threads of the new image then come from
// a restricted one. Only a program with C code needs it, where Go cannot reach its own threads. It may read and run only
// the files that are this program: itself and the libraries that it has mapped. It returns only if it cannot.
func rebirth() error {
	abi, err := landlockABI()
	if err != nil || abi >= abiSynced || rebornInside() {
		return err
	}
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_GETPID, 0, 0, 0); errno != unix.ENOTSUP {
		return nil // Go can
	}
	fd, err := newRuleset(abi)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := allowSelf(fd); err != nil {
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(fd), 0, 0); errno != 0 {
		return errno
	}
	args := append(append([]string{}, os.Args[:len(os.Args)-1]...), inside, Marker)
	return unix.Exec("/proc/self/exe", args, os.Environ())
}

// allowSelf lets the files mapped by this process be read and run.
func allowSelf(ruleset int) error {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(maps)) {
		const pathField = 5 // address, permissions, offset, device, inode, path
		fields := strings.SplitN(strings.Join(strings.Fields(line), " "), " ", pathField+1)
		if len(fields) <= pathField || fields[pathField][0] != '/' || seen[fields[pathField]] {
			continue
		}
		seen[fields[pathField]] = true
		if err := allowFile(ruleset, fields[pathField]); err != nil {
			return fmt.Errorf("%s: %w", fields[pathField], err)
		}
	}
	return nil
}

func allowFile(ruleset int, path string) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil || fd > math.MaxInt32 {
		return err
	}
	defer unix.Close(fd)
	rule := unix.LandlockPathBeneathAttr{Parent_fd: int32(fd),
		Allowed_access: unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	return nonzero(errno)
}
