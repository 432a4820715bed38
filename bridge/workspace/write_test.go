package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWriteFile(t *testing.T) {
	eachOpener(t, func(t *testing.T, o opener) {
		w := newWorld(t, o, Config{Writable: []string{"drafts/**", "a/b/**/*.md"}}, map[string]string{"drafts/old": "old", "drafts/dir/": "", "in": "-> drafts"})
		for _, c := range []struct {
			path string
			mode WriteMode
			want error
		}{
			{"drafts/new", Create, nil},
			{"drafts/new", Create, ErrExists},
			{"drafts/new", Replace, nil},
			{"drafts/old", Replace, nil},
			{"drafts/deep/er/x", Create, nil},
			{"drafts/other/x", Replace, nil},
			{"in/linked", Create, nil},
			{"a/b/c/x.md", Create, nil},
			{"drafts/dir", Replace, ErrNotRegular},
			{"drafts/dir", Create, ErrNotRegular},
			{"a/b/c/x.txt", Create, ErrReadOnly},
			{"top", Create, ErrReadOnly},
		} {
			before := names(t, w.ws)
			content := c.path + string(rune('0'+c.mode))
			err := w.space.WriteFile(w.resolve(t, c.path), []byte(content), c.mode)
			if !errors.Is(err, c.want) {
				t.Errorf("%s, mode %d: %v, want %v", c.path, c.mode, err, c.want)
			}
			if err == nil && w.read(t, c.path) != content {
				t.Errorf("%s holds %q", c.path, w.read(t, c.path))
			}
			if after := names(t, w.ws); c.want != nil && after != before {
				t.Errorf("%s: refused, but made %s", c.path, after)
			}
		}
		for path := range walkDisk(t, w.ws) {
			if strings.Contains(path, ".codeact-") {
				t.Errorf("left %s", path)
			}
		}
	})
}

func TestTheDirectoryOfAWritablePrefixIsMade(t *testing.T) {
	w := newWorld(t, openBeneath, Config{Writable: []string{"x/drafts/**"}}, nil)
	must(t, w.space.WriteFile(w.resolve(t, "x/drafts/a"), []byte("1"), Create))
	if got := w.read(t, "x/drafts/a"); got != "1" {
		t.Errorf("got %q", got)
	}
}

func TestRemove(t *testing.T) {
	w := newWorld(t, openBeneath, Config{Writable: []string{"d/**", "l"}}, map[string]string{
		"d/f": "x", "d/empty/": "", "d/full/f": "x", "d/l": "-> f2", "d/f2": "x", "keep": "x", "d/dir/": "", "d/m": "-> dir",
	})
	for path, want := range map[string]error{
		"d/f": nil, "d/empty": nil, "d/none": ErrNotFound, "d/l": ErrLink, "keep": ErrReadOnly, "d": ErrReadOnly, ".": ErrReadOnly,
	} {
		if err := w.space.Remove(w.resolve(t, path)); !errors.Is(err, want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	err := w.space.Remove(w.resolve(t, "d/full"))
	if err == nil || errors.Is(err, ErrExists) || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("a full directory: %v", err)
	}
	must(t, w.space.Remove(w.resolve(t, "d/full/f")))
	if got := names(t, w.ws+"/d"); got != "dir f2 full l m" {
		t.Errorf("left: %s", got)
	}
}

func TestRename(t *testing.T) {
	eachOpener(t, func(t *testing.T, o opener) {
		w := newWorld(t, o, Config{Writable: []string{"d/**", "flat/*"}, ReadDeny: []string{"*.pem", "d/safe/**/*.key"}, Protected: []string{}}, map[string]string{
			"d/f": "f", "d/dir/a/b": "b", "d/taken": "x", "keep": "x", "d/l": "-> f", "d/keys/k.pem": secret, "d/sub/x.key": "k",
			"flat/dir/deep": "x", "d/links/l": "-> /etc", "d/emptydir/": "",
		})
		for _, c := range []struct {
			from, to string
			want     error
		}{
			{"d/f", "d/taken", ErrExists},
			{"d/f", "d/emptydir", ErrExists},
			{"d/f", "keep2", ErrReadOnly},
			{"keep", "d/kept", ErrReadOnly},
			{"d/none", "d/x", ErrNotFound},
			{"d/l", "d/x", ErrLink},
			{"d/f", "d/l", ErrLink},
			{"d/keys", "d/free", ErrDenied},
			{"d/sub", "d/safe/sub", ErrDenied},
			{"flat/dir", "d/moved", ErrReadOnly},
			{"d/dir", "flat/moved", ErrReadOnly},
			{"d/links", "d/links2", nil},
			{"d/f", "d/new/g", nil},
			{"d/dir", "d/renamed", nil},
		} {
			if err := w.space.Rename(w.resolve(t, c.from), w.resolve(t, c.to)); !errors.Is(err, c.want) {
				t.Errorf("%s to %s: %v, want %v", c.from, c.to, err, c.want)
			}
		}
		if err := w.space.Rename(w.resolve(t, "d/renamed"), w.resolve(t, "d/renamed/a/in")); err == nil {
			t.Error("a directory went into itself")
		}
		if f, b := w.read(t, "d/new/g"), w.read(t, "d/renamed/a/b"); f != "f" || b != "b" {
			t.Errorf("moved %q, %q", f, b)
		}
		if got := onDisk(t, w.ws+"/d/taken"); got != "x" {
			t.Errorf("replaced: %q", got)
		}
	})
}

func TestReadDir(t *testing.T) {
	eachOpener(t, func(t *testing.T, o opener) {
		w := newWorld(t, o, Config{ReadDeny: []string{"d/hidden", "*.pem"}}, map[string]string{"d/b": "12", "d/a": "1", "d/dir/x": "", "d/hidden": secret, "d/k.pem": secret, "d/l": "-> /etc/passwd", "f": ""})
		entries, more, err := w.space.ReadDir(w.resolve(t, "d"), 4)
		want := []Entry{{Name: "a", Size: 1}, {Name: "b", Size: 2}, {Name: "dir", Dir: true}, {Name: "l", Link: true}}
		if err != nil || more || len(entries) != len(want) {
			t.Fatalf("%v %v %v", entries, more, err)
		}
		for i := range want {
			if entries[i] != want[i] {
				t.Errorf("%+v, want %+v", entries[i], want[i])
			}
		}
		if entries, more, err := w.space.ReadDir(w.resolve(t, "d"), 3); err != nil || !more || len(entries) != 3 {
			t.Errorf("three of four: %v %v %v", entries, more, err)
		}
		if _, _, err := w.space.ReadDir(w.resolve(t, "f"), 3); !errors.Is(err, ErrNotFound) {
			t.Errorf("a file: %v", err)
		}
		if _, _, err := w.space.ReadDir(w.resolve(t, "none"), 3); !errors.Is(err, ErrNotFound) {
			t.Errorf("none: %v", err)
		}
		if _, _, err := w.space.OpenFile(w.resolve(t, "d")); !errors.Is(err, ErrNotRegular) {
			t.Errorf("a directory opened as a file: %v", err)
		}
		if _, _, err := w.space.OpenFile(w.resolve(t, ".")); !errors.Is(err, ErrNotRegular) {
			t.Errorf("the root opened as a file: %v", err)
		}
	})
}

func TestWalk(t *testing.T) {
	eachOpener(t, func(t *testing.T, o opener) {
		w := newWorld(t, o, Config{ReadDeny: []string{"*.pem", "no/**"}, Writable: []string{"a/**"}, Untrusted: []string{"vendor/"}}, map[string]string{
			"a/x": "1", "a/y/z": "2", "b": "3", "k.pem": secret, "no/a": secret, "l": "-> a", "vendor/v": "4",
		})
		walk := func(path string, limits Limits, stop map[string]error) (string, error) {
			var seen []string
			err := w.space.Walk(w.resolve(t, path), func(e Target, info fs.FileInfo) error {
				seen = append(seen, e.Rel)
				if again := w.resolve(t, e.Rel); again.Writable != e.Writable || again.Untrusted != e.Untrusted || again.Abs != e.Abs || info.Name() != filepath.Base(e.Rel) {
					t.Errorf("judged otherwise than by Resolve: %+v", e)
				}
				return stop[e.Rel]
			}, limits)
			return strings.Join(seen, " "), err
		}
		own := &os.PathError{Op: "own", Path: "p", Err: errors.New("fault")}
		for _, c := range []struct {
			name, start string
			limits      Limits
			stop        map[string]error
			want        string
			err         error
		}{
			{"everything", ".", Limits{}, nil, "a a/x a/y a/y/z b vendor vendor/v", nil},
			{"a directory", "a", Limits{}, nil, "a/x a/y a/y/z", nil},
			{"a file", "b", Limits{}, nil, "b", nil},
			{"a file, skipped", "b", Limits{}, map[string]error{"b": fs.SkipDir}, "b", nil},
			{"nothing", "none", Limits{}, nil, "", ErrNotFound},
			{"not into a directory", ".", Limits{}, map[string]error{"a": fs.SkipDir}, "a b vendor vendor/v", nil},
			{"stop", ".", Limits{}, map[string]error{"a/y": fs.SkipAll}, "a a/x a/y", nil},
			{"an error of fn, unchanged", ".", Limits{}, map[string]error{"b": own}, "a a/x a/y a/y/z b", own},
			{"an error of fn for a file", "b", Limits{}, map[string]error{"b": own}, "b", own},
			{"depth", ".", Limits{Depth: 1}, nil, "a b vendor", ErrTooBig},
			{"entries", ".", Limits{Entries: 2}, nil, "", ErrTooBig},
		} {
			got, err := walk(c.start, c.limits, c.stop)
			if c.name == "entries" {
				if n := len(strings.Fields(got)); n > 2 || !errors.Is(err, ErrTooBig) {
					t.Errorf("entries: %s; %v", got, err)
				}
				continue
			}
			if got != c.want || !errors.Is(err, c.err) {
				t.Errorf("%s: %q, %v", c.name, got, err)
			}
		}
	})
}

func TestSpill(t *testing.T) {
	base := realPath(t.TempDir())
	must(t, os.Mkdir(base+"/ws", 0o755))
	open := func(dir string) world {
		s, _, err := Open(Config{Dir: base + "/ws", SpillDir: dir, Writable: []string{"**"}, ReadDeny: []string{"**"}})
		must(t, err)
		t.Cleanup(func() { s.Close() })
		return world{space: s}
	}
	one, two := open(base+"/spill/1"), open(base+"/spill/2")
	if _, err := os.Stat(base + "/spill"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("made before it was needed: %v", err)
	}
	ref, err := one.space.Spill("run-1.txt", []byte("long"))
	must(t, err)
	target := one.resolve(t, ref)
	if got := one.read(t, ref); ref != "@spill/run-1.txt" || got != "long" || !target.Spill || target.Extra || target.Writable || !target.Untrusted {
		t.Errorf("%s: %q %+v", ref, got, target)
	}
	if _, err := one.space.Spill("run-1.txt", []byte("long")); err != nil {
		t.Errorf("the same again: %v", err)
	}
	for _, data := range []string{"LONG", "longer", ""} {
		if _, err := one.space.Spill("run-1.txt", []byte(data)); !errors.Is(err, ErrExists) {
			t.Errorf("other bytes: %v", err)
		}
	}
	if err := one.space.WriteFile(target, nil, Replace); !errors.Is(err, ErrReadOnly) {
		t.Errorf("write: %v", err)
	}
	for _, name := range []string{"", ".", "..", "a/b", "../x", ".hidden", "a\x00", strings.Repeat("a", 129)} {
		if _, err := one.space.Spill(name, nil); !errors.Is(err, ErrBadPath) {
			t.Errorf("name %q: %v", name, err)
		}
	}
	for path, want := range map[string]os.FileMode{base + "/spill/1": 0o700, base + "/spill/1/run-1.txt": 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v", path, info, err)
		}
	}
	t.Run("another conversation cannot see it", func(t *testing.T) {
		around := open(base + "/spill") // even one whose directory holds the other's
		must(t, os.Chmod(base+"/spill", 0o700))
		for _, path := range []string{ref, "@spill/../1/run-1.txt", "@spill/1/run-1.txt", "@spill//1/../1/run-1.txt", base + "/spill/1/run-1.txt", "../spill/1/run-1.txt"} {
			for _, w := range []world{two, around} {
				target, err := w.space.Resolve(path)
				if err == nil {
					_, err = w.space.ReadFile(target, 100)
				}
				if err == nil {
					t.Errorf("read %s", path)
				}
			}
		}
	})
	t.Run("a resumed conversation can", func(t *testing.T) {
		if got := open(base+"/spill/1").read(t, ref); got != "long" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("none is configured", func(t *testing.T) {
		if _, err := open("").space.Spill("a", nil); !errors.Is(err, ErrReadOnly) {
			t.Errorf("got %v", err)
		}
	})
}
