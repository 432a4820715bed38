package workspace

import (
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// attacks is the one table of paths that must not work, whatever is done with them. %OUT is the directory beside
// the workspace, %WS the workspace.
var attacks = []struct {
	name  string
	files map[string]string
	path  string
	want  error
}{
	{name: "parent", path: "../out/secret", want: ErrOutside},
	{name: "parent, from inside", files: map[string]string{"d/": ""}, path: "d/../../out/secret", want: ErrOutside},
	{name: "parent of nothing", path: "no/../../out/secret", want: ErrOutside},
	{name: "the parent itself", path: "..", want: ErrOutside},
	{name: "absolute", path: "%OUT/secret", want: ErrOutside},
	{name: "absolute, through the workspace", path: "%WS/../out/secret", want: ErrOutside},
	{name: "absolute, with the workspace as prefix of a name", path: "%WS-evil/secret", want: ErrOutside},
	{name: "the file system", path: "/", want: ErrOutside},
	{name: "proc", path: "/proc/self/root/etc/passwd", want: ErrOutside},
	{name: "link to a file outside", files: map[string]string{"l": "-> ../out/secret"}, path: "l", want: ErrOutside},
	{name: "absolute link outside", files: map[string]string{"l": "-> %OUT/secret"}, path: "l", want: ErrOutside},
	{name: "absolute link to proc", files: map[string]string{"l": "-> /proc/self/cwd"}, path: "l/x", want: ErrOutside},
	{name: "link to a directory outside", files: map[string]string{"l": "-> ../out"}, path: "l/secret", want: ErrOutside},
	{name: "link in the middle", files: map[string]string{"a/l": "-> ../../out"}, path: "a/l/dir/secret", want: ErrOutside},
	{name: "chain of links", files: map[string]string{"a": "-> b", "b": "-> c", "c": "-> ../out/secret"}, path: "a", want: ErrOutside},
	{name: "link out and back in", files: map[string]string{"l": "-> ../ws/f", "f": "x"}, path: "l", want: ErrOutside},
	{name: "link through a link's parent", files: map[string]string{"d/e/": "", "l": "-> d/e", "m": "-> l/../../../out/secret"}, path: "m", want: ErrOutside},
	// goclaw#1201: EvalSymlinks failed, the lexical path was written, and the write followed the link out
	{name: "dangling link outside", files: map[string]string{"l": "-> ../out/new"}, path: "l", want: ErrOutside},
	{name: "dangling link inside", files: map[string]string{"l": "-> drafts/new"}, path: "l", want: ErrLink},
	{name: "below a dangling link", files: map[string]string{"l": "-> nowhere"}, path: "l/x", want: ErrLink},
	{name: "link to a missing parent", files: map[string]string{"l": "-> no/such/file"}, path: "l", want: ErrLink},
	{name: "link to itself", files: map[string]string{"l": "-> l"}, path: "l", want: ErrLink},
	{name: "links in a circle", files: map[string]string{"a": "-> b", "b": "-> a/x"}, path: "a", want: ErrLink},
	{name: "denied", files: map[string]string{"secrets/a": secret}, path: "secrets/a", want: ErrDenied},
	{name: "denied, ./", files: map[string]string{"secrets/a": secret}, path: "./secrets/a", want: ErrDenied},
	{name: "denied, absolute", files: map[string]string{"secrets/a": secret}, path: "%WS/secrets/a", want: ErrDenied},
	{name: "denied, through ..", files: map[string]string{"secrets/a": secret, "src/": ""}, path: "src/../secrets/a", want: ErrDenied},
	{name: "denied, doubled and trailing slashes", files: map[string]string{"secrets/a": secret}, path: "secrets//a/", want: ErrDenied},
	{name: "denied directory", files: map[string]string{"secrets/a": secret}, path: "secrets", want: ErrDenied},
	{name: "denied by a link inside", files: map[string]string{"secrets/a": secret, "l": "-> secrets/a"}, path: "l", want: ErrDenied},
	{name: "denied by a directory link", files: map[string]string{"secrets/a": secret, "l": "-> secrets"}, path: "l/a", want: ErrDenied},
	{name: "denied by an absolute link inside", files: map[string]string{"secrets/a": secret, "l": "-> %WS/secrets/a"}, path: "l", want: ErrDenied},
	{name: "denied on the way of a chain", files: map[string]string{"f": "x", "secrets/l": "-> ../f", "l": "-> secrets/l"}, path: "l", want: ErrDenied},
	{name: "denied as given", files: map[string]string{"f": "x", "k.pem": "-> f"}, path: "k.pem", want: ErrDenied},
	{name: "denied kind of file, deep", files: map[string]string{"a/b/k.pem": secret}, path: "a/b/k.pem", want: ErrDenied},
	{name: "denied with a trailing slash in the rule", files: map[string]string{"private/a": secret}, path: "private/a", want: ErrDenied},
	{name: "denied below what does not exist yet", files: map[string]string{"deep/": "", "l": "-> deep"}, path: "l/new/key", want: ErrDenied},
	{name: "another root's name", files: map[string]string{"@spill/a": "x"}, path: "./@spill/a", want: ErrBadPath},
	{name: "another root's name by a link", files: map[string]string{"@spill/a": "x", "l": "-> @spill/a"}, path: "l", want: ErrBadPath},
	{name: "out of the spill", path: "@spill/../secret", want: ErrOutside},
	{name: "out of an extra root", path: "@docs/../out/secret", want: ErrOutside},
	{name: "NUL", path: "f\x00.txt", want: ErrBadPath},
	{name: "newline", path: "f\n", want: ErrBadPath},
	{name: "escape sequence", path: "\x1b[2Kf", want: ErrBadPath},
	{name: "C1 control", path: "f\u0085", want: ErrBadPath},
	{name: "not UTF-8", path: "f\xff", want: ErrBadPath},
	{name: "empty", path: "", want: ErrBadPath},
	{name: "long path", path: strings.Repeat("a/", 2049), want: ErrBadPath},
	{name: "long component", path: strings.Repeat("a", 300), want: ErrBadPath},
	{name: "below a file", files: map[string]string{"f": "x"}, path: "f/g", want: ErrNotFound},
	{name: "below a file, by a link", files: map[string]string{"f": "x", "l": "-> f"}, path: "l/g", want: ErrNotFound},
}

// everyOp does everything that can be done to a target.
func everyOp(s *Space, t, other Target) map[string]error {
	_, _, open := s.OpenFile(t)
	_, _, list := s.ReadDir(t, 10)
	return map[string]error{
		"open":        open,
		"list":        list,
		"create":      s.WriteFile(t, []byte("by the model"), Create),
		"replace":     s.WriteFile(t, []byte("by the model"), Replace),
		"rename from": s.Rename(t, other),
		"rename to":   s.Rename(other, t),
		"walk":        s.Walk(t, func(Target, fs.FileInfo) error { return nil }, Limits{}),
		"remove":      s.Remove(t),
	}
}

func attackWorld(t *testing.T, o opener, files map[string]string) world {
	base := realPath(t.TempDir())
	w := world{ws: filepath.Join(base, "ws"), out: filepath.Join(base, "out")}
	place := strings.NewReplacer("%OUT", w.out, "%WS", w.ws)
	placed := map[string]string{"drafts/": "", "other": "x"}
	for name, content := range files {
		placed[name] = place.Replace(content)
	}
	tree(t, w.out, map[string]string{"secret": secret, "dir/secret": secret})
	tree(t, base, map[string]string{"ws-evil/secret": secret, "docs/": ""})
	tree(t, w.ws, placed)
	var err error
	w.space, _, err = open(Config{
		Dir: w.ws, Writable: []string{"**"}, ReadDeny: []string{"secrets/**", "*.pem", "private/", "deep/new/key"},
		Read: []Extra{{"docs", filepath.Join(base, "docs")}}, SpillDir: filepath.Join(base, "spill"),
	}, o)
	must(t, err)
	t.Cleanup(func() { w.space.Close() })
	return w
}

func TestAttacksAreRefusedBeforeAnyOperation(t *testing.T) {
	eachOpener(t, func(t *testing.T, o opener) {
		for _, a := range attacks {
			t.Run(a.name, func(t *testing.T) {
				w := attackWorld(t, o, a.files)
				before := snapshot(t, filepath.Dir(w.ws))
				target, err := w.space.Resolve(strings.NewReplacer("%OUT", w.out, "%WS", w.ws).Replace(a.path))
				if !errors.Is(err, a.want) {
					t.Fatalf("got %v, want %v", err, a.want)
				}
				var typed *Error
				if !errors.As(err, &typed) || typed.Op != "resolve" {
					t.Errorf("not an *Error of resolve: %#v", err)
				}
				if strings.Contains(err.Error(), w.ws+"/") && !strings.HasPrefix(a.path, "%WS/..") {
					t.Errorf("the text shows the host path: %v", err)
				}
				for op, err := range everyOp(w.space, target, w.resolve(t, "other")) {
					if err == nil {
						t.Errorf("%s went through with a refused target", op)
					}
				}
				if after := snapshot(t, filepath.Dir(w.ws)); after != before {
					t.Errorf("the disk changed:\n%s\nwas\n%s", after, before)
				}
			})
		}
	})
}

// TestOperationsFollowNoLink takes the paths of the table that go through a link as if Resolve had let them pass.
func TestOperationsFollowNoLink(t *testing.T) {
	eachOpener(t, func(t *testing.T, o opener) {
		for _, a := range attacks {
			if a.files["l"] == "" || a.want == ErrNotFound || a.path == "l/new/key" {
				continue
			}
			t.Run(a.name, func(t *testing.T) {
				w := attackWorld(t, o, a.files)
				before := snapshot(t, filepath.Dir(w.ws))
				missed := w.space.target(a.path, w.space.main, a.path)
				for op, err := range everyOp(w.space, missed, w.resolve(t, "other")) {
					if err == nil {
						t.Errorf("%s followed the link", op)
					}
				}
				if after := snapshot(t, filepath.Dir(w.ws)); after != before {
					t.Errorf("the disk changed:\n%s\nwas\n%s", after, before)
				}
			})
		}
	})
}

// TestAttacksAfterTheJudgement lets the same paths appear between Resolve and the operation: the worst moment for a swap.
func TestAttacksAfterTheJudgement(t *testing.T) {
	replace := map[string]func(t *testing.T, w world){
		"the file by a link outside": func(t *testing.T, w world) {
			must(t, os.Remove(w.ws+"/d/f"))
			must(t, os.Symlink("../../out/secret", w.ws+"/d/f"))
		},
		"the file by a link inside": func(t *testing.T, w world) {
			must(t, os.Remove(w.ws+"/d/f"))
			must(t, os.Symlink("../private/a", w.ws+"/d/f"))
		},
		"the directory by a link outside": func(t *testing.T, w world) {
			must(t, os.Rename(w.ws+"/d", w.ws+"/old"))
			must(t, os.Symlink("../out", w.ws+"/d"))
			must(t, os.WriteFile(w.out+"/f", []byte(secret), 0o644))
		},
		"the directory by a link inside": func(t *testing.T, w world) {
			must(t, os.Rename(w.ws+"/d", w.ws+"/old"))
			must(t, os.Symlink("private", w.ws+"/d"))
			must(t, os.WriteFile(w.ws+"/private/f", []byte(secret), 0o644))
		},
		"the directory by a file": func(t *testing.T, w world) {
			must(t, os.Rename(w.ws+"/d", w.ws+"/old"))
			must(t, os.WriteFile(w.ws+"/d", []byte(secret), 0o644))
		},
	}
	eachOpener(t, func(t *testing.T, o opener) {
		for name, swap := range replace {
			t.Run(name, func(t *testing.T) {
				w := attackWorld(t, o, map[string]string{"d/f": "fine", "private/a": secret})
				target, other := w.resolve(t, "d/f"), w.resolve(t, "other")
				swap(t, w)
				before := snapshot(t, filepath.Dir(w.ws))
				for op, err := range everyOp(w.space, target, other) {
					if err == nil {
						t.Errorf("%s went through", op)
					}
				}
				if after := snapshot(t, filepath.Dir(w.ws)); after != before {
					t.Errorf("the disk changed:\n%s\nwas\n%s", after, before)
				}
			})
		}
	})
}

// snapshot is everything on the disk below dir, as text.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	for path, d := range walkDisk(t, dir) {
		b.WriteString(path + " " + d.Type().String())
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			must(t, err)
			b.WriteString(" -> " + to)
		case d.Type().IsRegular():
			b.WriteString(" " + onDisk(t, path))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func walkDisk(t *testing.T, dir string) iter.Seq2[string, fs.DirEntry] {
	return func(yield func(string, fs.DirEntry) bool) {
		must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if !yield(path, d) {
				return fs.SkipAll
			}
			return nil
		}))
	}
}

// TestOneFileOneVerdict is B04: a rule that held for one spelling only.
func TestOneFileOneVerdict(t *testing.T) {
	w := newWorld(t, openBeneath, Config{Writable: []string{"drafts/**"}}, map[string]string{
		"drafts/a": "x", "src/": "", "l": "-> drafts", "abs": "-> %", "src/up": "-> ../drafts/./a",
	})
	must(t, os.Remove(w.ws+"/abs"))
	must(t, os.Symlink(w.ws+"/src/../drafts/a", w.ws+"/abs"))
	for _, path := range []string{"drafts/a", "./drafts/a", "drafts//a", "src/../drafts/a", "nothing/../drafts/a", "drafts/a/", w.ws + "/drafts/a", w.ws + "/src/../drafts/a", "l/a", "l/../l/a", "abs", "src/up"} {
		target := w.resolve(t, path)
		if target.Rel != "drafts/a" || target.Abs != w.ws+"/drafts/a" || !target.Writable || target.Untrusted || target.Extra || target.Spill || target.Arg != path {
			t.Errorf("%s: %+v", path, target)
		}
	}
}

func TestLiteralNames(t *testing.T) {
	w := newWorld(t, openBeneath, Config{}, map[string]string{"$PWD/a": "pwd", "~/a": "tilde", "@types/a": "at", "a b/ü": "x", "..x/a": "dots"})
	for path, want := range map[string]string{"$PWD/a": "pwd", "~/a": "tilde", "@types/a": "at", "a b/ü": "x", "..x/a": "dots"} {
		if got := w.read(t, path); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
	if _, err := w.space.ReadFile(w.resolve(t, "$HOME/a"), 9); !errors.Is(err, ErrNotFound) {
		t.Errorf("$HOME: %v", err)
	}
}

func TestALinkedWorkspaceIsCanonical(t *testing.T) {
	base := realPath(t.TempDir())
	tree(t, base, map[string]string{"real/f": "x", "link": "-> real"})
	s, _, err := Open(Config{Dir: filepath.Join(base, "link")})
	must(t, err)
	defer s.Close()
	for _, path := range []string{"f", base + "/link/f", base + "/real/f"} {
		target, err := s.Resolve(path)
		if err != nil || target.Abs != base+"/real/f" {
			t.Errorf("%s: %+v %v", path, target, err)
		}
	}
	if _, err := s.Resolve(base + "/link/\x01"); err == nil || strings.Contains(err.Error(), base) {
		t.Errorf("the text shows the host path: %v", err)
	}
}

func TestFilesOfAnyContent(t *testing.T) {
	w := newWorld(t, openBeneath, Config{}, map[string]string{"empty": "", "binary": "\x00\x01\xff", "latin1": "caf\xe9"})
	for path, want := range map[string]string{"empty": "", "binary": "\x00\x01\xff", "latin1": "caf\xe9"} {
		if got := w.read(t, path); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
	must(t, os.WriteFile(w.ws+"/huge", nil, 0o644))
	must(t, os.Truncate(w.ws+"/huge", 1<<30))
	huge := w.resolve(t, "huge")
	if data, err := w.space.ReadFile(huge, 1<<20); !errors.Is(err, ErrTooBig) || data != nil {
		t.Errorf("1 GiB: %d bytes, %v", len(data), err)
	}
	f, info, err := w.space.OpenFile(huge)
	must(t, err)
	defer f.Close()
	if _, err := io.CopyN(io.Discard, f, 4096); err != nil || info.Size() != 1<<30 {
		t.Errorf("a part of 1 GiB: %v, %d", err, info.Size())
	}
}
