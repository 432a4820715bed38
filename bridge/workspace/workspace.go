// Package workspace opens files. It is the only way from a tool to the disk: every path is resolved once inside a root, the
// resolved path is judged, and what is opened afterwards is that path, component by component, with no link followed.
//
// It does not protect from what a file says: content that comes out of here is data that anyone may have written. It does not
// hold a process that runs beside it either (a shell needs a sandbox), and it trusts mount points: what the operator mounted
// inside a root belongs to the root.
package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/hashicorp/go-multierror"
)

// spillName is the name under which the spill directory is seen: "@spill/…".
const spillName = "spill"

// Config says what a conversation may see and change. The zero value of every list grants nothing.
type Config struct {
	Dir       string   // the root; must exist
	Writable  []string // globs relative to Dir: "drafts/**" is everything below drafts, not drafts itself
	ReadDeny  []string // globs relative to every root; what is below a match is denied too, and a glob without "/" matches at any depth
	Untrusted []string // globs relative to Dir whose files come from third parties
	Read      []Extra  // further roots, read-only; give each to CheckRoot first, as Dir
	Protected []string // absolute paths never writable: task, policy and hook files, or directories of them
	SpillDir  string   // this conversation's own, absolute, outside every root; made 0700 on first use. "" means no spill
}

// Extra is a read-only root, seen as "@Name/…".
type Extra struct{ Name, Path string }

// Space is the files of one conversation. It is safe for concurrent use.
type Space struct {
	main      *root
	extras    map[string]*root
	given     string // Dir as it was configured, absolute: what a model may have been told
	writable  globs
	deny      globs
	untrusted globs
	protected []string // absolute, both as written and with links resolved
	spillDir  string

	mu     sync.Mutex
	spill  *root // guarded by mu; nil until the directory exists
	closed bool  // guarded by mu
}

var extraName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// Open opens the roots. The warnings are for the operator: a Read root that does not exist is empty. Every fault of the
// configuration is returned at once.
func Open(cfg Config) (*Space, []string, error) {
	return open(cfg, openBeneath)
}

func open(cfg Config, opener opener) (*Space, []string, error) {
	s := &Space{extras: map[string]*root{}}
	var faults *multierror.Error
	var err error
	note := func(err error) {
		if err != nil {
			faults = multierror.Append(faults, err)
		}
	}
	s.writable, err = compile("writable", cfg.Writable, belowOnly)
	note(err)
	s.deny, err = compile("readDeny", cfg.ReadDeny, anyDepth)
	note(err)
	s.untrusted, err = compile("untrusted", cfg.Untrusted, asWritten)
	note(err)
	s.given, err = filepath.Abs(cfg.Dir)
	note(err)
	s.main, err = openRoot("", s.given, opener)
	note(err)
	warnings, err := s.openExtras(cfg.Read, opener)
	note(err)
	note(s.protect(cfg.Protected))
	note(s.placeSpill(cfg.SpillDir))
	if err := faults.ErrorOrNil(); err != nil {
		s.Close()
		return nil, nil, err
	}
	return s, warnings, nil
}

func (s *Space) openExtras(extras []Extra, opener opener) ([]string, error) {
	var faults *multierror.Error
	var warnings []string
	for _, x := range extras {
		switch {
		case !extraName.MatchString(x.Name), x.Name == spillName:
			faults = multierror.Append(faults, fmt.Errorf("workspace: read root %q: want a name of letters, digits, - and _, and not %q", x.Name, spillName))
			continue
		case s.extras[x.Name] != nil:
			faults = multierror.Append(faults, fmt.Errorf("workspace: read root %q: named twice", x.Name))
			continue
		case !filepath.IsAbs(x.Path):
			faults = multierror.Append(faults, fmt.Errorf("workspace: read root %q: want an absolute path, not %q", x.Name, x.Path))
			continue
		}
		r, err := openRoot(x.Name, x.Path, opener)
		if errors.Is(err, fs.ErrNotExist) {
			warnings = append(warnings, fmt.Sprintf("read root @%s: %s does not exist; it is empty", x.Name, x.Path))
			r, err = &root{name: x.Name, abs: filepath.Clean(x.Path)}, nil
		}
		if err != nil {
			faults = multierror.Append(faults, err)
			continue
		}
		s.extras[x.Name] = r
	}
	return warnings, faults.ErrorOrNil()
}

// protect keeps both forms of each path, so that neither a link to a protected file nor a file that is not there yet slips by.
func (s *Space) protect(paths []string) error {
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			return fmt.Errorf("workspace: protected: want an absolute path, not %q", p)
		}
		s.protected = append(s.protected, forms(p)...)
	}
	return nil
}

// placeSpill refuses a spill directory that a root covers, or that covers one: its files would then have two names, and two verdicts.
func (s *Space) placeSpill(dir string) error {
	if dir == "" {
		return nil
	}
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("workspace: spill: want an absolute path, not %q", dir)
	}
	for _, r := range s.roots() {
		for _, d := range forms(dir) {
			if covers(r.abs, d) || covers(d, r.abs) {
				return fmt.Errorf("workspace: spill: %s overlaps the root %s; keep them apart", dir, r.abs)
			}
		}
	}
	s.spillDir = dir
	return nil
}

func (s *Space) roots() []*root {
	var all []*root
	if s.main != nil {
		all = append(all, s.main)
	}
	for _, r := range s.extras {
		all = append(all, r)
	}
	return all
}

// Close releases the roots. Files that were opened stay open.
func (s *Space) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var faults *multierror.Error
	for _, r := range append(s.roots(), s.spill) {
		if err := r.close(); err != nil {
			faults = multierror.Append(faults, err)
		}
	}
	return faults.ErrorOrNil()
}

// forms returns an absolute path as written and, if it differs, with its links resolved as far as it exists.
func forms(p string) []string {
	p = filepath.Clean(p)
	real := realPath(p)
	if real == p {
		return []string{p}
	}
	return []string{p, real}
}

// realPath resolves the links of the longest part of p that exists; a path that cannot be canonicalised stays as written.
func realPath(p string) string {
	for head, tail := p, ""; ; {
		if real, err := filepath.EvalSymlinks(head); err == nil {
			return filepath.Join(real, tail)
		}
		up := filepath.Dir(head)
		if up == head {
			return p
		}
		head, tail = up, filepath.Join(filepath.Base(head), tail)
	}
}

// covers says whether dir is path or above it. Both are clean and absolute.
func covers(dir, path string) bool {
	_, ok := below(dir, path)
	return ok
}

// below returns path relative to dir with "/", if it lies inside.
func below(dir, path string) (string, bool) {
	if path == dir {
		return ".", true
	}
	if !strings.HasSuffix(dir, string(os.PathSeparator)) {
		dir += string(os.PathSeparator)
	}
	rest, ok := strings.CutPrefix(path, dir)
	return filepath.ToSlash(rest), ok
}
