package taskfile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/codeact-dev/codeact/policy"
)

const triage = "testdata/triage/task.yaml"

// load reads text as task.yaml in a new directory with the given files.
func load(t *testing.T, text string, opt Options, files ...string) (*Task, error) {
	t.Helper()
	dir := write(t, append([]string{"task.yaml", text}, files...)...)
	return Load(filepath.Join(dir, "task.yaml"), opt)
}

func mustLoad(t *testing.T, text string, opt Options, files ...string) *Task {
	t.Helper()
	task, err := load(t, text, opt, files...)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func TestTheWholeExampleLoads(t *testing.T) {
	task, err := Load(triage, Options{
		Params: map[string]string{"mailbox": "support"},
		Env:    func(name string) (string, bool) { return "t0ken", name == "CRM_TOKEN" },
	})
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs("testdata/triage")
	if err != nil {
		t.Fatal(err)
	}
	zero := 0.0
	strict := policy.AlwaysAsk
	check := func(what string, got, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	check("metadata", task.Metadata, Metadata{Name: "triage-inbox", Description: "Triage new support mail and draft replies", Labels: map[string]string{"env": "prod", "team": "support"}})
	check("params", task.Params, map[string]any{"mailbox": "support", "max_mails": int64(20), "crm_token": "t0ken"})
	check("sensitive", task.SensitiveParams, map[string]string{"crm_token": "t0ken"})
	check("goal", task.Goal, "Read at most 20 unread mails in support. Draft a reply for each into drafts/.\nNever send anything.\n")
	check("instructions", task.Instructions, []Instruction{{Path: "AGENTS.md", Text: "Answer in the language of the mail. ${HOME} is not expanded here.\n"}})
	check("model", task.Model, Model{Provider: "anthropic", Name: "claude-sonnet-5", Temperature: &zero, MaxOutputTokens: 4000, Roles: map[string]Model{
		"reflect": {Provider: "openai-compatible", Name: "gpt-5-mini", BaseURL: "https://api.openai.com/v1"},
	}})
	check("workspace", task.Workspace, Workspace{Dir: dir, Writable: []string{"drafts/**"}, ReadDeny: []string{".env*", "**/*.pem"}, Untrusted: untrustedGlobs, Sandbox: Sandbox{Network: "none", Kind: "auto"}})
	check("overrides", task.Tools.Overrides, map[string]Override{"fs_read": {AddCapabilities: []policy.Flag{policy.PrivateData}}, "http_fetch": {Tier: &strict}})
	check("leases", task.Leases, []Lease{
		{Tool: "fs_write", Tier: policy.AskOnce, Uses: 50, TTL: 30 * time.Minute, When: `call.paths.all(p, p.rel.matchesGlob("drafts/**"))`},
		{Tool: "mail_*", Tier: policy.AskOnce, Uses: 200, TTL: 30 * time.Minute},
	})
	check("security", task.Security, Security{Trifecta: "block", BlockSendsAfterPrivate: true, Named: "ask", Provenance: "precise", Interlock: "floor", ScanOutputs: Scans{"warn", "redact"}})
	check("policies", task.Policies, []string{dir + "/policies/egress.yaml", dir + "/policies/payments.yaml"})
	check("policy params", task.PolicyParams, map[string]any{"allowedDomains": []any{"api.github.com"}, "tz": "Europe/Berlin"})
	check("hooks", task.Hooks, Hooks{
		"PreToolUse":  {{Matcher: "fs_write|mail_.*", Hooks: []Command{{Command: "./hooks/check.sh", Timeout: 10 * time.Second, OnFailure: "block", File: dir + "/hooks/check.sh"}}}},
		"PostToolUse": {{Matcher: "*", Hooks: []Command{{Command: "./hooks/audit.sh", Timeout: 10 * time.Second, OnFailure: "warn", File: dir + "/hooks/audit.sh"}}}},
	})
	check("approvals", task.Approvals, Approvals{Mode: "unattended", OnAsk: "pause", Timeout: 24 * time.Hour, Notify: []Command{{Command: "./notify.sh", Timeout: 10 * time.Second, OnFailure: "block", File: dir + "/notify.sh"}}})
	check("secrets", task.Secrets, []Secret{{Name: "IMAP_PASSWORD"}})
	check("limits", task.Limits, Limits{WallTime: 20 * time.Minute, Steps: 40, ToolCalls: 400, CallsPerStep: 50, Tokens: 500_000, CostUSD: 2.5, BytesSent: 1 << 20, IdenticalCalls: 3, OutputBytesPerCall: 256 << 10})
	check("reflection", task.Reflection, Reflection{Enabled: true, TTL: 720 * time.Hour, MaxPerRun: 3, LessonsFrom: []string{"triage-inbox"}})
	check("output keys", task.Output.Schema.Keys(), []string{"type", "required", "properties"})
	check("trace", task.Trace, Trace{OTLP: OTLP{Endpoint: "http://127.0.0.1:4318"}})

	mail := task.Servers["mail"]
	check("server", []any{mail.Command, mail.Args, mail.Cwd, mail.Pin, mail.Tier}, []any{"mail-mcp", []string{"--account", "support"}, dir, "required", policy.AlwaysAsk})
	check("server secrets", mail.Env["IMAP_PASSWORD"].Secrets(), []string{"IMAP_PASSWORD"})
	check("header", task.Servers["crm"].Headers["Authorization"].String(), "Bearer ${param:crm_token}")
	var paths []string
	for _, f := range task.Files {
		paths = append(paths, f.Path)
	}
	check("files", paths, []string{"AGENTS.md", "hooks/audit.sh", "hooks/check.sh", "notify.sh", "policies/egress.yaml", "policies/payments.yaml"})
	check("trust", task.NeedsTrust(), []string{`hook PostToolUse: ["./hooks/audit.sh"]`, `hook PreToolUse: ["./hooks/check.sh"]`, `server crm: sends secrets to "https://crm.example.com/mcp"`, `server mail: ["mail-mcp" "--account" "support"]`, `notify: ["./notify.sh"]`})
}

func TestWhatIsNotWrittenIsTheDefault(t *testing.T) {
	task := mustLoad(t, head, Options{})
	want := Limits{WallTime: 30 * time.Minute, Steps: 40, ToolCalls: 400, CallsPerStep: 50, Tokens: 1_000_000, IdenticalCalls: 3, OutputBytesPerCall: 256 << 10}
	if task.Limits != want {
		t.Errorf("limits = %+v", task.Limits)
	}
	rules := policy.Security{SendsAfterPrivate: true, Named: policy.NamedAsk}
	if got := task.Security.Rules(); got != rules {
		t.Errorf("rules = %+v, want %+v", got, rules)
	}
	if task.Output.Retries != 2 || task.Approvals.OnAsk != "pause" || task.Reflection.TTL != 30*24*time.Hour || task.Reflection.AutoApply {
		t.Errorf("defaults are %+v %+v %+v", task.Output, task.Approvals, task.Reflection)
	}
	if s := task.Workspace.Sandbox; s.Optional || s.Network != "none" || task.Security.PrivateIPs || task.Security.Unmarked {
		t.Errorf("sandbox %+v, security %+v: want the strict side", s, task.Security)
	}
	if task.Workspace.Dir != "" || len(task.Files) != 0 || len(task.NeedsTrust()) != 0 {
		t.Errorf("a task of four lines has %q %v %v", task.Workspace.Dir, task.Files, task.NeedsTrust())
	}
}

func TestRulesAreTheStrictestForWhatIsUnknown(t *testing.T) {
	if got, want := (Security{BlockSendsAfterPrivate: true}).Rules(), (policy.Security{Floor: true}); got != want {
		t.Errorf("rules of nothing = %+v, want %+v", got, want)
	}
	loose := Security{Trifecta: "allow", Named: "off", Interlock: "precise", Provenance: "precise"}.Rules()
	if want := (policy.Security{Trifecta: policy.Allow, SendsAfterPrivate: true, Precise: true, Named: policy.NamedOff}); loose != want {
		t.Errorf("rules = %+v, want %+v", loose, want)
	}
}

func TestEverySettingIsRead(t *testing.T) {
	const settings = `
workspace: {dir: ~/w, untrusted: [in/**], read: [{path: ~/docs, as: docs}], sandbox: {required: false, kind: bwrap, network: allowlist, allow: [a.example]}}
security: {blockPrivateIPs: false, markUntrusted: false, named: deny, provenance: floor}
tools: {builtin: [shell], staged: [x], webSearch: {baseUrl: "http://s.example"}, overrides: {x: {rateLimit: 5/h, record: {id: i}, paths: [p]}}}
mcpServers: {m: {command: ./bin/m, cwd: sub, tier: 1, pin: record, timeout: 90s, env: {A: "x${env:B}"}}}
approvals: {notify: [{type: command, command: python3, args: [n.py, --fast], timeout: 0.5}]}
secrets: [{name: A, file: ~/a}, {name: B, command: [./bin/m, b]}, {name: C, env: D}]
trace: {dir: t}
model: {provider: replay, trace: run.jsonl, prices: {input: 3, output: 15.5}, roles: {r: {provider: scripted, script: s.yaml}, abs: {provider: scripted, script: S.YAML}}}
policies: [pol, one.yml]
`
	other := write(t, "s.yaml", script)
	text := strings.Replace(settings, "S.YAML", other+"/s.yaml", 1)
	dir := write(t, "task.yaml", head+text, "bin/m", "x", "n.py", "", "run.jsonl", "{}", "s.yaml", script, "pol/b.yaml", "", "pol/a.yml", "", "pol/a_test.yaml", "", "pol/x.txt", "", "one.yml", "")
	if err := os.Chmod(dir+"/bin/m", 0o700); err != nil {
		t.Fatal(err)
	}
	task, err := Load(dir+"/task.yaml", Options{Home: "/home/u"})
	if err != nil {
		t.Fatal(err)
	}
	half := 500 * time.Millisecond
	got := []any{
		task.Workspace.Dir, task.Workspace.Untrusted, task.Workspace.Read[0], task.Workspace.Sandbox, task.Security.PrivateIPs, task.Security.Unmarked, task.Security.Rules(),
		task.Tools.Overrides["x"].RateLimit, task.Tools.Overrides["x"].Record, task.Tools.WebSearch.BaseURL,
		task.Servers["m"].File, task.Servers["m"].Cwd, task.Servers["m"].Tier, task.Servers["m"].Timeout, task.Servers["m"].Env["A"].String(),
		task.Approvals.Notify[0], task.Secrets, task.Trace.Dir, task.Model.Trace, *task.Model.Prices, task.Model.Roles["r"].Script.Steps[0].Code, task.Policies,
	}
	want := []any{
		"/home/u/w", []string{"in/**"}, ReadRoot{"/home/u/docs", "docs"}, Sandbox{Optional: true, Network: "allowlist", Kind: "bwrap", Allow: []string{"a.example"}}, true, true, policy.Security{SendsAfterPrivate: true, Floor: true},
		Rate{5, time.Hour}, &Record{ID: "i"}, "http://s.example",
		dir + "/bin/m", dir + "/sub", policy.AskOnce, 90 * time.Second, "x${env:B}",
		Command{Command: "python3", Args: []string{"n.py", "--fast"}, Timeout: half, OnFailure: "block"},
		[]Secret{{Name: "A", File: "/home/u/a"}, {Name: "B", Command: []string{"./bin/m", "b"}}, {Name: "C", Env: "D"}},
		dir + "/t", dir + "/run.jsonl", Prices{Input: 3, Output: 15.5}, "final(1)", []string{dir + "/pol/a.yml", dir + "/pol/b.yaml", dir + "/one.yml"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	var paths []string
	for _, f := range task.Files {
		if !strings.HasPrefix(f.Path, "../") {
			paths = append(paths, f.Path)
		}
	}
	if n := len(task.Files) - len(paths); n != 1 {
		t.Errorf("%d files lie elsewhere, want the script", n)
	}
	if want := []string{"bin/m", "n.py", "one.yml", "pol/a.yml", "pol/b.yaml", "run.jsonl", "s.yaml"}; !slices.Equal(paths, want) {
		t.Errorf("files = %v, want %v", paths, want)
	}
	if want := `secret B: ["./bin/m" "b"]`; !slices.Contains(task.NeedsTrust(), want) {
		t.Errorf("trust = %q, want %q", task.NeedsTrust(), want)
	}
}

func TestStandardInputIsRelativeToTheCurrentDirectory(t *testing.T) {
	dir := write(t, "AGENTS.md", "hi")
	task, err := Load("-", Options{Stdin: strings.NewReader(head + "instructions: [AGENTS.md]\n"), Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	if task.Dir != dir || task.Path != "-" || task.Instructions[0].Text != "hi" {
		t.Errorf("task is %+v", task)
	}
	if _, err := Load("-", Options{Cwd: dir}); err == nil || !strings.HasPrefix(err.Error(), "stdin:1:1: empty") {
		t.Errorf("no standard input: %v", err)
	}
}

func TestInstructionsStayInTheDirectoryOfTheTask(t *testing.T) {
	outside := write(t, "secret.md", "s")
	dir := write(t, "task.yaml", head+"instructions: [link.md]\n")
	if err := os.Symlink(outside+"/secret.md", dir+"/link.md"); err != nil {
		t.Fatal(err)
	}
	_, err := Load(dir+"/task.yaml", Options{})
	if err == nil || !strings.Contains(err.Error(), `5:16: instructions[0]: file "link.md" lies outside the task's directory`) {
		t.Errorf("a link out of the directory: %v", err)
	}
	if err := os.Remove(dir + "/link.md"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/real.md", []byte("r"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real.md", dir+"/link.md"); err != nil {
		t.Fatal(err)
	}
	task, err := Load(dir+"/task.yaml", Options{})
	if err != nil || task.Instructions[0].Text != "r" {
		t.Errorf("a link inside the directory: %v", err)
	}
}

// Whatever command a task brings, its scripts are sealed and shown: they must not change unseen.
func TestTheScriptsOfEveryCommandAreSealed(t *testing.T) {
	for name, c := range map[string]struct{ task, file, why string }{
		"a secret's program":              {"secrets: [{name: A, command: [./get.sh]}]", "get.sh", "$.secrets[0].command"},
		"a secret's script":               {"secrets: [B, {name: A, command: [sh, get.sh]}]", "get.sh", "$.secrets[1].command"},
		"after an option":                 {"secrets: [{name: A, command: [python3, -B, get.sh]}]", "get.sh", "$.secrets[0].command"},
		"behind another program":          {"secrets: [{name: A, command: [env, python3, get.sh]}]", "get.sh", "$.secrets[0].command"},
		"in a line for a shell":           {"secrets: [{name: A, command: [sh, -c, '. ./get.sh; true']}]", "get.sh", "$.secrets[0].command"},
		"outside of the task's directory": {"secrets: [{name: A, command: [sh, ../get.sh]}]", "../get.sh", "$.secrets[0].command"},
		"a server's script":               {"mcpServers: {m: {command: python3, args: [-B, get.sh]}}", "get.sh", "$.mcpServers.m.command"},
		"a server's where it runs":        {"mcpServers: {m: {command: python3, args: [get.sh], cwd: sub}}", "sub/get.sh", "$.mcpServers.m.command"},
		"a hook's script":                 {"hooks: {RunEnd: [{hooks: [{type: command, command: python3, args: [-B, get.sh]}]}]}", "get.sh", "$.hooks.RunEnd[0].hooks[0].command"},
		"a notifier's script":             {"approvals: {notify: [{type: command, command: env, args: [sh, get.sh]}]}", "get.sh", "$.approvals.notify[0].command"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(write(t, "task/task.yaml", head+c.task+"\n", "task/get.sh", "x", "get.sh", "x", "task/sub/get.sh", "x"), "task")
			for _, change := range []string{"", "y"} {
				if err := errors.Join(os.WriteFile(filepath.Join(dir, c.file), []byte("x"+change), 0o700), os.Chmod(filepath.Join(dir, c.file), 0o700)); err != nil {
					t.Fatal(err)
				}
				task, err := Load(filepath.Join(dir, "task.yaml"), Options{})
				if err != nil {
					t.Fatal(err)
				}
				sum := sha256.Sum256([]byte("x" + change))
				want := Ref{Path: c.file, SHA256: hex.EncodeToString(sum[:]), Why: c.why}
				if !slices.Contains(task.Files, want) || len(task.NeedsTrust()) == 0 {
					t.Errorf("files %+v, want %+v; needs trust %q", task.Files, want, task.NeedsTrust())
				}
			}
		})
	}
}

func TestTheDigestSealsEveryFile(t *testing.T) {
	dir := write(t, "task.yaml", head)
	text := head + "instructions: [a.md]\npolicies: [pol]\nhooks: {RunEnd: [{hooks: [{type: command, command: 'sh run.sh; true'}]}]}\n"
	files := map[string]string{"task.yaml": text, "a.md": "a", "pol/p.yaml": "p", "run.sh": "r"}
	put := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	digest := func() string {
		t.Helper()
		task, err := Load(filepath.Join(dir, "task.yaml"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return task.Digest()
	}
	for name, text := range files {
		put(name, text)
	}
	first := digest()
	if !strings.HasPrefix(first, "sha256:") || first != digest() {
		t.Fatalf("digest %s is not stable", first)
	}
	for name, text := range files {
		put(name, text+"\n")
		if digest() == first {
			t.Errorf("a byte more in %s leaves the digest", name)
		}
		put(name, text)
	}
	put("pol/q.yaml", "p")
	if digest() == first {
		t.Error("a policy more leaves the digest")
	}
}

func TestOthersCanPlaceTheirFaults(t *testing.T) {
	task := mustLoad(t, head+"leases:\n  - {tool: x, when: 'tru'}\n", Options{})
	tests := []struct{ path, want string }{
		{"$.leases[0].when", "task.yaml:6:21: leases[0].when: no"},
		{"$.leases[0].ttl", "task.yaml:6:5: leases[0].ttl: no"},
		{"$.lease", "task.yaml:1:1: lease: no"},
	}
	for _, tt := range tests {
		got, _, _ := strings.Cut(task.Fault(tt.path, "%s", "no").Error(), "\n")
		if !strings.HasSuffix(got, tt.want) {
			t.Errorf("Fault(%s) = %s, want %s", tt.path, got, tt.want)
		}
	}
}
