package taskfile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-multierror"
)

// head is a whole task of four lines: what a case adds begins on line 5.
const head = "apiVersion: codeact.dev/v1\nkind: Task\nmetadata: {name: t}\ngoal: g\n"

// write puts files, given as name and text, into a new directory.
func write(t *testing.T, files ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// faults returns the first line of every fault, without the directory.
func faults(t *testing.T, err error, dir string) []string {
	t.Helper()
	var many *multierror.Error
	if !errors.As(err, &many) {
		t.Fatalf("error is %T %v, want a multierror", err, err)
	}
	var list []string
	for _, err := range many.Errors {
		var f *Fault
		if !errors.As(err, &f) {
			t.Fatalf("%T %v is no *Fault", err, err)
		}
		line, _, _ := strings.Cut(f.Error(), "\n")
		list = append(list, strings.ReplaceAll(line, dir+"/", ""))
	}
	return list
}

func TestEveryFaultHasItsPlace(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string // without the leading "task.yaml:"
	}{
		{"empty file", "", []string{"1:1: empty: want a Task"}},
		{"only a comment", "# nothing\n", []string{"1:1: empty: want a Task"}},
		{"a list", "- a\n", []string{"1:1: want a mapping, have a list"}},
		{"invalid UTF-8", "a: b\nc: \xff\n", []string{"2:4: not valid UTF-8: save the file as UTF-8"}},
		{"tab", "a:\n\tb: 1\n", []string{"2:1: a tab cannot indent: use spaces"}},
		{"syntax", "a: b: c\n", []string{"1:4: mapping value is not allowed in this context"}},
		{"open quote", head + "model: 'un\n", []string{"5:8: could not find end character of single-quoted text"}},
		{"two documents", head + "---\na: 1\n", []string{"6:1: a second document: want one Task a file"}},
		{"directive", "%YAML 1.2\n---\n" + head, []string{"1:1: directives are not read: remove the line", "3:1: a second document: want one Task a file"}},
		{"too deep in brackets", head + "policyParams: {a: " + strings.Repeat("[", 80) + strings.Repeat("]", 80) + "}\n", []string{"5:82: nested deeper than 64 levels"}},
		{"anchor", head + "instructions: &a [x]\n", []string{"5:15: instructions: anchors and aliases are not read: write the value out"}},
		{"alias", head + "policyParams: {a: &x 1, b: *x}\n", []string{
			"5:19: policyParams.a: anchors and aliases are not read: write the value out",
			"5:28: policyParams.b: anchors and aliases are not read: write the value out",
		}},
		{"merge key", head + "policyParams:\n  <<: {a: 1}\n", []string{`6:3: policyParams["<<"]: merge keys are not read: write the keys out`}},
		{"tag", head + "policyParams: {a: !!str 1}\n", []string{"5:19: policyParams.a: tags are not read: quote a string, write other values plainly"}},
		{"not a number", head + "policyParams: {a: .nan}\n", []string{"5:19: policyParams.a: want a finite number"}},
		{"octal", head + "limits: {steps: 010}\n", []string{"5:17: limits.steps: 010: a leading 0 means octal to some readers: write the number without it"}},
		{"huge integer", head + "policyParams: {a: 18446744073709551615}\n", []string{"5:19: policyParams.a: 18446744073709551615 is out of range: want at most 9223372036854775807"}},
		{"duplicate key", head + "goal: h\n", []string{"5:1: goal: duplicate key: it stands on line 4 too"}},
		{"unknown key", head + "securty: {}\n", []string{`5:1: securty: unknown key (did you mean "security"?)`}},
		{"unknown key far from any", head + "colour: red\n", []string{"5:1: colour: unknown key"}},
		{"unknown nested key", head + "security:\n  trifecta: ask\n  trifeca: ask\n", []string{`7:3: security.trifeca: unknown key (did you mean "trifecta"?)`}},
		{"hostile key", head + "\"a\\e[2J\": 1\n", []string{`5:1: ["a\x1b[2J"]: unknown key`}},
		{"enum", head + "security:\n  trifecta: blok\n", []string{`6:13: security.trifecta: "blok": want one of block, ask, allow (did you mean "block"?)`}},
		{"enum of numbers", head + "leases: [{tool: x, tier: 3}]\n", []string{"5:26: leases[0].tier: 3: want one of 0, 1, 2"}},
		{"wrong version", "apiVersion: v1\nkind: Task\nmetadata: {name: t}\ngoal: g\n", []string{`1:13: apiVersion: "v1": want codeact.dev/v1`}},
		{"missing keys", "kind: Task\n", []string{
			`1:1: missing key "apiVersion"`, `1:1: missing key "metadata"`, "1:1: missing key: want one of goal, goalFile",
		}},
		{"goal and goalFile", head + "goalFile: goal.md\n", []string{"1:1: want only one of the keys goal, goalFile"}},
		{"empty goal", "apiVersion: codeact.dev/v1\nkind: Task\nmetadata: {name: t}\ngoal: ''\n", []string{"4:7: goal: want at least 1 characters"}},
		{"a value that is not there", head + "workspace:\n  dir:\n", []string{"6:3: workspace.dir: want a string, have nothing"}},
		{"name", "apiVersion: codeact.dev/v1\nkind: Task\nmetadata:\n  name: Triage\ngoal: g\n", []string{`4:9: metadata.name: "Triage" does not match ^[a-z0-9][a-z0-9-]{0,62}$`}},
		{"label", "apiVersion: codeact.dev/v1\nkind: Task\nmetadata: {name: t, labels: {n: 1}}\ngoal: g\n", []string{"3:33: metadata.labels.n: want a string, have an integer 1"}},
		{"minimum", head + "limits:\n  steps: 0\n", []string{"6:10: limits.steps: 0: want at least 1"}},
		{"exclusive minimum", head + "limits: {costUsd: 0}\n", []string{"5:19: limits.costUsd: 0: want more than 0"}},
		{"maximum", head + "output: {retries: 6}\n", []string{"5:19: output.retries: 6: want at most 5"}},
		{"a float for an integer", head + "limits: {steps: 1.5}\n", []string{"5:17: limits.steps: want an integer, have a number 1.5"}},
		{"amount unit", head + "limits: {tokens: 5x}\n", []string{`5:18: limits.tokens: "5x": want an amount as 400, 500k, 2m, 256KiB, 1MiB or 1GiB`}},
		{"amount of nothing", head + "limits: {tokens: 0.1}\n", []string{"5:18: limits.tokens: want an integer or a string, have a number 0.1"}},
		{"amount too large", head + "limits: {bytesSent: 99999999999GiB}\n", []string{`5:21: limits.bytesSent: "99999999999GiB": too large: want at most 9223372036854775807`}},
		{"duration unit", head + "limits: {wallTime: 20 min}\n", []string{`5:20: limits.wallTime: "20 min": want a duration as 90s, 1h30m or 30d`}},
		{"duration too long", head + "approvals: {timeout: 9999999h}\n", []string{`5:22: approvals.timeout: "9999999h": too long: want less than 292 years`}},
		{"days where hours are the most", head + "leases: [{tool: x, ttl: 1d}]\n", []string{`5:25: leases[0].ttl: "1d" does not match ^([0-9]+(ms|s|m|h))+$`}},
		{"twice in a list", head + "tools:\n  builtin: [shell, fs_read, shell]\n", []string{`6:29: tools.builtin[2]: "shell" stands in the list twice`}},
		{"no hooks in a group", head + "hooks: {RunEnd: [{hooks: []}]}\n", []string{"5:26: hooks.RunEnd[0].hooks: want at least 1 items"}},
		{"unknown event", head + "hooks: {PreTooluse: []}\n", []string{`5:9: hooks.PreTooluse: unknown key (did you mean "PreToolUse"?)`}},
		{"matcher", head + "hooks: {RunEnd: [{matcher: '(', hooks: [{type: command, command: x}]}]}\n", []string{"5:28: hooks.RunEnd[0].matcher: \"(\": want a regular expression: error parsing regexp: missing closing ): `^(?:()$`"}},
		{"missing hook file", head + "hooks:\n  RunEnd:\n    - hooks:\n        - {type: command, command: ./no.sh -v}\n", []string{`8:36: hooks.RunEnd[0].hooks[0].command: file "./no.sh": no such file or directory`}},
		{"hook file that cannot run", head + "hooks: {RunEnd: [{hooks: [{type: command, command: ./other.txt}]}]}\n", []string{`5:52: hooks.RunEnd[0].hooks[0].command: file "./other.txt" is not executable: chmod +x it`}},
		{"blank command", head + "approvals: {notify: [{type: command, command: ' '}]}\n", []string{"5:47: approvals.notify[0].command: empty: want a command"}},
		{"a secret's program that is not there", head + "secrets: [{name: A, command: [./no.sh]}]\n", []string{`5:30: secrets[0].command: file "./no.sh": no such file or directory`}},
		{"server name", head + "mcpServers:\n  my_mail: {command: x}\n", []string{`6:3: mcpServers.my_mail: "my_mail" does not match ^[A-Za-z0-9-]{1,64}$`}},
		{"server without either", head + "mcpServers:\n  mail: {pin: record}\n", []string{"6:9: mcpServers.mail: missing key: want one of command, url"}},
		{"server with both", head + "mcpServers:\n  mail: {command: x, url: 'https://a.example/'}\n", []string{"6:9: mcpServers.mail: want only one of the keys command, url"}},
		{"args of a remote server", head + "mcpServers:\n  crm: {url: 'https://a.example/', args: [x]}\n", []string{`6:36: mcpServers.crm.args: belongs to a server with "command"`}},
		{"server address", head + "mcpServers: {crm: {url: crm}}\n", []string{`5:25: mcpServers.crm.url: "crm": want a URL as https://example.com/mcp`}},
		{"server scheme", head + "mcpServers: {crm: {url: 'file://x/y'}}\n", []string{`5:25: mcpServers.crm.url: "file://x/y": want http or https`}},
		{"server freed of asking", head + "mcpServers: {crm: {url: 'https://a.example/', tier: 0}}\n", []string{"5:53: mcpServers.crm.tier: a task may not free a server's tools of asking: want 1 or 2"}},
		{"capability", head + "tools: {overrides: {fs_read: {addCapabilities: [private]}}}\n", []string{`5:49: tools.overrides.fs_read.addCapabilities[0]: "private": want one of private_data, untrusted_input, external_send, destructive`}},
		{"rate", head + "tools: {overrides: {x: {rateLimit: 10/w}}}\n", []string{`5:36: tools.overrides.x.rateLimit: "10/w": want a rate as 10/m`}},
		{"rate of nothing", head + "tools: {overrides: {x: {rateLimit: 0/m}}}\n", []string{`5:36: tools.overrides.x.rateLimit: "0/m": want between 1 and 2147483647 calls`}},
		{"lease glob", head + "leases: [{tool: 'a['}]\n", []string{`5:17: leases[0].tool: "a[": not a glob: close the bracket`}},
		{"glob out of the workspace", head + "workspace: {writable: ['../x/**', /etc, 'a{']}\n", []string{
			`5:24: workspace.writable[0]: "../x/**": want a glob inside the workspace`,
			`5:35: workspace.writable[1]: "/etc": want a glob inside the workspace`,
			`5:41: workspace.writable[2]: "a{": not a glob`,
		}},
		{"two roots of one name", head + "workspace:\n  read:\n    - {path: ., as: a}\n    - {path: /tmp, as: a}\n", []string{`8:24: workspace.read[1].as: "a" names two roots: the other is on line 7`}},
		{"private address", head + "security:\n  allowPrivate: ['10.0.0.1:80']\n", []string{"6:17: security.allowPrivate: only the home configuration may open private addresses: write it there"}},
		{"secret name", head + "secrets: [imap]\n", []string{`5:11: secrets[0]: "imap" does not match ^[A-Z][A-Z0-9_]*$`}},
		{"secret of no form", head + "secrets: [5]\n", []string{"5:11: secrets[0]: want a string or a mapping, have an integer 5"}},
		{"secret twice", head + "secrets: [A, {name: A}]\n", []string{"5:14: secrets[1]: A stands in the list twice"}},
		{"secret from two places", head + "secrets: [{name: A, env: B, file: C}]\n", []string{"5:11: secrets[0]: want only one of the keys env, file, command"}},
		{"pattern to redact", head + "redact: {patterns: ['[']}\n", []string{"5:21: redact.patterns[0]: \"[\": error parsing regexp: missing closing ]: `[`"}},
		{"output schema", head + "output: {schema: {type: 5}}\n", []string{"5:18: output.schema: not a JSON Schema: "}},
		{"scripted without script", head + "model: {provider: scripted}\n", []string{`5:8: model: missing key "script"`}},
		{"replay without trace", head + "model: {provider: replay}\n", []string{`5:8: model: missing key "trace": replay reads a recorded run`}},
		{"tokens below nothing", head + "model: {provider: anthropic, maxOutputTokens: -1}\n", []string{"5:47: model.maxOutputTokens: -1: want at least 1"}},
		{"role of no provider", head + "model: {provider: anthropic, roles: {reflect: {name: x}}}\n", []string{`5:47: model.roles.reflect: missing key "provider"`, `5:47: model.roles.reflect: missing key "script"`}},
		{"script inline", head + "model:\n  provider: scripted\n  script:\n    - {cod: x}\n", []string{
			"8:7: model.script[0]: want a text, code or both", `8:8: model.script[0].cod: unknown key (did you mean "code"?)`,
		}},
		{"script of no form", head + "model: {provider: scripted, script: 5}\n", []string{"5:37: model.script: want a string or a list, have an integer 5"}},
		{"missing files", head + "instructions: [no.md]\ntools: {mock: no.yaml}\npolicies: [no.yaml]\n", []string{
			`5:16: instructions[0]: file "no.md": no such file or directory`,
			`6:15: tools.mock: file "no.yaml": no such file or directory`,
			`7:12: policies[0]: file "no.yaml": no such file or directory`,
		}},
		{"directory of policies without one", head + "policies: [empty]\n", []string{`5:12: policies[0]: directory "empty" holds no policy: want *.yaml or *.yml that is no *_test file`}},
		{"directory for a file", head + "tools: {mock: empty}\n", []string{`5:15: tools.mock: file "empty": want a file, have a directory`}},
		{"instructions outside", head + "instructions: [../x.md, /etc/passwd]\n", []string{
			`5:16: instructions[0]: file "../x.md": no such file or directory`,
			`5:25: instructions[1]: file "/etc/passwd" lies outside the task's directory: copy it there`,
		}},
		{"wrong kinds everywhere", head + "instructions: [1]\npolicies: [2]\nworkspace: {writable: [3], read: [{path: x, as: 4}]}\nhooks: {RunEnd: {}, RunStart: [{matcher: 5, hooks: 6}]}\nmcpServers: [7]\n", []string{
			"5:16: instructions[0]: want a string, have an integer 1",
			"6:12: policies[0]: want a string, have an integer 2",
			"7:24: workspace.writable[0]: want a string, have an integer 3",
			"7:49: workspace.read[0].as: want a string, have an integer 4",
			"8:17: hooks.RunEnd: want a list, have a mapping",
			"8:42: hooks.RunStart[0].matcher: want a string, have an integer 5",
			"8:52: hooks.RunStart[0].hooks: want a list, have an integer 6",
			"9:13: mcpServers: want a mapping, have a list",
		}},
		{"goalFile that is not there", "apiVersion: codeact.dev/v1\nkind: Task\nmetadata: {name: t}\ngoalFile: no.md\n", []string{`4:11: goalFile: file "no.md": no such file or directory`}},
		{"instructions too large", head + "instructions: [big.txt]\n", []string{`5:16: instructions[0]: file "big.txt": larger than 1 MiB`}},
		{"goalFile of nothing", "apiVersion: codeact.dev/v1\nkind: Task\nmetadata: {name: t}\ngoalFile: blank.txt\n", []string{`4:11: goalFile: file "blank.txt" is empty: want the goal`}},
		{"goalFile of bytes", "apiVersion: codeact.dev/v1\nkind: Task\nmetadata: {name: t}\ngoalFile: bytes.txt\n", []string{`4:11: goalFile: file "bytes.txt": not valid UTF-8`}},
	}
	big := strings.Repeat("x", maxFile+1)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := write(t, "task.yaml", tt.text, "other.txt", "x", "blank.txt", " \n", "bytes.txt", "\xff", "empty/a_test.yaml", "x", "goal.md", "g", "big.txt", big)
			task, err := Load(filepath.Join(dir, "task.yaml"), Options{})
			if task != nil {
				t.Error("a faulty file gave a task")
			}
			got := faults(t, err, dir)
			want := slices.Clone(tt.want)
			for i := range want {
				want[i] = "task.yaml:" + want[i]
				if i < len(got) && strings.HasSuffix(want[i], ": ") { // the rest is another library's wording
					got[i] = got[i][:min(len(got[i]), len(want[i]))]
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAFaultShowsItsLine(t *testing.T) {
	dir := write(t, "task.yaml", head+"security:\n  trifecta: blok\n")
	_, err := Load(filepath.Join(dir, "task.yaml"), Options{})
	want := dir + `/task.yaml:6:13: security.trifecta: "blok": want one of block, ask, allow (did you mean "block"?)
    6 |   trifecta: blok
      |             ^`
	if err.Error() != want {
		t.Errorf("got\n%s\nwant\n%s", err, want)
	}
	var f *Fault
	if !errors.As(err, &f) || f.Path != "$.security.trifecta" {
		t.Errorf("fault is %+v, want its path", f)
	}
}

func TestAFileMustBeReadable(t *testing.T) {
	dir := write(t, "big.yaml", strings.Repeat("# x\n", maxFile/4+1))
	tests := []struct{ name, path, want string }{
		{"missing", "no.yaml", "no.yaml: no such file or directory"},
		{"too large", "big.yaml", "big.yaml: larger than 1 MiB"},
		{"a directory", ".", ": want a file, have a directory"},
		{"a device", "/dev/null", "/dev/null: want a regular file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := tt.path
			if !filepath.IsAbs(path) {
				path = filepath.Join(dir, path)
			}
			_, err := Load(path, Options{})
			if err == nil || !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("Load = %v, want %s", err, tt.want)
			}
		})
	}
}
