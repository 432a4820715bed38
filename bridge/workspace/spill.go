package workspace

import (
	"bytes"
	"errors"
	"os"
	"regexp"
)

// spillFile is a single component, so that a spill directory below another conversation's cannot be reached from there.
var spillFile = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// Spill keeps output that is too long for the context, and returns the path under which this conversation, and no other, can
// read it back. Spilling the same bytes under the same name again is no error; other bytes are ErrExists.
func (s *Space) Spill(name string, data []byte) (string, error) {
	ref := "@" + spillName + "/" + name
	if !spillFile.MatchString(name) {
		return "", fault("spill", name, detail(ErrBadPath, "want up to 128 letters, digits, dots, - and _"))
	}
	r, err := s.spillRoot(true)
	if err != nil {
		return "", fault("spill", ref, err)
	}
	t := s.target(ref, r, name)
	err = s.use("spill", t, func() error { return writeAtomic(r.dir, name, data, spillMode, Create) })
	if errors.Is(err, ErrExists) {
		if old, readErr := s.ReadFile(t, int64(len(data))); readErr == nil && bytes.Equal(old, data) {
			err = nil
		}
	}
	if err != nil {
		return "", err
	}
	return ref, nil
}

// spillRoot opens the spill directory, and makes it first if asked. Before that it is an empty root.
func (s *Space) spillRoot(create bool) (*root, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, errClosed
	case s.spill != nil:
		return s.spill, nil
	case s.spillDir == "" && create:
		return nil, detail(ErrReadOnly, "this conversation has no spill")
	case create:
		if err := os.MkdirAll(s.spillDir, 0o700); err != nil {
			return nil, bare(err)
		}
	}
	info, err := os.Lstat(s.spillDir)
	if errors.Is(err, os.ErrNotExist) {
		return &root{name: spillName, abs: s.spillDir}, nil
	}
	if err != nil {
		return nil, bare(err)
	}
	if !info.IsDir() || !privateMode(info) {
		return nil, detail(ErrReadOnly, "the spill must be a directory that only its owner can use, mode 0700")
	}
	r, err := openRoot(spillName, s.spillDir, s.main.open)
	if err != nil {
		return nil, errors.Unwrap(err) // without the host path
	}
	s.spill = r
	return r, nil
}
