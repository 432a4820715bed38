package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/rs/zerolog"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/bridge/scan/scantest"
	"github.com/codeact-dev/codeact/engine/assembly"
	"github.com/codeact-dev/codeact/engine/outbox"
)

// drafted puts a draft into the home, as a run would that staged it.
func (s *stage) drafted(q bridge.Question, d bridge.Draft, o outbox.Origin) {
	s.t.Helper()
	q.Tool, d.Question = d.Tool, q
	if err := assembly.Outbox(s.home).From(o).Stage(d); err != nil {
		s.t.Fatal(err)
	}
}

// A draft holds what an agent wrote: list and show escape all of it.
func TestOutboxShowsNothingOfTheEscapeTable(t *testing.T) {
	for name, p := range map[string]struct {
		make func(s string) (bridge.Question, bridge.Draft, outbox.Origin)
		edit func(s string) map[string]any
		list bool
		open bool
		long int
	}{
		"the tool in the list": {list: true, make: func(s string) (bridge.Question, bridge.Draft, outbox.Origin) {
			return bridge.Question{}, bridge.Draft{Tool: s}, outbox.Origin{}
		}},
		"the tool": {make: func(s string) (bridge.Question, bridge.Draft, outbox.Origin) {
			return bridge.Question{}, bridge.Draft{Tool: s}, outbox.Origin{}
		}},
		"the task": {long: 5000, make: func(s string) (bridge.Question, bridge.Draft, outbox.Origin) {
			return bridge.Question{}, bridge.Draft{}, outbox.Origin{Task: s}
		}},
		"an argument": {open: true, make: func(s string) (bridge.Question, bridge.Draft, outbox.Origin) {
			return bridge.Question{Args: []bridge.Arg{{Name: s, Value: s}}}, bridge.Draft{Args: map[string]any{"body": s}}, outbox.Origin{}
		}},
		"an edited argument": {open: true, edit: func(s string) map[string]any { return map[string]any{s: "x", "body": s} }},
	} {
		for _, asJSON := range []bool{false, true} {
			if asJSON && !p.open {
				continue
			}
			place{open: p.open || asJSON, long: p.long, show: func(text string) string {
				s := newStage(t, "")
				q, d, o := bridge.Question{}, bridge.Draft{Tool: "post", Args: map[string]any{}}, outbox.Origin{}
				if p.make != nil {
					q, d, o = p.make(text)
				}
				d.ID, d.Call, d.At = "d-1", "r1/1/1", time.Unix(0, 0)
				s.drafted(q, d, o)
				if p.edit != nil {
					if err := assembly.Outbox(s.home).Edit("d-1", p.edit(text)); err != nil {
						t.Fatal(err)
					}
				}
				args := []string{"outbox", "show", "d-1"}
				if p.list {
					args = []string{"outbox", "list"}
				}
				if asJSON {
					args = append(args, "--json")
				}
				return s.seen(0, args...)
			}}.run(t, name)
		}
	}
}

// seen is all that a command shows on a terminal.
func (s *stage) seen(code int, args ...string) string {
	s.t.Helper()
	var out strings.Builder
	env := func(name string) (string, bool) {
		if name == "CODEACT_HOME" {
			return s.home, true
		}
		return noColor(name)
	}
	got := execute(s.t.Context(), &sys{stdin: strings.NewReader(""), stdout: &out, stderr: &out, env: env, outTTY: true, errTTY: true,
		userHome: filepath.Dir(s.dir), worker: []string{program}}, args)
	if got != code {
		s.t.Fatalf("%v: exit code %d, want %d\n%q", args, got, code, out.String())
	}
	return out.String()
}

// inYAML is a text in a file of ours: JSON in ASCII is YAML, and carries every
// character.
func inYAML(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	quoted := ""
	for _, r := range string(raw) {
		if r < 0x80 {
			quoted += string(r)
			continue
		}
		for _, u := range utf16.Encode([]rune{r}) {
			quoted += fmt.Sprintf(`\u%04x`, u)
		}
	}
	return quoted
}

// What a tool says of itself is shown escaped, each on its own line.
func TestToolsShowNothingOfTheEscapeTable(t *testing.T) {
	mock := "apiVersion: codeact.dev/v1\nkind: MockTools\ntools:\n"
	for i, e := range scantest.Escapes() {
		doc := inYAML(e.Text[:min(len(e.Text), 3*scantest.MaxLine/2)])
		mock += fmt.Sprintf("  - {name: look_%d, tier: 0, capabilities: [], description: %s, params: {type: object, properties: {a: {type: string, description: %s}}}, responses: [{value: x}]}\n", i, doc, doc)
	}
	s := newStage(t, posting(`"x"`), "tools.yaml", mock)
	task := filepath.Join(s.dir, "task.yaml")
	list := s.seen(0, "tools", "list", "--task", task)
	if lines := strings.Count(list, "\n"); lines != 1+len(scantest.Escapes()) {
		t.Errorf("%d lines for %d tools", lines, len(scantest.Escapes()))
	}
	document := s.seen(0, "tools", "list", "--json", "--task", task)
	for _, part := range []string{list, document} {
		if scan.Visible(part) != part {
			t.Errorf("it shows %q", part)
		}
	}
	for i, e := range scantest.Escapes() {
		if i%9 != 0 || e.Line {
			continue // the whole task is read for each: some are enough
		}
		for _, how := range [][]string{nil, {"--json"}} {
			shown := s.seen(0, append([]string{"tools", "inspect", fmt.Sprintf("look_%d", i), "--task", task}, how...)...)
			if left := e.Left(strings.ReplaceAll(shown, "\n", " ")); left != "" {
				t.Errorf("inspect %v: %s shows %.40q", how, e.Name, left)
			}
		}
	}
}

// fit reports whether a file may have such a name.
func fit(text string) bool { return len(text) < 200 && !strings.ContainsAny(text, "/\x00") }

// Whoever is asked to trust a task sees what it brings, and nothing else.
func TestTrustShowsNothingOfTheEscapeTable(t *testing.T) {
	place{show: func(text string) string {
		s := newStage(t, "model: {provider: scripted, script: [{code: final(1)}]}\nhooks: {PreToolUse: [{hooks: [{type: command, command: sh, args: ["+inYAML("x"+text)+"]}]}]}\n")
		return strings.ReplaceAll(s.seen(6, "trust", filepath.Join(s.dir, "task.yaml")), s.dir, "")
	}, long: 5000}.run(t, "a command")
	place{show: func(text string) string {
		if !fit(text) {
			text = "x"
		}
		s := newStage(t, "model: {provider: scripted, script: [{code: final(1)}]}\npolicies: ["+inYAML(text)+"]\n")
		var name string // as the file has it: what is not UTF-8 is replaced there
		if err := json.Unmarshal([]byte(inYAML(text)), &name); err != nil {
			t.Fatal(err)
		}
		s.write(name, "")
		return strings.ReplaceAll(s.seen(6, "trust", filepath.Join(s.dir, "task.yaml")), s.dir, "")
	}}.run(t, "a file")
	place{show: func(text string) string {
		s := newStage(t, "")
		if err := os.MkdirAll(s.home, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.home, "trusted"), []byte("sha256:00 "+strings.ReplaceAll(text, "\n", " ")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return s.seen(0, "trust", "list")
	}, long: 500}.run(t, "the list")
	place{show: func(text string) string { return newStage(t, "").seen(1, "trust", "revoke", text) }, long: 5000}.run(t, "revoke")
}

// A fault of a file quotes it: the excerpt, the key and the value are escaped.
func TestFaultsShowNothingOfTheEscapeTable(t *testing.T) {
	for name, task := range map[string]func(text string) string{
		"a key":               func(s string) string { return inYAML(s) + ": 1\n" },
		"a key below":         func(s string) string { return "limits: {" + inYAML(s) + ": 1}\n" },
		"a value":             func(s string) string { return "security: {trifecta: " + inYAML(s) + "}\n" },
		"a number":            func(s string) string { return "limits: {steps: " + inYAML(s) + "}\n" },
		"a glob":              func(s string) string { return "policies: [" + inYAML(s) + "]\n" },
		"a tool":              func(s string) string { return "tools: {builtin: [" + inYAML(s) + "]}\n" },
		"a lease":             func(s string) string { return "leases: [{tool: " + inYAML(s) + "}]\n" },
		"the raw text":        func(s string) string { return s + ": 1\n" },
		"the raw text, twice": func(s string) string { return "security: {trifecta: " + s + ", trifecta: \"" + s + "\"}\n" },
		"a raw comment":       func(s string) string { return "gaol: 1 #" + s + "\n" },
	} {
		for _, asJSON := range []bool{false, true} {
			if asJSON && name != "a key" {
				continue
			}
			place{open: true, show: func(text string) string {
				s := newStage(t, "model: {provider: scripted, script: [{code: final(1)}]}\n")
				s.write("task.yaml", header+task(text))
				var out strings.Builder
				args := []string{"run", filepath.Join(s.dir, "task.yaml")}
				if asJSON {
					args = append(args, "--json")
				}
				if code := execute(t.Context(), &sys{stdout: &out, stderr: &out, env: func(name string) (string, bool) { return s.home, name == "CODEACT_HOME" },
					userHome: filepath.Dir(s.dir), worker: []string{program}}, args); code == 0 {
					t.Errorf("%s: it ran", name)
				}
				return out.String()
			}}.run(t, name)
		}
	}
}

// What a program reads is escaped where a person would see it, and is as it was
// where nobody does.
func TestMachineTextOnATerminal(t *testing.T) {
	for _, e := range scantest.Escapes() {
		if e.Line {
			continue
		}
		raw, err := json.Marshal(map[string]string{e.Text: e.Text})
		if err != nil {
			t.Fatal(err)
		}
		if left := e.Left((&sys{outTTY: true}).machine(raw)); left != "" {
			t.Errorf("%s: a line of events shows %.40q", e.Name, left)
		}
		if got := (&sys{}).machine(raw); got != string(raw) {
			t.Errorf("%s: it became %q, and its hash covers %q", e.Name, got, raw)
		}
		var out strings.Builder
		if err := writeJSON(&sys{stdout: &out}, map[string]string{e.Text: e.Text}); err != nil {
			t.Fatal(err)
		}
		if left := e.Left(out.String()); left != "" {
			t.Errorf("%s: a document shows %.40q", e.Name, left)
		}
		var back, want map[string]string
		if err := errors.Join(json.Unmarshal([]byte(out.String()), &back), json.Unmarshal(raw, &want)); err != nil || !maps.Equal(back, want) {
			t.Errorf("%s: it is read as %q, %v", e.Name, back, err)
		}
	}
}

// The run of a hostile script shows nothing of it, whatever was asked for.
func TestAHostileRunOnATerminal(t *testing.T) {
	var texts []string
	for _, e := range scantest.Escapes() {
		if !e.Line {
			texts = append(texts, inStarlark(e.Text))
		}
	}
	code := "        texts = [" + strings.Join(texts, ", ") + "]\n        for x in texts:\n            attempt(post, to=\"bob\", body=x)\n            print(x)\n        final(texts)\n"
	task := "tools: {mock: tools.yaml}\nlimits: {callsPerStep: 500, toolCalls: 500}\nmodel:\n  provider: scripted\n  script:\n    - code: |\n" + code
	for _, args := range [][]string{nil, {"-v"}, {"--json"}, {"--jsonl"}, {"-v", "--jsonl"}} {
		s := newStage(t, task, "tools.yaml", postTool)
		path := filepath.Join(s.dir, "task.yaml")
		shown := s.seen(3, append([]string{"run", "--on-ask", "deny", path}, args...)...)
		shown += s.seen(0, "trace", "list")
		paths, err := filepath.Glob(filepath.Join(s.home, "traces", "*.jsonl"))
		if err != nil || len(paths) != 1 {
			t.Fatalf("traces %q, %v", paths, err)
		}
		for _, how := range [][]string{nil, {"--content"}, {"--json"}} {
			shown += s.seen(0, append([]string{"trace", "show", paths[0]}, how...)...)
		}
		shown = strings.NewReplacer("\r\x1b[K", "", "\x1b[2m", "", "\x1b[0m", "", "\x1b[90m", "").Replace(shown)
		for line := range strings.Lines(shown) {
			if scan.Visible(line) != line {
				t.Errorf("%v shows %q", args, line)
			}
		}
		if n := strings.Count(shown, "post"); n < len(texts) {
			t.Errorf("%v: %d of %d calls are shown", args, n, len(texts))
		}
	}
}

// inStarlark is a text in a block.
func inStarlark(text string) string {
	quoted := `"`
	for _, r := range text {
		quoted += fmt.Sprintf(`\U%08x`, r)
	}
	return quoted + `"`
}

// The log that -v shows quotes servers: what they wrote does not steer the terminal.
func TestTheLogShowsNothingOfTheEscapeTable(t *testing.T) {
	for name, log := range map[string]func(l zerolog.Logger, s string){
		"a message":      func(l zerolog.Logger, s string) { l.Info().Msg(s) },
		"a text":         func(l zerolog.Logger, s string) { l.Info().Str("server", s).Msg("m") },
		"a field's name": func(l zerolog.Logger, s string) { l.Info().Str(s, "x").Msg("m") },
		"an error":       func(l zerolog.Logger, s string) { l.Error().Err(errors.New(s)).Msg("m") },
		"a list":         func(l zerolog.Logger, s string) { l.Info().Strs("list", []string{s}).Msg("m") },
		"a value":        func(l zerolog.Logger, s string) { l.Info().Any("value", map[string]any{s: []any{s, 1}}).Msg("m") },
	} {
		place{show: func(s string) string {
			var b strings.Builder
			log(console(&b, false), s)
			return b.String()
		}}.run(t, name)
	}
}

// A rule quotes the call that it judges: the explanation is escaped.
func TestPolicyExplainShowsNothingOfTheEscapeTable(t *testing.T) {
	s := newStage(t, "", "rule.yaml", "apiVersion: codeact.dev/v1\nkind: ToolCallPolicy\nmetadata: {name: r}\nspec:\n  validations: [{expression: 'args.body == \"no\"', message: m}]\n")
	for name, p := range map[string]struct {
		args []string
		open bool
	}{"text": {nil, false}, "JSON": {[]string{"--json"}, true}} {
		place{open: p.open, show: func(text string) string {
			s.write("call.yaml", "call:\n  tool: post\n  args: {body: "+inYAML(text)+", "+inYAML("k"+text)+": 1}\n")
			return s.seen(0, append([]string{"policy", "explain", "--call", filepath.Join(s.dir, "call.yaml"), filepath.Join(s.dir, "rule.yaml")}, p.args...)...)
		}}.run(t, name)
	}
}
