package taskfile

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-multierror"

	"github.com/codeact-dev/codeact/engine/taskfile/strictyaml"
)

// FuzzLoad: any bytes give a task or faults with a place in the file, never both,
// never a panic.
func FuzzLoad(f *testing.F) {
	example, err := os.ReadFile(triage)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example)
	f.Add([]byte(head))
	f.Add([]byte(head + "model: {provider: scripted, script: [{code: x}, 5]}\nsecrets: [{name: A, command: x}]\nhooks: {RunEnd: {}}\n"))
	f.Add([]byte(head + "parameters: {a: {type: number, default: x, enum: [[]]}}\nmcpServers: {a: 5, b: {env: []}}\n"))
	f.Add([]byte("a: &a [*a]\n? {b: c}\n: |\n  ${param:x}"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		task, err := Load("-", Options{Stdin: bytes.NewReader(data), Cwd: dir, Params: map[string]string{"mailbox": "x"}})
		checkOutcome(t, task != nil, err)
		if task != nil {
			task.Loosened(nil)
			task.Default(new(Home))
			if task.Digest() == "" || task.Goal == "" {
				t.Errorf("a task without a goal: %+v", task)
			}
		}
	})
}

// FuzzDouble is FuzzLoad for mock tools and scripts.
func FuzzDouble(f *testing.F) {
	example, err := os.ReadFile("testdata/mock/mail.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example)
	f.Add([]byte(mockHead + "tools: [{name: a, params: {type: object, properties: 5}, responses: [5]}, 5]\n"))
	f.Add([]byte(mockHead + "tools: [{name: a, params: {$ref: 'http://x/', items: {$ref: '#/a'}}}]\n"))
	path := filepath.Join(f.TempDir(), "m.yaml")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := LoadMock(path)
		checkOutcome(t, m != nil, err)
		s, err := LoadScript(path)
		checkOutcome(t, s != nil, err)
	})
}

func checkOutcome(t *testing.T, loaded bool, err error) {
	t.Helper()
	if loaded != (err == nil) {
		t.Fatalf("loaded is %v, error is %v", loaded, err)
	}
	if err == nil {
		return
	}
	var many *multierror.Error
	if !errors.As(err, &many) || len(many.Errors) == 0 {
		t.Fatalf("%T is no multierror", err)
	}
	for _, e := range many.Errors {
		var fault *Fault
		if !errors.As(e, &fault) || fault.Msg == "" || fault.Line < 0 || fault.Line > 0 && fault.Col < 1 {
			t.Fatalf("%#v has no place or no message", e)
		}
	}
}

// FuzzExpand: what is expanded holds the value once, whatever the value looks
// like, and no other reference gets through without a fault.
func FuzzExpand(f *testing.F) {
	f.Add("a ${param:x} b", "v")
	f.Add("${param:x}${param:x}", "${secret:S}")
	f.Add("${${param:x}}", "$")
	f.Add("$${param:x", "\n")
	f.Fuzz(func(t *testing.T, text, value string) {
		src, n := strictyaml.Text("f", []byte(text))
		p := &parameters{declared: map[string]*parameter{"x": {Type: "string"}}, values: map[string]any{"x": value}}
		got := expander{src, p}.text(n, n.Text, inText)
		if src.Err() != nil {
			return
		}
		if want := strings.ReplaceAll(text, "${param:x}", value); got != want {
			t.Errorf("%q with %q gave %q, want %q", text, value, got, want)
		}
		if rest := strings.ReplaceAll(text, "${param:x}", ""); strings.Contains(text, "${") && strings.Count(text, "${") != strings.Count(text, "${param:x}") && !strings.Contains(rest, "\xff") {
			t.Errorf("%q got through with a reference that is not x", text)
		}
	})
}
