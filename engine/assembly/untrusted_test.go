package assembly_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/engine"
	"github.com/codeact-dev/codeact/engine/assembly"
	"github.com/codeact-dev/codeact/engine/store"
	"github.com/codeact-dev/codeact/policy"
)

// yes is a person who agrees to everything.
type yes struct{}

func (yes) Approve(context.Context, bridge.Question) (bridge.Answer, error) {
	return bridge.Answer{Yes: true, By: "alice"}, nil
}

const (
	// fetchTask writes what came from outside into two files, and into a third
	// what it knew before.
	fetchTask = `apiVersion: codeact.dev/v1
kind: Task
metadata: {name: fetch}
goal: Keep the page in drafts/page.txt and write drafts/own.txt.
workspace: {dir: ws, writable: ["drafts/**"]}
tools: {builtin: [fs_write], mock: tools.yaml}
output: {file: out.json}
model:
  provider: scripted
  script:
    - code: |
        fs_write(path="drafts/own.txt", content="our own words")
        text = page()
        fs_write(path="drafts/page.txt", content=text)
        final(text)
`
	fetchTools = `apiVersion: codeact.dev/v1
kind: MockTools
tools:
  - {name: page, tier: 0, capabilities: [untrusted_input], responses: [{value: "the words of a page"}]}
`
	// readTask reads one file, and nothing else.
	readTask = `apiVersion: codeact.dev/v1
kind: Task
metadata: {name: read}
goal: Read the file.
workspace: {dir: ws}
tools: {builtin: [fs_read]}
model:
  provider: scripted
  script:
    - code: final(fs_read(path="FILE"))
`
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// do runs one task in a conversation of its own.
func do(t *testing.T, task, home string, observe func(engine.Event)) engine.Outcome {
	t.Helper()
	r, err := assembly.Open(t.Context(), task, assembly.Options{Home: home, UserHome: t.TempDir(), Approver: yes{}, Principal: "alice", Unsafe: true,
		Observe: func(e engine.Event, _ store.Line) { observe(e) }})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	o, err := r.Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// reads is what reading a file brings into a conversation that held nothing.
func reads(t *testing.T, dir, home, file string) (held policy.Taint) {
	t.Helper()
	task := filepath.Join(dir, "read.yaml")
	write(t, task, strings.Replace(readTask, "FILE", file, 1))
	o := do(t, task, home, func(e engine.Event) {
		if c, ok := e.(*engine.CallCompleted); ok {
			held = c.Taint
		}
	})
	if o.Status != engine.Completed {
		t.Fatalf("reading %s: %+v", file, o)
	}
	return held
}

// What a run keeps from outside is third-party content for every later run, by its
// digest: a conversation that begins clean cannot be led by a file that an earlier
// one was tricked into writing.
func TestALaterRunKnowsWhatAnEarlierOneBroughtIn(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"fetch.yaml": fetchTask, "tools.yaml": fetchTools, "ws/note.txt": "the user's"} {
		write(t, filepath.Join(dir, name), text)
	}
	if o := do(t, filepath.Join(dir, "fetch.yaml"), home, func(engine.Event) {}); o.Status != engine.Completed || !o.Taint.Untrusted {
		t.Fatalf("the first run: %+v", o)
	}
	write(t, filepath.Join(dir, "ws/drafts/moved.txt"), "the words of a page") // a copy, by whatever means
	for file, want := range map[string]bool{"drafts/page.txt": true, "drafts/moved.txt": true, "out.json": true, "drafts/own.txt": false, "note.txt": false} {
		if got := reads(t, dir, home, file); got.Untrusted() != want || !got.Unvouched() {
			t.Errorf("%s: a later run holds %v, want untrusted: %v", file, got, want)
		}
	}
	// The traces of another home know nothing of it.
	if got := reads(t, dir, t.TempDir(), "drafts/page.txt"); got.Untrusted() {
		t.Errorf("in another home it holds %v", got)
	}
	// A user who changes the file makes it another's.
	write(t, filepath.Join(dir, "ws/drafts/page.txt"), "rewritten by hand")
	if got := reads(t, dir, home, "drafts/page.txt"); got.Untrusted() {
		t.Errorf("after a change by hand it holds %v", got)
	}
}

// What cannot be marked must not go on: the run ends where it would have left a
// file that no later run could tell from the user's own.
func TestARunThatCannotMarkItsFilesEnds(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "fetch.yaml"), fetchTask)
	write(t, filepath.Join(dir, "tools.yaml"), fetchTools)
	write(t, filepath.Join(dir, "ws/note.txt"), "")
	if err := os.MkdirAll(filepath.Join(home, "untrusted.idx"), 0o700); err != nil {
		t.Fatal(err)
	}
	r, err := assembly.Open(t.Context(), filepath.Join(dir, "fetch.yaml"), assembly.Options{Home: home, UserHome: t.TempDir(), Approver: yes{}, Principal: "alice", Unsafe: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	o, err := r.Do(t.Context())
	if !errors.Is(err, engine.ErrTrace) || !strings.Contains(err.Error(), "untrusted index") {
		t.Errorf("it ended %q with %v", o.Status, err)
	}
	if o.Status == engine.Completed {
		t.Error("it is reported as completed")
	}
	if got, err := os.ReadFile(filepath.Join(dir, "ws/out.json")); err == nil {
		t.Errorf("its output was kept: %s", got)
	}
}
