package hooks_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/codeact-dev/codeact/bridge/hooks"
)

func TestReadValue(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("CODEACT_TEST_SECRET", "hunter22")
	file := script(t, dir, "get.sh", `printf '%s\n\n' "from-$1"`)
	for _, tt := range []struct {
		name string
		argv []string
		want string // the text, or a part of the error
		ok   bool
	}{
		{"a value without its last newlines", []string{"printf", "a b\\n \\r\\n"}, "a b\n ", true},
		{"a program by its path", []string{file, "vault"}, "from-vault", true},
		{"in the given directory", []string{"sh", "get.sh", "disk"}, "from-disk", true},
		{"no shell", []string{"echo", "$HOME"}, "$HOME", true},
		{"none of our variables", []string{"sh", "-c", "echo \"<$CODEACT_TEST_SECRET>\""}, "<>", true},
		{"no terminal", []string{"sh", "-c", "(: </dev/tty) 2>/dev/null && echo tty || echo none"}, "none", true},
		{"no command", nil, "the command is empty", false},
		{"an empty command", []string{""}, "the command is empty", false},
		{"an unknown program", []string{"no-such-program-anywhere"}, "start: ", false},
		{"a failure", []string{"sh", "-c", "echo value; echo why >&2; exit 3"}, "it ended with exit status 3", false},
		{"a signal", []string{"sh", "-c", "kill -9 $$"}, "it ended with signal: killed", false},
		{"nothing", []string{"printf", "\\n"}, "it printed nothing", false},
		{"too much", []string{"head", "-c", "70000", "/dev/zero"}, "more than 65536 bytes", false},
		{"a child that holds the output", []string{"sh", "-c", "echo value; sleep 30 &"}, "a process that it left behind", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v, err := hooks.Read(t.Context(), tt.argv, dir, time.Minute)
			switch {
			case (err == nil) != tt.ok:
				t.Errorf("%+v, %v", v, err)
			case tt.ok && v.Text != tt.want:
				t.Errorf("%q, want %q", v.Text, tt.want)
			case !tt.ok && !strings.Contains(err.Error(), tt.want):
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
	if v, err := hooks.Read(t.Context(), []string{"sh", "-c", "echo why >&2; exit 3"}, dir, time.Minute); err == nil || v.Stderr != "why" || strings.Contains(err.Error(), "why") {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := hooks.Read(t.Context(), []string{"sh", "-c", "echo value; exec sleep 30"}, dir, 100*time.Millisecond); err == nil || err.Error() != "timeout: no answer within 100ms" {
		t.Errorf("a command that hangs: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := hooks.Read(ctx, []string{"echo", "x"}, dir, time.Minute); err == nil {
		t.Error("a cancelled command gave a value")
	}
	if err := os.Remove(dir + "/get.sh"); err != nil {
		t.Fatal(err)
	}
	if _, err := hooks.Read(t.Context(), []string{file}, dir, time.Minute); err == nil {
		t.Error("a program that is not there gave a value")
	}
}
