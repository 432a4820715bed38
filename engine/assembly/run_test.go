package assembly_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codeact-dev/codeact/engine"
	"github.com/codeact-dev/codeact/engine/assembly"
)

// must opens the task of p.
func (p place) must(t *testing.T, change func(*assembly.Options)) *assembly.Run {
	t.Helper()
	r, err := p.open(t, change)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// run opens the task and does it.
func (p place) run(t *testing.T, change func(*assembly.Options)) engine.Outcome {
	t.Helper()
	o, err := p.must(t, change).Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// effects is how many effects the mocks had.
func (p place) effects(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, "effects.jsonl"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Count(string(data), "\n")
}

// code is a scripted model with one block and then the end.
func code(line string) string {
	return "model: {provider: scripted, script: [{code: '" + line + "'}, {code: 'final(1)'}]}\n"
}

func TestTrustIsForEveryByteOfTheTask(t *testing.T) {
	task := head + ws + final + mocks + guard
	p := newPlace(t, task, nil)
	digest := p.digest(t)
	p.must(t, func(o *assembly.Options) { o.Trust = digest })
	p.digest(t) // trust for one run is for one run

	for i, want := range []bool{true, false} {
		if changed, err := assembly.Trust(p.home, digest, "test"); err != nil || changed != want {
			t.Errorf("trusting it for time %d: %v, %v", i+1, changed, err)
		}
	}
	p.must(t, nil)
	if assembly.Trusted(p.home, "test") || assembly.Trusted(p.home, "") || !assembly.Trusted(p.home, digest) {
		t.Error("something else than the digest is trusted")
	}
	for name, text := range map[string]string{"task.yaml": task + "# \n", "hook.sh": "#!/bin/sh\nexit 1\n", "tools.yaml": tools + "# \n"} {
		q := newPlace(t, task, nil)
		q.home = p.home
		q.must(t, nil)
		write(t, filepath.Join(q.dir, name), text)
		if again := q.digest(t); again == digest {
			t.Errorf("a changed %s has the same digest", name)
		}
	}
	if info, err := os.Stat(filepath.Join(p.home, "trusted")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the list: %v, %v", info, err)
	}
	blocked := filepath.Join(t.TempDir(), "file")
	write(t, blocked, "")
	if _, err := assembly.Trust(blocked, digest, "test"); err == nil {
		t.Error("a home that is a file took a digest")
	}
}

// An untrusted task's own lease does not cover what leaves the machine.
func TestALeaseOfAnUntrustedTaskSendsNothing(t *testing.T) {
	const lease = "leases: [{tool: mail, uses: 3}, {tool: order, uses: 3, ttl: 5m}]\n"
	task := head + ws + mocks + lease + code(`mail(to="work")`)
	p := newPlace(t, task, nil)
	if o := p.run(t, nil); o.Status != engine.Paused || p.effects(t) != 0 || len(o.Approvals) != 1 {
		t.Errorf("untrusted: %s %s, %d effects", o.Status, o.Reason, p.effects(t))
	}
	r := p.must(t, nil)
	if l := r.Task.Leases[1]; l.Uses != 3 || l.TTL != 5*time.Minute || l.ApprovedBy != "task "+r.File.Digest() {
		t.Errorf("%+v", l)
	}
	if o := p.run(t, func(o *assembly.Options) { o.Trust = r.File.Digest() }); o.Status != engine.Completed || p.effects(t) != 1 {
		t.Errorf("trusted: %s %s, %d effects", o.Status, o.Reason, p.effects(t))
	}
	q := newPlace(t, head+ws+mocks+lease+code("order(n=1)"), nil)
	if o := q.run(t, nil); o.Status != engine.Completed || q.effects(t) != 1 {
		t.Errorf("what stays on the machine: %s %s", o.Status, o.Reason)
	}
}

func TestAQuestionIsPausedDeniedOrAsked(t *testing.T) {
	ask := mocks + code("attempt(order, n=1)")
	for _, test := range []struct {
		name, task string
		opt        func(*assembly.Options)
		want       engine.Status
		effects    int
	}{
		{"nobody there", ask, nil, engine.Paused, 0},
		{"nobody there, and no wait", ask, func(o *assembly.Options) { o.OnAsk = "deny" }, engine.CompletedWithRefusals, 0},
		{"the task does not wait", ask + "approvals: {onAsk: deny}\n", func(o *assembly.Options) { o.OnAsk = "pause" }, engine.CompletedWithRefusals, 0},
		{"the task denies all", ask + "approvals: {mode: deny}\n", func(o *assembly.Options) { o.Approver = yes{} }, engine.CompletedWithRefusals, 0},
		{"somebody there", ask, func(o *assembly.Options) { o.Approver = yes{} }, engine.Completed, 1},
		{"somebody there who is not to be asked", ask, func(o *assembly.Options) { o.Approver, o.Mode = yes{}, "unattended" }, engine.Paused, 0},
		{"a task that runs unattended", ask + "approvals: {mode: unattended}\n", func(o *assembly.Options) { o.Approver = yes{} }, engine.Paused, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPlace(t, head+ws+test.task, nil)
			if o := p.run(t, test.opt); o.Status != test.want || p.effects(t) != test.effects {
				t.Errorf("%s %s, %d effects", o.Status, o.Reason, p.effects(t))
			}
		})
	}
}

func TestPlanGrantsOnlyWhatNeedsNoYes(t *testing.T) {
	r := newPlace(t, head+ws+mocks+final, nil).must(t, func(o *assembly.Options) { o.Mode = "plan" })
	if len(r.Tools) != 1 || r.Tools[0].Name != "note" {
		t.Errorf("granted: %v", r.Tools)
	}
}

func TestOverridesOnlyTighten(t *testing.T) {
	r := newPlace(t, head+ws+final+`tools:
  mock: tools.yaml
  overrides:
    note: {tier: 1, addCapabilities: [external_send], destinations: [n], sensitiveParams: [n], labels: [x], rateLimit: 2/m, directory: true, idempotent: true, record: {id: n}}
    mail: {tier: 0}
redact: {params: [pin, n]}
`, nil).must(t, nil)
	note, mail := r.Tools[0], r.Tools[2]
	if note.Tier.Number() != 1 || mail.Tier.Number() != 1 || note.Caps.String() != "external_send" || !slices.Contains(note.Destinations, "n") {
		t.Errorf("note %v %v, mail %v", note.Tier, note.Caps, mail.Tier)
	}
	if !slices.Contains(note.Sensitive, "n") || !slices.Contains(note.Sensitive, "*.pin") || note.Rate.N != 2 || !note.Record.Directory || note.Record.ID != "n" {
		t.Errorf("%+v", note)
	}
}

// The home's rules, the task's and the caller's all hold, and none of them can be
// left out.
func TestRulesAddUp(t *testing.T) {
	rule := func(name, expression string) string {
		return "apiVersion: codeact.dev/v1\nkind: ToolCallPolicy\nmetadata: {name: " + name + "}\nspec:\n  matchConstraints: {tools: [note]}\n  validations: [{expression: '" + expression + "', message: m}]\n"
	}
	p := newPlace(t, head+ws+mocks+code("[attempt(note, n=i) for i in range(5)]")+"policies: [rules]\n", map[string]string{
		"home": home + "policies: [mine.yaml]\n", "rules/a.yaml": rule("one", "int(args.n) != 1"), "rules/b.yml": rule("two", "int(args.n) != 2"),
		"rules/b_test.yaml": "not a policy", "flag.yaml": rule("three", "int(args.n) != 3")})
	write(t, filepath.Join(p.home, "mine.yaml"), rule("zero", "int(args.n) != 0"))
	o := p.run(t, func(o *assembly.Options) { o.Policies = []string{filepath.Join(p.dir, "flag.yaml")} })
	var rules []string
	for _, d := range o.Denied {
		rules = append(rules, d.Rule)
	}
	if want := []string{"zero", "one", "two", "three"}; !slices.Equal(rules, want) || p.effects(t) != 1 {
		t.Errorf("refused by %q, want %q; %d effects", rules, want, p.effects(t))
	}
	if r := newPlace(t, head+ws+final, nil).must(t, nil); r.Policy.Files() != 0 || r.Policy.Rules() != 0 || r.Policy.Digest() == "" {
		t.Errorf("%d files with %d rules, and not the default policy alone", r.Policy.Files(), r.Policy.Rules())
	}
}

func TestFlagsLowerLimits(t *testing.T) {
	task := head + ws + final + "limits: {steps: 5, toolCalls: 9, costUsd: 2}\noutput: {retries: 0, schema: {type: integer}}\n"
	r := newPlace(t, task, nil).must(t, func(o *assembly.Options) { o.Limits = []string{"steps=3", "bytesSent=1k", "costUsd=0.5"} })
	if l := r.Task.Limits; l.Steps != 3 || l.ToolCalls != 9 || l.CostUSD != 0.5 || l.BytesSent == 0 || l.IdenticalCalls != 3 {
		t.Errorf("%+v", l)
	}
	if out := r.Task.Output; out.Retries != -1 || !strings.Contains(out.Schema, "integer") {
		t.Errorf("%+v", out)
	}
}

func TestTheModelIsTheCallersOrTheTasksOrTheHomes(t *testing.T) {
	const local = "http://127.0.0.1:9/v1"
	for _, test := range []struct {
		name, task, home string
		opt              func(*assembly.Options)
		want             string
	}{
		{"the task's", final, "", nil, "scripted"},
		{"the home's", "", "model: {provider: openai-compatible, name: small, baseUrl: '" + local + "'}\n", nil, "openai-compatible/small"},
		{"the caller's", final, "", func(o *assembly.Options) { o.Model = "openai-compatible/big@" + local }, "openai-compatible/big"},
		{"with its key", live, "", env("ANTHROPIC_API_KEY"), "anthropic/claude"},
		{"another of the same provider", live, "", func(o *assembly.Options) { env("ANTHROPIC_API_KEY")(o); o.Model = "anthropic/other" }, "anthropic/other"},
		{"with prices", strings.Replace(live, "claude", "claude, prices: {input: 1, output: 2}", 1) + "limits: {costUsd: 1}\n", "", env("ANTHROPIC_API_KEY"), "anthropic/claude"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newPlace(t, head+ws+test.task, map[string]string{"home": home + test.home}).must(t, test.opt)
			if got := r.Model.Name(); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
	p := newPlace(t, head+ws+custom, nil)
	var digest string
	if _, err := p.open(t, env("AWS_SECRET")); err != nil {
		_, digest, _ = strings.Cut(err.Error(), "--trust ")
	}
	if r := p.must(t, func(o *assembly.Options) { env("AWS_SECRET")(o); o.Trust = digest }); r.Model.Name() != "openai-compatible/m" {
		t.Errorf("a trusted task's own variable: %s", r.Model.Name())
	}
}

// What a task calls a secret is in no trace, whoever says it.
func TestSecretsStayOutOfTheTrace(t *testing.T) {
	p := newPlace(t, head+ws+mocks+"parameters: {pin: {type: string, sensitive: true}, who: {type: string, default: bob}}\nsecrets: [TOKEN, {name: F, file: f.txt}]\n"+
		code(`print("value-of-" + "TOKEN", "from-" + "a-file", "pin-" + "98761234")`), map[string]string{"f.txt": "from-a-file\n"})
	if err := os.Chmod(filepath.Join(p.dir, "f.txt"), 0o600); err != nil {
		t.Fatal(err)
	}
	set := func(o *assembly.Options) {
		env("TOKEN")(o)
		o.Params = map[string]string{"pin": "pin-98761234"}
	}
	if says := p.must(t, set).Task.Says; !slices.Equal(says, []string{"bob"}) {
		t.Errorf("the user says %q", says)
	}
	o := p.run(t, set)
	raw, err := os.ReadFile(o.Trace)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"value-of-TOKEN", "from-a-file", "pin-98761234"} {
		if strings.Contains(string(raw), secret) {
			t.Errorf("the trace holds %s", secret)
		}
	}
}

// Instructions guide; only those of a trusted task name anything.
func TestOnlyTrustedInstructionsNameDestinations(t *testing.T) {
	p := newPlace(t, head+ws+final+"instructions: [AGENTS.md]\n", map[string]string{"AGENTS.md": "Write to bob@b.test."})
	r := p.must(t, nil)
	if len(r.Task.Instructions) != 1 || len(r.Task.Says) != 0 {
		t.Errorf("untrusted: %+v", r.Task)
	}
	if r := p.must(t, func(o *assembly.Options) { o.Trust = r.File.Digest() }); len(r.Task.Says) != 1 {
		t.Errorf("trusted: %+v", r.Task)
	}
}

func TestATaskWithoutAWorkspaceGetsItsOwn(t *testing.T) {
	p := newPlace(t, head+"model: {provider: scripted, script: [{code: 'fs_write(path=\"a.txt\", content=\"x\")'}, {code: 'final({\"n\": 1})'}]}\n"+
		"workspace: {writable: ['*.txt']}\ntools: {builtin: [fs_write]}\noutput: {file: out.json}\nleases: [{tool: fs_write}]\n", nil)
	r := p.must(t, nil)
	o, err := r.Do(t.Context())
	if err != nil || o.Status != engine.Completed {
		t.Fatalf("%s %s, %v", o.Status, o.Reason, err)
	}
	if want := filepath.Join(p.home, "work/test"); r.Dir() != want {
		t.Errorf("it works in %s, want %s", r.Dir(), want)
	}
	for name, want := range map[string]string{"a.txt": "x", "out.json": "{\"n\":1}\n"} {
		if got, err := os.ReadFile(filepath.Join(r.Dir(), name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// The home cannot be used where a file stands.
func TestAStateThatCannotBeKeptIsNoFaultOfTheTask(t *testing.T) {
	p := newPlace(t, head+ws+final, nil)
	write(t, filepath.Join(p.home, "traces"), "")
	_, err := p.open(t, nil)
	if err == nil || !strings.Contains(err.Error(), "traces") {
		t.Errorf("got %v", err)
	}
	look := p.must(t, func(o *assembly.Options) { o.Look = true })
	if _, err := look.Do(t.Context()); err == nil {
		t.Error("what was opened to look at was done")
	}
}
