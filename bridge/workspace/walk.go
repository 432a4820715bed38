package workspace

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
)

// Limits bound a walk. Zero fields are the defaults.
type Limits struct {
	Entries int // entries looked at; 0 means 100,000
	Depth   int // directories below the start; 0 means 64
}

func (l Limits) orDefault() Limits {
	if l.Entries <= 0 {
		l.Entries = 100_000
	}
	if l.Depth <= 0 {
		l.Depth = 64
	}
	return l
}

// Walk calls fn for t itself if it is a file, else for every file and directory below it, each directory before its content and
// sorted by name. Links are not followed and, like devices, pipes and what ReadDeny matches, not shown. fn may return fs.SkipDir
// (for a directory: not into it) or fs.SkipAll.
//
// What a limit or an error of the system leaves out is reported at the end, after all the rest was walked, by an error that is
// ErrPartial and says where it was first.
func (s *Space) Walk(t Target, fn func(Target, fs.FileInfo) error, limits Limits) error {
	var own error // of fn: returned as it is
	show := func(t Target, info fs.FileInfo) error {
		err := fn(t, info)
		if err != nil && skipped(err) != nil {
			own = err
			return fs.SkipAll
		}
		return err
	}
	err := s.use("walk", t, func() error { return s.walk(t, show, limits) })
	return cmp.Or(own, err)
}

func (s *Space) walk(t Target, show func(Target, fs.FileInfo) error, limits Limits) error {
	if t.root.dir == nil && t.rel == "." {
		return nil
	}
	f, info, err := openKind(t, func(m fs.FileMode) bool { return m.IsRegular() || m.IsDir() }, "nothing to walk")
	if err != nil {
		return err
	}
	f.Close()
	if !info.IsDir() {
		return skipped(show(t, info))
	}
	v := visitor{space: s, fn: show, limits: limits.orDefault()}
	return v.run(t)
}

// skipped turns a wish to skip into success.
func skipped(err error) error {
	if errors.Is(err, fs.SkipDir) || errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

// visitor is one walk.
type visitor struct {
	space  *Space
	fn     func(Target, fs.FileInfo) error
	limits Limits
	all    bool // show denied entries, links and special files too

	seen  int
	stack []found // the next entry last
	left  error   // the first thing that was left out
}

type found struct {
	at    Target
	info  fs.FileInfo
	depth int // 1 for the entries of the start
}

func (v *visitor) run(t Target) error {
	v.expand(t, 1)
	for len(v.stack) > 0 {
		next := v.stack[len(v.stack)-1]
		v.stack = v.stack[:len(v.stack)-1]
		v.seen++
		switch err := v.fn(next.at, next.info); {
		case errors.Is(err, fs.SkipDir):
			continue
		case err != nil:
			return skipped(err)
		}
		if next.info.IsDir() {
			v.expand(next.at, next.depth+1)
		}
	}
	return v.left
}

// expand puts the entries of a directory on the stack.
func (v *visitor) expand(t Target, depth int) {
	room := v.limits.Entries - v.seen - len(v.stack)
	if depth > v.limits.Depth || room <= 0 {
		v.miss(t, ErrTooBig)
		return
	}
	dir, err := t.root.descend(t.rel, false)
	if err != nil {
		v.miss(t, err)
		return
	}
	defer dir.Close()
	infos, more, err := v.space.list(t, dir, room, v.all)
	if more {
		err = ErrTooBig
	}
	v.miss(t, err)
	for _, info := range slices.Backward(infos) {
		if v.all || info.Mode().IsRegular() || info.IsDir() {
			rel := path.Join(t.rel, info.Name())
			v.stack = append(v.stack, found{v.space.target(t.root.display(rel), t.root, rel), info, depth})
		}
	}
}

// miss remembers what was left out; what has gone meanwhile was not.
func (v *visitor) miss(at Target, err error) {
	if v.left == nil && err != nil && !errors.Is(err, fs.ErrNotExist) {
		v.left = fmt.Errorf("%w (%s: %w)", ErrPartial, at.Rel, cause(err))
	}
}
