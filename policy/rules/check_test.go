package rules

import (
	"slices"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/policy"
)

func TestCheckNamesWhatNoRuleCovers(t *testing.T) {
	y := head + "spec:\n  matchConstraints: {capabilities: [external_send]}\n  validations: [{expression: 'tool.pinned'}]\n  examples: [{call: {tool: x, pinned: true}, expect: allow}]\n"
	p := mustCompile(t, nil, File{"f.yaml", []byte(y)})
	var got []string
	for _, w := range p.Check([]policy.ToolView{
		{Name: "mystery"}, {Name: "post", Caps: policy.Declare(policy.ExternalSend)}, {Name: "rm", Caps: policy.Declare(policy.Destructive, policy.PrivateData)}, {Name: "now", Caps: policy.Declare()},
	}) {
		got = append(got, w.String())
	}
	if want := []string{"uncovered: rm [private_data, destructive]"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	var none *Policy
	if ws := none.Check([]policy.ToolView{{Name: "mystery"}}); len(ws) != 1 || ws[0].Text != "uncovered: mystery [undeclared]" {
		t.Errorf("%v", ws)
	}
}

func TestCheckWarnsOfTraps(t *testing.T) {
	for expr, want := range map[string]string{
		"call.paths.all(p, p.writable)":                           "all() is true for an empty list: add size(call.paths) > 0 &&",
		"size(call.paths) > 0 && call.paths.all(p, p.writable)":   "",
		"call.paths.size() != 0 && call.paths.all(p, p.writable)": "",
		"call.paths.exists(p, p.writable)":                        "",
		"['a', 'b'].all(x, x in tool.labels)":                     "",
		"[].all(x, x == 1)":                                       "all() is true for an empty list",
		"size(args) > 0 && args.l.all(x, x == 1)":                 "add size(args.l) > 0",
		"int(args.amount) <= 100":                                 "int() cuts the fraction off",
		"100 >= int(args['amount'])":                              "int() cuts the fraction off",
		"double(args.amount) <= 100.0":                            "",
		"int(now) <= 100":                                         "",
		"args.amount == 5":                                        "an argument is untyped",
		"5.5 != args.amount":                                      "an argument is untyped",
		"args.amount == uint(5)":                                  "an argument is untyped",
		"args.name == 'x'":                                        "",
		"args.amount > 5":                                         "",
		"args.url.startsWith('https://x.org')":                    "args.url is compared as text, which evilexample.com",
		"url(args.url).host.endsWith('x.org')":                    "",
		"call.url.host.endsWith('x.org')":                         "call.url.host is compared as text",
		"call.url.host == 'x.org'":                                "",
		"args['host'] == 'x.org'":                                 `args["host"] is compared as text`,
		"args.path.startsWith('src/')":                            "args.path is compared as text, which src/../x",
		"call.paths.exists(p, p.rel.contains('src'))":             "p.rel is compared as text",
		"args.path.matches('^src')":                               "args.path is compared as text",
		"args[tool.name] == 'x'":                                  "",
		"args.l.exists(x, x.startsWith('a'))":                     "",
		"true":                                                    "can never fire: it is always true",
	} {
		ws := mustCompile(t, nil, policyOf("trap", expr, "deny")).Check(nil)
		ws = slices.DeleteFunc(ws, func(w Warning) bool { return w.Text == "no example exercises this rule" })
		switch {
		case want == "" && len(ws) > 0:
			t.Errorf("%s: %v", expr, ws)
		case want != "" && (len(ws) != 1 || !strings.Contains(ws[0].Text, want) || ws[0].Line != 6 || ws[0].File != "trap.yaml" || ws[0].Policy != "trap"):
			t.Errorf("%s: %v, want %s", expr, ws, want)
		}
	}
}

func TestCheckLooksAtAllClausesOfARule(t *testing.T) {
	y := head + `spec:
  matchConstraints: {tools: [never]}
  matchConditions:
    - {name: some, expression: 'call.paths.size() > 0'}
    - {name: none, expression: 'false'}
  variables: [{name: v, expression: 'args.l.all(x, x == 1)'}]
  validations:
    - expression: 'call.paths.all(p, p.writable) && variables.v'
`
	var got []string
	for _, w := range mustCompile(t, nil, File{"f.yaml", []byte(y)}).Check([]policy.ToolView{{Name: "t", Caps: policy.Declare()}}) {
		got = append(got, w.String())
	}
	want := []string{
		"f.yaml:3: a: this rule can never fire: it is about none of the tools of this task",
		`f.yaml:8: a: this rule can never fire: condition "none" is always false`,
		"f.yaml:3: a: no example exercises this rule",
		"f.yaml:9: a: all() is true for an empty list: add size(args.l) > 0 &&",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if s := (Warning{File: "f", Line: 2, Text: "x"}).String(); s != "f:2: x" {
		t.Error(s)
	}
}

func TestTheFixtureHasNoTrap(t *testing.T) {
	for _, w := range compileEight(t).Check(nil) {
		t.Errorf("%s", w)
	}
}
