package rules

import (
	"slices"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/policy"
)

func TestCheckNamesWhatNoRuleCovers(t *testing.T) {
	y := head + "spec:\n  matchConstraints: {capabilities: [external_send]}\n  validations: [{expression: 'tool.pinned'}]\n  examples: [{call: {tool: x, pinned: true}, expect: allow}]\n"
	p := mustCompile(t, nil, File{Name: "f.yaml", Data: []byte(y)})
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
		"1 < 2 || tool.pinned":                                    "can never fire: it is always true",
		"!has(args.x) || double(args.x) > 5.0":                    "",
		"tool.pinned || double(args.x) > 5.0":                     "args.x may be missing, which does not deny where the other side decides: test has(args.x) first",
		"double(args.x) > 5.0 || tool.pinned":                     "args.x may be missing",
		"!(tool.pinned && args['x'] == 'b')":                      "args.x may be missing",
		"tool.pinned && args.x == 'b'":                            "",
		"args.x == 'a' || args.x == 'b'":                          "",
		"args.x != 'c' && (tool.pinned || args.x == 'b')":         "",
		"tool.pinned || args.?x.orValue('') == 'b'":               "",
		"tool.pinned || args[?'x'].orValue('') == 'b'":            "",
		"tool.pinned || has(args.x.y)":                            "args.x may be missing",
		"tool.pinned || call.url.host == 'x'":                     "call.url may be missing",
		"tool.pinned || has(call.shell) && call.shell.parsed":     "",
		"tool.pinned || {'k': args.x}['k'] == 1":                  "args.x may be missing",
		"tool.pinned || [1].exists(i, i == size(args.x))":         "args.x may be missing",
		"tool.pinned || [args.x] == [1]":                          "args.x may be missing",
		"tool.pinned || codeact.Path{rel: args.x}.rel == ''":      "args.x may be missing",
		"tool.pinned || run.costUsd < 1":                          "",
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
	for _, w := range mustCompile(t, nil, File{Name: "f.yaml", Data: []byte(y)}).Check([]policy.ToolView{{Name: "t", Caps: policy.Declare()}}) {
		got = append(got, w.String())
	}
	want := []string{
		"f.yaml:3: a: this rule can never fire: it is about none of the tools of this task",
		`f.yaml:8: a: this rule can never fire: condition "none" is always false`,
		"f.yaml:3: a: no example exercises this rule",
		`f.yaml:7: a: a call that does not meet condition "some" passes this rule: add an example of one, or ask for it in a validation`,
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

// warningsOf are those about a policy with the given spec, but for those about its
// examples.
func warningsOf(t *testing.T, params map[string]any, spec string, tools ...policy.ToolView) []string {
	t.Helper()
	var got []string
	for _, w := range mustCompile(t, params, File{Name: "f.yaml", Data: []byte(head + "spec:\n" + spec)}).Check(tools) {
		if s := w.String(); !strings.Contains(s, "example") {
			got = append(got, s)
		}
	}
	return got
}

func TestARuleCoversOnlyWhatItCanRefuse(t *testing.T) {
	post := policy.ToolView{Name: "post", Caps: policy.Declare(policy.ExternalSend), Params: []string{"to"}}
	for spec, want := range map[string]bool{
		"  validations: [{expression: 'tool.pinned'}]\n":                                                                                                           true,
		"  validations: [{expression: 'tool.pinned', action: ask}]\n":                                                                                              true,
		"  validations: [{expression: 'tool.pinned', action: warn}, {expression: 'tool.pinned', action: audit}]\n":                                                 false,
		"  auditAnnotations: [{key: k, valueExpression: 'tool.name'}]\n":                                                                                           false,
		"  validations: [{expression: 'tool.pinned'}]\n  matchConditions: [{name: c, expression: 'has(args.to)'}]\n":                                               true,
		"  validations: [{expression: 'tool.pinned'}]\n  matchConditions: [{name: c, expression: 'has(args.url)'}]\n":                                              false,
		"  validations: [{expression: 'tool.pinned'}]\n  matchConditions: [{name: c, expression: '\"url\" in args'}]\n":                                            true,
		"  validations: [{expression: 'tool.pinned'}]\n  matchConditions: [{name: c, expression: 'tool.name == \"x\"'}]\n":                                         false,
		"  validations: [{expression: 'tool.pinned'}]\n  matchConditions: [{name: c, expression: 'tool.tier > 0'}]\n":                                              true,
		"  validations: [{expression: 'tool.pinned'}]\n  matchConditions: [{name: c, expression: 'run.costUsd > 9'}]\n":                                            true,
		"  validations: [{expression: 'tool.pinned'}]\n  matchConditions: [{name: c, expression: 'args.to[0] == \"x\"'}]\n":                                        true,
		"  validations: [{expression: 'tool.pinned'}]\n  matchConstraints: {tools: [x]}\n":                                                                         false,
		"  validations: [{expression: 'tool.pinned'}]\n  matchConditions: [{name: c, expression: 'variables.v'}]\n  variables: [{name: v, expression: 'false'}]\n": true,
	} {
		got := warningsOf(t, nil, spec, post)
		if covered := !slices.Contains(got, "uncovered: post [external_send]"); covered != want {
			t.Errorf("%s: %q", spec, got)
		}
	}
}

func TestParametersThatLimitNothingAreNamed(t *testing.T) {
	const y = `  params: {cap: int, most: int}
  variables: [{name: unused, expression: '1'}]
  validations: [{expression: 'call.argsBytes < params.cap'}]
`
	got := warningsOf(t, map[string]any{"cap": 1, "most": 2, "cup": 3}, y)
	want := []string{
		`params.cup is given and no policy declares it (did you mean "cap"?)`,
		"f.yaml:5: a: params.most is declared and never read",
		"f.yaml:6: a: variables.unused is never read",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	quiet := strings.Replace(y, "argsBytes < params.cap'", "argsBytes < params.cap', messageExpression: 'string(params.most + variables.unused)'", 1)
	if got := warningsOf(t, map[string]any{"cap": 1, "most": 2}, quiet); got != nil {
		t.Errorf("%q", got)
	}
}

func TestAnArgumentThatNoToolHasIsATypo(t *testing.T) {
	pay := policy.ToolView{Name: "pay", Params: []string{"amount", "payee"}}
	const y = "  matchConstraints: {tools: [pay]}\n  validations: [{expression: 'double(args.amuont) < 5.0 && args[\"payee\"] == \"x\"'}]\n"
	if got, want := warningsOf(t, nil, y, pay, policy.ToolView{Name: "other", Params: []string{"amuont"}}), `f.yaml:6: a: args.amuont: no tool that this rule is about has such a parameter (did you mean "amount"?)`; !slices.Contains(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, tools := range [][]policy.ToolView{{{Name: "pay"}}, {pay, {Name: "pay"}}, {{Name: "other", Params: []string{"x"}}}, {pay, {Name: "pay", Params: []string{"amuont"}}}} {
		for _, w := range warningsOf(t, nil, y, tools...) {
			if strings.Contains(w, "amuont") {
				t.Errorf("%+v: %s", tools, w)
			}
		}
	}
}

// An author who shows a call that passes by a condition knows that it does.
func TestASkippingConditionNeedsAnExample(t *testing.T) {
	const y = head + "spec:\n  matchConditions: [{name: c, expression: 'has(args.url)'}, {name: env, expression: 'labels[?\"env\"].orValue(\"\") == \"\"'}]\n  validations: [{expression: 'args.url == \"x\"', action: ask}]\n" +
		"  examples:\n    - {call: {tool: a, args: {url: x}}, expect: allow}\n"
	warned := func(y string) bool {
		return slices.ContainsFunc(mustCompile(t, nil, File{Name: "f.yaml", Data: []byte(y)}).Check(nil), func(w Warning) bool { return strings.Contains(w.Text, "passes this rule") })
	}
	if !warned(y) || warned(y+"    - {call: {tool: a}, expect: allow}\n") {
		t.Error("an example does not tell")
	}
}

func TestAStandingRuleMayBeAboutNoTool(t *testing.T) {
	f := File{Name: "f.yaml", Data: []byte(head + "spec:\n  matchConstraints: {tools: [never]}\n  validations: [{expression: 'tool.pinned'}]\n")}
	idle := func() int {
		n := 0
		for _, w := range mustCompile(t, nil, f).Check([]policy.ToolView{{Name: "t", Caps: policy.Declare()}}) {
			if w.Idle {
				n++
			}
		}
		return n
	}
	if idle() != 1 {
		t.Error("a rule about nothing is not named")
	}
	if f.Standing = true; idle() != 0 {
		t.Error("a standing rule is named")
	}
}

func TestFactsThatAreNotKnownAreNamed(t *testing.T) {
	const y = `  params: {cap: int}
  matchConstraints: {labels: [pay], tools: [post]}
  variables: [{name: v, expression: 'lease.usesLeft'}]
  matchConditions: [{name: c, expression: 'has(args.url) && labels["env"] == "x"'}]
  validations: [{expression: 'variables.v > params.cap && taint.args["to"].private && now > lease.expires && size(args) > 0', message: 'x'}]
`
	p := mustCompile(t, map[string]any{"cap": 1}, File{Name: "f.yaml", Data: []byte(head + "spec:\n" + y)})
	post := policy.Request{Tool: policy.ToolView{Name: "post"}}
	got := p.Unknown(post, func(fact string) bool { return fact == "now" || fact == "args.url" })
	want := []string{"args", "labels.env", "lease.expires", "lease.usesLeft", "taint.args", "tool.labels"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := p.Unknown(post, func(string) bool { return true }); got != nil {
		t.Errorf("all is known, and the rule is not about it: %q", got)
	}
	if got := p.Unknown(policy.Request{Tool: policy.ToolView{Name: "x"}}, func(string) bool { return false }); got != nil {
		t.Errorf("the rule is not about the tool: %q", got)
	}
	var none *Policy
	if got := none.Unknown(post, func(string) bool { return false }); got != nil {
		t.Errorf("%q", got)
	}
}
