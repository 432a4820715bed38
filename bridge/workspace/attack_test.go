package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/bridge/workspace/workspacetest"
)

// refusals is the errors behind what an attack must be told.
var refusals = map[workspacetest.Refusal]error{
	workspacetest.Outside: ErrOutside, workspacetest.Denied: ErrDenied, workspacetest.ReadOnly: ErrReadOnly, workspacetest.NotRegular: ErrNotRegular,
	workspacetest.NotFound: ErrNotFound, workspacetest.Link: ErrLink, workspacetest.BadPath: ErrBadPath,
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

// attackWorld opens the world of an attack.
func attackWorld(t *testing.T, o opener, w workspacetest.World) world {
	t.Helper()
	s, _, err := open(Config{Dir: w.Dir, Writable: workspacetest.Writable, ReadDeny: workspacetest.ReadDeny, Protected: w.Protected(),
		Read: []Extra{{"docs", w.Docs()}}, SpillDir: w.Spill()}, o)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return world{ws: w.Dir, out: filepath.Join(w.Base, "out"), space: s}
}

// eachAttack runs f for every attack of some kind, also where the workspace is a link.
func eachAttack(t *testing.T, kind func(workspacetest.Attack) bool, f func(t *testing.T, o opener, a workspacetest.Attack, w workspacetest.World)) {
	eachOpener(t, func(t *testing.T, o opener) {
		for _, a := range workspacetest.Attacks {
			if !kind(a) {
				continue
			}
			for _, linked := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/linked=%v", a.Name, linked), func(t *testing.T) { f(t, o, a, workspacetest.New(t, a, linked)) })
			}
		}
	})
}

func refused(a workspacetest.Attack) bool { return a.Want != "" }

func TestTheTableOfAttacksIsLarge(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range workspacetest.Attacks {
		if seen[a.Name] {
			t.Errorf("two are called %s", a.Name)
		}
		seen[a.Name] = true
	}
	if len(seen) < 60 {
		t.Errorf("only %d attacks", len(seen))
	}
}

func TestAttacksAreRefusedBeforeAnyOperation(t *testing.T) {
	eachAttack(t, refused, func(t *testing.T, o opener, a workspacetest.Attack, disk workspacetest.World) {
		w := attackWorld(t, o, disk)
		before := snapshot(t, disk.Base)
		target, err := w.space.Resolve(disk.Path(a.Path))
		if want := refusals[a.Want]; want == nil || !errors.Is(err, want) || !strings.Contains(err.Error(), string(a.Want)) {
			t.Fatalf("got %v, want %v", err, a.Want)
		}
		var typed *Error
		if !errors.As(err, &typed) || typed.Op != "resolve" {
			t.Errorf("not an *Error of resolve: %#v", err)
		}
		if strings.Contains(err.Error(), disk.Base) && !strings.Contains(a.Path, "%") {
			t.Errorf("the text shows the host path: %v", err)
		}
		for op, err := range everyOp(w.space, target, w.resolve(t, "other")) {
			if err == nil {
				t.Errorf("%s went through with a refused target", op)
			}
		}
		if after := snapshot(t, disk.Base); after != before {
			t.Errorf("the disk changed:\n%s\nwas\n%s", after, before)
		}
	})
}

// What resolves is a file of the workspace, or of a root that is read: no operation on it may touch anything else.
func TestAttacksReachNothing(t *testing.T) {
	resolves := func(a workspacetest.Attack) bool { return !refused(a) }
	eachAttack(t, resolves, func(t *testing.T, o opener, a workspacetest.Attack, disk workspacetest.World) {
		w := attackWorld(t, o, disk)
		before := disk.Outside(t)
		target := w.resolve(t, disk.Path(a.Path))
		data, err := w.space.ReadFile(target, 100)
		if strings.Contains(string(data), workspacetest.Secret) != a.Reads {
			t.Errorf("read %q, %v", data, err)
		}
		for op, err := range everyOp(w.space, target, w.resolve(t, "drafts/moved")) {
			reads := op == "open" || op == "list" || op == "walk"
			if a.Change != "" && !reads && !errors.Is(err, refusals[a.Change]) {
				t.Errorf("%s: %v, want %s", op, err, a.Change)
			}
			if a.Write != "" && op == "replace" && err == nil {
				t.Errorf("%s went through", op)
			}
			if after := disk.Outside(t); after != before {
				t.Fatalf("%s reached what lies outside", op)
			}
		}
	})
}

// TestOperationsFollowNoLink takes the paths of the table that go through a link as if Resolve had let them pass.
func TestOperationsFollowNoLink(t *testing.T) {
	byLink := func(a workspacetest.Attack) bool {
		return refused(a) && a.Files["l"] != "" && a.Want != workspacetest.NotFound && a.Path != "l/new/key" && filepath.Clean(a.Path) == a.Path
	}
	eachAttack(t, byLink, func(t *testing.T, o opener, a workspacetest.Attack, disk workspacetest.World) {
		w := attackWorld(t, o, disk)
		before := snapshot(t, disk.Base)
		missed := w.space.target(a.Path, w.space.main, a.Path)
		for op, err := range everyOp(w.space, missed, w.resolve(t, "other")) {
			if err == nil {
				t.Errorf("%s followed the link", op)
			}
		}
		if after := snapshot(t, disk.Base); after != before {
			t.Errorf("the disk changed:\n%s\nwas\n%s", after, before)
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
				w := attackWorld(t, o, workspacetest.New(t, workspacetest.Attack{Files: map[string]string{"d/f": "fine", "private/a": secret}}, false))
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

// TestB04OneFileOneVerdict is B04: a rule that held for one spelling only.
func TestB04OneFileOneVerdict(t *testing.T) {
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
