package workspace

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxPath  = 4096 // bytes: PATH_MAX of Linux
	maxLinks = 40   // links followed in one path: MAXSYMLINKS of Linux
)

// Target is a path that was resolved and judged; only Resolve and Walk make one that the operations accept. The exported fields
// are for the gates, the question and the trace: changing them changes nothing.
type Target struct {
	Arg       string // as given
	Rel       string // resolved, clean, with "/": what rules see. "@name/x" in an extra root, "@spill/x" in the spill
	Abs       string // resolved host path; not for the model
	Writable  bool
	Untrusted bool // holds what third parties wrote: a glob says so, or it lies in an extra root or the spill
	Extra     bool
	Spill     bool
	Missing   bool // nothing was there when it was resolved

	space   *Space
	root    *root
	rel     string // Rel within root
	viaLink bool   // the last component, as given, is a link
}

// Resolve follows path once, within its root, and judges what it finds. A file need not exist; a link must lead to something
// inside. Any error on the way is a refusal.
//
// The verdict is the same for every spelling of a file (a, ./a, b/../a, an absolute path, a link), and ReadDeny holds for the
// path as given, for each link on the way and for the result.
func (s *Space) Resolve(arg string) (Target, error) {
	t, err := s.resolve(arg)
	if err != nil {
		return Target{}, fault("resolve", s.hostless(arg), err)
	}
	return t, nil
}

func (s *Space) resolve(arg string) (Target, error) {
	if err := checkText(arg); err != nil {
		return Target{}, err
	}
	r, rel, err := s.locate(arg)
	if err != nil {
		return Target{}, err
	}
	if s.denied(r, rel) {
		return Target{}, ErrDenied
	}
	if r.name == spillName && strings.Contains(rel, "/") {
		return Target{}, detail(ErrNotFound, "the spill has no directories")
	}
	w := walker{space: s, root: r, todo: components(rel)}
	if err := w.run(); err != nil {
		return Target{}, err
	}
	resolved := path.Join(w.done...)
	if resolved == "" {
		resolved = "."
	}
	if s.denied(r, resolved) {
		return Target{}, ErrDenied
	}
	if r == s.main && s.reserved(resolved) {
		return Target{}, detail(ErrBadPath, "this name means another root")
	}
	t := s.target(arg, r, resolved)
	t.Untrusted = t.Untrusted || s.untrusted.covers(rel)
	t.viaLink, t.Missing = w.viaLink, w.missing
	return t, nil
}

func checkText(arg string) error {
	switch {
	case arg == "":
		return detail(ErrBadPath, "it is empty; the workspace itself is .")
	case len(arg) > maxPath:
		return detail(ErrBadPath, "it is longer than 4096 bytes")
	case !utf8.ValidString(arg):
		return detail(ErrBadPath, "it is not valid UTF-8")
	case strings.ContainsFunc(arg, unicode.IsControl):
		return detail(ErrBadPath, "it holds a control character")
	}
	return nil
}

// locate finds the root that a path speaks of, and the clean path within it. ~ and $NAME are names like others.
func (s *Space) locate(arg string) (*root, string, error) {
	r, rest := s.main, filepath.ToSlash(arg)
	if name, tail, _ := strings.Cut(rest, "/"); s.reserved(name) {
		extra, err := s.named(name[1:])
		if err != nil {
			return nil, "", err
		}
		r, rest = extra, "./"+tail
	} else if filepath.IsAbs(arg) || strings.HasPrefix(rest, "/") {
		inside, err := s.inside(arg)
		if err != nil {
			return nil, "", err
		}
		rest = inside
	}
	rel := path.Clean(rest)
	if rel == ".." || strings.HasPrefix(rel, "../") {
		return nil, "", ErrOutside
	}
	if r == s.main && s.reserved(rel) {
		return nil, "", detail(ErrBadPath, "this name means another root")
	}
	for name := range strings.SplitSeq(rel, "/") {
		if alias(name) {
			return nil, "", detail(ErrBadPath, "this system may read "+name+" as another name")
		}
	}
	return r, rel, nil
}

// reserved says whether the first component of rel stands for a root other than Dir.
func (s *Space) reserved(rel string) bool {
	first, _, _ := strings.Cut(rel, "/")
	name, ok := strings.CutPrefix(first, "@")
	return ok && (name == spillName || s.extras[name] != nil)
}

func (s *Space) named(name string) (*root, error) {
	if name != spillName {
		return s.extras[name], nil
	}
	return s.spillRoot(false)
}

// inside turns an absolute path into one relative to Dir, in either spelling of Dir.
func (s *Space) inside(abs string) (string, error) {
	abs = filepath.Clean(abs)
	for _, dir := range []string{s.main.abs, s.given} {
		if rel, ok := below(dir, abs); ok {
			return rel, nil
		}
	}
	return "", ErrOutside
}

// hostless is arg for an error text: relative to Dir where arg lies in it.
func (s *Space) hostless(arg string) string {
	if filepath.IsAbs(arg) {
		if rel, err := s.inside(arg); err == nil {
			return rel
		}
	}
	return arg
}

// denied says whether ReadDeny covers a path of a root, under any of its names: a Read root may lie around or inside Dir.
func (s *Space) denied(r *root, rel string) bool {
	switch {
	case r.name == spillName:
		return false
	case s.deny.covers(rel):
		return true
	case r == s.main:
		return false
	}
	inner, ok := below(s.main.abs, filepath.Join(r.abs, filepath.FromSlash(rel)))
	return s.deny.covers(r.display(rel)) || ok && s.deny.covers(inner)
}

// target judges a resolved path.
func (s *Space) target(arg string, r *root, rel string) Target {
	t := Target{
		Arg: arg, Rel: r.display(rel), Abs: filepath.Join(r.abs, filepath.FromSlash(rel)),
		Spill: r.name == spillName, space: s, root: r, rel: rel,
	}
	t.Extra = r != s.main && !t.Spill
	t.Untrusted = r != s.main || s.untrusted.covers(rel)
	t.Writable = r == s.main && rel != "." && s.writable.grants(rel) && !s.guards(t.Abs)
	return t
}

// guards says whether abs is a protected path, lies in one, or has one below it (a directory that is moved takes them along).
func (s *Space) guards(abs string) bool {
	for _, p := range s.protected {
		if p, abs := fold(p), fold(abs); covers(p, abs) || covers(abs, p) {
			return true
		}
	}
	return false
}

// walker follows the components of one path within a root.
type walker struct {
	space   *Space
	root    *root
	done    []string // resolved: no link among them
	todo    []component
	links   int
	viaLink bool
	missing bool // the last component, at least, does not exist
}

type component struct {
	name     string
	fromLink bool // it comes from the text of a link, not from the caller
}

func components(rel string) []component {
	if rel == "." {
		return nil
	}
	var out []component
	for name := range strings.SplitSeq(rel, "/") {
		out = append(out, component{name: name})
	}
	return out
}

func (w *walker) run() error {
	for len(w.todo) > 0 {
		next := w.todo[0]
		w.todo = w.todo[1:]
		switch next.name {
		case "", ".":
			continue
		case "..": // only the text of a link still holds one
			if len(w.done) == 0 {
				return detail(ErrOutside, "a link on the way leads out")
			}
			w.done = w.done[:len(w.done)-1]
			continue
		}
		missing, err := w.visit(next)
		if err != nil {
			return err
		}
		if w.missing = missing; missing { // so is all that follows; nothing of it is from a link, whose text comes first
			for _, c := range w.todo {
				w.done = append(w.done, c.name)
			}
			return nil
		}
	}
	return nil
}

// visit looks at one component. missing means that it, and so all that follows, does not exist.
func (w *walker) visit(c component) (missing bool, err error) {
	at := path.Join(path.Join(w.done...), c.name)
	if w.space.denied(w.root, at) {
		return false, ErrDenied
	}
	if w.root.dir == nil {
		w.done = append(w.done, c.name)
		return true, nil
	}
	info, err := w.root.dir.Lstat(filepath.FromSlash(at))
	if errors.Is(err, fs.ErrNotExist) {
		if c.fromLink {
			return false, detail(ErrLink, "it leads to nothing")
		}
		w.done = append(w.done, c.name)
		return true, nil
	}
	if err != nil {
		return false, raced(err)
	}
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return false, w.follow(at, c)
	case !mode.IsRegular() && !mode.IsDir():
		return false, detail(ErrNotRegular, "it is a "+kind(mode))
	case mode.IsRegular() && len(w.todo) > 0:
		return false, detail(ErrNotFound, "a parent of it is not a directory")
	}
	w.done = append(w.done, c.name)
	return false, nil
}

// follow puts the text of a link before what is left to do.
func (w *walker) follow(at string, c component) error {
	if w.links++; w.links > maxLinks {
		return detail(ErrLink, "it leads in a circle")
	}
	text, err := w.root.dir.Readlink(filepath.FromSlash(at))
	if err != nil {
		return err
	}
	if filepath.IsAbs(text) {
		rel, ok := w.within(text)
		if !ok {
			return detail(ErrOutside, "a link on the way leads out")
		}
		text, w.done = rel, nil
	}
	if len(w.todo) == 0 {
		w.viaLink = true
	}
	var expanded []component
	for name := range strings.SplitSeq(filepath.ToSlash(text), "/") {
		expanded = append(expanded, component{name: name, fromLink: true})
	}
	w.todo = append(expanded, w.todo...)
	return nil
}

// within is the target of an absolute link relative to the root, in either spelling of Dir.
func (w *walker) within(abs string) (string, bool) {
	if w.root == w.space.main {
		rel, err := w.space.inside(abs)
		return rel, err == nil
	}
	return below(w.root.abs, filepath.Clean(abs))
}

func kind(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "FIFO"
	case mode&fs.ModeSocket != 0:
		return "socket"
	}
	return "device"
}
