package bridge

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/codeact-dev/codeact/bridge/workspace"
)

// Written is one change that a call made to the files: one that was written, got
// another name, or has gone.
type Written struct {
	Path      string `json:"path"`
	SHA256    string `json:"sha256"`         // of the content; "" where that is as it was
	Untrusted bool   `json:"untrusted"`      // content or name may be a third party's
	From      string `json:"from,omitempty"` // its name before, of a file or of a directory with all below it
	Gone      bool   `json:"gone,omitempty"`
	New       bool   `json:"new,omitempty"` // nothing was there before
}

// Wrote folds a change of the files into the state. A label goes along with what
// is renamed, and stays at the old name too: what is put there next is judged by
// its own content, and by who held what when it was written.
func (s *State) Wrote(w Written) {
	if s.Tainted == nil {
		s.Tainted = make(map[string]bool)
	}
	if s.Made == nil {
		s.Made = make(map[string]bool)
	}
	if w.From != "" {
		for _, to := range renamed(s.Tainted, w) {
			s.Tainted[to] = true
		}
		made := renamed(s.Made, w)
		forget(s.Made, w.From)
		for _, to := range made {
			s.Made[to] = true
		}
	}
	switch {
	case w.Gone:
		forget(s.Made, w.Path)
		return
	case w.Untrusted:
		s.Tainted[w.Path] = true
		if w.SHA256 != "" {
			s.Tainted[w.SHA256] = true
		}
	case w.From == "":
		delete(s.Tainted, w.Path)
	}
	if w.New {
		s.Made[w.Path] = true
	}
}

// renamed is the new names of the paths in set that w gave another one.
func renamed(set map[string]bool, w Written) (names []string) {
	for path := range set {
		if rest, ok := strings.CutPrefix(path, w.From); ok && (rest == "" || rest[0] == '/') {
			names = append(names, w.Path+rest)
		}
	}
	return names
}

// forget takes a path out of a set, and what lies below it.
func forget(set map[string]bool, gone string) {
	for path := range set {
		if path == gone || strings.HasPrefix(path, gone+"/") {
			delete(set, path)
		}
	}
}

// maxWritten is the most that a tool may write into one file, in bytes. A longer
// file is no run's, so its content need not be looked up.
const maxWritten = 64 << 20

// Write replaces a file, or makes it, at once or not at all. Where nothing was when
// the call was judged nothing is replaced. What this call itself brings in is added
// to the file's label when it is known: see (*passage).taint.
func (r *Root) Write(path string, data []byte) error {
	t, err := r.target(path)
	if err != nil {
		return err
	}
	if len(data) > maxWritten {
		return fmt.Errorf("%s would have more than %d MiB; write several files", path, maxWritten>>20)
	}
	mode := workspace.Replace
	if t.Missing && !r.p.has(t.Rel) {
		mode = workspace.Create
	}
	if err := r.space.WriteFile(t, data, mode); err != nil {
		return err
	}
	r.p.wrote = append(r.p.wrote, Written{Path: t.Rel, SHA256: digest(data), Untrusted: r.exposed(), New: mode == workspace.Create})
	return nil
}

// has reports whether this call wrote the file already.
func (p *Permit) has(rel string) bool {
	for _, w := range p.wrote {
		if w.Path == rel {
			return true
		}
	}
	return false
}

// exposed reports whether what a script writes now, also a name, may be a third
// party's.
func (r *Root) exposed() bool { return r.state.Held.Untrusted() || r.turn.Untrusted() }

// Movable says why Move would refuse, as far as that is known before, so that a
// person is not asked in vain.
func (r *Root) Movable(path, to string) error {
	from, into, err := r.pair(path, to)
	if err != nil {
		return err
	}
	return r.space.MayRename(from, into)
}

// Move gives a file or a directory another name; nothing is replaced. The labels of
// what is moved go along: where a path alone says that the content is a third
// party's, the content is marked.
func (r *Root) Move(path, to string) error {
	from, into, err := r.pair(path, to)
	if err != nil {
		return err
	}
	if err := r.space.MayRename(from, into); err != nil {
		return err
	}
	marked, err := r.leaving(from, into)
	if err != nil {
		return err
	}
	if err := r.space.Rename(from, into); err != nil {
		return err
	}
	r.p.wrote = append(r.p.wrote, Written{Path: into.Rel, From: from.Rel, Untrusted: r.exposed()})
	r.p.wrote = append(r.p.wrote, marked...)
	return nil
}

func (r *Root) pair(path, to string) (from, into workspace.Target, err error) {
	if from, err = r.target(path); err == nil {
		into, err = r.target(to)
	}
	return from, into, err
}

// maxMarked is the most files that one move marks: each is read whole, and stands in
// the trace.
const maxMarked = 1000

// leaving is the files to be moved that the operator's globs mark, under their new
// names.
func (r *Root) leaving(from, into workspace.Target) (marked []Written, err error) {
	err = r.space.Walk(from, func(f workspace.Target, info fs.FileInfo) error {
		if info.IsDir() || !f.Untrusted && !from.Untrusted {
			return nil
		}
		if len(marked) == maxMarked {
			return fmt.Errorf("%s has more than %d files that third parties wrote; move its directories one by one", from.Rel, maxMarked)
		}
		_, sum, err := r.sum(f)
		marked = append(marked, Written{Path: into.Rel + strings.TrimPrefix(f.Rel, from.Rel), SHA256: sum, Untrusted: true})
		return err
	}, workspace.Limits{})
	return marked, err
}

// Removable says why Remove would refuse, as far as that is known before.
func (r *Root) Removable(path string) error {
	t, err := r.target(path)
	if err != nil {
		return err
	}
	return r.space.MayRemove(t)
}

// Remove removes a file or an empty directory.
func (r *Root) Remove(path string) error {
	t, err := r.target(path)
	if err != nil {
		return err
	}
	if err := r.space.Remove(t); err != nil {
		return err
	}
	r.p.wrote = append(r.p.wrote, Written{Path: t.Rel, Gone: true})
	return nil
}

// Writable says whether the operator lets the run write a path.
func (r *Root) Writable(path string) error {
	t, err := r.target(path)
	if err != nil {
		return err
	}
	return r.space.MayWrite(t)
}

// Sum reads a file to its end and returns its size in bytes and the hex SHA-256 of
// its content, which bring in what the content would.
func (r *Root) Sum(path string) (size int64, sha256 string, err error) {
	t, err := r.target(path)
	if err != nil {
		return 0, "", err
	}
	size, sha256, err = r.sum(t)
	r.note(t, size > 0 && r.known(sha256))
	return size, sha256, err
}

func (r *Root) sum(t workspace.Target) (int64, string, error) {
	f, _, err := r.space.OpenFile(t)
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return 0, "", unreadable(t, err)
	}
	return n, hex.EncodeToString(h.Sum(nil)), nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
