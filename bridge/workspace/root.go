package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// root is one directory tree, held by handle: if it is moved or replaced on the disk, this is still the tree that was opened.
type root struct {
	name string   // "" for Dir, else what follows the @
	abs  string   // host path, links resolved
	dir  *os.Root // nil: the directory does not exist and the root is empty
	fd   *os.File // the same directory, for system calls that os.Root does not offer
	open opener
}

// opener opens a file or directory for reading, beneath r, following no link at all and never waiting for a writer.
// rel is clean.
type opener func(r *root, rel string) (*os.File, error)

func openRoot(name, dir string, open opener) (*root, error) {
	fail := func(err error) (*root, error) {
		return nil, fmt.Errorf("workspace: root %s: %w", dir, bare(err))
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return fail(err)
	}
	handle, err := os.OpenRoot(real)
	if err != nil {
		return fail(err)
	}
	fd, err := handle.Open(".")
	if err != nil {
		handle.Close()
		return fail(err)
	}
	return &root{name: name, abs: real, dir: handle, fd: fd, open: open}, nil
}

func (r *root) close() error {
	if r == nil || r.dir == nil {
		return nil
	}
	return errors.Join(r.fd.Close(), r.dir.Close())
}

// display is the name of a path of this root as the model writes it.
func (r *root) display(rel string) string {
	if r.name == "" {
		return rel
	}
	return path.Join("@"+r.name, rel)
}

// descend opens the directory rel, one component after the other. With create, missing directories are made.
func (r *root) descend(rel string, create bool) (*os.Root, error) {
	if r.dir == nil {
		return nil, ErrNotFound
	}
	cur, err := r.dir.OpenRoot(".")
	if err != nil || rel == "." {
		return cur, err
	}
	for name := range strings.SplitSeq(rel, "/") {
		next, err := step(cur, name, create)
		cur.Close()
		if err != nil {
			return nil, err
		}
		cur = next
	}
	return cur, nil
}

// step opens one directory. os.Root would follow a link that stays inside; the comparison with what Lstat saw refuses it, also
// when the link appears between the two calls.
func step(cur *os.Root, name string, create bool) (*os.Root, error) {
	seen, err := cur.Lstat(name)
	if create && errors.Is(err, fs.ErrNotExist) {
		if err := cur.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		seen, err = cur.Lstat(name)
	}
	if err != nil {
		return nil, err
	}
	if seen.Mode()&fs.ModeSymlink != 0 {
		return nil, ErrLink
	}
	if !seen.IsDir() {
		return nil, detail(ErrNotFound, "a parent of it is not a directory")
	}
	next, err := cur.OpenRoot(name + "/.") // the dot makes it O_DIRECTORY: a FIFO put there meanwhile would block
	if err != nil {
		return nil, raced(err)
	}
	now, err := next.Stat(".")
	if err != nil || !os.SameFile(seen, now) {
		next.Close()
		return nil, detail(ErrLink, "it changed during the call")
	}
	return next, nil
}

// parent opens the directory that holds rel, and returns the last component.
func (r *root) parent(rel string, create bool) (*os.Root, string, error) {
	if rel == "." {
		return nil, "", detail(ErrReadOnly, "it is the root itself")
	}
	dir, err := r.descend(path.Dir(rel), create)
	return dir, path.Base(rel), err
}

// raced explains an error of os.Root on a single name that was no link a moment ago: besides the system's errors, it has only its
// own for a link that leaves.
func raced(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) || errors.Is(err, fs.ErrClosed) {
		return err
	}
	return detail(ErrLink, "it changed during the call")
}

// openByComponents is the opener for systems without openat2.
func openByComponents(r *root, rel string) (*os.File, error) {
	if rel == "." {
		return r.dir.Open(".")
	}
	dir, name, err := r.parent(rel, false)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	seen, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if seen.Mode()&fs.ModeSymlink != 0 {
		return nil, ErrLink
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, raced(err)
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(seen, now) {
		f.Close()
		return nil, detail(ErrLink, "it changed during the call")
	}
	return f, nil
}
