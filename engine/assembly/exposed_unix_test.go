//go:build unix

package assembly_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/engine/assembly"
)

// The file of a secret that the run can read is no secret: whoever reads files could
// tell the model what it says, in whatever spelling.
func TestTheFileOfASecretLiesWhereTheRunCannotRead(t *testing.T) {
	const readable = "workspace: {dir: ws, read: [{path: docs, as: docs}]}\n"
	for name, c := range map[string]struct {
		workspace, file string
		refused         bool
	}{
		"beside the workspace":                {readable, "safe/key", false},
		"in the workspace":                    {readable, "ws/key", true},
		"deep in it":                          {readable, "ws/a/b/key", true},
		"by a detour":                         {readable, "docs/../ws/key", true},
		"in the task's directory, all of it":  {"workspace: {dir: .}\n", "safe/key", true},
		"in what it may also read":            {readable, "docs/key", true},
		"a link into the workspace":           {readable, "safe/in", true},
		"a link out of the workspace":         {readable, "ws/out", true},
		"behind a link to the workspace":      {readable, "way/key", true},
		"in a workspace behind a link":        {"workspace: {dir: way}\n", "ws/key", true},
		"beside one behind a link":            {"workspace: {dir: way}\n", "safe/key", false},
		"not there":                           {readable, "ws/none", true},
		"under a name that only begins alike": {readable, "ws2/key", false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, head+c.workspace+final+"secrets: [{name: S, file: "+c.file+"}]\n", nil)
			for _, key := range []string{"safe/key", "ws/key", "ws/a/b/key", "docs/key", "ws2/key"} {
				write(t, filepath.Join(p.dir, key), "hunter-22-hunter")
				if err := os.Chmod(filepath.Join(p.dir, key), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(os.Symlink("../ws/key", filepath.Join(p.dir, "safe/in")), os.Symlink("../safe/key", filepath.Join(p.dir, "ws/out")),
				os.Symlink("ws", filepath.Join(p.dir, "way"))); err != nil {
				t.Fatal(err)
			}
			r, err := p.open(t, nil)
			if err == nil {
				r.Close()
			}
			if !c.refused && err != nil || c.refused && (!errors.Is(err, assembly.ErrPrecondition) || !strings.Contains(err.Error(), "secret S: its file ")) {
				t.Errorf("refused: %v, want %v", err, c.refused)
			}
		})
	}
}
