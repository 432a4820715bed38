package tools_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/bridgetest"
	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/interp"
)

func tree() map[string]string {
	return map[string]string{"a.go": "package a", "b.txt": "text", "src/c.go": "package c", "src/sub/d.go": "package d", "src/sub/e.md": "# e", ".env": "TOKEN",
		"src/.env": "TOKEN", "l": "-> a.go", ".hidden": "h"}
}

func TestListShowsWhatMayBeSeen(t *testing.T) {
	r := newRig(t, setup{files: tree(), space: workspace.Config{ReadDeny: []string{".env"}}})
	for _, c := range []struct {
		name string
		args args
		want string
	}{
		{"the workspace, by default", args{}, ".hidden a.go b.txt l src"},
		{"a directory", args{"path": "src"}, "c.go sub"},
		{"one level", args{"glob": "*.go"}, "a.go"},
		{"every level", args{"glob": "**/*.go"}, "a.go src/c.go src/sub/d.go"},
		{"everything, without links and what is denied", args{"glob": "**"}, ".hidden a.go b.txt src/c.go src/sub/d.go src/sub/e.md"},
		{"the pattern is below path", args{"path": "src", "glob": "*.go"}, "src/c.go"},
		{"the same, deep", args{"path": "src", "glob": "sub/*"}, "src/sub/d.go src/sub/e.md"},
		{"a file as path is held by its name", args{"path": "src/c.go", "glob": "*.go"}, "src/c.go"},
		{"a hidden file keeps its dot", args{"glob": ".h*"}, ".hidden"},
		{"alternatives", args{"glob": "**/*.{md,txt}"}, "b.txt src/sub/e.md"},
		{"what is denied", args{"glob": "**/.env"}, ""},
		{"none", args{"glob": "*.rs"}, ""},
	} {
		if got := names(t, r.value(t, "fs_list", c.args)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	first := r.value(t, "fs_list", args{"path": "src"}).([]any)
	if got := fmt.Sprint(first); got != "[map[dir:false name:c.go size:9] map[dir:true name:sub size:0]]" {
		t.Errorf("entries: %s", got)
	}
	r.fails(t, "fs_list", args{"glob": "["}, `glob "[" is not a pattern`)
	r.fails(t, "fs_list", args{"path": "a.go"}, "not a directory")
	r.fails(t, "fs_list", args{"path": "none"}, "no such file")
	r.fails(t, "fs_list", args{"path": "none", "glob": "*"}, "no such file")
}

func TestAListThatIsTooLongIsAnError(t *testing.T) {
	r := newRig(t, setup{})
	for i := range 2001 {
		must(t, os.WriteFile(filepath.Join(r.dir, fmt.Sprintf("f%04d", i)), nil, 0o644))
	}
	r.fails(t, "fs_list", args{}, "has more than 2000 entries; narrow it with glob=")
	r.fails(t, "fs_list", args{"glob": "*"}, "more than 2000 files match; narrow the pattern")
	must(t, os.Remove(filepath.Join(r.dir, "f2000")))
	for _, a := range []args{{}, {"glob": "*"}} {
		if n := len(r.value(t, "fs_list", a).([]any)); n != 2000 {
			t.Errorf("%v: %d entries", a, n)
		}
	}
}

// A walk has a greatest depth. What lies deeper is said to be missing.
func TestWhatAWalkDoesNotReachIsSaid(t *testing.T) {
	deep := strings.Repeat("d/", 70) + "f"
	r := newRig(t, setup{files: map[string]string{"a": "x", deep: "x"}})
	for tool, a := range map[string]args{"fs_list": {"glob": "**/[af]"}, "fs_search": {"pattern": "x"}} {
		list := r.value(t, tool, a).([]any)
		if len(list) != 2 {
			t.Fatalf("%s: %v", tool, list)
		}
		note := fmt.Sprint(list[1])
		if !strings.Contains(note, "[not everything is here: ") || !strings.Contains(note, "too big") {
			t.Errorf("%s: %s", tool, note)
		}
	}
}

// ending cancels a run when a call begins.
type ending struct {
	*bridgetest.Journal
	cancel context.CancelFunc
}

func (e ending) Begin(b bridge.Begun) error { e.cancel(); return e.Journal.Begin(b) }

func TestAWalkEndsWithItsRun(t *testing.T) {
	for tool, a := range map[string]args{"fs_list": {"glob": "**"}, "fs_search": {"pattern": "x"}} {
		r := newRig(t, setup{files: tree()})
		ctx, cancel := context.WithCancel(t.Context())
		r.run.Journal = ending{r.journal, cancel}
		r.open(t)
		v, err := r.door.Call(ctx, interp.Call{Tool: tool, Args: a, N: 1})
		if !errors.Is(err, context.Canceled) || v != nil || r.journal.Records["r1/1/1"].Outcome == nil {
			t.Errorf("%s: %v, %v; it is to end inside the tool", tool, v, err)
		}
	}
}
