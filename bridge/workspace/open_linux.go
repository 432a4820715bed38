package workspace

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// openBeneath lets the kernel refuse links: os.Root alone follows those that stay inside, past a deny rule.
func openBeneath(r *root, rel string) (*os.File, error) {
	how := unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	conn, err := r.fd.SyscallConn() // holds the descriptor: a Close at the same time cannot hand its number to another file
	if err != nil {
		return nil, err
	}
	var fd int
	var opened error
	err = conn.Control(func(dirfd uintptr) {
		for {
			fd, opened = unix.Openat2(int(dirfd), rel, &how)
			if opened != unix.EINTR && opened != unix.EAGAIN {
				return
			}
		}
	})
	if err != nil {
		return nil, err
	}
	switch {
	case errors.Is(opened, unix.ENOSYS): // before Linux 5.6
		return openByComponents(r, rel)
	case errors.Is(opened, unix.EXDEV):
		return nil, ErrOutside
	case opened != nil:
		return nil, opened
	}
	return os.NewFile(uintptr(fd), r.display(rel)), nil
}

// renameNew renames without replacing, from one directory handle to another.
func renameNew(from *os.Root, name string, to *os.Root, toName string) error {
	return withHandles(from, to, func(a, b int) error {
		err := unix.Renameat2(a, name, b, toName, unix.RENAME_NOREPLACE)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // file systems that do not know the flag
			if _, err := to.Lstat(toName); err == nil {
				return unix.EEXIST
			}
			return unix.Renameat(a, name, b, toName)
		}
		return err
	})
}
