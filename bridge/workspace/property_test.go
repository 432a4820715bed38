package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/codeact-dev/codeact/bridge/workspace/workspacetest"
)

// TestWhatResolvesLiesInside builds random trees of directories and links, and asks for random paths: whatever resolves names a
// file inside that the kernel, too, finds there; resolving the answer changes nothing; and what is denied stays unread.
func TestWhatResolvesLiesInside(t *testing.T) {
	name := rapid.SampledFrom([]string{"a", "b", "c", "..", ".", "deny"})
	parts := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(name, 1, 5).Draw(t, "parts"), "/")
	})
	rapid.Check(t, func(rt *rapid.T) {
		base := realPath(t.TempDir())
		ws := filepath.Join(base, "ws")
		tree(t, base, map[string]string{"ws/deny/a": secret, "a": secret, "b/a": secret})
		for range rapid.IntRange(0, 8).Draw(rt, "things") {
			at := filepath.Join(ws, filepath.FromSlash(strings.ReplaceAll(parts.Draw(rt, "at"), "..", "b")))
			if os.MkdirAll(filepath.Dir(at), 0o755) != nil { // a link that loops or dangles is in the way
				continue
			}
			if rapid.Bool().Draw(rt, "link") {
				_ = os.Symlink(parts.Draw(rt, "to"), at) // taken: then it stays what it is
			} else if _, err := os.Lstat(at); err != nil {
				must(t, os.WriteFile(at, []byte("inside"), 0o644))
			}
		}
		s, _, err := Open(Config{Dir: ws, ReadDeny: []string{"deny/**"}})
		must(t, err)
		defer s.Close()
		path := parts.Draw(rt, "path")
		target, err := s.Resolve(path)
		if err != nil {
			return
		}
		again, err := s.Resolve(target.Rel)
		if err != nil || again.Rel != target.Rel {
			rt.Fatalf("%s is %s is %s: %v", path, target.Rel, again.Rel, err)
		}
		if real := realPath(target.Abs); real != target.Abs || !covers(ws, real) {
			rt.Fatalf("%s is %s is %s", path, target.Abs, real)
		}
		data, err := s.ReadFile(target, 100)
		if err == nil && string(data) != "inside" {
			rt.Fatalf("%s read %q", path, data)
		}
		if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrNotRegular) {
			rt.Fatalf("%s resolved, but: %v", path, err)
		}
	})
}

func FuzzResolve(f *testing.F) {
	for _, a := range workspacetest.Attacks {
		f.Add(a.Path)
	}
	f.Add("@docs/a")
	f.Add("@spill/a")
	base := realPath(f.TempDir())
	for _, dir := range []string{"ws/d", "ws/deny", "out"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			f.Fatal(err)
		}
	}
	for link, to := range map[string]string{"out": "../out", "d/up": "..", "deny/l": "../d"} {
		if err := os.Symlink(to, filepath.Join(base, "ws", link)); err != nil {
			f.Fatal(err)
		}
	}
	s, _, err := Open(Config{Dir: base + "/ws", Writable: []string{"d/**"}, ReadDeny: []string{"deny"}, Read: []Extra{{"docs", base + "/out"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	f.Fuzz(func(t *testing.T, path string) {
		target, err := s.Resolve(path)
		var typed *Error
		switch {
		case err != nil && !errors.As(err, &typed):
			t.Fatalf("not an *Error: %v", err)
		case err != nil:
			return
		case !target.Extra && !target.Spill && !covers(base+"/ws", target.Abs), target.Extra && !covers(base+"/out", target.Abs):
			t.Fatalf("%q leaves: %s", path, target.Abs)
		case s.denied(target.root, target.rel):
			t.Fatalf("%q is denied: %s", path, target.Rel)
		case target.Writable && !strings.HasPrefix(target.Rel, "d/"):
			t.Fatalf("%q is writable: %s", path, target.Rel)
		}
	})
}
