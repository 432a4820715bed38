package rules

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/codeact-dev/codeact/policy"
)

func TestAnExplanationShowsEveryRuleAndTheValues(t *testing.T) {
	r := pay(int64(250), policy.ArgTaint{Taint: policy.Tainted(policy.Untrusted, "c09")})
	r.Tool.Tier = policy.AskOnce
	r.Lease = policy.LeaseView{ID: "L2", UsesLeft: 49, Expires: monday.Add(time.Hour)}
	want := `call r/2/1 payments_pay amount=250 payee="X"      taint: clean (payee <- c09)
1  byte-cap              n/a    the tool has none of its capabilities  eight.yaml:72
2  change-window         n/a    the tool has none of its capabilities  eight.yaml:87
3  egress-allowlist      n/a    the tool has none of its capabilities  eight.yaml:3
4  lease-hygiene         pass   eight.yaml:146
5  no-send-after-private n/a    the tool has none of its capabilities  eight.yaml:32
6  payment-approval      ASK    validations[1] false: 250.00 to X derives from untrusted content  eight.yaml:60
     variables.amount = 250.0
     params.askAbove = 100.0
     variables.dirty = true
     args.amount = 250
     taint.args = {"amount": {private: false, untrusted: false, unvouched: false, origin: "user", sources: []}, "payee": {private: false, untrusted: true, unvouched: false, origin: "tool", sources: ["c09"]}}
     double(params.askAbove)  =>  100.0
     variables.amount > double(params.askAbove)  =>  true
     variables.amount > double(params.askAbove) && variables.dirty  =>  true
     !(variables.amount > double(params.askAbove) && variables.dirty)  =>  false
7  shell-risk            n/a    the tool is not one of its tools  eight.yaml:127
8  write-jail            n/a    the tool is not one of its tools  eight.yaml:111
decision ask (strictest of 8)   would be: paused when unattended, denied with --on-ask deny
`
	x := compileEight(t).Explain(r)
	if diff := cmp.Diff(want, x.String()); diff != "" {
		t.Error(diff)
	}
	b, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	var back Explanation
	if err := json.Unmarshal(b, &back); err != nil || cmp.Diff(x, back) != "" {
		t.Errorf("%v: %s", err, cmp.Diff(x, back))
	}
}

func TestAnExplanationSteersNoTerminalAndNamesErrors(t *testing.T) {
	r := send(map[string]any{"url": "https://a.org/\x1b[2J", "body": strings.Repeat("x", 500), "big": map[string]any{"k": []any{nil, 1.5, true}}})
	files := []File{eightFile(t), policyOf("zz-warn", "args.url == 'x' || [1, 2].exists(x, x > size(args.body))", "warn"), policyOf("zz-escape", "args.url == ''", "deny")}
	s := mustCompile(t, eightParams, files...).Explain(r).String()
	for _, want := range []string{
		"egress-allowlist      ERROR  validations[0]: the rule egress-allowlist could not be evaluated: variables.u: not a URL",
		"warn zz-warn validations[0]: no zz-warn", `"xxxxxxxxxxxx`, "…", "audit egress-allowlist egress-host: the rule", `big={"k": [null, 1.5, true]}`,
		`     args.url = "https://a.org/`, "     size(args.body)", "     [1, 2].exists(x, x > size(args.body))  =>  false",
	} {
		if want != "     size(args.body)" && !strings.Contains(s, want) {
			t.Errorf("%q is missing in\n%s", want, s)
		}
	}
	if strings.Contains(s, "size(args.body)  =>") {
		t.Error("a value from inside a loop is shown as if it were the only one")
	}
	if strings.ContainsRune(s, 0x1b) {
		t.Errorf("an escape got through: %q", s)
	}
}

func TestAMessageSteersNoTerminal(t *testing.T) {
	y := head + "spec:\n  validations: [{expression: 'false', messageExpression: 'args.s'}]\n"
	r := send(map[string]any{"s": "a\x1b[2Jb", "n": new(big.Int).Lsh(big.NewInt(1), 80)})
	s := mustCompile(t, nil, File{Name: "f.yaml", Data: []byte(y)}).Explain(r).String()
	if !strings.Contains(s, "a\uFFFD[2Jb") || !strings.Contains(s, "n=error: an integer of 81 bits") {
		t.Error(s)
	}
}

func TestAnExplanationEntersBranchesListsAndVariablesOfVariables(t *testing.T) {
	y := head + `spec:
  variables:
    - {name: n, expression: 'double(args.n)'}
    - {name: twice, expression: 'variables.n * 2.0'}
  validations:
    - expression: 'has(args.n) && (args["n"] in [1, args.m] ? variables.twice > 100.0 : tool.name.startsWith("x")) && url("https://x.org").host == ""'
`
	d := mustCompile(t, nil, File{Name: "f.yaml", Data: []byte(y)}).Judge(send(map[string]any{"n": int64(1), "m": int64(2)}))
	got := map[string]string{}
	for _, v := range d.Values {
		got[v.Name] = v.Value
	}
	want := map[string]string{`args["n"]`: "1", "args.m": "2", "variables.twice": "2.0", "variables.n": "1.0", "args.n": "1", "args": `{"m": 2, "n": 1}`}
	delete(got, "args")
	delete(want, "args")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnExplanationIsBounded(t *testing.T) {
	args, expr := map[string]any{}, "true"
	for _, c := range "abcdefghijklmnopqrstuvwxyz" {
		args[string(c)] = true
		expr += " && args." + string(c)
	}
	d := mustCompile(t, nil, policyOf("long", expr+" && false", "deny")).Judge(send(args))
	if len(d.Values) != maxValues {
		t.Errorf("%d values", len(d.Values))
	}
}

func TestTaintIsDescribedWithItsArguments(t *testing.T) {
	r := policy.Request{Held: policy.Tainted(policy.Private, "c1"), Args: map[string]any{"x": 1}, ArgTaint: map[string]policy.ArgTaint{"b": {Taint: policy.Tainted(policy.Untrusted, "c2")}, "a": {Taint: policy.Tainted(policy.Private, "c1").Join(policy.Tainted(policy.Unvouched, "c3"))}, "z": {}}}
	if got, want := describeTaint(&r), "private (a <- c1,c3; b <- c2)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A sensitive argument is nowhere in an explanation, whatever a rule computes of it.
func TestAnExplanationHidesSensitiveArguments(t *testing.T) {
	y := head + `spec:
  variables:
    - {name: up, expression: 'args.pin.upperAscii()'}
    - {name: n, expression: 'size(variables.up)'}
  validations:
    - expression: 'variables.n > 99 || args.pin == "zzz" || args["pin"].charAt(0) == "x" || size(args) == 9 || args.to == "ann"'
      message: no
`
	p := mustCompile(t, nil, File{Name: "f.yaml", Data: []byte(y)})
	r := send(map[string]any{"pin": "mango", "to": "bob"})
	open, shut := p.Explain(r).String(), p.Explain(r, "pin").String()
	for _, s := range []string{"mango", "MANGO", `"m"`, "= 5\n"} {
		if !strings.Contains(open, s) {
			t.Errorf("%q is not in\n%s", s, open)
		}
		if strings.Contains(shut, s) {
			t.Errorf("%q is in\n%s", s, shut)
		}
	}
	for _, s := range []string{"pin=[sensitive]", `to="bob"`, "variables.up = [sensitive]", "variables.n = [sensitive]", "=>  false", `args.to = "bob"`} {
		if !strings.Contains(shut, s) {
			t.Errorf("%q is not in\n%s", s, shut)
		}
	}
}

func TestOtherGatesStandBeforeTheRules(t *testing.T) {
	x := compileEight(t).Explain(fetch("https://api.github.com/x")).Behind(policy.Allowed("interlock"), policy.Decision{Verdict: policy.Ask, Gate: "named", Reason: "nobody named x"})
	if x.Rules[0].Policy != "interlock" || x.Rules[0].Outcome != "pass" || x.Rules[1].Outcome != "ask" || x.Decision.Gate != "named" || x.Decision.Verdict != policy.Ask {
		t.Errorf("%+v", x)
	}
	if s := x.String(); !strings.Contains(s, "2  named                 ASK    nobody named x\n") || !strings.Contains(s, "(strictest of 10)") {
		t.Error(s)
	}
}

func TestAnExplanationIsMappedEverywhere(t *testing.T) {
	r := send(map[string]any{"url": "https://mango.example/", "mango": "mango"})
	r.Call, r.Tool.Name = "mango/1/1", "mango"
	r.ArgTaint = map[string]policy.ArgTaint{"mango": {Taint: policy.Tainted(policy.Private, "c1")}}
	p := mustCompile(t, eightParams, eightFile(t), policyOf("zz", "args.mango == 'x' || args.url == tool.name", "warn"))
	x := p.Explain(r)
	b, err := json.Marshal(x.Map(func(s string) string { return strings.ReplaceAll(s, "mango", "M") }))
	if err != nil || strings.Contains(string(b), "mango") || !strings.Contains(string(b), "M.example") {
		t.Errorf("%s, %v", b, err)
	}
	if b, err := json.Marshal(x); err != nil || !strings.Contains(string(b), "mango.example") {
		t.Errorf("it was changed in place: %s, %v", b, err)
	}
}

func TestThePlacesOfTheRules(t *testing.T) {
	ps := compileEight(t).Places()
	if len(ps) != 8 || ps[0] != (Place{"byte-cap", "eight.yaml", 72}) {
		t.Errorf("%v", ps)
	}
	var none *Policy
	if none.Places() != nil {
		t.Error("nothing has places")
	}
}
