package format

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/codeact-dev/codeact/policy/rules"
	"github.com/codeact-dev/codeact/policy/rules/source"
)

func file(text string) source.File { return source.File{Name: "f.yaml", Data: []byte(text)} }

func read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Each pair of files in testdata is a text and what it becomes.
func TestFilesAreWrittenInOneWay(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.in.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatal(inputs, err)
	}
	for _, in := range inputs {
		got, err := File(file(read(t, in)))
		if err != nil {
			t.Fatal(in, err)
		}
		want := read(t, strings.Replace(in, ".in.", ".out.", 1))
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s: %s", in, diff)
		}
		if again, err := File(file(string(got))); err != nil || string(again) != string(got) {
			t.Errorf("%s: formatted again: %s, %v", in, cmp.Diff(string(got), string(again)), err)
		}
	}
}

func TestLineEndsAndTheLastLineAreOurs(t *testing.T) {
	for in, want := range map[string]string{
		"b: 1\r\na: 2\r\n":               "b: 1\na: 2\n",
		"a: 1":                           "a: 1\n",
		"a: 1\n\n\n":                     "a: 1\n",
		"kind: x\n  \nspec: 1":           "kind: x\n\nspec: 1\n",
		"[1, 2]":                         "[1, 2]\n",
		"- b\n- a":                       "- b\n- a\n",
		"---\na: 1\n---\nb: 1":           "---\na: 1\n---\nb: 1\n",
		"spec: {examples: 1, params: 2}": "spec: {examples: 1, params: 2}\n",
		"x: 1\n\n\nkind: 2":              "kind: 2\nx: 1\n",
	} {
		if got, err := File(file(in)); err != nil || string(got) != want {
			t.Errorf("%q becomes %q, %v; want %q", in, got, err, want)
		}
	}
}

func TestWhatCannotBeKeptIsRefused(t *testing.T) {
	for in, want := range map[string]string{
		"a: &x 1\nb: *x\n":       "f.yaml:1:4: not plain data: write the value out, anchors and aliases are refused",
		"a: [\n":                 "f.yaml:1:4: ",
		"a: 1\na: 2\n":           "f.yaml:2:1: ",
		"a: |2\n     x\n    y\n": "f.yaml:1:1: this file cannot be formatted without a change of what it means",
		" - \n#\n #":             "f.yaml:1:1: this file cannot be formatted", // it would be another text the next time
		"a: \xff":                "f.yaml:1:1: the file is not UTF-8",
	} {
		if got, err := File(file(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v; want %s", in, got, err, want)
		}
	}
}

// A policy that "policy check" refuses has no meaning that could be kept; what it
// lacks of a task is no fault.
func TestAPolicyThatDoesNotCompileIsRefused(t *testing.T) {
	const head = "apiVersion: codeact.dev/v1\nkind: ToolCallPolicy\nmetadata: {name: m}\nspec:\n"
	for body, want := range map[string]string{
		"  validations: [{expression: 'tool.name ==', message: m}]\n":                             "f.yaml:5:",
		"  validations: [{expression: 'tool.nmae == \"x\"', message: m}]\n":                       "nmae",
		"  validations: [{expression: 'tool.name', message: m}]\n":                                "must be a bool",
		"  params: {cap: int}\n  validations: [{expression: 'params.cap < \"x\"', message: m}]\n": "f.yaml:6:",
		"  validatons: []\n": "validatons",
		"  validations: [{expression: 'true', message: m}]\n": "",
		"  params: {cap: int}\n  validations: [{expression: 'params.cap < 5', message: m}]\n  examples: [{name: a, call: {tool: x}, expect: allow}]\n": "",
	} {
		got, err := File(file(head + body))
		if want == "" && err != nil || want != "" && (got != nil || err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %q, %v; want %q", body, got, err, want)
		}
	}
	flow := strings.ReplaceAll("{apiVersion: codeact.dev/v1, kind: ToolCallPolicy, metadata: {name: m}, spec: {validations: [{expression: '(', message: m}]}}", "'", `"`)
	if got, err := File(file(flow)); err == nil {
		t.Errorf("a policy in braces that does not compile became %s", got)
	}
}

// The order of keys and comments between them change nothing but the place of lines:
// the rules of a formatted file are those of the file.
func TestFormattingKeepsTheMeaningAndTheComments(t *testing.T) {
	docs := strings.Split(read(t, "../testdata/eight.yaml"), "---\n") // two of them: compiling takes the time
	text := docs[2] + "---\n" + docs[6]
	params := map[string]any{"hardCap": 1, "askAbove": 1}
	compiled := func(t *rapid.T, text string) *rules.Policy {
		p, err := rules.Compile(params, rules.File{Name: "f.yaml", Data: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	rapid.Check(t, func(t *rapid.T) {
		var lines []string
		for _, l := range strings.Split(text, "\n") {
			if rapid.IntRange(0, 9).Draw(t, "comment") == 0 {
				lines = append(lines, strings.Repeat(" ", rapid.IntRange(0, 8).Draw(t, "column"))+"# c")
			}
			lines = append(lines, l)
		}
		in := strings.Join(lines, "\n")
		out, err := File(file(in))
		if err != nil {
			t.Fatal(err)
		}
		if n, m := strings.Count(in, "# c"), strings.Count(string(out), "# c"); n != m {
			t.Fatalf("%d comments became %d:\n%s", n, m, out)
		}
		x := compiled(t, in).Check(nil)
		y := compiled(t, string(out)).Check(nil)
		for _, ws := range [][]rules.Warning{x, y} {
			for i := range ws {
				ws[i].Line = 0
			}
		}
		if diff := cmp.Diff(x, y); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzFile(f *testing.F) {
	f.Add(read(f, "testdata/messy.in.yaml"))
	f.Add(read(f, "../testdata/eight.yaml"))
	f.Add("- - a: 1\n    b: 2\n  - c\n-\n  d: |\n    x\n")
	f.Add("kind: 1\n# x\n? a\n: b\n")
	f.Fuzz(func(t *testing.T, text string) {
		out, err := File(file(text))
		if err != nil {
			return
		}
		again, err := File(file(string(out)))
		if err != nil || string(again) != string(out) {
			t.Fatalf("%q, and formatted again %q, %v", out, again, err)
		}
	})
}
