package assembly_test

import (
	"path/filepath"
	"testing"

	"github.com/codeact-dev/codeact/engine"
)

const moveTask = `apiVersion: codeact.dev/v1
kind: Task
metadata: {name: move}
goal: Tidy up drafts and vendor.
workspace: {dir: ws, writable: ["**"], untrusted: ["vendor/**"]}
tools: {builtin: [fs_read, fs_write, fs_edit, fs_move, fs_delete], mock: tools.yaml}
model:
  provider: scripted
  script:
    - code: |
        fs_move(path="vendor/lib/v", to="src/v")
        text = page()
        fs_write(path="page.txt", content=text)
        fs_move(path="page.txt", to="d/moved.txt")
        fs_edit(path="d/moved.txt", old="words", new="very words")
        fs_move(path="d", to="e")
        fs_write(path="line.txt", content=fs_read(path="e/moved.txt", lines=1))
        fs_move(path="note.txt", to="renamed.txt")
        fs_delete(path="old.txt")
        final("done")
`

// The label of a third party's bytes holds in every later run, wherever this one put
// them; a file of the user's own that only got another name stays his.
func TestALaterRunKnowsWhatAnEarlierOneMoved(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"move.yaml": moveTask, "tools.yaml": fetchTools, "ws/note.txt": "the user's", "ws/old.txt": "old", "ws/vendor/lib/v": "a library's"} {
		write(t, filepath.Join(dir, name), text)
	}
	if o := do(t, filepath.Join(dir, "move.yaml"), home, func(engine.Event) {}); o.Status != engine.Completed {
		t.Fatalf("the first run: %+v", o)
	}
	for file, want := range map[string]bool{"src/v": true, "e/moved.txt": true, "line.txt": true, "renamed.txt": false} {
		if got := reads(t, dir, home, file); got.Untrusted() != want {
			t.Errorf("%s: a later run holds %v, want untrusted: %v", file, got, want)
		}
	}
}
