package taskfile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func env(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func TestParametersAreReadAsTheirType(t *testing.T) {
	const decl = `parameters:
  s: {type: string, default: d, fromEnv: S}
  i: {type: integer, minimum: 1, maximum: 9, default: 3}
  n: {type: number, default: 2, enum: [1, 2, 0.25]}
  b: {type: boolean, default: false}
  f: {type: file}
`
	tests := []struct {
		name string
		opt  Options
		want map[string]any
	}{
		{"defaults", Options{}, map[string]any{"s": "d", "i": int64(3), "n": 2.0, "b": false}},
		{"a variable before the default", Options{Env: env("S", "e")}, map[string]any{"s": "e", "i": int64(3), "n": 2.0, "b": false}},
		{"-p before both", Options{Env: env("S", "e"), Params: map[string]string{"s": "", "i": "9", "n": "0.25", "b": "true"}}, map[string]any{"s": "", "i": int64(9), "n": 0.25, "b": true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			task := mustLoad(t, head+decl, tt.opt)
			if diff := cmp.Diff(tt.want, task.Params); diff != "" {
				t.Errorf("params (-want +got):\n%s", diff)
			}
		})
	}
	dir := write(t, "task.yaml", head+decl, "in/x.csv", "")
	task, err := Load(dir+"/task.yaml", Options{Params: map[string]string{"f": "in/x.csv"}})
	if err != nil || task.Params["f"] != dir+"/in/x.csv" {
		t.Errorf("file = %v, %v", task, err)
	}
}

func TestFaultsOfParameters(t *testing.T) {
	one := func(decl string) string { return head + "parameters:\n  x: {" + decl + "}\n" }
	tests := []struct {
		name, text, given string // given is the value of -p x, "" for none
		want              string
	}{
		{"required", one("type: string, required: true"), "", "6:6: parameters.x: missing: give -p x=VALUE"},
		{"required, or a variable", one("type: string, required: true, fromEnv: X"), "", "6:6: parameters.x: missing: give -p x=VALUE, or set X"},
		{"integer", one("type: integer"), "1.5", `6:6: parameters.x: -p x: "1.5": want an integer`},
		{"number", one("type: number"), "NaN", `6:6: parameters.x: -p x: "NaN": want a number`},
		{"boolean", one("type: boolean"), "yes", `6:6: parameters.x: -p x: "yes": want true or false`},
		{"bytes", one("type: string"), "\xff", `6:6: parameters.x: -p x: "\xff": not valid UTF-8`},
		{"minimum", one("type: integer, minimum: 2"), "1", "6:6: parameters.x: -p x: 1: want at least 2"},
		{"maximum", one("type: number, maximum: 2"), "2.5", "6:6: parameters.x: -p x: 2.5: want at most 2"},
		{"enum", one("type: string, enum: [a, b]"), "c", "6:6: parameters.x: -p x: c: want one of [a b]"},
		{"pattern", one("type: string, pattern: '^[a-z]$'"), "C", `6:6: parameters.x: -p x: "C" does not match ^[a-z]$`},
		{"bad pattern", one("type: string, pattern: '['"), "C", "6:30: parameters.x.pattern: error parsing regexp: missing closing ]: `[`"},
		{"bad choice", one("type: string, enum: [a, 1]"), "a", "6:31: parameters.x.enum[1]: 1: want the type string"},
		{"bad default", one("type: integer, default: ten"), "", "6:31: parameters.x.default: default: ten: want the type integer"},
		{"default out of range", one("type: integer, default: 5, maximum: 4"), "", "6:31: parameters.x.default: default: 5: want at most 4"},
		{"missing file", one("type: file"), "no.csv", `6:6: parameters.x: -p x: file "no.csv": no such file or directory`},
		{"a directory", one("type: file"), ".", `6:6: parameters.x: -p x: file ".": want a regular file`},
		{"a secret stays unsaid", one("type: integer, sensitive: true"), "hunter2", "6:6: parameters.x: -p x: the value is refused by the declared type, enum, range or pattern"},
		{"unknown", head + "parameters:\n  xx: {type: string}\n", "1", `6:3: parameters: -p x: no such parameter (did you mean "xx"?)`},
		{"none declared", head, "1", "1:1: parameters: -p x: no such parameter"},
		{"name", head + "parameters: {X: {type: string}}\n", "", `5:14: parameters.X: "X" does not match ^[a-z][a-z0-9_]*$`},
		{"type", head + "goal2: ${param:x}\nparameters: {x: {type: text}}\n", "", "5:1: goal2: unknown key (did you mean \"goal\"?)\n6:24: parameters.x.type: \"text\": want one of string, integer, number, boolean, file"},
		{"no mapping", head + "parameters:\n", "", "5:1: parameters: want a mapping, have nothing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			opt := Options{}
			if tt.given != "" {
				opt.Params = map[string]string{"x": tt.given}
			}
			dir := write(t, "task.yaml", tt.text)
			_, err := Load(dir+"/task.yaml", opt)
			got := strings.ReplaceAll(strings.Join(faults(t, err, dir), "\n"), "task.yaml:", "")
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestOnlyParametersAreExpanded(t *testing.T) {
	const decl = "parameters: {a: {type: string, default: 'v'}, n: {type: number, default: 2.50}, s: {type: string, sensitive: true, default: '${secret:B}'}}\nsecrets: [A]\n"
	task := mustLoad(t, "apiVersion: codeact.dev/v1\nkind: Task\nmetadata: {name: t, description: '${x}'}\ngoalFile: goal.md\n"+decl+
		"security: {destinations: ['*@${param:a}.example'], identity: ['${param:a}']}\n"+
		"policyParams: {l: ['${param:n}$ $$x']}\nredact: {patterns: ['\\${x}']}\n"+
		"mcpServers: {m: {command: x, args: ['${param:a}${param:a}'], env: {E: '${secret:A}-${param:s}', F: '${param:a}!'}}}\n",
		Options{}, "goal.md", "say ${param:a}, ${param:a}")
	got := []any{task.Goal, task.Security.Destinations, task.Security.Identity, task.PolicyParams["l"], task.Redact.Patterns, task.Servers["m"].Args, task.Metadata.Description}
	want := []any{"say v, v", []string{"*@v.example"}, []string{"v"}, []any{"2.5$ $$x"}, []string{`\${x}`}, []string{"vv"}, "${x}"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("expanded (-want +got):\n%s", diff)
	}
	if got := task.Servers["m"].Env["F"].String(); got != "v!" {
		t.Errorf("template with a plain parameter is %q", got)
	}
	value := task.Servers["m"].Env["E"]
	if value.String() != "${secret:A}-${param:s}" || len(value.Secrets()) != 1 {
		t.Errorf("template %s needs %v: the value of a parameter was read for references", value, value.Secrets())
	}
	text, err := value.Resolve(func(string) (string, error) { return "S", nil }, nil)
	if err != nil || text != "S-${secret:B}" {
		t.Errorf("resolved to %q, %v", text, err)
	}
}

func TestFaultsOfReferences(t *testing.T) {
	const decl = "parameters: {name: {type: string}, pw: {type: string, sensitive: true, default: d}}\n" // line 5
	tests := []struct{ name, text, want string }{
		{"in a block, the second of two", "goal: |\n  a ${param:pw} b\n  c ${param:pw}\n", "4:5: goal: parameter pw is sensitive: it may stand only in env and headers of mcpServers, where no model reads it\n5:5: goal: parameter pw is sensitive: it may stand only in env and headers of mcpServers, where no model reads it"},
		{"unknown", "goal: 'a ${param:nam}'\n", `3:10: goal: no parameter "nam" (did you mean "name"?)`},
		{"no value", "goal: 'ü ${param:name}'\n", "3:10: goal: parameter name has no value: give -p name=VALUE or a default"},
		{"the shell's form", "goal: $HOME ${HOME}\n", `3:13: goal: "${HOME}": want ${param:NAME}; nothing else is expanded, and there is no shell`},
		{"no name", "goal: '${param:}'\n", `3:8: goal: "${param:}": want ${param:NAME}; nothing else is expanded, and there is no shell`},
		{"open", "goal: 'a ${param:x'\n", `3:10: goal: "${param:x" is not closed: want ${param:NAME}`},
		{"hidden by an escape", "goal: \"\\x24{HOME}\"\n", `3:7: goal: "${HOME}": want ${param:NAME}; nothing else is expanded, and there is no shell`},
		{"secret in the goal", "goal: '${secret:A}'\n", "3:8: goal: ${secret:A} may stand only in env and headers of mcpServers"},
		{"variable in the goal", "goal: '${env:A}'\n", "3:8: goal: ${env:A} may stand only in env of mcpServers; give a parameter fromEnv instead"},
		{"variable in a header", "goal: g\nmcpServers: {a: {url: 'https://a.example', headers: {h: '${env:A}'}}}\n", "4:58: mcpServers.a.headers.h: ${env:A} may stand only in env of mcpServers; give a parameter fromEnv instead"},
		{"secret that is not declared", "goal: g\nsecrets: [IMAP_PW]\nmcpServers: {a: {command: x, env: {E: 'x ${secret:IMAP_PV}'}}}\n", `5:42: mcpServers.a.env.E: no secret "IMAP_PV": add it to secrets (did you mean "IMAP_PW"?)`},
		{"parameter in an expression", "goal: g\nleases: [{tool: x, when: 'args.a == \"${param:pw}\"'}]\n", "4:38: leases[0].when: ${param:pw} may not stand here: what runs is written out; use args or policyParams"},
		{"parameter in a command", "goal: g\nhooks: {RunEnd: [{hooks: [{type: command, command: 'x ${param:pw}'}]}]}\n", "4:55: hooks.RunEnd[0].hooks[0].command: ${param:pw} may not stand here: what runs is written out; use args or policyParams"},
		{"in the text of goalFile", "goalFile: goal.md\n", "goal.md:2:4: no parameter \"x\""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := "apiVersion: codeact.dev/v1\nkind: Task\n" + tt.text + "metadata: {name: t}\n" + decl
			dir := write(t, "task.yaml", text, "goal.md", "a\nb: ${param:x}\n")
			_, err := Load(dir+"/task.yaml", Options{})
			got := strings.ReplaceAll(strings.Join(faults(t, err, dir), "\n"), "task.yaml:", "")
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestAMissingSecretIsSaid(t *testing.T) {
	var v Template
	if err := v.UnmarshalText([]byte("a${secret:S}${env:E}${param:p}${x}")); err != nil {
		t.Fatal(err)
	}
	ok := func(string) (string, error) { return "s", nil }
	if text, err := v.Resolve(ok, env("E", "e")); err != nil || text != "ase${x}" {
		t.Errorf("Resolve = %q, %v", text, err)
	}
	if _, err := v.Resolve(ok, env()); err == nil || err.Error() != "taskfile: variable E is not set" {
		t.Errorf("without the variable: %v", err)
	}
	fail := func(string) (string, error) { return "", errNotRegular }
	if _, err := v.Resolve(fail, env()); err == nil || err.Error() != "taskfile: secret S: want a regular file" {
		t.Errorf("without the secret: %v", err)
	}
	if got := v.String(); got != "a${secret:S}${env:E}${param:p}${x}" {
		t.Errorf("String = %s", got)
	}
}
