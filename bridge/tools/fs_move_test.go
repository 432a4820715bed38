package tools_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/policy"
)

var allWritable = workspace.Config{Writable: []string{"**"}}

func TestMoveGivesAnotherNameAndReplacesNothing(t *testing.T) {
	r := newRig(t, setup{files: map[string]string{"f": "f", "run.sh": "x", "taken": "old", "d/a": "a", "d/sub/b": "b", "e/": "", "l": "-> f"}, space: allWritable})
	must(t, os.Chmod(filepath.Join(r.dir, "run.sh"), 0o750))
	for _, m := range []struct{ path, to string }{{"f", "new/g"}, {"run.sh", "bin"}, {"d", "moved/d"}} {
		if v := r.value(t, "fs_move", args{"path": m.path, "to": m.to}); v != nil {
			t.Errorf("%s: %v", m.path, v)
		}
	}
	if got := r.text("new/g") + r.text("moved/d/a") + r.text("moved/d/sub/b") + r.text("f") + r.text("d/a"); got != "fab" {
		t.Errorf("moved: %q", got)
	}
	if info, err := os.Stat(filepath.Join(r.dir, "bin")); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("mode: %v, %v", info, err)
	}
	for _, m := range []struct{ path, to, want string }{
		{"new/g", "taken", "exists already"},
		{"new/g", "moved", "exists already"},
		{"new/g", "new/g", "exists already"},
		{"moved", "e", "exists already"},
		{"none", "x", "no such file"},
		{"l", "x", "cannot be followed"},
		{"moved", "moved/d/in", "invalid argument"},
	} {
		r.fails(t, "fs_move", args{"path": m.path, "to": m.to}, m.want)
	}
	r.fails(t, "fs_move", args{"path": "new/g"}, "to")
	if got := r.text("taken") + r.text("new/g"); got != "oldf" {
		t.Errorf("a refused move changed %q", got)
	}
}

func TestWhatMovesAndDeletesAlwaysAsks(t *testing.T) {
	for _, tool := range builtins(t) {
		if want := tool.Name == "fs_move" || tool.Name == "fs_delete"; strings.HasPrefix(tool.Name, "fs_") && want != (tool.Tier == policy.AlwaysAsk) {
			t.Errorf("%s has the tier %v", tool.Name, tool.Tier)
		}
		if strings.HasPrefix(tool.Name, "fs_") && tool.Caps.Has(policy.Destructive) != (tool.Preview != nil) {
			t.Errorf("%s: destructive %v, preview %v", tool.Name, tool.Caps.Has(policy.Destructive), tool.Preview != nil)
		}
	}
}

func TestAMoveAsksWithWhatGetsWhichName(t *testing.T) {
	r := newRig(t, setup{files: map[string]string{"f": "four", "d/a": "a", "d/sub/b": "bb", "taken": "x"}, space: workspace.Config{Writable: []string{"**"}, ReadDeny: []string{"keys"}}, ask: true})
	r.value(t, "fs_move", args{"path": "f", "to": "g"})
	r.value(t, "fs_move", args{"path": "d", "to": "e"})
	for i, want := range []string{"rename from f\nrename to g\n  f (4 bytes)\n1 files, 4 bytes; nothing is replaced\n",
		"rename from d\nrename to e\n  d/a (1 bytes)\n  d/sub/b (2 bytes)\n2 files, 3 bytes; nothing is replaced\n"} {
		if got := r.asked[i].Diff; got != want {
			t.Errorf("asked:\n%s\nwant:\n%s", got, want)
		}
	}
	r.asked = nil
	r.fails(t, "fs_move", args{"path": "g", "to": "taken"}, "exists already")
	r.fails(t, "fs_move", args{"path": "none", "to": "x"}, "no such file")
	if r.asked != nil {
		t.Errorf("a person was asked in vain: %v", r.asked)
	}
}

func TestDeleteRemovesFilesAndEmptyDirectories(t *testing.T) {
	r := newRig(t, setup{files: map[string]string{"f": "f", "d/a": "a", "l": "-> f", "drafts/x": "x"}, space: workspace.Config{Writable: []string{"f", "d/**", "d", "l"}}})
	r.fails(t, "fs_delete", args{"path": "d"}, "not empty")
	r.fails(t, "fs_delete", args{"path": "none"}, "not writable")
	r.fails(t, "fs_delete", args{"path": "drafts/x"}, "not writable")
	r.fails(t, "fs_delete", args{"path": "l"}, "cannot be followed")
	for _, path := range []string{"f", "d/a", "d"} {
		if v := r.value(t, "fs_delete", args{"path": path}); v != nil {
			t.Errorf("%s: %v", path, v)
		}
		if _, err := os.Lstat(filepath.Join(r.dir, path)); err == nil {
			t.Errorf("%s is there still", path)
		}
	}
	if r.text("drafts/x") != "x" {
		t.Error("what is not writable was deleted")
	}
	r.fails(t, "fs_delete", args{"path": "f"}, "no such file")
}

func TestADeletionAsksWithWhatIsLost(t *testing.T) {
	long := strings.Repeat("line of a text\n", 4000)
	r := newRig(t, setup{files: map[string]string{"f": "one\ntwo\n", "bin": "a\x00b", "nothing": "", "long": long, "d/": "", "full/f": "x", "l": "-> f"}, space: allWritable, ask: true})
	must(t, os.Mkdir(filepath.Join(r.dir, "empty"), 0o755))
	for path, want := range map[string]string{
		"f":       "--- f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n",
		"bin":     "--- bin\n+++ /dev/null\na binary file of 3 bytes, sha256 " + digest("a\x00b") + "\n",
		"nothing": "--- nothing\n+++ /dev/null\nan empty file\n",
		"long":    "--- long\n+++ /dev/null\na text of 60000 bytes, sha256 " + digest(long) + "\n",
		"empty":   "--- empty\n+++ /dev/null\nan empty directory\n",
	} {
		r.asked = nil
		r.value(t, "fs_delete", args{"path": path})
		if len(r.asked) != 1 || r.asked[0].Diff != want {
			t.Errorf("%s asked:\n%v\nwant:\n%s", path, r.asked, want)
		}
	}
	r.asked = nil
	r.fails(t, "fs_delete", args{"path": "full"}, "a directory that is not empty; delete what is in it first")
	r.fails(t, "fs_delete", args{"path": "l"}, "cannot be followed")
	r.fails(t, "fs_delete", args{"path": "none"}, "no such file")
	if r.asked != nil {
		t.Errorf("a person was asked in vain: %v", r.asked)
	}
}

// Nobody is asked about a change that the operator does not allow at all.
func TestNobodyIsAskedAboutWhatIsNotWritable(t *testing.T) {
	r := newRig(t, setup{files: map[string]string{"f": "text"}, space: workspace.Config{Writable: []string{"drafts/**"}}, ask: true})
	for tool, a := range map[string]args{"fs_write": {"path": "f", "content": "x"}, "fs_edit": {"path": "f", "old": "text", "new": "x"},
		"fs_move": {"path": "f", "to": "drafts/f"}, "fs_delete": {"path": "f"}} {
		r.fails(t, tool, a, "not writable")
	}
	r.fails(t, "fs_edit", args{"path": "g", "old": "", "new": "x"}, "not writable")
	if r.asked != nil || r.text("f") != "text" {
		t.Errorf("asked %v; the file is %q", r.asked, r.text("f"))
	}
}

// What was free when the call was judged, and shown as free, is not replaced when
// something came meanwhile.
func TestAFileThatAppearedMeanwhileIsNotReplaced(t *testing.T) {
	for tool, a := range map[string]args{"fs_write": {"path": "new", "content": "by the model"}, "fs_edit": {"path": "new", "old": "", "new": "by the model"},
		"fs_move": {"path": "f", "to": "new"}} {
		r := newRig(t, setup{files: map[string]string{"f": "f"}, space: allWritable})
		r.run.Journal = swapping{r.journal, func() { r.put(t, "new", "the user's") }}
		r.open(t)
		rep := r.call(t, tool, a)
		if rep.err == nil || r.text("new") != "the user's" || r.text("f") != "f" {
			t.Errorf("%s: %v; new holds %q", tool, rep.err, r.text("new"))
		}
	}
}

// What a run made itself is known, for policies that let it clean up.
func TestTheRunKnowsWhichFilesItMade(t *testing.T) {
	r := newRig(t, setup{files: map[string]string{"old": "x"}, space: allWritable})
	has := func(step string, want ...string) {
		t.Helper()
		for _, path := range want {
			if !r.journal.State.Made[path] {
				t.Errorf("%s: %s is not known as made", step, path)
			}
		}
		if len(r.journal.State.Made) != len(want) {
			t.Errorf("%s: made %v, want %v", step, r.journal.State.Made, want)
		}
	}
	r.value(t, "fs_write", args{"path": "old", "content": "y"})
	r.value(t, "fs_write", args{"path": "d/new", "content": "y"})
	r.value(t, "fs_edit", args{"path": "begun", "old": "", "new": "y"})
	has("written", "d/new", "begun")
	r.value(t, "fs_write", args{"path": "d/new", "content": "z"})
	has("written again", "d/new", "begun")
	r.value(t, "fs_move", args{"path": "d", "to": "e"})
	r.value(t, "fs_move", args{"path": "old", "to": "older"})
	has("moved", "e/new", "begun")
	r.value(t, "fs_delete", args{"path": "begun"})
	r.put(t, "begun", "the user's")
	r.value(t, "fs_write", args{"path": "begun", "content": "z"})
	has("deleted, and made by the user", "e/new")
	if w := r.journal.Records["r1/1/2"].Outcome.Wrote; len(w) != 1 || w[0] != (bridge.Written{Path: "d/new", SHA256: digest("y"), New: true}) {
		t.Errorf("recorded: %+v", w)
	}
}
