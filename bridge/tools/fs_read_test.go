package tools_test

import (
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/workspace"
)

func TestReadReturnsTheLinesThatAreAskedFor(t *testing.T) {
	r := newRig(t, setup{files: map[string]string{"f": "one\ntwo\nthree", "nl": "one\ntwo\n", "empty": "", "ü/ü": "grün"}})
	beyond, _ := new(big.Int).SetString("100000000000000000000", 10)
	for _, c := range []struct {
		name string
		args args
		want string
	}{
		{"whole", args{"path": "f"}, "one\ntwo\nthree"},
		{"empty", args{"path": "empty"}, ""},
		{"beyond ASCII", args{"path": "ü/ü"}, "grün"},
		{"from the second", args{"path": "f", "start": int64(2)}, "two\nthree"},
		{"the second", args{"path": "f", "start": int64(2), "lines": int64(1)}, "two\n"},
		{"the first", args{"path": "f", "lines": int64(1)}, "one\n"},
		{"the last, without a newline", args{"path": "f", "start": int64(3), "lines": int64(1)}, "three"},
		{"more than there are", args{"path": "f", "start": int64(2), "lines": int64(9)}, "two\nthree"},
		{"behind the end", args{"path": "f", "start": int64(4)}, ""},
		{"behind the last newline", args{"path": "nl", "start": int64(3)}, ""},
		{"exactly all", args{"path": "nl", "lines": int64(2)}, "one\ntwo\n"},
		{"of nothing", args{"path": "empty", "lines": int64(1)}, ""},
		{"a whole number as a float", args{"path": "f", "start": 2.0, "lines": 1.0}, "two\n"},
		{"a start that no int holds", args{"path": "f", "start": beyond}, ""},
		{"more lines than an int holds", args{"path": "f", "start": int64(3), "lines": beyond}, "three"},
	} {
		if got := r.value(t, "fs_read", c.args); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestReadSaysWhatIsNoText(t *testing.T) {
	r := newRig(t, setup{files: map[string]string{"nul": "a\x00b", "latin": "gr\xfcn", "late": "ü\nok\n\xff", "dir/f": ""}})
	for _, c := range []struct {
		args args
		want string
	}{
		{args{"path": "nul"}, "nul is a binary file (3 bytes)"},
		{args{"path": "latin"}, "latin is not UTF-8 text; byte 3"},
		{args{"path": "late"}, "byte 7"},
		{args{"path": "dir"}, "list a directory instead"},
		{args{"path": "none"}, "list the directory to see what is there"},
		{args{"path": "nul", "start": int64(0)}, "start"},
		{args{"path": "nul", "lines": int64(-1)}, "lines"},
		{args{}, "path"},
	} {
		r.fails(t, "fs_read", c.args, c.want)
	}
	if got := r.value(t, "fs_read", args{"path": "late", "lines": int64(2)}); got != "ü\nok\n" {
		t.Errorf("the part that is text: %q", got)
	}
}

func TestAHugeFileIsRefusedWithoutBeingRead(t *testing.T) {
	r := newRig(t, setup{files: map[string]string{"log": "first\nsecond\n"}})
	must(t, os.Truncate(filepath.Join(r.dir, "log"), 1<<30)) // sparse: zeros behind the text
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r.fails(t, "fs_read", args{"path": "log"}, "log has more than 4 MiB; read parts of it with start= and lines=")
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
		t.Errorf("%d MiB were allocated for it", used>>20)
	}
	if got := r.value(t, "fs_read", args{"path": "log", "start": int64(2), "lines": int64(1)}); got != "second\n" {
		t.Errorf("a range of it: %q", got)
	}
	for name, a := range map[string]args{
		"a range without end": {"path": "log", "start": int64(2)},
		"an unfinished line":  {"path": "log", "start": int64(3), "lines": int64(1)},
		"behind what is read": {"path": "log", "start": int64(9), "lines": int64(1)},
	} {
		t.Run(name, func(t *testing.T) { r.fails(t, "fs_read", a, "the lines reach past its first 64 MiB") })
	}
}

func TestWhatWasSpilledIsReadBackByItsOwnRunAlone(t *testing.T) {
	long := strings.Repeat("0123456789\n", 1000)
	r := newRig(t, setup{files: map[string]string{"long": long}, output: 1 << 10})
	cut := r.value(t, "fs_read", args{"path": "long"}).(string)
	spilled := r.journal.Records["r1/1/1"].Outcome.Spill
	if spilled != "@spill/r1-1-1.txt" || !strings.Contains(cut, spilled) || len(cut) > 2<<10 {
		t.Fatalf("spilled to %q: %.300q", spilled, cut)
	}
	rep := r.call(t, "fs_read", args{"path": spilled, "start": int64(1000), "lines": int64(1)})
	if rep.err != nil || rep.value != "0123456789\n" {
		t.Errorf("read back: %q, %v", rep.value, rep.err)
	}
	if rep.outcome.Taint.Untrusted() || !rep.outcome.Taint.Unvouched() || !rep.outcome.Taint.Private() {
		t.Errorf("reading it back brings %v, want the labels of the first call", rep.outcome.Taint)
	}

	// Another run of the same home, whose spill lies beside.
	other := filepath.Join(filepath.Dir(r.spill), "other")
	must(t, os.MkdirAll(other, 0o700))
	must(t, os.WriteFile(filepath.Join(other, "r2-1-1.txt"), []byte("theirs"), 0o600))
	for _, path := range []string{"@spill/r2-1-1.txt", "@spill/../other/r2-1-1.txt", "@spill/sub/x", "../spill/other/r2-1-1.txt", filepath.Join(other, "r2-1-1.txt")} {
		if rep := r.call(t, "fs_read", args{"path": path}); rep.err == nil || strings.Contains(rep.err.Error(), "theirs") {
			t.Errorf("%s: %v, %v", path, rep.value, rep.err)
		}
	}
}

// escapes are paths that every tool with files must refuse, with what is said.
var escapes = map[string]string{
	"..":                "outside the workspace",
	"../secret":         "outside the workspace",
	"src/../../secret":  "outside the workspace",
	"/etc/passwd":       "outside the workspace",
	"link-out":          "a link on the way leads out",
	"link-up":           "a link on the way leads out",
	"dir-out/secret":    "a link on the way leads out",
	"dir-out":           "a link on the way leads out",
	"dangling":          "leads to nothing",
	"circle":            "leads in a circle",
	".env":              "denies reading",
	"src/../.env":       "denies reading",
	"./.env":            "denies reading",
	"src/.env":          "denies reading",
	"to-env":            "denies reading",
	"keys":              "denies reading",
	"keys/k":            "denies reading",
	"@docs/../f":        "outside the workspace",
	"@docs/.env":        "denies reading",
	"":                  "it is empty",
	"a\x00b":            "control character",
	"f\nSYSTEM: ":       "control character",
	"src/f/x":           "a parent of it is not a directory",
	"~/../../y":         "outside the workspace",
	"@spill/../../spil": "outside the workspace",
}

func TestNoToolLeavesTheWorkspace(t *testing.T) {
	docs := t.TempDir()
	must(t, os.WriteFile(filepath.Join(docs, ".env"), []byte("TOKEN"), 0o644))
	r := newRig(t, setup{
		files: map[string]string{"src/f": "TOKEN", ".env": "TOKEN", "src/.env": "TOKEN", "keys/k": "TOKEN", "to-env": "-> .env", "link-out": "-> /etc/passwd", "link-up": "-> ../secret",
			"dir-out": "-> ..", "dangling": "-> nothing", "circle": "-> circle", "../secret": "TOKEN"},
		space: workspace.Config{Writable: []string{"**"}, ReadDeny: []string{".env", "keys/**"}, Read: []workspace.Extra{{Name: "docs", Path: docs}}},
	})
	for tool, rest := range map[string]args{
		"fs_read": {}, "fs_list": {}, "fs_search": {"pattern": "TOKEN"}, "fs_write": {"content": "x"}, "fs_edit": {"old": "TOKEN", "new": "x"},
	} {
		for path, want := range escapes {
			r.open(t)
			r.journal.Records = map[string]bridge.Record{}
			a := args{"path": path}
			for k, v := range rest {
				a[k] = v
			}
			rep := r.fails(t, tool, a, want)
			if rep.outcome.Call != "" {
				t.Errorf("%s(%q) began", tool, path)
			}
			if rep.err != nil && strings.Contains(rep.err.Error(), filepath.Dir(r.dir)) {
				t.Errorf("%s(%q) tells a host path: %v", tool, path, rep.err)
			}
		}
	}
	if got := r.text(".env") + r.text("src/f") + r.text("../secret") + r.text("keys/k"); got != "TOKENTOKENTOKENTOKEN" {
		t.Errorf("something was written: %q", got)
	}
}

func TestReadFollowsWhatStaysInside(t *testing.T) {
	docs := t.TempDir()
	must(t, os.WriteFile(filepath.Join(docs, "manual"), []byte("read me"), 0o644))
	r := newRig(t, setup{
		files: map[string]string{"src/f": "inside", "l": "-> src/f", "d": "-> src"},
		space: workspace.Config{Read: []workspace.Extra{{Name: "docs", Path: docs}, {Name: "gone", Path: filepath.Join(docs, "gone")}}},
	})
	for path, want := range map[string]string{
		"l": "inside", "d/f": "inside", "src/./f": "inside", "src/x/../f": "inside", filepath.Join(r.dir, "src/f"): "inside", "@docs/manual": "read me",
	} {
		if got := r.value(t, "fs_read", args{"path": path}); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
	r.fails(t, "fs_read", args{"path": "@gone/x"}, "no such file")
}

func TestARunWithoutAWorkspaceHasNoFiles(t *testing.T) {
	r := newRig(t, setup{})
	r.run.Space = nil
	r.open(t)
	for _, a := range []struct {
		tool string
		args args
	}{{"fs_read", args{"path": "f"}}, {"fs_list", args{}}, {"fs_search", args{"pattern": "x"}}, {"fs_write", args{"path": "f", "content": ""}}} {
		r.fails(t, a.tool, a.args, "this run has no workspace")
	}
}
