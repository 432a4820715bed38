//go:build unix

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// openFlags keep an open from waiting (a FIFO without a writer) and from taking a terminal.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY

// withHandles lends the descriptors of two directories to f.
func withHandles(a, b *os.Root, f func(a, b int) error) error {
	first, err := a.Open(".")
	if err != nil {
		return err
	}
	defer first.Close()
	second, err := b.Open(".")
	if err != nil {
		return err
	}
	defer second.Close()
	return f(int(first.Fd()), int(second.Fd()))
}

// links is the number of names that a file has.
func links(fi fs.FileInfo) uint64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}

// syncDir makes a rename durable. File systems that cannot sync a directory say EINVAL.
func syncDir(dir *os.Root) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}

func privateMode(fi fs.FileInfo) bool { return fi.Mode().Perm()&0o077 == 0 }
