package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Entry is one name in a directory.
type Entry struct {
	Name string
	Dir  bool
	Size int64 // bytes; 0 unless a regular file
	Link bool

	// Untrusted says that third parties chose the name. Of a directory it is not
	// said: the operator's glob names vendor, not who wrote what is in it.
	Untrusted bool
}

// use runs one operation on a target of this space.
func (s *Space) use(op string, t Target, f func() error) error {
	if t.space != s {
		return fault(op, t.Arg, detail(ErrBadPath, "it was not resolved in this workspace"))
	}
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return fault(op, t.Rel, errClosed)
	}
	if err := f(); err != nil {
		return fault(op, t.Rel, err)
	}
	return nil
}

// OpenFile opens a regular file for reading. The caller closes it, and bounds what it reads: the size may be anything.
func (s *Space) OpenFile(t Target) (*os.File, fs.FileInfo, error) {
	var f *os.File
	var info fs.FileInfo
	err := s.use("open", t, func() (err error) {
		f, info, err = openKind(t, fs.FileMode.IsRegular, "list a directory instead; devices, pipes and sockets are never opened")
		return err
	})
	return f, info, err
}

// openKind opens a target and checks by its handle that it is of the kind that the caller wants.
func openKind(t Target, want func(fs.FileMode) bool, advice string) (*os.File, fs.FileInfo, error) {
	if t.root.dir == nil {
		return nil, nil, ErrNotFound
	}
	f, err := t.root.open(t.root, t.rel)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !want(info.Mode()) {
		err = detail(ErrNotRegular, advice)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// ReadFile reads a whole file of at most max bytes; a longer one is ErrTooBig, and none of it is returned.
func (s *Space) ReadFile(t Target, max int64) ([]byte, error) {
	f, info, err := s.OpenFile(t)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > max {
		return nil, fault("open", t.Rel, ErrTooBig)
	}
	data, err := io.ReadAll(io.LimitReader(f, max+1)) // it may grow meanwhile
	if err == nil && int64(len(data)) > max {
		err = ErrTooBig
	}
	if err != nil {
		return nil, fault("open", t.Rel, err)
	}
	return data, nil
}

// ReadDir lists at most max entries of a directory, sorted by name; more says that there are others. What ReadDeny matches is left out.
func (s *Space) ReadDir(t Target, max int) (entries []Entry, more bool, err error) {
	err = s.use("list", t, func() error {
		if t.root.dir == nil && t.rel == "." {
			return nil
		}
		dir, err := t.root.descend(t.rel, false)
		if err != nil {
			return err
		}
		defer dir.Close()
		infos, left, err := s.list(t, dir, max, false)
		for _, info := range infos {
			e := entry(info)
			e.Untrusted = !e.Dir && s.target(e.Name, t.root, path.Join(t.rel, e.Name)).Untrusted
			entries = append(entries, e)
		}
		more = left
		return err
	})
	return entries, more, err
}

func entry(info fs.FileInfo) Entry {
	e := Entry{Name: info.Name(), Dir: info.IsDir(), Link: info.Mode()&fs.ModeSymlink != 0}
	if info.Mode().IsRegular() {
		e.Size = info.Size()
	}
	return e
}

// list reads up to max entries of a directory that is open; all includes those that are denied.
func (s *Space) list(t Target, dir *os.Root, max int, all bool) (infos []fs.FileInfo, more bool, err error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	for !more {
		names, err := f.Readdirnames(256)
		for _, name := range names {
			if !all && s.denied(t.root, path.Join(t.rel, name)) {
				continue
			}
			info, err := dir.Lstat(name)
			switch {
			case err != nil: // removed meanwhile
			case len(infos) >= max:
				more = true
			default:
				infos = append(infos, info)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, false, err
		}
	}
	slices.SortFunc(infos, func(a, b fs.FileInfo) int { return strings.Compare(a.Name(), b.Name()) })
	return infos, more, nil
}
