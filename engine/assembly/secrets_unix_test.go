//go:build unix

package assembly_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/codeact-dev/codeact/engine/assembly"
)

// A secret that cannot be had, or not be told from ordinary text, is named with what
// was tried; no value is.
func TestSecretsThatCannotBeHad(t *testing.T) {
	long := strings.Repeat("x", 70_000)
	for _, test := range []struct{ name, secret, want string }{
		{"a variable that is not set", "S", "secret S: the environment variable S is not set"},
		{"a short one", "{name: S, env: SHORT}", "secret S: 1 bytes are too short to be told from ordinary text"},
		{"a word", "{name: S, env: WORD}", "secret S: it is a word of ordinary text"},
		{"always the same", "{name: S, env: SAME}", "secret S: it has only 1 different characters"},
		{"no file", "{name: S, file: none.txt}", "none.txt: no such file"},
		{"an empty file", "{name: S, file: empty.txt}", "empty.txt is empty"},
		{"a large file", "{name: S, file: large.txt}", "large.txt has more than 65536 bytes"},
		{"a directory", "{name: S, file: .}", " is no regular file"},
		{"a pipe", "{name: S, file: pipe}", "pipe is no regular file"},
		{"a file that others may read", "{name: S, file: open.txt}", "open.txt may be read by others: chmod 600 it"},
		{"behind a link too", "{name: S, file: link-open}", "link-open may be read by others: chmod 600 it"},
		{"a file of somebody else", "{name: S, file: theirs.txt}", "theirs.txt belongs to another user"},
		{"a command that fails", "{name: S, command: [sh, -c, 'echo hunter-22-hunter; echo no hunter-22-hunter of value-of-KNOWN >&2; exit 1']}",
			"command sh: it ended with exit status 1: it said: no [redacted] of [redacted:known-secret]"},
		{"a command that is not there", "{name: S, command: [no-such-program-anywhere]}", "command no-such-program-anywhere: start: "},
		{"a command that prints nothing", "{name: S, command: ['true']}", "command true: it printed nothing"},
		{"a command that prints little", "{name: S, command: [echo, abc]}", "secret S: 3 bytes are too short"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPlace(t, head+ws+final+"secrets: [KNOWN, "+test.secret+"]\n", map[string]string{"empty.txt": "\n", "large.txt": long, "open.txt": "hunter-22-hunter", "theirs.txt": "hunter-22-hunter"})
			for name, mode := range map[string]os.FileMode{"empty.txt": 0o600, "large.txt": 0o600, "open.txt": 0o640, "theirs.txt": 0o600} {
				if err := os.Chmod(filepath.Join(p.dir, name), mode); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(os.Chown(filepath.Join(p.dir, "theirs.txt"), 65534, 65534), os.Symlink("open.txt", filepath.Join(p.dir, "link-open")),
				syscall.Mkfifo(filepath.Join(p.dir, "pipe"), 0o600)); err != nil {
				t.Fatal(err)
			}
			set := func(o *assembly.Options) {
				env("KNOWN")(o)
				inner := o.Env
				o.Env = func(name string) (string, bool) {
					if v, ok := map[string]string{"SHORT": "a", "WORD": "Changeme", "SAME": "xxxxxxxx"}[name]; ok {
						return v, true
					}
					return inner(name)
				}
			}
			_, err := p.open(t, set)
			if errors.Is(err, assembly.ErrPrecondition) {
				digest := p.digest(t)
				_, err = p.open(t, func(o *assembly.Options) { set(o); o.Trust = digest })
			}
			if !errors.Is(err, assembly.ErrCredential) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hunter-22-hunter") {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}
