//go:build unix

package tools_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/bridge/workspace/workspacetest"
)

// An entry is one way by which a path comes in.
type entry struct {
	tool, param string
	rest        args
	changes     bool // it would change or move the file
	writes      bool // it would put content into it
}

func (e entry) String() string { return fmt.Sprintf("%s(%s=, %v)", e.tool, e.param, e.rest) }

func (e entry) args(path string) args {
	a := maps.Clone(e.rest)
	a[e.param] = path
	return a
}

// entries is every way in. TestEveryPathParameterIsAttacked sees that none is missing.
var entries = []entry{
	{tool: "fs_read", param: "path", rest: args{}},
	{tool: "fs_read", param: "path", rest: args{"start": int64(1), "lines": int64(1)}},
	{tool: "fs_list", param: "path", rest: args{}},
	{tool: "fs_list", param: "path", rest: args{"glob": "**"}},
	{tool: "fs_search", param: "path", rest: args{"pattern": workspacetest.Secret, "context": int64(2)}},
	{tool: "fs_write", param: "path", rest: args{"content": "by the model"}, changes: true, writes: true},
	{tool: "fs_edit", param: "path", rest: args{"old": "i", "new": "by the model"}, changes: true, writes: true},
	{tool: "fs_edit", param: "path", rest: args{"old": "", "new": "by the model"}, changes: true, writes: true},
	{tool: "fs_move", param: "path", rest: args{"to": "drafts/moved"}, changes: true},
	{tool: "fs_move", param: "to", rest: args{"path": "other"}, changes: true},
	{tool: "fs_delete", param: "path", rest: args{}, changes: true},
	{tool: "http_fetch", param: "save", rest: args{"url": "http://example.com/"}, changes: true, writes: true},
}

func TestEveryPathParameterIsAttacked(t *testing.T) {
	for _, tool := range builtins(t) {
		for _, param := range tool.Paths {
			if !slices.ContainsFunc(entries, func(e entry) bool { return e.tool == tool.Name && e.param == param }) {
				t.Errorf("no entry for %s of %s", param, tool.Name)
			}
		}
	}
}

// ways is the entries that the built-in tools have.
func ways(t *testing.T) (have []entry) {
	for _, tool := range builtins(t) {
		for _, e := range entries {
			if e.tool == tool.Name && slices.Contains(tool.Paths, e.param) {
				have = append(have, e)
			}
		}
	}
	return have
}

// attacked is a rig in the world of an attack.
func attacked(t *testing.T, w workspacetest.World) *rig {
	t.Helper()
	r := newRig(t, setup{})
	space, _, err := workspace.Open(workspace.Config{Dir: w.Dir, Writable: workspacetest.Writable, ReadDeny: workspacetest.ReadDeny,
		Protected: w.Protected(), Read: []workspace.Extra{{Name: "docs", Path: w.Docs()}}, SpillDir: w.Spill()})
	must(t, err)
	t.Cleanup(func() { space.Close() })
	r.dir, r.spill, r.run.Space = w.Dir, w.Spill(), space
	r.open(t)
	return r
}

func TestTheTableOfAttacksThroughEveryEntry(t *testing.T) {
	all := ways(t)
	for i, a := range workspacetest.Attacks {
		linked := i%2 == 1 // every other one in a workspace that is a link; package workspace runs each in both
		t.Run(a.Name, func(t *testing.T) {
			w := workspacetest.New(t, a, linked)
			r := attacked(t, w)
			for _, e := range all {
				if !assail(t, r, w, e, a) {
					continue
				}
				w = workspacetest.New(t, a, linked) // it worked, so the next one needs another
				r = attacked(t, w)
			}
		})
	}
}

// assail uses an attack's path at one entry, and reports whether that worked.
func assail(t *testing.T, r *rig, w workspacetest.World, e entry, a workspacetest.Attack) (worked bool) {
	t.Helper()
	before := w.Outside(t)
	rep := r.call(t, e.tool, e.args(w.Path(a.Path)))
	want := a.Want
	switch {
	case want != "" && rep.outcome.Call != "":
		t.Errorf("%v began", e)
	case want == "" && e.changes:
		want = a.Change
	}
	if want == "" && e.writes && e.rest["old"] == nil { // an edit may fail by what stands in the file
		want = a.Write
	}
	if e.tool == "http_fetch" && a.Want == "" {
		want = "" // it fails before, without a network
	}
	said := fmt.Sprint(rep.err)
	if want != "" && !strings.Contains(said, string(want)) {
		t.Errorf("%v: %v, %s; want %q", e, rep.value, said, want)
	}
	if strings.Contains(said, w.Base) && !strings.Contains(a.Path, "%") {
		t.Errorf("%v tells a host path: %s", e, said)
	}
	if strings.Contains(fmt.Sprint(rep.value, said), workspacetest.Secret) && !a.Reads {
		t.Errorf("%v read what it must not: %v %s", e, rep.value, said)
	}
	if after := w.Outside(t); after != before {
		t.Fatalf("%v changed what it must not", e)
	}
	return rep.err == nil
}

// FAULTS B04: a rule that held for one spelling of a path only. A variable is no
// spelling here: nothing expands it, so it is a file that does not exist.
func TestB04APathHasOneVerdictInEverySpelling(t *testing.T) {
	secret := workspacetest.Attack{Files: map[string]string{"secrets/a": workspacetest.Secret, "src/": ""}}
	for _, e := range ways(t) {
		w := workspacetest.New(t, secret, false)
		r := attacked(t, w)
		before := w.Outside(t)
		for _, path := range []string{"secrets/a", "./secrets/a", w.Dir + "/secrets/a", "src/../secrets/a"} {
			rep := r.fails(t, e.tool, e.args(path), string(workspacetest.Denied))
			if rep.outcome.Call != "" {
				t.Errorf("%v began with %s", e, path)
			}
		}
		if rep := r.call(t, e.tool, e.args("$PWD/secrets/a")); strings.Contains(fmt.Sprint(rep.value, rep.err), workspacetest.Secret) {
			t.Errorf("%v: %v %v", e, rep.value, rep.err)
		}
		if w.Outside(t) != before {
			t.Errorf("%v changed the secret", e)
		}
	}
}

// FAULTS B25: the link could not be resolved, the path was taken as it stood, and
// the write followed the link out.
func TestB25AWriteDoesNotFollowADanglingLink(t *testing.T) {
	for _, e := range ways(t) {
		w := workspacetest.New(t, workspacetest.Attack{Files: map[string]string{"l": "-> %OUT/new", "m": "-> drafts/new"}}, false)
		r := attacked(t, w)
		r.fails(t, e.tool, e.args("l"), string(workspacetest.Outside))
		r.fails(t, e.tool, e.args("m"), string(workspacetest.Link))
		for _, made := range []string{filepath.Join(w.Base, "out/new"), filepath.Join(w.Dir, "drafts/new")} {
			if _, err := os.Lstat(made); err == nil {
				t.Errorf("%v made %s", e, made)
			}
		}
	}
}

// swaps is what may stand where d/f was judged.
var swaps = map[string]struct {
	dir  bool // d itself is another
	swap func(t *testing.T, w workspacetest.World)
}{
	"the file by a link outside": {false, func(t *testing.T, w workspacetest.World) {
		must(t, os.Remove(w.Dir+"/d/f"))
		must(t, os.Symlink(w.Base+"/out/secret", w.Dir+"/d/f"))
	}},
	"the file by a link inside": {false, func(t *testing.T, w workspacetest.World) {
		must(t, os.Remove(w.Dir+"/d/f"))
		must(t, os.Symlink("../secrets/f", w.Dir+"/d/f"))
	}},
	"the file by a FIFO": {false, func(t *testing.T, w workspacetest.World) {
		must(t, os.Remove(w.Dir+"/d/f"))
		must(t, unix.Mkfifo(w.Dir+"/d/f", 0o644))
	}},
	"the directory by a link outside": {true, func(t *testing.T, w workspacetest.World) {
		must(t, os.Rename(w.Dir+"/d", w.Dir+"/gone"))
		must(t, os.WriteFile(w.Base+"/out/f", []byte(workspacetest.Secret), 0o644))
		must(t, os.Symlink("../out", w.Dir+"/d"))
	}},
	"the directory by a link inside": {true, func(t *testing.T, w workspacetest.World) {
		must(t, os.Rename(w.Dir+"/d", w.Dir+"/gone"))
		must(t, os.Symlink("secrets", w.Dir+"/d"))
	}},
	"the directory by a file": {true, func(t *testing.T, w workspacetest.World) {
		must(t, os.Rename(w.Dir+"/d", w.Dir+"/gone"))
		must(t, os.WriteFile(w.Dir+"/d", []byte("x"), 0o644))
	}},
}

// FAULTS M7: a path was checked, then used, and led elsewhere by then.
func TestM7ASwapBetweenJudgementAndUseIsRefused(t *testing.T) {
	for name, s := range swaps {
		for _, e := range ways(t) {
			t.Run(fmt.Sprintf("%s/%s-%s", name, e.tool, e.param), func(t *testing.T) {
				w := workspacetest.New(t, workspacetest.Attack{Files: map[string]string{"d/f": "inside i\n", "secrets/f": workspacetest.Secret}}, false)
				r := attacked(t, w)
				path, touched := "d/f", true
				switch {
				case e.tool == "fs_list" || e.tool == "fs_search":
					path, touched = "d", s.dir && name != "the directory by a file" // which can be walked as well
				case e.param == "to" || e.rest["old"] == "":
					path, touched = "d/new", s.dir
				}
				var before string
				r.run.Journal = swapping{r.journal, func() { s.swap(t, w); before = w.Outside(t) }}
				r.open(t)
				rep := r.call(t, e.tool, e.args(path))
				if before == "" || touched && rep.err == nil {
					t.Errorf("it began: %v; it went through: %v", before != "", rep.value)
				}
				if strings.Contains(fmt.Sprint(rep.value, rep.err), workspacetest.Secret) {
					t.Errorf("read %v %v", rep.value, rep.err)
				}
				if w.Outside(t) != before {
					t.Error("what lies outside was changed")
				}
			})
		}
	}
}

// What may not be read cannot be had by giving it, or what holds it, another name.
func TestARenameDoesNotOpenWhatIsDenied(t *testing.T) {
	w := workspacetest.New(t, workspacetest.Attack{Files: map[string]string{"secrets/a": workspacetest.Secret, "keys/k.pem": workspacetest.Secret, "keys/readme": "x",
		"conf/.env": workspacetest.Secret, "deep/f": "x"}}, false)
	r := attacked(t, w)
	before := w.Outside(t)
	for _, m := range []struct{ path, to, want string }{
		{"secrets", "open", string(workspacetest.Denied)},
		{"secrets/a", "open", string(workspacetest.Denied)},
		{"other", "secrets/b", string(workspacetest.Denied)},
		{"other", "k.pem", string(workspacetest.Denied)},
		{"keys", "open", "the directory holds such a file"},
		{"conf", "open", "the directory holds such a file"},
		{"deep", "private", string(workspacetest.Denied)},
		{"hooks", "open", string(workspacetest.ReadOnly)},
		{"other", "hooks/pre.sh", string(workspacetest.ReadOnly)},
		{"policy/p.yaml", "p", string(workspacetest.ReadOnly)},
		{".", "drafts/all", string(workspacetest.ReadOnly)},
		{"drafts", "drafts/itself/x", "invalid argument"},
	} {
		r.fails(t, "fs_move", args{"path": m.path, "to": m.to}, m.want)
	}
	for _, a := range []args{{"path": "keys"}, {"path": "conf"}} { // empty, as far as it may be seen
		r.fails(t, "fs_delete", a, "not empty")
	}
	if w.Outside(t) != before {
		t.Error("something was changed")
	}
}

// A directory full of names, and a tree that is too deep, end in an error or a
// note, not in a result that nobody can read.
func TestBombsOfNamesAreBounded(t *testing.T) {
	r := newRig(t, setup{space: workspace.Config{Writable: []string{"**"}}})
	for i := range 3000 {
		must(t, os.WriteFile(filepath.Join(r.dir, fmt.Sprintf("%s%04d", strings.Repeat("ü", 120), i)), nil, 0o644))
	}
	r.fails(t, "fs_list", args{}, "more than 2000 entries")
	r.fails(t, "fs_list", args{"glob": "**"}, "more than 2000 files match")
	deep := r.dir
	for range 200 {
		deep = filepath.Join(deep, "d")
	}
	must(t, os.MkdirAll(deep, 0o755))
	found := names(t, r.value(t, "fs_search", args{"pattern": "x", "path": "d"}))
	if found != ":0" {
		t.Errorf("searched a deep tree: %s", found)
	}
	r.fails(t, "fs_move", args{"path": "d", "to": "e"}, "not all of it could be walked")
}
