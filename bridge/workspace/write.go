package workspace

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
)

// WriteMode says what may be there before a write.
type WriteMode uint8

const (
	Create  WriteMode = iota // nothing; a file that exists is ErrExists
	Replace                  // nothing, or a regular file
)

const (
	newMode   = 0o644
	spillMode = 0o600
)

// WriteFile writes a whole file at once: a reader sees the old content or the new one, and after an error the old file is whole
// and nothing else is left but directories that were made for it. The mode bits of a replaced file are kept.
func (s *Space) WriteFile(t Target, data []byte, mode WriteMode) error {
	return s.use("write", t, func() error {
		if !t.mayWrite() {
			return ErrReadOnly
		}
		dir, name, err := t.root.parent(t.rel, true)
		if err != nil {
			return err
		}
		defer dir.Close()
		perm, err := s.replaceable(dir, name, mode)
		if err != nil {
			return err
		}
		return writeAtomic(dir, name, data, perm, mode)
	})
}

// mayWrite judges again, from the fields that a caller cannot change.
func (t Target) mayWrite() bool { return t.space.target(t.Arg, t.root, t.rel).Writable }

// replaceable looks at what a write would replace, and returns the mode bits of the new file.
func (s *Space) replaceable(dir *os.Root, name string, mode WriteMode) (fs.FileMode, error) {
	old, err := dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return newMode, nil
	case err != nil:
		return 0, err
	}
	if err := s.unshared(old); err != nil {
		return 0, err
	}
	if !old.Mode().IsRegular() {
		return 0, detail(ErrNotRegular, "only files are written; choose another name")
	}
	if mode != Replace {
		return 0, ErrExists
	}
	return old.Mode().Perm(), nil
}

// unshared refuses what has, or may have, another name: links, hard links, and protected files by identity.
func (s *Space) unshared(info fs.FileInfo) error {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return ErrLink
	case info.Mode().IsRegular() && links(info) > 1:
		return detail(ErrLink, "it is a hard link: the same file has another name, perhaps outside; write a new file instead")
	}
	for _, p := range s.protected {
		if other, err := os.Stat(p); err == nil && os.SameFile(info, other) {
			return detail(ErrReadOnly, "this run is configured by it")
		}
	}
	return nil
}

// writeAtomic writes beside name and renames. dir is a handle, so neither step can land elsewhere.
func writeAtomic(dir *os.Root, name string, data []byte, perm fs.FileMode, mode WriteMode) (err error) {
	temp := ".codeact-" + rand.Text()
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, dir.Remove(temp))
		}
	}()
	if err := fill(f, data, perm); err != nil {
		return err
	}
	if mode == Replace {
		err = dir.Rename(temp, name)
	} else {
		err = renameNew(dir, temp, dir, name)
	}
	if err != nil {
		return err
	}
	return syncDir(dir)
}

// fill writes, makes durable and closes.
func fill(f *os.File, data []byte, perm fs.FileMode) error {
	_, err := f.Write(data)
	if err == nil {
		err = f.Chmod(perm)
	}
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// MayWrite says whether t may be written: what WriteFile would say of it whatever is there.
func (s *Space) MayWrite(t Target) error {
	return s.use("write", t, func() error {
		if !t.mayWrite() {
			return ErrReadOnly
		}
		return nil
	})
}

// MayRemove says what Remove would, as far as it is known without trying.
func (s *Space) MayRemove(t Target) error { return s.use("remove", t, t.movable) }

// MayRename says what Rename would, as far as it is known without trying. Whether something has the new name is known as of
// when it was resolved.
func (s *Space) MayRename(t, to Target) error {
	return s.use("rename", t, func() error {
		if to.space != s {
			return errForeign
		}
		err := errors.Join(t.movable(), to.movable())
		if err == nil && !to.Missing {
			err = ErrExists
		}
		return err
	})
}

// Remove removes a file or an empty directory. A link is refused: what would go is the link's target.
func (s *Space) Remove(t Target) error {
	return s.use("remove", t, func() error {
		if err := t.movable(); err != nil {
			return err
		}
		dir, name, err := t.root.parent(t.rel, false)
		if err != nil {
			return err
		}
		defer dir.Close()
		if _, err := occupant(dir, name); err != nil {
			return err
		}
		if err := dir.Remove(name); err != nil {
			return err
		}
		return syncDir(dir)
	})
}

// movable says whether the name t itself may go.
func (t Target) movable() error {
	switch {
	case !t.mayWrite():
		return ErrReadOnly
	case t.viaLink:
		return ErrLink
	}
	return nil
}

// occupant is the file or directory called name, if it may be removed or moved. Its other hard links stay, so they do not matter.
func occupant(dir *os.Root, name string) (fs.FileInfo, error) {
	info, err := dir.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, ErrLink
	case !info.Mode().IsRegular() && !info.IsDir():
		return nil, ErrNotRegular
	}
	return info, nil
}

var errForeign = detail(ErrBadPath, "the new name was not resolved in this workspace")

// Rename moves a file or directory within Dir; nothing is replaced. A directory moves only if all that is in it may be read and
// written here and there, since its files get new names, and other rules, at once.
//
// A file that leaves an untrusted glob keeps no mark of it: the caller has t.Untrusted and must.
func (s *Space) Rename(t, to Target) error {
	return s.use("rename", t, func() error {
		if to.space != s {
			return errForeign
		}
		if err := errors.Join(t.movable(), to.movable()); err != nil {
			return err
		}
		from, name, err := t.root.parent(t.rel, false)
		if err != nil {
			return err
		}
		defer from.Close()
		info, err := occupant(from, name)
		if err != nil {
			return err
		}
		if info.IsDir() {
			if err := s.wholly(t, to); err != nil {
				return err
			}
		}
		return s.rename(from, name, to)
	})
}

func (s *Space) rename(from *os.Root, name string, to Target) error {
	dir, toName, err := to.root.parent(to.rel, true)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := renameNew(from, name, dir, toName); err != nil {
		return err
	}
	return errors.Join(syncDir(from), syncDir(dir))
}

// wholly checks every entry below a directory that is to move, denied ones and links too.
func (s *Space) wholly(t, to Target) error {
	v := visitor{space: s, limits: Limits{}.orDefault(), all: true}
	v.fn = func(e Target, _ fs.FileInfo) error {
		there := path.Join(to.rel, strings.TrimPrefix(e.rel, t.rel+"/"))
		switch {
		case s.denied(t.root, e.rel), s.denied(to.root, there):
			return detail(ErrDenied, "the directory holds such a file; move the others one by one")
		case !e.mayWrite(), !s.target("", to.root, there).Writable:
			return detail(ErrReadOnly, "the directory holds such a file; move the others one by one")
		}
		return nil
	}
	return v.run(t)
}
