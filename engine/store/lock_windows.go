package store

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock uses LockFileEx on one byte far behind the pid, because a Windows lock keeps others from reading what it covers.
func tryLock(f *os.File) error {
	at := &windows.Overlapped{OffsetHigh: 1 << 30}
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errHeld
	}
	return err
}

// release removes the file after closing it. Windows refuses to remove a file that the next owner has open: that is no fault.
func (l *runLock) release() error {
	err := l.f.Close()
	os.Remove(l.path)
	return err
}

// syncDir does nothing: Windows has no flush of a directory, and NTFS journals its names.
func syncDir(string) error { return nil }
