package workspace

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// Confine says what a box for commands must know, which judges no single path: see [Confines].
func (s *Space) Confine() (Confines, error) {
	c := Confines{Dir: s.main.abs}
	for _, p := range s.writable {
		dir, ok := prefix(p)
		if !ok {
			c.Unwritable = append(c.Unwritable, p)
			continue
		}
		c.Writable = append(c.Writable, filepath.Join(s.main.abs, filepath.FromSlash(dir)))
	}
	for _, p := range s.protected {
		if covers(s.main.abs, p) {
			c.Protected = append(c.Protected, p)
		}
	}
	for _, r := range s.roots() {
		if r != s.main && r.name != spillName {
			c.Read = append(c.Read, r.abs)
		}
	}
	var err error
	c.Hidden, err = s.hidden()
	return c, err
}

// Confines is a space as whole directories, for a box that cannot judge each path. All paths are absolute.
type Confines struct {
	Dir        string
	Writable   []string // directories in Dir
	Unwritable []string // globs of Writable that name no directory: commands may not write there
	Read       []string // extra roots
	Protected  []string // in Dir, not to be written whatever is writable
	Hidden     []string // not to be read: what ReadDeny matches now, the topmost path of each
}

// prefix is the directory that a glob grants as a whole: "drafts/**" grants drafts.
func prefix(glob string) (dir string, ok bool) {
	dir, ok = strings.CutSuffix(glob, "**/*")
	dir = strings.TrimSuffix(dir, "/")
	if !ok || strings.ContainsAny(dir, "*?[{\\") {
		return "", false
	}
	return dir, true
}

// hidden lists what ReadDeny matches now. A walk that is not complete is an error: what it left out could be read.
func (s *Space) hidden() (list []string, err error) {
	for _, r := range s.roots() {
		if r.name == spillName || r.dir == nil {
			continue
		}
		v := visitor{space: s, all: true, limits: Limits{}.orDefault(), fn: func(t Target, info fs.FileInfo) error {
			if !s.denied(t.root, t.rel) {
				return nil
			}
			list = append(list, t.Abs)
			if info.IsDir() {
				return fs.SkipDir
			}
			return nil
		}}
		if err := v.run(s.target(".", r, ".")); err != nil {
			return nil, errors.Join(errors.New("workspace: what readDeny matches could not be listed"), err)
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}
