package assembly_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/engine/assembly"
)

// A run that asks for less confinement needs the home's permit, and says so for
// ever after.
func TestBestEffortNeedsAPermitAndIsRecorded(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	task := filepath.Join(dir, "task.yaml")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(task, `apiVersion: codeact.dev/v1
kind: Task
metadata: {name: t}
goal: g
workspace: {dir: .}
model: {provider: scripted, script: [{code: final(1)}]}
`)
	opt := assembly.Options{Home: home, UserHome: t.TempDir(), BestEffort: true, Unsafe: true, Principal: "tester"}
	if _, err := assembly.Open(t.Context(), task, opt); !errors.Is(err, assembly.ErrPrecondition) || !strings.Contains(err.Error(), "sandbox.optional") {
		t.Fatalf("without the permit: %v", err)
	}
	write(filepath.Join(home, "config.yaml"), "apiVersion: codeact.dev/v1\nkind: Home\npermit: [sandbox.optional]\n")
	r, err := assembly.Open(t.Context(), task, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	o, err := r.Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(o.Trace)
	if err != nil || !strings.Contains(string(data), `"loosened":["sandbox: best-effort"]`) {
		t.Errorf("the trace does not say so: %v", err)
	}
}
