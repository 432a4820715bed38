package rules

import (
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/codeact-dev/codeact/policy"
)

// monday is in the change window of Berlin: 11:00 there.
var monday = time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)

var eightParams = map[string]any{
	"allowedDomains": []any{"api.github.com", "example.org"},
	"hardCap":        5000,
	"askAbove":       100,
	"maxSendBytes":   1000,
	"maxRunBytes":    10_000,
	"tz":             "Europe/Berlin",
}

func eightFile(t testing.TB) File {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "eight.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return File{Name: "eight.yaml", Data: b}
}

func compileEight(t testing.TB) *Policy {
	t.Helper()
	p, err := Compile(eightParams, eightFile(t))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// policyOf is a policy with one validation.
func policyOf(name, expr, action string) File {
	return File{Name: name + ".yaml", Data: []byte("apiVersion: codeact.dev/v1\nkind: ToolCallPolicy\nmetadata: {name: " + name + "}\nspec:\n" +
		"  validations:\n    - expression: '" + strings.ReplaceAll(expr, "'", "''") + "'\n      message: no " + name + "\n      action: " + action + "\n")}
}

func mustCompile(t testing.TB, params map[string]any, files ...File) *Policy {
	t.Helper()
	p, err := Compile(params, files...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func send(args map[string]any) policy.Request {
	return policy.Request{
		Call: "r/2/1", Now: monday, Args: args, ArgsBytes: 100,
		Tool: policy.ToolView{Name: "http_fetch", Caps: policy.Declare(policy.ExternalSend), Tier: policy.Free},
	}
}

func fetch(url string) policy.Request { return send(map[string]any{"url": url}) }

func pay(amount any, payee policy.ArgTaint) policy.Request {
	r := policy.Request{Call: "r/2/1", Now: monday, Tool: policy.ToolView{Name: "payments_pay", Caps: policy.Declare(), Tier: policy.Free}}
	r.Args = map[string]any{"amount": amount, "payee": "X"}
	r.ArgTaint = map[string]policy.ArgTaint{"payee": payee, "amount": {Origin: "user"}}
	return r
}

func destroy(at time.Time, labels map[string]string) policy.Request {
	return policy.Request{Now: at, Labels: labels, Tool: policy.ToolView{Name: "drop", Caps: policy.Declare(policy.Destructive), Tier: policy.Free}}
}

func write(paths ...string) policy.Request {
	r := policy.Request{Now: monday, Tool: policy.ToolView{Name: "fs_write", Caps: policy.Declare(), Tier: policy.Free}}
	for _, p := range paths {
		r.Paths = append(r.Paths, policy.PathFact{Rel: p, Abs: "/w/" + p})
	}
	return r
}

func shell(f *policy.ShellFact, sandboxed bool) policy.Request {
	return policy.Request{Now: monday, Shell: f, Tool: policy.ToolView{Name: "shell", Caps: policy.Declare(), Tier: policy.Free, Sandboxed: sandboxed}}
}

func leased(l policy.LeaseView, calls int) policy.Request {
	return policy.Request{Now: monday, Lease: l, Run: policy.RunView{CallsThisStep: calls}, Tool: policy.ToolView{Name: "t", Caps: policy.Declare(), Tier: policy.AskOnce}}
}

func with(r policy.Request, change func(*policy.Request)) policy.Request { change(&r); return r }

func TestTheEightRulesGiveTheIntendedVerdicts(t *testing.T) {
	p := compileEight(t)
	tainted := policy.ArgTaint{Taint: policy.Tainted(policy.Untrusted, "c09"), Origin: "tool"}
	clean := policy.ArgTaint{Origin: "user"}
	fresh := policy.LeaseView{ID: "L1", UsesLeft: 3, Expires: monday.Add(time.Hour)}
	for _, c := range []struct {
		name string
		req  policy.Request
		want policy.Verdict
		rule string
		says string
	}{
		{"an allowed host", fetch("https://api.github.com/x"), policy.Allow, "", ""},
		{"a sub-domain", fetch("https://x.EXAMPLE.org./"), policy.Allow, "", ""},
		{"a name that only ends alike", fetch("https://evilexample.org/"), policy.Deny, "egress-allowlist", "evilexample.org"},
		{"plain http", fetch("http://api.github.com/"), policy.Deny, "egress-allowlist", ""},
		{"user info that looks like a host", fetch("https://api.github.com@evil.com/"), policy.Deny, "egress-allowlist", "evil.com"},
		{"not a URL", fetch("https://[::1"), policy.Deny, "egress-allowlist", "could not be evaluated"},
		{"a backslash", fetch(`https://evil.com\@api.github.com/`), policy.Deny, "egress-allowlist", "backslash"},
		{"a URL of another type", send(map[string]any{"url": int64(3)}), policy.Deny, "egress-allowlist", "could not be evaluated"},
		{"no url argument", send(nil), policy.Allow, "", ""},
		{"private data is held", with(send(nil), func(r *policy.Request) { r.Held = policy.Tainted(policy.Private, "c1") }), policy.Deny, "no-send-after-private", "private data"},
		{"the batch will read private data", with(send(nil), func(r *policy.Request) { r.Turn = policy.Tainted(policy.Private, "c1") }), policy.Deny, "no-send-after-private", ""},
		{"a tool that declares nothing sends", with(fetch("https://evil.com"), func(r *policy.Request) { r.Tool.Caps = policy.Capabilities{} }), policy.Deny, "egress-allowlist", ""},
		{"a small payment", pay(int64(50), tainted), policy.Allow, "", ""},
		{"a large payment to a clean payee", pay(int64(250), clean), policy.Allow, "", ""},
		{"a large payment to a tainted payee", pay(int64(250), tainted), policy.Ask, "payment-approval", "250.00 to X derives from untrusted content"},
		{"a payment above the cap", pay(5000.01, clean), policy.Deny, "payment-approval", "above the hard cap"},
		{"a payment without an amount", with(pay(nil, clean), func(r *policy.Request) { delete(r.Args, "amount") }), policy.Deny, "payment-approval", "no such key: amount"},
		{"an amount beyond 64 bits", pay(new(big.Int).Lsh(big.NewInt(1), 80), clean), policy.Deny, "payment-approval", "81 bits"},
		{"one send too large", with(send(nil), func(r *policy.Request) { r.ArgsBytes = 1001 }), policy.Deny, "byte-cap", "would send 1001 bytes"},
		{"the run has sent enough", with(send(nil), func(r *policy.Request) { r.Run.BytesSent = 9_950 }), policy.Deny, "byte-cap", "run total 10050"},
		{"destroying in the window", destroy(monday, nil), policy.Allow, "", ""},
		{"destroying at night", destroy(monday.Add(12*time.Hour), nil), policy.Ask, "change-window", ""},
		{"destroying at night in development", destroy(monday.Add(12*time.Hour), map[string]string{"env": "dev"}), policy.Allow, "", ""},
		{"destroying on Sunday", destroy(monday.Add(-24*time.Hour), map[string]string{"env": "prod"}), policy.Ask, "change-window", ""},
		{"writing inside", write("src/a/b.go", "tests/x"), policy.Allow, "", ""},
		{"writing outside", write("src/a.go", "docs/a"), policy.Deny, "write-jail", "src/a.go, docs/a"},
		{"writing nowhere", write(), policy.Deny, "write-jail", ""},
		{"writing through a path that is not canonical", write("src/../.git/config"), policy.Deny, "write-jail", "canonical"},
		{"a harmless command", shell(&policy.ShellFact{Parsed: true, Risk: "low"}, false), policy.Allow, "", ""},
		{"a risky command", shell(&policy.ShellFact{Parsed: true, Risk: "high", Reason: "network"}, false), policy.Ask, "shell-risk", "high risk: network"},
		{"a risky command in a sandbox", shell(&policy.ShellFact{Parsed: true, Risk: "high"}, true), policy.Allow, "", ""},
		{"a blocked command", shell(&policy.ShellFact{Parsed: true, Risk: "blocked", Reason: "rm /"}, true), policy.Deny, "shell-risk", "blocked command: rm /"},
		{"a command that cannot be parsed", shell(&policy.ShellFact{Risk: "unparsed"}, true), policy.Deny, "shell-risk", "could not be parsed"},
		{"a command without facts", shell(nil, true), policy.Deny, "shell-risk", "could not be evaluated"},
		{"a fresh lease", leased(fresh, 1), policy.Allow, "", ""},
		{"a used lease", leased(policy.LeaseView{Expires: fresh.Expires}, 1), policy.Deny, "lease-hygiene", ""},
		{"a lease for too long", leased(policy.LeaseView{UsesLeft: 1, Expires: monday.Add(25 * time.Hour)}, 1), policy.Deny, "lease-hygiene", ""},
		{"too many calls", leased(fresh, 50), policy.Deny, "lease-hygiene", ""},
		{"no lease", leased(policy.LeaseView{}, 1), policy.Deny, "lease-hygiene", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := p.Judge(c.req)
			if d.Verdict != c.want || d.Rule != c.rule || !strings.Contains(d.Reason, c.says) || d.Gate != "policy" {
				t.Errorf("got %+v, want %s by %q saying %q", d, c.want, c.rule, c.says)
			}
			if evaluated := !strings.Contains(d.Reason, "could not be evaluated"); evaluated && (d.Verdict == policy.Allow) != (d.Values == nil) {
				t.Errorf("values %v for verdict %s", d.Values, d.Verdict)
			}
		})
	}
}

func TestADecisionCarriesTheValuesItRestsOn(t *testing.T) {
	d := compileEight(t).Judge(pay(int64(250), policy.ArgTaint{Taint: policy.Tainted(policy.Untrusted, "c09")}))
	want := []policy.Value{
		{Name: "variables.amount", Value: "250.0"}, {Name: "params.askAbove", Value: "100.0"}, {Name: "variables.dirty", Value: "true"}, {Name: "args.amount", Value: "250"},
	}
	got := map[string]string{}
	for _, v := range d.Values {
		got[v.Name] = v.Value
	}
	for _, w := range want {
		if got[w.Name] != w.Value {
			t.Errorf("%s = %q, want %q in %v", w.Name, got[w.Name], w.Value, d.Values)
		}
	}
}

func TestNotesAreSeenAndChangeNothing(t *testing.T) {
	audit := File{Name: "a.yaml", Data: []byte(`
apiVersion: codeact.dev/v1
kind: ToolCallPolicy
metadata: {name: noted}
spec:
  validations:
    - {expression: 'false', action: warn, message: careful}
    - {expression: 'args.missing', action: audit}
  auditAnnotations:
    - {key: tool, valueExpression: 'tool.name'}
    - {key: silent, valueExpression: 'has(args.x) ? dyn(string(args.x)) : dyn(null)'}
    - {key: broken, valueExpression: 'string(args.missing)'}
`)}
	p := mustCompile(t, nil, audit)
	d, notes := p.JudgeAll(send(nil))
	if d.Verdict != policy.Allow || cmp.Diff(p.Judge(send(nil)), d) != "" {
		t.Errorf("notes changed the decision: %+v", d)
	}
	want := []Note{
		{"noted", "warn", "validations[0]", "careful"},
		{"noted", "audit", "validations[1]", "the rule noted could not be evaluated: no such key: missing"},
		{"noted", "audit", "tool", "http_fetch"},
		{"noted", "audit", "broken", "the rule noted could not be evaluated: no such key: missing"},
	}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Error(diff)
	}
}

func TestWhatCannotBeEvaluatedDenies(t *testing.T) {
	for _, expr := range []string{
		"args.missing == 1", "dyn(tool).nmae == ''", "args.n / 0 == 1", "args.n", "call.url.host == ''", "call.shell.parsed",
		"taint.args['none'].private", "call.urls[0].host == ''", "ip(args.s).isLoopback()", "now.getHours('Nowhere/At') > 0",
		"args.s.matchesGlob('[')", "args.s.inDomains(['*.x'])", "args.s.inDomains(args.l)", "args.s.inDomains(args.mixed)", "codeact.Path{rel: 'x'}.rel == 'x'",
		"dyn(taint.args)[1].private", "args.s.matchesGlob(args.long)",
	} {
		p := mustCompile(t, nil, policyOf("strict", expr, "ask"))
		r := send(map[string]any{"n": int64(1), "s": "x", "l": []any{int64(1)}, "mixed": []any{"a", int64(1)}, "long": strings.Repeat("a", 2000)})
		if d := p.Judge(r); d.Verdict != policy.Deny || d.Rule != "strict" || !strings.Contains(d.Reason, "could not be evaluated") {
			t.Errorf("%s: %+v", expr, d)
		}
	}
}

func TestAConditionThatIsFalseSkipsAndOneThatFailsDenies(t *testing.T) {
	for conds, want := range map[string]policy.Verdict{
		"true": policy.Deny, "false": policy.Allow, "args.none == 1": policy.Deny, "args.none == 1|false": policy.Allow, "false|args.none == 1": policy.Allow, "true|args.none == 1": policy.Deny,
	} {
		y := "apiVersion: codeact.dev/v1\nkind: ToolCallPolicy\nmetadata: {name: c}\nspec:\n  validations: [{expression: 'false'}]\n  matchConditions:\n"
		for i, c := range strings.Split(conds, "|") {
			y += "    - {name: c" + string(rune('0'+i)) + ", expression: '" + c + "'}\n"
		}
		if d := mustCompile(t, nil, File{Name: "c.yaml", Data: []byte(y)}).Judge(send(nil)); d.Verdict != want {
			t.Errorf("%s: %+v, want %s", conds, d, want)
		}
	}
}

func TestConstraintsOfAllKindsMustMatch(t *testing.T) {
	tool := policy.ToolView{Name: "mail_send", Server: "gmail", Tier: policy.AskOnce, Caps: policy.Declare(policy.ExternalSend), Labels: []string{"team-a"}}
	for c, want := range map[string]string{
		"tools: [mail_*]":                                 "",
		"tools: [x, '*send']":                             "",
		"tools: [mail_send*, x]":                          "",
		"tools: [mail]":                                   "tools",
		"tools: ['m*l_*nd']":                              "",
		"servers: [gm*]":                                  "",
		"servers: [other]":                                "servers",
		"capabilities: [destructive, external_send]":      "",
		"capabilities: [destructive]":                     "capabilities",
		"tiers: [1]":                                      "",
		"tiers: [ask_once, 2]":                            "",
		"tiers: [0]":                                      "tiers",
		"labels: ['team-*']":                              "",
		"labels: [b]":                                     "labels",
		"tools: [mail_*], capabilities: [destructive]":    "capabilities",
		"tools: [mail_*], capabilities: [external_send]}": "",
	} {
		y := "apiVersion: codeact.dev/v1\nkind: ToolCallPolicy\nmetadata: {name: c}\nspec:\n  validations: [{expression: 'false'}]\n" +
			"  matchConstraints: {" + strings.TrimSuffix(c, "}") + "}\n"
		x := mustCompile(t, nil, File{Name: "c.yaml", Data: []byte(y)}).Explain(policy.Request{Tool: tool})
		if got := x.Rules[0]; (got.Outcome == "n/a") != (want != "") || !strings.Contains(got.Why, want) {
			t.Errorf("%s: %+v, want n/a because of %q", c, got, want)
		}
	}
}

func TestATripleLoopStopsByCostWithinASecond(t *testing.T) {
	l := make([]any, 300)
	for i := range l {
		l[i] = int64(i)
	}
	r := send(map[string]any{"l": l, "s": strings.Repeat("a", 50_000)})
	for _, expr := range []string{
		"args.l.all(x, args.l.all(y, args.l.all(z, x + y + z >= 0)))",
		"args.l.all(x, args.s.matchesGlob('**/*a*a*a*b') || true)",
	} {
		begin := time.Now()
		d := mustCompile(t, nil, policyOf("loop", expr, "ask")).Judge(r)
		if d.Verdict != policy.Deny || time.Since(begin) > time.Second {
			t.Errorf("%s: %+v after %s", expr, d, time.Since(begin))
		}
	}
	begin := time.Now()
	mustCompile(t, nil, policyOf("re", `!args.s.matches("^(a+)+$")`, "ask")).Judge(r)
	if time.Since(begin) > time.Second {
		t.Errorf("a regular expression took %s", time.Since(begin))
	}
}

func TestTheCostOfVariablesCountsForTheRule(t *testing.T) {
	y := "apiVersion: codeact.dev/v1\nkind: ToolCallPolicy\nmetadata: {name: sum}\nspec:\n  variables:\n"
	expr := "true"
	for _, v := range "abcdefgh" {
		y += "    - {name: " + string(v) + ", expression: 'args.l.all(x, args.l.all(y, x + y >= 0))'}\n"
		expr += " && variables." + string(v)
	}
	y += "  validations: [{expression: '" + expr + "'}]\n"
	p := mustCompile(t, nil, File{Name: "s.yaml", Data: []byte(y)})
	l := make([]any, 55) // 55² turns cost some 20,000: one variable is within the limit, eight are not
	for i := range l {
		l[i] = int64(i)
	}
	if d := p.Judge(send(map[string]any{"l": l})); d.Verdict != policy.Deny || !strings.Contains(d.Reason, errCost.Error()) {
		t.Errorf("%+v", d)
	}
	if d := p.Judge(send(map[string]any{"l": l[:5]})); d.Verdict != policy.Allow {
		t.Errorf("%+v", d)
	}
}

func TestTheFixtureIsFarFromTheCostLimit(t *testing.T) {
	r := with(fetch("https://api.github.com/x"), func(r *policy.Request) { r.Tool.Caps = policy.Capabilities{} })
	for _, u := range compileEight(t).rules {
		a := newActivation(&r, u)
		u.judge(a, func(finding) {})
		if a.cost > costLimit/100 {
			t.Errorf("%s costs %d", u.name, a.cost)
		}
	}
}

// B13: the order of rules and files decides nothing.
func TestB13TheOrderOfFilesNeverMatters(t *testing.T) {
	pool := []File{
		policyOf("allow-all", "true", "deny"), policyOf("warn", "false", "warn"), policyOf("ask", "!has(args.ask)", "ask"),
		policyOf("deny", "!has(args.deny)", "deny"), policyOf("broken", "!has(args.err) || args.none", "ask"), policyOf("audit", "false", "audit"),
	}
	rapid.Check(t, func(t *rapid.T) {
		args := map[string]any{}
		for _, k := range []string{"ask", "deny", "err"} {
			if rapid.Bool().Draw(t, k) {
				args[k] = true
			}
		}
		files := rapid.Permutation(pool).Draw(t, "order")
		p, err := Compile(nil, pool...)
		q, err2 := Compile(nil, files...)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		want := policy.Allow
		switch {
		case args["deny"] != nil || args["err"] != nil:
			want = policy.Deny
		case args["ask"] != nil:
			want = policy.Ask
		}
		d, e := p.Judge(send(args)), q.Judge(send(args))
		if d.Verdict != want || cmp.Diff(d, e) != "" || p.Digest() != q.Digest() {
			t.Fatalf("%v and %v, want %s", d, e, want)
		}
	})
}

func TestTheOrderOfDocumentsNeverMatters(t *testing.T) {
	docs := strings.Split(string(eightFile(t).Data), "---\n")
	p := compileEight(t)
	reqs := []policy.Request{fetch("https://evil.com"), pay(int64(250), policy.ArgTaint{Taint: policy.Tainted(policy.Untrusted, "c")}), write("x"), {}, leased(policy.LeaseView{}, 60)}
	for range 5 {
		rand.Shuffle(len(docs), func(i, j int) { docs[i], docs[j] = docs[j], docs[i] })
		q := mustCompile(t, eightParams, File{Name: "eight.yaml", Data: []byte(strings.Join(docs, "---\n"))})
		for _, r := range reqs {
			if diff := cmp.Diff(p.Judge(r), q.Judge(r)); diff != "" {
				t.Error(diff)
			}
		}
	}
}

func TestTheDigestCoversParametersAndEveryByte(t *testing.T) {
	a, b := policyOf("a", "true", "deny"), policyOf("b", "true", "deny")
	base := mustCompile(t, nil, a, b).Digest()
	if len(base) != 64 || base != mustCompile(t, map[string]any{}, b, a).Digest() {
		t.Errorf("the digest depends on the order or on an empty map: %s", base)
	}
	changed := a
	changed.Data = append([]byte("# c\n"), a.Data...)
	renamed := a
	renamed.Name = "z.yaml"
	for name, p := range map[string]*Policy{
		"params": mustCompile(t, map[string]any{"x": 1}, a, b), "a byte": mustCompile(t, nil, changed, b),
		"a name": mustCompile(t, nil, renamed, b), "a file": mustCompile(t, nil, a),
	} {
		if p.Digest() == base {
			t.Errorf("the digest does not cover %s", name)
		}
	}
}

func TestANilPolicyHasNoObjection(t *testing.T) {
	var p *Policy
	if d := p.Judge(policy.Request{}); cmp.Diff(d, policy.Allowed("policy")) != "" {
		t.Errorf("%+v", d)
	}
	if p.Files() != 0 || p.Rules() != 0 || p.Digest() != "" || len(p.Explain(policy.Request{}).Rules) != 0 || p.Check([]policy.ToolView{{Name: "x"}}) == nil {
		t.Error("a nil policy has something in it")
	}
	q := compileEight(t)
	if q.Files() != 1 || q.Rules() != 8 {
		t.Errorf("%d files, %d rules", q.Files(), q.Rules())
	}
}

func TestAPolicyServesManyGoroutines(t *testing.T) {
	p := compileEight(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				if d := p.Judge(pay(int64(250), policy.ArgTaint{Taint: policy.Tainted(policy.Untrusted, "c")})); d.Verdict != policy.Ask {
					t.Errorf("%+v", d)
				}
				p.Explain(write("x"))
			}
		})
	}
	wg.Wait()
}

func BenchmarkJudge8(b *testing.B) {
	p := compileEight(b)
	r := with(fetch("https://api.github.com/x"), func(r *policy.Request) {
		r.Tool.Caps = policy.Declare(policy.ExternalSend, policy.Destructive)
		r.Tool.Tier = policy.AskOnce
		r.Lease = policy.LeaseView{ID: "L", UsesLeft: 3, Expires: monday.Add(time.Hour)}
	})
	if d := p.Judge(r); d.Verdict != policy.Allow {
		b.Fatal(d)
	}
	b.ReportAllocs()
	for b.Loop() {
		p.Judge(r)
	}
}

func BenchmarkCompile8(b *testing.B) {
	f := eightFile(b)
	for b.Loop() {
		if _, err := Compile(eightParams, f); err != nil {
			b.Fatal(err)
		}
	}
}
