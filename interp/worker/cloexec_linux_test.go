package worker

import (
	"os"

	"golang.org/x/sys/unix"
)

func clearCloseOnExec(f *os.File) error {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETFD, 0)
	return err
}
