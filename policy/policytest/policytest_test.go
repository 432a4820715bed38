package policytest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-multierror"
	"pgregory.net/rapid"

	"github.com/codeact-dev/codeact/policy"
	"github.com/codeact-dev/codeact/policy/rules"
	"github.com/codeact-dev/codeact/policy/rules/source"
)

const head = "apiVersion: codeact.dev/v1\nkind: PolicyTest\npolicies: [p.yaml]\n"

func parse(text string) (*Suite, error) {
	return Parse(source.File{Name: "p_test.yaml", Data: []byte(text)})
}

func suite(t testing.TB, text string) *Suite {
	t.Helper()
	s, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// compiled is a policy of rules, each a name and an expression; the action is the
// first word of the name.
func compiled(t testing.TB, named ...string) *rules.Policy {
	t.Helper()
	var files []rules.File
	for i := 0; i < len(named); i += 2 {
		action, _, _ := strings.Cut(named[i], "-")
		files = append(files, rules.File{Name: named[i], Data: []byte("apiVersion: codeact.dev/v1\nkind: ToolCallPolicy\nmetadata: {name: " + named[i] + "}\nspec:\n" +
			"  matchConstraints: {tools: [pay]}\n  validations:\n    - {expression: '" + named[i+1] + "', action: " + action + ", message: no " + named[i] + "}\n")})
	}
	p, err := rules.Compile(nil, files...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestFaultsOfATestFileComeTogetherWithTheirPlaces(t *testing.T) {
	const ok = "cases:\n  - {name: a, call: {tool: x}, expect: deny}\n"
	for text, want := range map[string][]string{
		"":                                  {"1:1: no test is in this file"},
		"a: [\n":                            {"1:4: "},
		head + ok:                           nil,
		"kind: Other\n" + ok:                {`1:7: kind "Other": want PolicyTest`, "1:1: the test has no apiVersion: want codeact.dev/v1", "1:1: the test has no policies"},
		head + "---\n" + head + ok:          {"5:1: a test file holds one document"},
		head:                                {"1:1: the test has no cases"},
		head + "cases: []\n":                {"4:8: the test has no cases"},
		head + "cases: 1\n":                 {"4:8: cases must be a list, not a number"},
		head + "case: []\n" + ok:            {`4:1: unknown key "case" in a policy test (did you mean "cases"?)`},
		head + ok + "defaults: {name: x}\n": {`6:12: unknown key "name" in defaults`},
		head + ok + "  - {name: a, call: {tool: x}, expect: ask}\n":                                                         {`6:6: duplicate case "a"`},
		head + "cases:\n  - 3\n":                                                                                            {"5:5: a case must be a mapping, not a number"},
		head + "cases:\n  - {name: a, expect: deny}\n":                                                                      {"5:6: a case has a call or a fromTrace"},
		head + "cases:\n  - {name: a, call: {tool: x}, fromTrace: t, expect: deny}\n":                                       {"5:6: a case has a call or a fromTrace"},
		head + "cases:\n  - {name: a, call: {tool: x}}\n":                                                                   {"5:6: the case has no expect"},
		head + "cases:\n  - {call: {tool: x}, expect: deny}\n":                                                              {"5:6: the case has no name"},
		head + "cases:\n  - {name: a, call: {tool: x}, expect: {sameDecision: true}}\n":                                     {"5:6: sameDecision goes with fromTrace"},
		head + "cases:\n  - {fromTrace: t, expect: deny}\n":                                                                 {"5:6: fromTrace goes with expect: {sameDecision: true}"},
		head + "cases:\n  - {name: a, call: {tool: x}, expect: {policy: p}}\n":                                              {"5:41: expect has a decision or sameDecision: true"},
		head + "cases:\n  - {name: a, call: {tool: x}, expect: {decision: deny, sameDecision: true}}\n":                     {"5:41: expect has a decision or sameDecision: true", "5:6: sameDecision goes"},
		head + "cases:\n  - {name: a, call: {tool: x}, expect: maybe}\n":                                                    {"5:40: decision must be deny, ask or allow"},
		head + "cases:\n  - {name: a, call: {tool: x}, expect: {decision: allow, error: true}}\n":                           {"5:41: no rule stands behind an allow"},
		head + "cases:\n  - {name: a, call: {tool: x}, expect: {decision: allow, policy: p}}\n":                             {"5:41: no rule stands behind an allow"},
		head + "cases:\n  - {name: a, call: {tool: x, tol: y}, taint: {privat: true}, expect: {decison: deny}}\n":           {`unknown key "tol"`, `unknown key "privat" in taint`, `unknown key "decison" in expect`, "expect has a decision"},
		head + "cases:\n  - {name: a, call: {tool: x}, run: {mode: plan}, taint: {args: {a: {origin: me}}}, expect: ask}\n": {`mode "plan" is not known: want one of interactive, unattended`, `origin "me" is not known: want one of user, model, tool`},
	} {
		s, err := parse(text)
		if want == nil {
			if err != nil {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		var all *multierror.Error
		if s != nil || !errors.As(err, &all) || len(all.Errors) != len(want) {
			t.Errorf("%q: %v, want %q", text, err, want)
			continue
		}
		for i, e := range all.Errors {
			if !strings.Contains(e.Error(), want[i]) || !strings.HasPrefix(e.Error(), "p_test.yaml:") {
				t.Errorf("%q: %v, want %s", text, e, want[i])
			}
		}
	}
}

func TestACaseIsJudged(t *testing.T) {
	p := compiled(t, "deny-b", "!has(args.b)", "ask-a", "!has(args.a)", "deny-c", "args.c > 1 || !has(args.c)", "ask-broken", "!has(args.e) || args.none", "warn-w", "!has(args.w)")
	for _, c := range []struct{ args, expect, want string }{ // want is "" for a case that passes
		{"", "allow", ""},
		{"z: 1", "deny", "want deny, got allow"},
		{"a: 1", "ask", ""},
		{"a: 1", "allow", "want allow, got ask by ask-a: no ask-a"},
		{"b: 1", "{decision: deny, policy: deny-b, reasonContains: no deny-b, error: false}", ""},
		{"b: 1", "{decision: deny, policy: deny-c}", "want deny by deny-c, got deny by deny-b: no deny-b"},
		{"a: 1, b: 1", "{decision: deny, policy: ask-a}", "want deny by ask-a, got deny by deny-b"},
		{"b: 1, c: 0", "{decision: deny, policy: deny-b}", ""},
		{"b: 1, c: 0", "{decision: deny, policy: deny-c}", ""}, // both decide so
		{"b: 1", "{decision: deny, reasonContains: mango}", `want a reason with "mango", got "no deny-b"`},
		{"b: 1", "{decision: deny, error: true}", "want error: true, got deny by deny-b"},
		{"e: 1", "{decision: deny, error: true}", ""},
		{"e: 1", "{decision: deny, error: true, policy: ask-broken}", ""},
		{"e: 1", "{decision: deny, error: false}", "want error: false, got deny by ask-broken"},
		{"w: 1", "allow", ""},
	} {
		s := suite(t, head+"cases:\n  - {name: n, call: {tool: pay, args: {"+c.args+"}}, expect: "+c.expect+"}\n")
		r := s.Cases[0].Judge(p)
		switch {
		case c.want == "" && (r.Outcome != Pass || r.Why != nil):
			t.Errorf("%s, %s: %+v", c.args, c.expect, r)
		case c.want != "" && (r.Outcome != Fail || len(r.Why) != 1 || !strings.HasPrefix(r.Why[0], c.want)):
			t.Errorf("%s, %s: %s %q, want %s", c.args, c.expect, r.Outcome, r.Why, c.want)
		}
		if r.Name != "n" || r.File != "p_test.yaml" || r.Line != 5 || r.Calls != 1 || len(r.Explanations) != 1 {
			t.Errorf("%+v", r)
		}
	}
}

func TestDefaultsAreUnderEveryCaseAndNoCaseIsUnderAnother(t *testing.T) {
	s := suite(t, head+`cases:
  - name: bare
    call: {tool: pay}
    expect: deny
  - name: own
    call: {tool: pay, args: {x: 2}}
    labels: {env: dev, own: yes}
    run: {toolCalls: 7}
    taint: {private: false, untrusted: true}
    expect: deny
  - name: after
    call: {tool: pay}
    expect: deny
defaults:
  now: "2026-11-30T10:00:00Z"
  call: {tool: other, capabilities: [destructive], args: {y: 1}, paths: [a, {rel: b, made: true}]}
  labels: {env: prod}
  run: {mode: unattended}
  taint: {private: true}
`)
	bare, own := s.Cases[0].req, s.Cases[1].req
	if diff := cmp.Diff(bare, s.Cases[2].req, cmp.AllowUnexported(policy.Taint{}, policy.Capabilities{})); diff != "" {
		t.Errorf("a case changed the defaults: %s", diff)
	}
	if bare.Labels["env"] != "prod" || bare.Run.Mode != "unattended" || !bare.Held.Private() || bare.Tool.Name != "pay" || !bare.Tool.Caps.Has(policy.Destructive) ||
		bare.Tool.Caps.Has(policy.ExternalSend) || bare.Now.IsZero() || len(bare.Paths) != 2 || bare.Paths[0].Made || !bare.Paths[1].Made || bare.Args["y"] != int64(1) {
		t.Errorf("%+v", bare)
	}
	if own.Labels["env"] != "dev" || own.Labels["own"] != "yes" || own.Run.Mode != "unattended" || own.Run.ToolCalls != 7 || own.Held.Private() || !own.Held.Untrusted() || own.Args["y"] != nil {
		t.Errorf("%+v", own)
	}
}

func known(facts ...string) func(string) bool {
	return func(fact string) bool { return slices.Contains(facts, fact) }
}

func TestARecordedCallIsTheSameOnlyIfAllIsKnown(t *testing.T) {
	p := compiled(t, "deny-a", "!has(args.a)", "ask-late", `now < timestamp("2026-01-01T00:00:00Z")`)
	early := time.Date(2025, 12, 31, 0, 0, 0, 0, time.UTC)
	call := func(args map[string]any, v policy.Verdict, now time.Time, facts ...string) Recorded {
		return Recorded{Call: "r/1/1", Request: policy.Request{Tool: policy.ToolView{Name: "pay"}, Args: args, Now: now}, Since: early, Verdict: v, Known: known(facts...)}
	}
	bad := map[string]any{"a": 1}
	for _, c := range []struct {
		name  string
		calls []Recorded
		want  Outcome
		says  string
	}{
		{"the same", []Recorded{call(nil, policy.Allow, early, "args.a", "now")}, Pass, ""},
		{"denied then and now", []Recorded{call(bad, policy.Deny, early, "args.a", "now")}, Pass, ""},
		{"newly denied", []Recorded{call(bad, policy.Allow, early, "args.a", "now")}, Fail, "r/1/1 pay: was allow, is now deny by deny-a"},
		{"newly allowed", []Recorded{call(nil, policy.Ask, early, "args.a", "now")}, Fail, "was ask, is now allow"},
		{"an argument that is not known", []Recorded{call(nil, policy.Allow, early, "now")}, Unknown, "r/1/1 pay: unknown, since the trace does not hold args.a"},
		{"not known, and it would differ", []Recorded{call(bad, policy.Allow, early, "now")}, Unknown, "does not hold args.a"},
		{"one of two", []Recorded{call(nil, policy.Allow, early, "args.a", "now"), call(nil, policy.Allow, early, "now")}, Unknown, "does not hold args.a"},
		{"one not known, one changed", []Recorded{call(nil, policy.Allow, early, "now"), call(bad, policy.Allow, early, "args.a", "now")}, Fail, "does not hold args.a"},
		{"the moment decides", []Recorded{call(nil, policy.Ask, early.AddDate(0, 0, 2), "args.a", "now")}, Unknown, "does not hold now"},
		{"no call", nil, Fail, "the trace holds no call that the rules judged"},
	} {
		r := suite(t, head+"cases:\n  - {fromTrace: t.jsonl, expect: {sameDecision: true}}\n").Cases[0].Replay(p, c.calls)
		if r.Outcome != c.want || !strings.Contains(strings.Join(r.Why, "\n"), c.says) || (c.says == "") != (r.Why == nil) || r.Name != "t.jsonl" || r.Calls != len(c.calls) {
			t.Errorf("%s: %+v, want %s saying %q", c.name, r, c.want, c.says)
		}
	}
}

// Whatever is known and recorded: a case never passes unless every call was judged
// on known facts and came out as before.
func TestNothingUnknownIsTakenForTheSame(t *testing.T) {
	p := compiled(t, "deny-a", "!has(args.a)", "ask-l", "lease.usesLeft < 3")
	c := suite(t, head+"cases:\n  - {fromTrace: t.jsonl, expect: {sameDecision: true}}\n").Cases[0]
	rapid.Check(t, func(t *rapid.T) {
		var calls []Recorded
		proven := true
		for range rapid.IntRange(1, 4).Draw(t, "calls") {
			facts := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"args.a", "lease.usesLeft", "now"}), rapid.ID[string]).Draw(t, "known")
			r := policy.Request{Tool: policy.ToolView{Name: "pay"}, Lease: policy.LeaseView{UsesLeft: rapid.IntRange(0, 5).Draw(t, "uses")}}
			v := policy.Verdict(rapid.IntRange(0, 2).Draw(t, "verdict"))
			calls = append(calls, Recorded{Request: r, Verdict: v, Known: known(facts...)})
			proven = proven && slices.Contains(facts, "args.a") && slices.Contains(facts, "lease.usesLeft") && p.Judge(r).Verdict == v
		}
		if got := c.Replay(p, calls).Outcome; (got == Pass) != proven {
			t.Fatalf("%s, proven %v", got, proven)
		}
	})
}

func TestCoverageCountsWhatDecided(t *testing.T) {
	p, q := compiled(t, "deny-b", "!has(args.b)", "ask-a", "!has(args.a)"), compiled(t, "warn-w", "false")
	var c Coverage
	if c.Percent() != 0 || c.Rules() != nil {
		t.Error("nothing is covered")
	}
	c.Add(p)
	for _, text := range []string{"{tool: pay}", "{tool: pay, args: {a: 1}}", "{tool: pay, args: {a: 1, b: 2}}", "{tool: other}"} {
		r := suite(t, head+"cases:\n  - {name: n, call: "+text+", expect: deny}\n").Cases[0].Judge(p)
		c.Add(p, r.Explanations...)
	}
	c.Add(q, suite(t, head+"cases:\n  - {name: n, call: {tool: pay}, expect: allow}\n").Cases[0].Judge(q).Explanations...)
	want := []Count{
		{Place: rules.Place{Policy: "ask-a", File: "ask-a", Line: 3}, Evaluated: 3, Decided: 1}, // the deny was stricter once
		{Place: rules.Place{Policy: "deny-b", File: "deny-b", Line: 3}, Evaluated: 3, Decided: 1},
		{Place: rules.Place{Policy: "warn-w", File: "warn-w", Line: 3}, Evaluated: 1, Decided: 0},
	}
	if diff := cmp.Diff(want, c.Rules()); diff != "" {
		t.Error(diff)
	}
	if got := c.Percent(); got < 66.6 || got > 66.7 {
		t.Error(got)
	}
}

func TestACallToExplainIsReadStrictly(t *testing.T) {
	for text, want := range map[string]string{
		"call: {tool: x}\ntaint: {private: true}\n": "",
		"":                           "no call is in this file",
		"taint: {private: true}":     "the file has no call",
		"call: {tol: x}":             `unknown key "tol"`,
		"call: {tool: x}\n---\na: 1": "the file holds one call",
		"[1]":                        "the file must be a mapping, not a list",
		"{\"call\": {\"tool\": \"x\", \"args\": {\"n\": 1}}}": "",
	} {
		r, err := ParseCall(source.File{Name: "c.yaml", Data: []byte(text)})
		if want == "" && (err != nil || r.Tool.Name != "x") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %+v, %v; want %s", text, r, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(head + "cases:\n  - {name: a, call: {tool: pay, args: {b: 1}}, expect: {decision: deny, error: true}}\n")
	f.Add(head + "defaults: {taint: {args: {a: {private: true}}}}\ncases:\n  - {fromTrace: t, expect: {sameDecision: true}}\n")
	p := compiled(f, "deny-b", "!has(args.b)")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parse(text)
		if (s == nil) == (err == nil) {
			t.Fatalf("neither a suite nor an error, or both: %v", err)
		}
		if err != nil {
			return
		}
		for _, c := range s.Cases {
			if c.Trace.Missing() {
				if r := c.Judge(p); (r.Outcome == Pass) != (r.Why == nil) {
					t.Fatalf("%+v", r)
				}
			}
		}
	})
}
