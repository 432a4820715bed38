package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// What an operation may be refused for. The texts are read by the model: each says what to do instead.
var (
	ErrOutside    = errors.New("outside the workspace; use a relative path inside it")
	ErrDenied     = errors.New("the operator denies reading this path; go on without it")
	ErrReadOnly   = errors.New("not writable; write below a directory that the task lists as writable")
	ErrNotRegular = errors.New("not a regular file")
	ErrNotFound   = errors.New("no such file; list the directory to see what is there")
	ErrExists     = errors.New("exists already; choose another name, or replace it")
	ErrTooBig     = errors.New("too big; ask for a part of it")
	ErrLink       = errors.New("a link that cannot be followed; name the file itself")
	ErrBadPath    = errors.New("not a usable path")
	ErrPartial    = errors.New("not all of it could be walked")
	ErrUnsafeRoot = errors.New("not a safe root for a workspace")
)

var errClosed = errors.New("the workspace is closed")

// Error is what every operation of a Space returns. It never holds a host path that the caller did not give.
type Error struct {
	Op   string // resolve, open, list, write, remove, rename, walk or spill
	Path string // as the caller gave it, or relative to its root
	Err  error  // one of the sentinels, or the errno of the system
}

func (e *Error) Error() string { return fmt.Sprintf("workspace: %s %q: %v", e.Op, e.Path, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// detail adds the particular reason to a sentinel.
func detail(sentinel error, why string) error { return fmt.Errorf("%w (%s)", sentinel, why) }

// fault makes an *Error, dropping the paths that errors of package os carry.
func fault(op, path string, err error) error {
	return &Error{Op: op, Path: path, Err: cause(err)}
}

// causes maps what the system says to what the model can act on. Order matters: an errno may answer to several of them.
var causes = []struct{ is, cause error }{
	{syscall.ENOTDIR, detail(ErrNotFound, "a parent of it is not a directory")},
	{syscall.ELOOP, ErrLink},
	{syscall.ENAMETOOLONG, detail(ErrBadPath, "a component is too long")},
	{syscall.ENXIO, ErrNotRegular},
	{fs.ErrClosed, errClosed},
	{fs.ErrNotExist, ErrNotFound},
	{fs.ErrExist, ErrExists},
}

func cause(err error) error {
	for _, s := range []error{ErrOutside, ErrDenied, ErrReadOnly, ErrNotRegular, ErrNotFound, ErrExists, ErrTooBig, ErrLink, ErrBadPath, ErrPartial, errClosed} {
		if errors.Is(err, s) {
			return err
		}
	}
	inner := bare(err)
	if errors.Is(inner, syscall.ENOTEMPTY) {
		return inner // it answers to fs.ErrExist too
	}
	for _, c := range causes {
		if errors.Is(inner, c.is) {
			return c.cause
		}
	}
	return inner
}

// bare strips the wrappers of package os, which hold paths.
func bare(err error) error {
	for {
		var path *fs.PathError
		var link *os.LinkError
		switch {
		case errors.As(err, &path):
			err = path.Err
		case errors.As(err, &link):
			err = link.Err
		default:
			return err
		}
	}
}
