package tools_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/bridge/workspace"
)

func TestWriteReplacesWholeFilesWhereItMay(t *testing.T) {
	r := newRig(t, setup{files: map[string]string{"drafts/old": "a long old text", "notes": "n"}, space: workspace.Config{Writable: []string{"drafts/**"}}})
	for path, text := range map[string]string{"drafts/new": "grün\n", "drafts/a/b/c": "deep", "drafts/old": "short", "drafts/empty": "", "drafts/./x/../y": "y"} {
		if got := r.value(t, "fs_write", args{"path": path, "content": text}); got != int64(len(text)) {
			t.Errorf("%s: %v bytes", path, got)
		}
		if got := r.text(path); got != text {
			t.Errorf("%s holds %q", path, got)
		}
	}
	for _, path := range []string{"notes", "new", "drafts", ".", "draftsx/f"} {
		r.fails(t, "fs_write", args{"path": path, "content": "x"}, "not writable; write below a directory that the task lists as writable")
	}
	r.fails(t, "fs_write", args{"path": "drafts/f"}, "content")
	r.fails(t, "fs_write", args{"path": "drafts/a", "content": "x"}, "only files are written")
	if r.text("notes") != "n" {
		t.Error("a file outside writable was changed")
	}
	left, err := filepath.Glob(filepath.Join(r.dir, "drafts", ".*"))
	if err != nil || left != nil {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestWhatConfiguresTheRunIsNotWritten(t *testing.T) {
	dir := t.TempDir()
	docs := workspace.Extra{Name: "docs", Path: dir}
	must(t, os.WriteFile(filepath.Join(dir, "manual"), []byte("m"), 0o644))
	r := newRig(t, setup{files: map[string]string{"task.yaml": "goal: work", "own": "x", "l": "-> own", "to-task": "-> task.yaml"},
		space: workspace.Config{Writable: []string{"**"}, Read: []workspace.Extra{docs}, Protected: []string{"/nowhere/policy.yaml"}}})
	must(t, os.Link(filepath.Join(r.dir, "own"), filepath.Join(r.dir, "../outside")))
	// The workspace's own directory is known only now.
	space, _, err := workspace.Open(workspace.Config{Dir: r.dir, Writable: []string{"**"}, Read: []workspace.Extra{docs}, Protected: []string{filepath.Join(r.dir, "task.yaml")}})
	must(t, err)
	t.Cleanup(func() { space.Close() })
	r.run.Space = space
	r.open(t)
	for path, want := range map[string]string{
		"task.yaml":     "not writable",
		"to-task":       "not writable",
		"own":           "it is a hard link",
		"l":             "it is a hard link",
		"@docs/manual":  "not writable",
		"@docs/new":     "not writable",
		"@spill/x":      "not writable",
		"task.yaml/x":   "not a directory",
		"own/../@docs/": "another root",
	} {
		r.fails(t, "fs_write", args{"path": path, "content": "goal: obey"}, want)
	}
	if r.text("task.yaml") != "goal: work" || r.text("own") != "x" {
		t.Error("it was written all the same")
	}
}

func TestWritingAsksWithWhatItWouldChange(t *testing.T) {
	r := newRig(t, setup{files: map[string]string{"f": "one\ntwo\n", "same": "s\n", "bin": "\x00"}, space: workspace.Config{Writable: []string{"**"}}, ask: true})
	for _, c := range []struct {
		name, tool string
		args       args
		want       []string
	}{
		{"a new file", "fs_write", args{"path": "new", "content": "x\n"}, []string{"--- /dev/null\n", "+++ new\n", "\n+x\n"}},
		{"a file that is replaced", "fs_write", args{"path": "f", "content": "one\n2\n"}, []string{"--- f\n", "\n-two\n+2\n"}},
		{"an edit", "fs_edit", args{"path": "f", "old": "one", "new": "1"}, []string{"--- f\n", "\n-one\n+1\n", "\n 2\n"}},
		{"no change", "fs_write", args{"path": "same", "content": "s\n"}, nil},
	} {
		r.asked = nil
		r.value(t, c.tool, c.args)
		if len(r.asked) != 1 {
			t.Fatalf("%s: %d questions", c.name, len(r.asked))
		}
		diff := r.asked[0].Diff
		if c.want == nil && diff != "" {
			t.Errorf("%s: %q", c.name, diff)
		}
		for _, w := range c.want {
			if !strings.Contains(diff, w) {
				t.Errorf("%s: %q is not in\n%s", c.name, w, diff)
			}
		}
	}
	r.asked = nil
	r.fails(t, "fs_write", args{"path": "bin", "content": "x"}, "bin is a binary file")
	r.fails(t, "fs_edit", args{"path": "f", "old": "none", "new": "1"}, "does not stand in the file")
	r.fails(t, "fs_edit", args{"path": "none", "old": "x", "new": "1"}, "no such file")
	if r.asked != nil {
		t.Errorf("a person was asked about a change that cannot be shown: %v", r.asked)
	}
	if got := r.text("f"); got != "1\n2\n" {
		t.Errorf("f holds %q", got)
	}
}

func edits(pairs ...string) []any {
	var list []any
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, args{"old": pairs[i], "new": pairs[i+1]})
	}
	return list
}

func TestEditReplacesTextThatStandsThereOnce(t *testing.T) {
	const text = "alpha beta gamma beta aaa"
	for _, c := range []struct {
		name string
		args args
		want string // the file; else
		err  string
	}{
		{name: "one", args: args{"old": "alpha", "new": "ALPHA"}, want: "ALPHA beta gamma beta aaa"},
		{name: "removing", args: args{"old": " gamma", "new": ""}, want: "alpha beta beta aaa"},
		{name: "several, each on what the ones before left", args: args{"edits": edits("alpha beta", "delta", "beta", "BETA", "delta", "d")}, want: "d gamma BETA aaa"},
		{name: "what is put in is no pattern", args: args{"old": "gamma", "new": "$1 beta ${0}"}, want: "alpha beta $1 beta ${0} beta aaa"},
		{name: "none", args: args{"old": "omega", "new": "x"}, err: "edit 1: old does not stand in the file; read it again"},
		{name: "twice", args: args{"old": "beta", "new": "x"}, err: "edit 1: old stands in the file more than once; give more of the text around it"},
		{name: "twice, one over the other", args: args{"old": "aa", "new": "x"}, err: "more than once"},
		{name: "empty", args: args{"old": "", "new": "x"}, err: "edit 1: old is empty, and the file is not; give the text to replace"},
		{name: "empty, later", args: args{"edits": edits("alpha", "x", "", "y")}, err: "edit 2: old is empty"},
		{name: "the second fails, so nothing is written", args: args{"edits": edits("alpha", "x", "alpha", "y")}, err: "edit 2: old does not stand"},
		{name: "both forms", args: args{"old": "alpha", "new": "x", "edits": edits("beta gamma", "y")}, err: "give either old and new, or edits"},
		{name: "edits beside new", args: args{"new": "x", "edits": edits("alpha", "y")}, err: "give either"},
		{name: "neither form", args: args{}, err: "give either"},
		{name: "old without new", args: args{"old": "alpha"}, err: "to remove text give new as an empty text"},
		{name: "new without old", args: args{"new": "alpha"}, err: "give either"},
		{name: "no edits", args: args{"edits": []any{}}, err: "edits"},
		{name: "an edit without new", args: args{"edits": []any{args{"old": "alpha"}}}, err: "new"},
		{name: "an edit with more", args: args{"edits": []any{args{"old": "alpha", "new": "x", "all": true}}}, err: "all"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, setup{files: map[string]string{"f": text}, space: workspace.Config{Writable: []string{"**"}}})
			c.args["path"] = "f"
			want := c.want
			if c.err != "" {
				r.fails(t, "fs_edit", c.args, c.err)
				want = text
			} else if got := r.value(t, "fs_edit", c.args); got != int64(len(want)) {
				t.Errorf("%v bytes, want %d", got, len(want))
			}
			if got := r.text("f"); got != want {
				t.Errorf("the file holds %q, want %q", got, want)
			}
		})
	}
}

func TestEditLeavesAloneWhatItCannotRead(t *testing.T) {
	r := newRig(t, setup{files: map[string]string{"bin": "a\x00", "big": "a", "fixed": "a"}, space: workspace.Config{Writable: []string{"big", "bin", "none"}}})
	must(t, os.Truncate(filepath.Join(r.dir, "big"), 5<<20))
	for path, want := range map[string]string{"bin": "is a binary file", "big": "big has more than 4 MiB, which is not edited", "fixed": "not writable", "none": "no such file"} {
		r.fails(t, "fs_edit", args{"path": path, "old": "a", "new": "b"}, want)
	}
}

// An old of "" begins a file, as people know it from such tools. It never replaces
// one.
func TestAnEditOfNothingBeginsAFile(t *testing.T) {
	r := newRig(t, setup{files: map[string]string{"empty": "", "full": "x"}, space: workspace.Config{Writable: []string{"**"}}})
	for path, a := range map[string]args{"new/f": {"old": "", "new": "text"}, "empty": {"old": "", "new": "text"}, "many": {"edits": edits("", "t.t", ".", "ex")}} {
		a["path"] = path
		if got := r.value(t, "fs_edit", a); got != int64(4) || r.text(path) != "text" {
			t.Errorf("%s: %v, %q", path, got, r.text(path))
		}
	}
	r.fails(t, "fs_edit", args{"path": "none", "old": "x", "new": "y"}, "no such file")
	r.fails(t, "fs_edit", args{"path": "none", "edits": edits("x", "y", "", "z")}, "no such file")
	r.fails(t, "fs_edit", args{"path": "full", "old": "", "new": "y"}, "old is empty, and the file is not")
	if r.text("full") != "x" || r.text("none") != "" {
		t.Errorf("full is %q, none %q", r.text("full"), r.text("none"))
	}
}

func TestAnEditSaysWhenOnlyTheLineEndsDiffer(t *testing.T) {
	r := newRig(t, setup{files: map[string]string{"f": "a\r\nb\r\n"}, space: workspace.Config{Writable: []string{"**"}}})
	r.fails(t, "fs_edit", args{"path": "f", "old": "a\nb", "new": "c"}, `its lines end in \r\n`)
	r.value(t, "fs_edit", args{"path": "f", "old": "a\r\nb", "new": "c"})
	if got := r.text("f"); got != "c\r\n" {
		t.Errorf("the file holds %q", got)
	}
}
