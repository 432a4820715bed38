package taskfile

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/codeact-dev/codeact/policy"
)

const (
	mockHead = "apiVersion: codeact.dev/v1\nkind: MockTools\n"
	script   = "apiVersion: codeact.dev/v1\nkind: ModelScript\nsteps: [{code: 'final(1)'}]\n"
)

func TestToolsAndScriptMayShareAFile(t *testing.T) {
	m, err := LoadMock("testdata/mock/mail.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := LoadScript("testdata/mock/mail.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tool := m.Tools[0]
	got := []any{tool.Name, tool.ParamNames(), tool.Tier, tool.Capabilities.String(), tool.Destinations, tool.Effect, tool.Record, tool.Responses}
	want := []any{"send_email", []string{"to", "body"}, policy.Free, "external_send", []string{"to"}, "append", &Record{"id", "subject", []string{"from", "to"}}, []Response{
		{When: map[string]any{"to": []any{"a@example.com"}}, Value: map[string]any{"id": "1"}},
		{When: map[string]any{}, Error: "quota exceeded", Times: 1, External: true},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tool (-want +got):\n%s", diff)
	}
	if !strings.HasSuffix(m.Effects, "/testdata/mock/effects.jsonl") || !filepath.IsAbs(m.Effects) {
		t.Errorf("effects = %s", m.Effects)
	}
	if len(s.Steps) != 2 || s.Steps[1].Expect.Contains != "hello" || s.Steps[1].Usage.Input != 900 || s.Steps[1].Line <= s.Steps[0].Line {
		t.Errorf("steps = %+v", s.Steps)
	}
}

func TestAMockThatSaysNothingIsTheStrictest(t *testing.T) {
	dir := write(t, "m.yaml", mockHead+"effects: /tmp/e.jsonl\ntools:\n  - name: bare\n  - {name: pure, capabilities: [], rate: 10/m, labels: [a]}\n")
	m, err := LoadMock(dir + "/m.yaml")
	if err != nil {
		t.Fatal(err)
	}
	bare, pure := m.Tools[0], m.Tools[1]
	if bare.Tier != policy.AlwaysAsk || bare.Capabilities.Declared() || bare.ParamNames() != nil {
		t.Errorf("bare = %+v", bare)
	}
	if pure.Capabilities.String() != "none" || pure.Rate != (Rate{10, time.Minute}) || m.Effects != "/tmp/e.jsonl" {
		t.Errorf("pure = %+v, effects %s", pure, m.Effects)
	}
}

func TestFaultsOfTestDoubles(t *testing.T) {
	const toParam = "params: {type: object, properties: {to: {type: string}}}"
	tests := []struct {
		name, text string
		want       []string
	}{
		{"empty", "", []string{"1:1: no document of kind MockTools"}},
		{"the other kind", script, []string{"1:1: no document of kind MockTools: it holds ModelScript"}},
		{"a list", "- a\n", []string{"1:1: want a mapping with kind: MockTools"}},
		{"no kind", "tools: []\n", []string{`1:1: missing key "kind": want MockTools or ModelScript`}},
		{"another kind", "kind: MockTool\n", []string{`1:7: kind: "MockTool": want MockTools or ModelScript (did you mean "MockTools"?)`}},
		{"twice", mockHead + "tools: [{name: a}]\n---\n" + mockHead + "tools: [{name: a}]\n", []string{"6:7: kind: a second MockTools: the first is on line 1"}},
		{"syntax", "a: [", []string{"1:4: sequence end token ']' not found"}},
		{"a fault of the script beside it", mockHead + "tools: [{name: a}]\n---\n" + strings.Replace(script, "code:", "cood:", 1), []string{`7:10: steps[0].cood: unknown key`}},
		{"no tools", mockHead + "tools: []\n", []string{"3:8: tools: want at least 1 items"}},
		{"name", mockHead + "tools: [{name: a-b}, {name: 5}]\n", []string{`3:16: tools[0].name: "a-b" does not match ^[A-Za-z_][A-Za-z0-9_]*$`, "3:29: tools[1].name: want a string, have an integer 5"}},
		{"keyword", mockHead + "tools: [{name: lambda}]\n", []string{`3:16: tools[0].name: "lambda" is a word of the language: choose another name`}},
		{"tool twice", mockHead + "tools:\n  - name: a\n  - name: a\n", []string{`5:11: tools[1].name: "a": the tool is declared on line 4 too`}},
		{"destination", mockHead + "tools:\n  - name: a\n    " + toParam + "\n    destinations: [too]\n    when: {}\n", []string{`6:20: tools[0].destinations[0]: "too" is no parameter (did you mean "to"?)`, "7:5: tools[0].when: unknown key"}},
		{"when", mockHead + "tools:\n  - name: a\n    " + toParam + "\n    responses: [{when: {bcc: x}}]\n", []string{`6:25: tools[0].responses[0].when.bcc: "bcc" is no parameter`}},
		{"value and error", mockHead + "tools: [{name: a, responses: [{value: 1, error: x}]}]\n", []string{"3:31: tools[0].responses[0]: want only one of the keys value, error"}},
		{"params that are no object", mockHead + "tools: [{name: a, params: {type: string}}]\n", []string{"3:27: tools[0].params: want type: object, since arguments are given by name"}},
		{"effect without effects", mockHead + "tools: [{name: a, effect: append}]\n", []string{"3:27: tools[0].effect: needs the key effects at the top of the document: the file to append to"}},
		{"rate", mockHead + "tools: [{name: a, rate: often}]\n", []string{`3:25: tools[0].rate: "often" does not match ^[0-9]+/(s|m|h|d)$`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := write(t, "m.yaml", tt.text)
			m, err := LoadMock(dir + "/m.yaml")
			if m != nil {
				t.Error("a faulty file gave tools")
			}
			got := faults(t, err, dir)
			for i := range got {
				got[i] = strings.TrimPrefix(got[i], "m.yaml:")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFaultsOfTheFilesOfATaskComeWithItsOwn(t *testing.T) {
	text := head + "limits: {steps: 0}\nmodel: {provider: scripted, script: s.yaml}\ntools: {mock: m.yaml}\n"
	dir := write(t, "task.yaml", text, "s.yaml", script+"more: 1\n", "m.yaml", mockHead+"tools: [{nam: x}]\n")
	_, err := Load(dir+"/task.yaml", Options{})
	want := []string{
		`m.yaml:3:9: tools[0]: missing key "name"`, `m.yaml:3:10: tools[0].nam: unknown key (did you mean "name"?)`,
		"s.yaml:4:1: more: unknown key", "task.yaml:5:17: limits.steps: 0: want at least 1",
	}
	if diff := cmp.Diff(want, faults(t, err, dir)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

func TestAScriptMayBeInline(t *testing.T) {
	task := mustLoad(t, head+"model:\n  provider: scripted\n  script:\n    - {code: \"print('${x}')\", expect: {taint: [private]}}\n    - {text: done}\n", Options{})
	want := []Step{{Code: "print('${x}')", Expect: Expect{Taint: []string{"private"}}, Line: 8}, {Text: "done", Line: 9}}
	if diff := cmp.Diff(want, task.Model.Script.Steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func TestAMissingTestDoubleIsAFault(t *testing.T) {
	if _, err := LoadScript("testdata/none.yaml"); err == nil || err.Error() != "testdata/none.yaml: no such file or directory" {
		t.Errorf("LoadScript = %v", err)
	}
	if _, err := LoadMock("testdata/none.yaml"); err == nil {
		t.Error("LoadMock found a file that is not there")
	}
	dir := write(t, "s.yaml", script+"x: 1\n")
	if _, err := LoadScript(dir + "/s.yaml"); err == nil {
		t.Error("LoadScript took an unknown key")
	}
}
