package rules

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-multierror"

	"github.com/codeact-dev/codeact/policy"
)

const head = "apiVersion: codeact.dev/v1\nkind: ToolCallPolicy\nmetadata: {name: a}\n"

// faults are the errors of a file, each a *FileError.
func faults(t testing.TB, err error) []*FileError {
	t.Helper()
	var all *multierror.Error
	if !errors.As(err, &all) {
		t.Fatalf("%T: %v", err, err)
	}
	var out []*FileError
	for _, e := range all.Errors {
		var f *FileError
		if !errors.As(e, &f) {
			t.Fatalf("%T: %v", e, e)
		}
		out = append(out, f)
	}
	return out
}

func TestAFaultIsReportedWhereItStands(t *testing.T) {
	const v = "  validations: [{expression: 'true'}]\n"
	for _, c := range []struct {
		name, body string
		want       []string // "line:col: text"; the line counts from the spec, which is line 4
	}{
		{"an unknown key", "spec:\n  matchConstraint: {}\n" + v, []string{`5:3: unknown key "matchConstraint" in spec (did you mean "matchConstraints"?)`}},
		{"no failure policy", "spec:\n  failurePolicy: Fail\n" + v, []string{`5:3: unknown key "failurePolicy" in spec: want one of auditAnnotations, examples,`}},
		{"a duplicate key", "spec:\n" + v + v, []string{`6:3: mapping key "validations" already defined`}},
		{"a wrong type", "spec:\n  validations: yes\n", []string{"5:16: validations must be a list, not a string", "1:1: the policy has no validations"}},
		{"a bad action", "spec:\n  validations: [{expression: 'true', action: dney}]\n", []string{`5:46: action "dney": want deny, ask, warn or audit (did you mean "deny"?)`}},
		{"a typo in a field", "spec:\n  validations:\n    - expression: 'tool.nmae == \"\"'\n", []string{`6:25: there is no field "nmae" (did you mean "name"?)`}},
		{"a typo in a variable", "spec:\n  variables: [{name: amount, expression: '1'}]\n  validations:\n    - expression: 'variables.amuont > 1'\n", []string{`7:30: variables.amuont is not declared (did you mean "amount"?)`}},
		{"a field of a variable", "spec:\n  variables: [{name: u, expression: 'url(args.u)'}]\n  validations:\n    - expression: 'variables.u.hots == \"\"'\n", []string{`7:32: there is no field "hots" (did you mean "host"?)`}},
		{"a variable before it is declared", "spec:\n  variables: [{name: a, expression: 'variables.b'}, {name: b, expression: '1'}]\n" + v, []string{`5:48: variables.b is not declared, as none is`}},
		{"an unknown name", "spec:\n  validations:\n    - expression: 'tol.name == \"\"'\n", []string{`6:20: tol is not known (did you mean "tool"?)`}},
		{"an undeclared parameter", "spec:\n  params: {cap: int}\n  validations:\n    - expression: 'params.cup > 1'\n", []string{`7:27: params.cup is not declared (did you mean "cap"?)`}},
		{"a parameter not given", "spec:\n  params: {cop: int}\n" + v, []string{`5:12: params.cop is declared and not given: set it in the policyParams of the task (did you mean "cap"?)`}},
		{"a parameter of another type", "spec:\n  params: {cap: string, list: list(int)}\n" + v, []string{`5:12: params.cap: want string, got 7`, `5:25: params.list: entry 1: want int, got the string "x"`}},
		{"a bad parameter type", "spec:\n  params: {cap: strin, list: list(map), 1a: int}\n" + v, []string{`5:17: "strin" is not a type of a parameter (did you mean "string"?)`, `5:30: "list(map)" is not a type`, `5:41: "1a" cannot be the name`}},
		{"a bad name of a variable", "spec:\n  variables: [{name: a-b, expression: '1'}]\n" + v, []string{`5:22: "a-b" cannot be the name of a variable`}},
		{"in a folded text", "spec:\n  validations:\n    - expression: >-\n        true\n        && tool.nmae == ''\n", []string{`8:17: there is no field "nmae"`}},
		{"in a literal text", "spec:\n  validations:\n    - expression: |\n        true &&\n          tool.nmae == ''\n", []string{`8:16: there is no field "nmae"`}},
		{"in a plain text over two lines", "spec:\n  validations:\n    - expression: tool.name == 'é' &&\n         tool.nmae == 'x'\n", []string{`7:15: there is no field "nmae"`}},
		{"behind escapes", "spec:\n  validations:\n    - expression: \"'\\u00e9\\x41\\U0001F600' ==\\t\\n tool.nmae\"\n", []string{`6:55: there is no field "nmae"`}},
		{"behind doubled quotes", "spec:\n  validations:\n    - expression: '''it'' == tool.nmae'\n", []string{`6:35: there is no field "nmae"`}},
		{"no bool", "spec:\n  validations:\n    - expression: 'tool.name'\n", []string{`6:20: the expression must be a bool, not a string`}},
		{"a message that is no string", "spec:\n  validations:\n    - {expression: 'true', messageExpression: '1'}\n", []string{`6:48: the expression must be a string, not a int`}},
		{"no expression", "spec:\n  validations: [{message: x}]\n", []string{`5:18: the validation has no expression`}},
		{"an empty expression", "spec:\n  validations: [{expression: ' '}]\n", []string{`5:30: expression is empty`}},
		{"an entry without a name", "spec:\n  matchConditions: [{expression: 'true'}, {name: x}, {name: y, expression: 'true'}, {name: y, expression: 'true'}, 3]\n" + v, []string{`5:22: an entry of matchConditions has no name`, `5:44: an entry of matchConditions has no expression`, `5:92: duplicate name "y"`, `matchConditions must be a mapping, not a number`}},
		{"an unknown capability", "spec:\n  matchConstraints: {capabilities: [external_sent, zzzzzzzz]}\n" + v, []string{`5:37: capability "external_sent" is not known (did you mean "external_send"?)`, `want one of private_data`}},
		{"an empty constraint", "spec:\n  matchConstraints: {tools: [], capabilities: []}\n" + v, []string{`an empty list of tools matches no call`, `an empty list of capabilities`}},
		{"a bad tier", "spec:\n  matchConstraints: {tiers: [3, [1]]}\n" + v, []string{`5:30: a tier is free, ask_once or always_ask`, `a tier is`}},
		{"an anchor", "spec: &x\n" + v, []string{`spec must be a mapping: write the value out, anchors and aliases are refused`, ``}},
		{"an alias bomb", "spec:\n  validations: [&a {expression: 'true'}, *a]\n", []string{`anchors and aliases are refused`, `anchors and aliases are refused`}},
		{"a merge", "spec:\n  <<: {validations: []}\n" + v, []string{`must be a plain name: no merge`}},
		{"a tag", "spec: !!map {}\n", []string{`without a tag`, ``}},
		{"no rule", "spec: {}\n", []string{`so it would allow everything`}},
		{"a syntax error of CEL", "spec:\n  validations: [{expression: '1 +'}]\n", []string{"Syntax error"}},
		{"a syntax error of YAML", "spec: [1\n", []string{`sequence end token ']' not found`}},
		{"behind an escaped quote", "spec:\n  validations:\n    - expression: \"\\\"a\\\" == tool.nmae\"\n", []string{`6:34: there is no field "nmae"`}},
		{"nothing", "spec:\n  validations:\n", []string{`validations must be a list, and nothing is there`, ``}},
		{"a mapping for a list", "spec:\n  validations: {}\n", []string{`must be a list, not a mapping`, ``}},
		{"a truth for a list", "spec:\n  validations: true\n", []string{`must be a list, not true or false`, ``}},
		{"a pair in a list", "spec:\n  matchConditions: [a: b]\n" + v, []string{`5:21: unknown key "a"`, `5:21: an entry of matchConditions has no name`}},
		{"a type that is no string", "spec:\n  params: {cap: 3}\n" + v, []string{`5:17: the type of a parameter must be a string, not a number`}},
		{"a regular expression", "spec:\n  validations: [{expression: 'tool.name.matches(\"(\")'}]\n", []string{`error parsing regexp`}},
		{"names that CEL reserves", "spec:\n  variables: [{name: in, expression: '1'}, {name: for, expression: 'variables.in == 1'}]\n" + v, []string{`Syntax error`, `Syntax error`}},
		{"an unknown function", "spec:\n  validations: [{expression: 'urll(args.x) == 1'}]\n", []string{`urll is not known (did you mean "url"?)`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Compile(map[string]any{"cap": 7, "list": []any{1, "x"}}, File{Name: "f.yaml", Data: []byte(head + c.body)})
			if err == nil || p != nil {
				t.Fatalf("it compiles: %v", p)
			}
			got := faults(t, err)
			if len(got) != len(c.want) {
				t.Fatalf("%d faults, want %d: %v", len(got), len(c.want), err)
			}
			for i, f := range got {
				place := fmt.Sprintf("%d:%d: %s", f.Line, f.Col, f.Msg)
				if !strings.Contains(place, c.want[i]) || f.File != "f.yaml" {
					t.Errorf("got %s, want %s", place, c.want[i])
				}
			}
		})
	}
}

func TestTheCaretStandsUnderTheFault(t *testing.T) {
	_, err := Compile(nil, File{Name: "f.yaml", Data: []byte(head + "spec:\n  validations:\n    - expression: '\"é\" == tool.nmae'\n")})
	want := "f.yaml:6:32: there is no field \"nmae\" (did you mean \"name\"?)\n" +
		"        - expression: '\"é\" == tool.nmae'\n" +
		"                                   ^"
	if got := faults(t, err)[0].Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	long := head + "spec:\n  validations: [{expression: '" + strings.Repeat("true && ", 100) + "tool.nmae == \"\\t\"'}]\n"
	_, err = Compile(nil, File{Name: "f.yaml", Data: []byte(long)})
	line, caret, _ := strings.Cut(faults(t, err)[0].Excerpt, "\n")
	if i := strings.Index(caret, "^"); len(line) > 128 || !strings.HasPrefix(line[i:], "nmae") {
		t.Errorf("%s\n%s", line, caret)
	}
}

func TestAWholePolicyMustBeThere(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "no policy is in this file",
		"# c\n":                "no policy is in this file",
		"---\n---\n":           "no policy is in this file",
		"[1]":                  "a policy must be a mapping, not a list",
		"kind: ToolCallPolicy": "no apiVersion",
		"apiVersion: codeact.dev/v1\nkind: Other":                                         `kind "Other": want ToolCallPolicy`,
		"apiVersion: v2\nkind: ToolCallPolicy":                                            `apiVersion "v2": want codeact.dev/v1`,
		"apiVersion: codeact.dev/v1":                                                      "no kind",
		"apiVersion: codeact.dev/v1\nkind: ToolCallPolicy":                                "no metadata.name",
		"apiVersion: codeact.dev/v1\nkind: ToolCallPolicy\nmetadata: {description: x}":    "no metadata.name",
		"apiVersion: codeact.dev/v1\nkind: ToolCallPolicy\nmetadata: {name: a}":           "no spec",
		"apiVersion: codeact.dev/v1\nkind: ToolCallPolicy\nmetadata: {name: 3}\nspec: {}": "metadata.name must be a string",
	} {
		_, err := Compile(nil, File{Name: "f.yaml", Data: []byte(text)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

// B66: one bad rule among good ones fails the load; there is no partial policy.
func TestB66OneBadRuleFailsTheWholeLoadWithAllFaults(t *testing.T) {
	p, err := Compile(nil, policyOf("good", "true", "deny"), policyOf("bad", "tool.nmae == ''", "deny"), policyOf("worse", "cal.name == ''", "deny"))
	got := faults(t, err)
	if p != nil || len(got) != 2 || got[0].File != "bad.yaml" || got[1].File != "worse.yaml" {
		t.Errorf("%v, %v", p, err)
	}
}

func TestANameStandsForOneRule(t *testing.T) {
	a, b := policyOf("same", "true", "deny"), policyOf("same", "false", "deny")
	b.Name = "other.yaml"
	_, err := Compile(nil, a, b)
	if f := faults(t, err)[0]; !strings.Contains(f.Msg, `duplicate policy "same": it is also at other.yaml:3`) {
		t.Error(err)
	}
}

func TestParametersAreTakenExactly(t *testing.T) {
	for _, c := range []struct {
		typ  string
		v    any
		expr string // true of it; "" if it is refused
	}{
		{"int", 3, "params.x == 3"}, {"int", int64(3), "params.x == 3"}, {"int", uint64(3), "params.x == 3"},
		{"int", uint64(math.MaxUint64), ""}, {"int", 3.0, ""}, {"int", "3", ""}, {"int", true, ""}, {"int", nil, ""},
		{"double", 3, "params.x == 3.0"}, {"double", 2.5, "params.x == 2.5"}, {"double", int64(1)<<53 + 1, ""}, {"double", map[string]any{}, ""},
		{"string", "a", "params.x == 'a'"}, {"string", []any{}, ""},
		{"bool", true, "params.x"}, {"bool", "true", ""},
		{"duration", "90m", "params.x == duration('1h30m')"}, {"duration", "soon", ""},
		{"list(string)", []any{"a"}, "params.x == ['a']"}, {"list(string)", []string{"a"}, "'a' in params.x"}, {"list(string)", "a", ""},
		{"list(int)", []any{1, 2}, "params.x[1] == 2"}, {"list(duration)", []any{"1s"}, "params.x[0] < duration('2s')"},
	} {
		expr := c.expr
		if expr == "" {
			expr = "true"
		}
		y := head + "spec:\n  params: {x: " + c.typ + "}\n  validations: [{expression: \"" + expr + "\"}]\n"
		p, err := Compile(map[string]any{"x": c.v}, File{Name: "f.yaml", Data: []byte(y)})
		if c.expr == "" {
			if err == nil || !strings.Contains(err.Error(), "params.x") {
				t.Errorf("%s from %v: %v", c.typ, c.v, err)
			}
			continue
		}
		if err != nil || p.Judge(policy.Request{}).Verdict != policy.Allow {
			t.Errorf("%s from %v: %v", c.typ, c.v, err)
		}
	}
	if _, err := Compile(map[string]any{"x": math.NaN()}); err == nil {
		t.Error("a digest of what has no canonical form")
	}
	if _, err := (paramType{scalar: "double"}).convert(math.NaN()); err == nil {
		t.Error("NaN passes every comparison with !=")
	}
}

func TestAnExampleThatFailsIsAnError(t *testing.T) {
	const spec = "spec:\n  params: {cap: int}\n  matchConstraints: {tools: [pay]}\n  validations: [{expression: 'args.n <= params.cap'}]\n  examples:\n"
	for example, want := range map[string]string{
		"{call: {tool: pay, args: {n: 1}}, expect: allow}":                                        "",
		"{call: {tool: pay, args: {n: 9}}, expect: deny}":                                         "",
		"{call: {tool: pay, args: {n: 9}}, params: {cap: 10}, expect: allow}":                     "",
		"{name: big, call: {tool: pay, args: {n: 9}}, expect: allow}":                             `example "big" fails: expected allow, got deny: this must be true`,
		"{name: other, call: {tool: x}, expect: deny}":                                            `expected deny, got allow: the rule is not about it: the tool is not one of its tools`,
		"{call: {tool: pay}, expect: maybe}":                                                      "expect must be deny, ask or allow",
		"{call: {tool: pay}}":                                                                     "the example has no expect",
		"{expect: deny}":                                                                          "the example has no call",
		"{call: {}, expect: deny}":                                                                "has no tool",
		"{call: {tool: pay}, params: {cop: 1}, expect: deny}":                                     `params.cop is not declared (did you mean "cap"?)`,
		"{call: {tool: pay}, params: {cap: x}, expect: deny}":                                     `params.cap: want int`,
		"{call: {tool: pay}, taint: {privat: true}, expect: deny}":                                `unknown key "privat" in taint (did you mean "private"?)`,
		"{call: {tool: pay}, taint: {private: 1}, expect: deny}":                                  "private must be true or false, not a number",
		"{call: {tool: pay}, now: monday, expect: deny}":                                          "now must be a time",
		"{call: {tool: pay}, run: {costUsd: x}, expect: deny}":                                    "costUsd must be a number",
		"{call: {tool: pay}, run: {toolCalls: 1.5}, expect: deny}":                                "toolCalls must be a whole number",
		"{call: {tool: pay, args: {n: 99999999999999999999}}, expect: deny}":                      "",
		"{call: {tool: pay, args: {n: 18446744073709551615}}, expect: deny}":                      "does not fit 64 bits",
		"{call: {tool: pay, args: {n: [1, {a: .inf, b: .nan, c: null, d: true}]}}, expect: deny}": "",
		"{call: {tool: pay, args: {n: !!str 1}}, expect: deny}":                                   "not plain data",
	} {
		_, err := Compile(map[string]any{"cap": 5}, File{Name: "f.yaml", Data: []byte(head + spec + "    - " + example + "\n")})
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", example, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %s", example, err, want)
		}
	}
}

func TestAnExampleFillsTheWholeRequest(t *testing.T) {
	y := head + `spec:
  validations:
    - expression: >-
        call.id == 'r/4/1' && call.step == 4 && call.name == 't' && call.argsBytes == 9 && call.url.host == 'x.org'
        && call.url.userinfo == 'me' && call.url.query == 'q=1' && call.url.isAbs && call.urls.size() == 1
        && call.shell.writes == ['a'] && call.shell.network && call.paths[0].abs == '/workspace/a/b'
        && !call.paths[0].writable && call.paths[0].param == ''
    - expression: >-
        tool.server == 's' && tool.tier == 0 && tool.pinned && tool.sandboxed && tool.labels == ['l']
        && tool.capabilities == ['private_data']
    - expression: >-
        taint.private && !taint.untrusted && taint.unvouched && taint.turn.untrusted && taint.control.private
        && taint.args['x'].untrusted && taint.args['x'].origin == 'user' && taint.args['x'].sources == ['?']
        && taint.args['y'].private && taint.args['y'].origin == 'tool' && !taint.args['x'].unvouched
        && taint.control.sources == ['?'] && !taint.turn.private && !taint.control.unvouched
        && size(taint.args) == 2 && 'x' in taint.args && !('z' in taint.args)
    - expression: >-
        lease.id == 'L' && lease.usesLeft == 2 && lease.approvedBy == 'me' && lease.expires > now
        && run.id == 'r' && run.mode == 'unattended' && run.bytesSent == 3 && run.callsThisStep == 4 && run.toolCalls == 5
        && run.costUsd > 1 && session.id == 'i' && session.user == 'u' && labels.env == 'prod'
  examples:
    - name: all
      call:
        {id: r/4/1, tool: t, server: s, tier: free, capabilities: [private_data], labels: [l], sandboxed: true, pinned: true,
         args: {x: 1, y: "2"}, argsBytes: 9, paths: [a/b], url: "https://me@x.org/p?q=1",
         shell: {parsed: true, risk: low, reason: r, writes: [a], network: true}}
      taint: {private: true, unvouched: true, turn: {untrusted: true}, control: {private: true}, args: {x: {untrusted: true, origin: user}}}
      lease: {id: L, usesLeft: 2, expires: "2026-12-01T00:00:00Z", approvedBy: me}
      run: {id: r, mode: unattended, bytesSent: 3, callsThisStep: 4, toolCalls: 5, costUsd: 1.5}
      session: {id: i, user: u}
      labels: {env: prod}
      now: "2026-11-30T10:00:00Z"
      expect: allow
    - name: a URL that is none
      call: {tool: t, url: 'http://[', args: {x: |-
        1
        }}
      run: {costUsd: 2}
      expect: deny
`
	y = strings.ReplaceAll(y, "args: {x: |-\n        1\n        }}", "args: {x: 1}}")
	if _, err := Compile(nil, File{Name: "f.yaml", Data: []byte(y)}); err != nil {
		t.Error(err)
	}
}

func FuzzPolicyFile(f *testing.F) {
	f.Add(string(eightFile(f).Data))
	f.Add(head + "spec:\n  validations: [{expression: \"'\\u00e9' == tool.nmae\"}]\n")
	f.Add(head + "spec: &a {validations: [*a]}\n")
	f.Add("a: |\n  x\n--- >-\n\tb")
	f.Fuzz(func(t *testing.T, s string) {
		begin := time.Now()
		p, err := Compile(eightParams, File{Name: "f.yaml", Data: []byte(s)})
		if (p == nil) == (err == nil) {
			t.Fatalf("neither a policy nor an error, or both: %v", err)
		}
		if err != nil {
			for _, e := range faults(t, err) {
				if e.Line < 1 || e.Col < 1 || e.Msg == "" || e.File != "f.yaml" {
					t.Fatalf("%+v", e)
				}
			}
			return
		}
		r := send(map[string]any{"url": "https://x.org"})
		if d := p.Explain(r).Decision; d.Verdict != p.Judge(r).Verdict {
			t.Fatalf("explained as %s", d.Verdict)
		}
		p.Check([]policy.ToolView{r.Tool})
		if time.Since(begin) > 10*time.Second {
			t.Fatalf("took %s", time.Since(begin))
		}
	})
}
