package workspace

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// secret stands in every file that no operation may show.
const secret = "OUTSIDE"

// openers are the two ways to open: the system's, and the one of systems without openat2.
var openers = map[string]opener{"system": openBeneath, "components": openByComponents}

// tree makes files from "path": "content"; a path that ends in "/" is a directory, a content "-> x" is a link to x.
func tree(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		at := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(at, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(at), 0o755))
		if to, ok := strings.CutPrefix(content, "-> "); ok {
			must(t, os.Symlink(to, at))
			continue
		}
		must(t, os.WriteFile(at, []byte(content), 0o644))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world is a workspace and, beside it, what lies outside.
type world struct {
	ws, out string
	space   *Space
}

// newWorld opens cfg over a new directory with the given files; cfg.Dir is set here.
func newWorld(t *testing.T, open_ opener, cfg Config, files map[string]string) world {
	t.Helper()
	base := realPath(t.TempDir())
	w := world{ws: filepath.Join(base, "ws"), out: filepath.Join(base, "out")}
	must(t, os.MkdirAll(w.ws, 0o755))
	tree(t, w.out, map[string]string{"secret": secret, "dir/secret": secret})
	tree(t, w.ws, files)
	cfg.Dir = w.ws
	var err error
	w.space, _, err = open(cfg, open_)
	must(t, err)
	t.Cleanup(func() { w.space.Close() })
	return w
}

func (w world) resolve(t *testing.T, path string) Target {
	t.Helper()
	target, err := w.space.Resolve(path)
	must(t, err)
	return target
}

func (w world) read(t *testing.T, path string) string {
	t.Helper()
	data, err := w.space.ReadFile(w.resolve(t, path), 1<<20)
	must(t, err)
	return string(data)
}

func onDisk(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}

// names lists a directory, to see what an operation left.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

func eachOpener(t *testing.T, f func(*testing.T, opener)) {
	for name, o := range openers {
		t.Run(name, func(t *testing.T) { f(t, o) })
	}
}

func TestOpenReportsEveryFault(t *testing.T) {
	dir := t.TempDir()
	_, _, err := Open(Config{
		Dir:       filepath.Join(dir, "absent"),
		Writable:  []string{"/abs/**"},
		ReadDeny:  []string{"[", "../x", ""},
		Untrusted: []string{"a/../b"},
		Read:      []Extra{{Name: "spill", Path: dir}, {Name: "a/b", Path: dir}, {Name: "rel", Path: "x"}, {Name: "ok", Path: dir}, {Name: "ok", Path: dir}, {Name: "file", Path: os.Args[0]}},
		Protected: []string{"task.yaml"},
		SpillDir:  "spill",
	})
	if err == nil {
		t.Fatal("opened")
	}
	for _, want := range []string{
		"absent", `writable: "/abs/**"`, `readDeny: "["`, `readDeny: "../x"`, `readDeny: ""`, `untrusted: "a/../b"`,
		`read root "spill"`, `read root "a/b"`, `read root "rel": want an absolute path`, `read root "ok": named twice`, "not a directory",
		"protected: want an absolute path", "spill: want an absolute path",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in:\n%v", want, err)
		}
	}
}

func TestSpillInsideARootIsRefused(t *testing.T) {
	base := realPath(t.TempDir())
	tree(t, base, map[string]string{"ws/": "", "docs/": "", "link": "-> ws"})
	for _, spill := range []string{"ws/spill", "ws", "docs/x", "", "link/spill"} {
		_, _, err := Open(Config{
			Dir: filepath.Join(base, "ws"), Read: []Extra{{"docs", filepath.Join(base, "docs")}}, SpillDir: filepath.Join(base, spill),
		})
		if err == nil || !strings.Contains(err.Error(), "overlaps the root") {
			t.Errorf("spill %q: %v", spill, err)
		}
	}
}

func TestCausesHoldNoHostPath(t *testing.T) {
	for _, c := range []struct{ err, want error }{
		{&os.PathError{Op: "openat", Path: "/host/a", Err: syscall.ENOENT}, ErrNotFound},
		{&os.PathError{Op: "openat", Path: "/host/a", Err: syscall.ENOTDIR}, ErrNotFound},
		{&os.PathError{Op: "openat", Path: "/host/a", Err: syscall.ELOOP}, ErrLink},
		{&os.PathError{Op: "openat", Path: "/host/a", Err: syscall.ENAMETOOLONG}, ErrBadPath},
		{&os.PathError{Op: "openat", Path: "/host/a", Err: syscall.ENXIO}, ErrNotRegular},
		{&os.PathError{Op: "openat", Path: "/host/a", Err: os.ErrClosed}, errClosed},
		{&os.LinkError{Op: "renameat", Old: "/host/a", New: "/host/b", Err: syscall.EEXIST}, ErrExists},
		{&os.LinkError{Op: "renameat", Old: "/host/a", New: "/host/b", Err: syscall.EXDEV}, syscall.EXDEV},
		{errors.Join(&os.PathError{Op: "write", Path: "/host/a", Err: syscall.ENOSPC}, nil), syscall.ENOSPC},
		{detail(ErrDenied, "why"), ErrDenied},
	} {
		err := fault("write", "a", c.err)
		if !errors.Is(err, c.want) || strings.Contains(err.Error(), "host") || !strings.HasPrefix(err.Error(), `workspace: write "a": `) {
			t.Errorf("%v: %v", c.err, err)
		}
	}
}

func TestTheRootHasNoParent(t *testing.T) {
	w := newWorld(t, openBeneath, Config{}, nil)
	if _, _, err := w.space.main.parent(".", false); !errors.Is(err, ErrReadOnly) {
		t.Errorf("got %v", err)
	}
}

func TestAClosedSpaceRefuses(t *testing.T) {
	w := newWorld(t, openBeneath, Config{SpillDir: filepath.Join(t.TempDir(), "s")}, map[string]string{"a": "x"})
	target := w.resolve(t, "a")
	must(t, w.space.Close())
	if _, _, err := w.space.OpenFile(target); !errors.Is(err, errClosed) {
		t.Errorf("open: %v", err)
	}
	if _, err := w.space.Resolve("a"); !errors.Is(err, errClosed) {
		t.Errorf("resolve: %v", err)
	}
	if _, err := w.space.Spill("a", nil); !errors.Is(err, errClosed) {
		t.Errorf("spill: %v", err)
	}
}

func TestATargetBelongsToItsSpace(t *testing.T) {
	a := newWorld(t, openBeneath, Config{Writable: []string{"**"}}, map[string]string{"f": "a", "g": "a"})
	b := newWorld(t, openBeneath, Config{Writable: []string{"**"}}, map[string]string{"f": "b"})
	foreign := a.resolve(t, "f")
	forged := Target{Arg: "f", Rel: "f", Abs: filepath.Join(b.ws, "f"), Writable: true}
	for _, target := range []Target{foreign, forged} {
		for op, err := range everyOp(b.space, target, b.resolve(t, "new")) {
			if !errors.Is(err, ErrBadPath) {
				t.Errorf("%s: %v", op, err)
			}
		}
	}
	if err := b.space.Rename(b.resolve(t, "f"), a.resolve(t, "new")); !errors.Is(err, ErrBadPath) {
		t.Errorf("rename into another space: %v", err)
	}
	read := a.resolve(t, "f")
	read.Rel, read.Abs = "g", "/etc/passwd"
	f, _, err := a.space.OpenFile(read)
	must(t, err)
	defer f.Close()
	if got, _ := io.ReadAll(f); f.Name() != "f" || string(got) != "a" {
		t.Errorf("a changed field changed what was opened: %s", f.Name())
	}
}

func TestALinkThatAppearsIsNamedInTheRefusal(t *testing.T) {
	w := newWorld(t, openBeneath, Config{Writable: []string{"**"}}, map[string]string{"f": "x", "d/": ""})
	target, other := w.resolve(t, "f"), w.resolve(t, "new")
	must(t, os.Remove(w.ws+"/f"))
	must(t, os.Symlink("d", w.ws+"/f"))
	for op, err := range everyOp(w.space, target, other) {
		if op != "rename to" && !errors.Is(err, ErrLink) { // there, other is what is missing
			t.Errorf("%s: %v", op, err)
		}
	}
}
