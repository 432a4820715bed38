package hooks_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/codeact-dev/codeact/bridge/hooks"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script writes an executable shell script and returns its path relative to dir.
func script(t testing.TB, dir, name, body string) string {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return "./" + name
}

func compile(t testing.TB, dir string, hs ...hooks.Hook) *hooks.Set {
	t.Helper()
	s, err := hooks.Compile(hs, dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCompileReportsEveryFaultAtOnce(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "plain"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := hooks.Compile([]hooks.Hook{
		{Event: "PreToolUs", Command: "true"},
		{Event: "PreToolUse", Command: "true", Matcher: "a("},
		{Event: "PreToolUse", Command: "true", Matcher: "a)|(?:b"},
		{Event: "PreToolUse", Command: "true", Timeout: 601 * time.Second},
		{Event: "PreToolUse", Command: "true", Timeout: -1},
		{Event: "PreToolUse", Command: "true", OnFailure: "allow"},
		{Event: "PreToolUse", Command: " "},
		{Event: "PreToolUse", Command: "./missing.sh"},
		{Event: "PreToolUse", Command: "./plain"},
		{Event: "PreToolUse", Command: "A=1 B=2 './plain' x"},
		{Event: "PreToolUse", Command: `"$CLAUDE_PROJECT_DIR/gone.sh" x`},
		{Event: "PreToolUse", Command: "./plain", Args: []string{}},
		{Event: "PreToolUse", Command: "no-such-program-anywhere", Args: []string{}},
		{Event: "PreToolUse", Command: dir, Args: []string{}},
		{Event: "PreToolUse", Name: "fine", Command: "exit 0"},
		{Event: "PreToolUse", Name: "fine", Command: "$HOME/unknown.sh"},
	}, dir)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"PreToolUs[0] true: event", "[1] true: matcher", "[2] true: matcher", "[3] true: timeout", "[4] true: timeout", "[5] true: onFailure",
		"[6]  : command: is empty", "missing.sh", "[8] ./plain: command", "chmod +x", "[9]", "gone.sh", "[11]", "no-such-program", "[13]", "not a file",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "fine") {
		t.Errorf("a good hook was refused:\n%v", err)
	}
}

func TestCompileNeedsTheDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, file + "-missing"} {
		if _, err := hooks.Compile(nil, dir); err == nil || !strings.HasPrefix(err.Error(), "hooks: directory: ") {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestMatcherIsAnchored(t *testing.T) {
	names := func(hs []hooks.Hook) (out []string) {
		for _, h := range hs {
			out = append(out, h.Name)
		}
		return out
	}
	s := compile(t, t.TempDir(),
		hooks.Hook{Event: "PreToolUse", Name: "all", Command: "true"},
		hooks.Hook{Event: "PreToolUse", Name: "star", Matcher: "*", Command: "true"},
		hooks.Hook{Event: "PreToolUse", Name: "two", Matcher: "fs_write|mail_.*", Command: "true"},
		hooks.Hook{Event: "PreToolUse", Name: "comma", Matcher: "fs_write,fs_edit", Command: "true"},
		hooks.Hook{Event: "PostToolUse", Name: "post", Matcher: "fs_write", Command: "true"},
		hooks.Hook{Event: "Notification", Name: "note", Command: "true"},
	)
	for _, tt := range []struct {
		event, tool string
		want        []string
	}{
		{"PreToolUse", "fs_write", []string{"all", "star", "two"}},
		{"PreToolUse", "mail_send", []string{"all", "star", "two"}},
		{"PreToolUse", "xfs_write", []string{"all", "star"}},
		{"PreToolUse", "fs_write2", []string{"all", "star"}},
		{"PostToolUse", "fs_write", []string{"post"}},
		{"RunEnd", "", nil},
	} {
		if d := cmp.Diff(tt.want, names(s.Match(tt.event, tt.tool))); d != "" {
			t.Errorf("%s %s: %s", tt.event, tt.tool, d)
		}
	}
	if d := cmp.Diff([]string{"comma"}, names(s.Unmatched([]string{"fs_write", "fs_edit"}))); d != "" {
		t.Error(d)
	}
}
