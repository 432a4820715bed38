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
1  byte-cap              n/a    the tool has none of its capabilities  eight.yaml:68
2  change-window         n/a    the tool has none of its capabilities  eight.yaml:83
3  egress-allowlist      n/a    the tool has none of its capabilities  eight.yaml:3
4  lease-hygiene         pass   eight.yaml:142
5  no-send-after-private n/a    the tool has none of its capabilities  eight.yaml:28
6  payment-approval      ASK    validations[1] false: 250.00 to X derives from untrusted content  eight.yaml:56
     variables.amount = 250.0
     params.askAbove = 100.0
     variables.dirty = true
     args.amount = 250
     taint.args = {"amount": {private: false, untrusted: false, unvouched: false, origin: "user", sources: []}, "payee": {private: false, untrusted: true, unvouched: false, origin: "", sources: ["c09"]}}
     double(params.askAbove)  =>  100.0
     variables.amount > double(params.askAbove)  =>  true
     variables.amount > double(params.askAbove) && variables.dirty  =>  true
     !(variables.amount > double(params.askAbove) && variables.dirty)  =>  false
7  shell-risk            n/a    the tool is not one of its tools  eight.yaml:123
8  write-jail            n/a    the tool is not one of its tools  eight.yaml:107
decision ask (strictest of 8)
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
	s := mustCompile(t, nil, File{"f.yaml", []byte(y)}).Explain(r).String()
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
	d := mustCompile(t, nil, File{"f.yaml", []byte(y)}).Judge(send(map[string]any{"n": int64(1), "m": int64(2)}))
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
