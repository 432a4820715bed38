package tools_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/bridge/workspace"
)

func TestSearchFindsLines(t *testing.T) {
	files := tree()
	files["bin"], files["latin"], files["crlf"], files["empty"] = "package\x00", "package \xfc", "package x\r\nlast\r\n", ""
	r := newRig(t, setup{files: files, space: workspace.Config{ReadDeny: []string{".env"}}})
	for _, c := range []struct {
		name string
		args args
		want string
	}{
		{"everywhere, but not in what is no text", args{"pattern": "package"}, "a.go:1 crlf:1 src/c.go:1 src/sub/d.go:1"},
		{"below a directory", args{"pattern": "package", "path": "src/sub"}, "src/sub/d.go:1"},
		{"in one file", args{"pattern": "package", "path": "a.go"}, "a.go:1"},
		{"with a glob", args{"pattern": "package|#", "glob": "**/*.md"}, "src/sub/e.md:1"},
		{"an expression", args{"pattern": "^package [cd]$"}, "src/c.go:1 src/sub/d.go:1"},
		{"the end of a line that ends in CR LF", args{"pattern": "^last$"}, "crlf:2"},
		{"no line behind the last newline", args{"pattern": "^$", "path": "crlf"}, ""},
		{"what is denied", args{"pattern": "TOKEN"}, ""},
	} {
		if got := names(t, r.value(t, "fs_search", c.args)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	r.fails(t, "fs_search", args{"pattern": "("}, "pattern: error parsing regexp: missing closing )")
	r.fails(t, "fs_search", args{"pattern": "x", "glob": "{"}, `glob "{" is not a pattern`)
	r.fails(t, "fs_search", args{"pattern": "x", "context": int64(21)}, "context")
	r.fails(t, "fs_search", args{"pattern": "x", "path": "none"}, "no such file")
}

func TestSearchShowsTheLinesAround(t *testing.T) {
	r := newRig(t, setup{files: map[string]string{"f": "1\n2\n3 x\n4\n5\n", "edge": "x\n2\n"}})
	for _, c := range []struct {
		path   string
		around int
		want   string
	}{{"f", 1, "2\n3 x\n4"}, {"f", 2, "1\n2\n3 x\n4\n5"}, {"f", 20, "1\n2\n3 x\n4\n5\n"}, {"edge", 1, "x\n2"}} {
		found := r.value(t, "fs_search", args{"pattern": "x", "path": c.path, "context": int64(c.around)}).([]any)
		if m := found[0].(map[string]any); len(found) != 1 || m["context"] != c.want {
			t.Errorf("%s with %d lines: %v", c.path, c.around, found)
		}
	}
	if m := r.value(t, "fs_search", args{"pattern": "x", "path": "f"}).([]any)[0].(map[string]any); fmt.Sprint(m) != "map[line:3 path:f text:3 x]" {
		t.Errorf("without context: %v", m)
	}
}

func TestSearchIsBounded(t *testing.T) {
	r := newRig(t, setup{files: map[string]string{"500": strings.Repeat("x\n", 500), "other": "x", "long/line": strings.Repeat("ü", 5000)}})
	if n := len(r.value(t, "fs_search", args{"pattern": "x", "path": "500"}).([]any)); n != 500 {
		t.Errorf("%d matches", n)
	}
	r.fails(t, "fs_search", args{"pattern": "x"}, "more than 500 lines match; narrow the pattern")
	text := r.value(t, "fs_search", args{"pattern": "ü", "path": "long"}).([]any)[0].(map[string]any)["text"]
	if want := strings.Repeat("ü", 1600) + "…"; text != want {
		t.Errorf("a long line has %d bytes, want %d", len(text.(string)), len(want))
	}
}

// The cut at 8 MiB goes through a character here: a file that is cut so is text
// all the same.
func TestOnlyTheBeginningOfAHugeFileIsSearched(t *testing.T) {
	r := newRig(t, setup{})
	text := "needle\n" + strings.Repeat("ü", 4<<20) + "\nneedle\n"
	must(t, os.WriteFile(filepath.Join(r.dir, "huge"), []byte(text), 0o644))
	found := r.value(t, "fs_search", args{"pattern": "needle"}).([]any)
	if len(found) != 2 || names(t, found) != "huge:1 :0" {
		t.Fatalf("%.500v", found)
	}
	if note := found[1].(map[string]any)["text"]; note != "[not everything is here: huge was searched in its first 8 MiB only]" {
		t.Errorf("note: %v", note)
	}
}

// Among others a binary file is left out unsaid; where nothing else was searched,
// silence would read as if nothing had been found.
func TestASearchOfNoTextSaysSo(t *testing.T) {
	r := newRig(t, setup{files: map[string]string{"d/bin": "x\x00", "d/latin": "\xfc x", "d/sub/text": "y"}})
	for _, c := range []struct {
		args args
		want string
	}{
		{args{"pattern": "x", "path": "d/latin"}, "d/latin is not UTF-8 text"},
		{args{"pattern": "x", "path": "d", "glob": "*"}, "d/bin is a binary file"},
		{args{"pattern": "x", "path": "d"}, ""},
		{args{"pattern": "x", "path": "d", "glob": "none"}, ""},
	} {
		found := r.value(t, "fs_search", c.args).([]any)
		switch {
		case c.want == "" && len(found) > 0, c.want != "" && len(found) != 1:
			t.Errorf("%v: %v", c.args, found)
		case c.want != "" && !strings.Contains(fmt.Sprint(found), "[not everything is here: "+c.want):
			t.Errorf("%v: %v, want %q", c.args, found, c.want)
		}
	}
}
