//go:build unix

package tools_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/bridgetest"
	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/bridge/workspace/workspacetest"
)

// drawPath is paths of few names, so that a random one often meets something.
func drawPath() *rapid.Generator[string] {
	part := rapid.SampledFrom([]string{"a", "b", "l", "..", ".", "secrets", "k.pem", "task.yaml", "@docs", "", "f"})
	return rapid.Map(rapid.SliceOfN(part, 1, 4), func(p []string) string { return strings.Join(p, "/") })
}

// disturb changes the workspace as another program of the user might: it makes
// links in and out, and exchanges files, directories and links. It never goes
// through a link itself: that would be a touch of the outside that no call made.
// Where it fails, things stay as they are.
func disturb(rt *rapid.T, w workspacetest.World) {
	names := rapid.SampledFrom([]string{"a", "b", "l", "a/b", "a/l", "b/f"})
	at, to := filepath.Join(w.Dir, names.Draw(rt, "at")), filepath.Join(w.Dir, names.Draw(rt, "with"))
	if !direct(at) || !direct(to) {
		return
	}
	switch rapid.IntRange(0, 3).Draw(rt, "disturbance") {
	case 0:
		text := rapid.SampledFrom([]string{"../out", "../../out/secret", "secrets", "../secrets", "a", ".", "..", w.Base + "/out/new", "task.yaml"}).Draw(rt, "to")
		_ = os.Symlink(text, at)
	case 1:
		if info, err := os.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			_ = os.Remove(at)
		}
	case 2:
		_ = os.Rename(at, at+".x")
		_ = os.Rename(to, at)
		_ = os.Rename(at+".x", to)
	case 3:
		if f, err := os.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644); err == nil {
			_ = f.Close()
		}
	}
}

// direct reports whether no link lies on the way to a path.
func direct(path string) bool {
	dir := filepath.Dir(path)
	real, err := filepath.EvalSymlinks(dir)
	return err == nil && real == dir
}

// No sequence of calls, however the files are exchanged between their judgement and
// their effect, reads or changes anything outside, anything denied or anything
// that configures the run.
func TestNoSequenceOfCallsTouchesAnythingOutside(t *testing.T) {
	all := ways(t)
	rapid.Check(t, func(rt *rapid.T) {
		w := workspacetest.New(t, workspacetest.Attack{Files: map[string]string{"a/f": "inside i\n", "b/f": "inside i\n", "f": "inside i\n", "secrets/f": workspacetest.Secret,
			"secrets/a": workspacetest.Secret, "k.pem": workspacetest.Secret}}, false)
		r := attacked(t, w)
		before := w.Outside(t)
		r.run.Journal = swapping{r.journal, func() {
			if rapid.Bool().Draw(rt, "disturbed") {
				disturb(rt, w)
			}
		}}
		r.open(t)
		for range rapid.IntRange(1, 12).Draw(rt, "calls") {
			if rapid.Bool().Draw(rt, "between") {
				disturb(rt, w)
			}
			e := rapid.SampledFrom(all).Draw(rt, "entry")
			a := e.args(drawPath().Draw(rt, "path"))
			if e.tool == "fs_move" && rapid.Bool().Draw(rt, "both") {
				a["path"], a["to"] = drawPath().Draw(rt, "from"), drawPath().Draw(rt, "to")
			}
			rep := r.call(t, e.tool, a)
			if text := fmt.Sprint(rep.value, rep.err); strings.Contains(text, workspacetest.Secret) {
				rt.Fatalf("%s(%v) read what it must not: %s", e.tool, a, text)
			}
			if w.Outside(t) != before {
				rt.Fatalf("%s(%v) changed what it must not: %v", e.tool, a, rep.err)
			}
		}
	})
}

// poison is the part of a third party's text by which its bytes are followed.
const poison = "OBEY"

// Bytes of a third party stay known as such wherever the calls carry them: by name
// in this run, and by content in every later one. Only an empty file, and a file
// that something else wrote, are nobody's.
func TestProvenanceFollowsTheBytes(t *testing.T) {
	name := rapid.SampledFrom([]string{"a", "b", "d/a", "d/b", "vendor/v", "vendor/d/w", "e/x"})
	rapid.Check(t, func(rt *rapid.T) {
		cfg := workspace.Config{Writable: []string{"**"}, Untrusted: []string{"vendor/**"}}
		r := newRig(t, setup{tools: append(builtins(t), page()), space: cfg,
			files: map[string]string{"a": "mine\n", "d/a": "mine too\n", "vendor/v": poison + " v\n", "vendor/d/w": poison + " w\n"}})
		indexed := map[string]bool{}
		r.run.Journal = indexing{r.journal, indexed}
		r.open(t)
		for n := range rapid.IntRange(1, 10).Draw(rt, "calls") {
			from, to := name.Draw(rt, "from"), name.Draw(rt, "to")
			switch rapid.IntRange(0, 6).Draw(rt, "call") {
			case 0:
				r.call(t, "fs_move", args{"path": from, "to": to})
			case 1:
				r.call(t, "fs_move", args{"path": filepath.Dir(from), "to": "moved" + fmt.Sprint(n)})
			case 2: // a copy of all, or of a line
				if text, ok := r.call(t, "fs_read", args{"path": from}).value.(string); ok {
					r.call(t, "fs_write", args{"path": to, "content": text[:rapid.IntRange(0, len(text)).Draw(rt, "part")]})
				}
			case 3:
				r.call(t, "fs_edit", args{"path": from, "old": "e", "new": "E"})
			case 4:
				r.call(t, "fs_edit", args{"path": from, "old": " ", "new": fmt.Sprintf(" %d ", n)})
			case 5:
				r.call(t, "fs_delete", args{"path": from})
			case 6:
				r.value(t, "page", nil)
				r.call(t, "fs_write", args{"path": to, "content": fmt.Sprintf("%s %d\n", poison, n)})
			}
		}
		later := laterRun(t, r, indexed)
		for path, text := range poisoned(t, r.dir) {
			for when, run := range map[string]*rig{"this run": r, "a later run": later} {
				rep := run.call(t, "fs_read", args{"path": path})
				if rep.err != nil || !rep.outcome.Taint.Untrusted() {
					rt.Fatalf("%s reads %s (%q) as %v, %v", when, path, text, rep.outcome.Taint, rep.err)
				}
			}
		}
	})
}

// indexing keeps what the engine keeps for later runs: the digests of what was
// written while third-party content was held.
type indexing struct {
	*bridgetest.Journal
	index map[string]bool
}

func (i indexing) End(o bridge.Outcome) error {
	for _, w := range o.Wrote {
		if w.Untrusted && w.SHA256 != "" {
			i.index[w.SHA256] = true
		}
	}
	return i.Journal.End(o)
}

// laterRun is a run that begins with nothing but the files and the index. The
// operator marks nothing for it.
func laterRun(t *testing.T, r *rig, index map[string]bool) *rig {
	t.Helper()
	later := newRig(t, setup{space: workspace.Config{Untrusted: []string{"vendor/**"}}})
	space, _, err := workspace.Open(workspace.Config{Dir: r.dir, Untrusted: []string{"vendor/**"}})
	must(t, err)
	t.Cleanup(func() { space.Close() })
	later.run.Space = space
	later.journal.State.Untrusted = func(sum string) bool { return index[sum] }
	later.open(t)
	return later
}

// poisoned is the files that hold a third party's bytes, by path.
func poisoned(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(strings.ToUpper(string(data)), poison) {
			found[strings.TrimPrefix(path, dir+"/")] = string(data)
		}
		return err
	}))
	return found
}
