package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/policy"
)

// inside runs a command line in this process, with the built program as worker.
func (s *stage) inside(stdin string, args ...string) (stdout, stderr string, code int) {
	s.t.Helper()
	var out, log strings.Builder
	env := func(name string) (string, bool) {
		if name == "CODEACT_HOME" {
			return s.home, true
		}
		return "", false
	}
	code = execute(s.t.Context(), &sys{stdin: strings.NewReader(stdin), stdout: &out, stderr: &log, env: env, userHome: filepath.Dir(s.dir),
		worker: []string{program}}, args)
	return out.String(), log.String(), code
}

// The commands, as the scripts play them, in this process.
func TestCommands(t *testing.T) {
	s := newStage(t, posting(`"hello"`), "tools.yaml", postTool, "rule.yaml", "apiVersion: codeact.dev/v1\nkind: ToolCallPolicy\nmetadata: {name: r}\nspec:\n  validations: [{expression: 'call.argsBytes < params.most', message: m}]\n  params: {most: int}\n")
	task, rule := filepath.Join(s.dir, "task.yaml"), filepath.Join(s.dir, "rule.yaml")
	digest, _, _ := s.inside("", "trust", "--print", task)
	for _, c := range []struct {
		args string
		code int
		want string // in the output or the log
	}{
		{"", 0, "Usage:"},
		{"version", 0, "codeact "},
		{"version --json", 0, `"starlark"`},
		{"schema task", 0, `"$schema"`},
		{"schema no", 2, "want one of"},
		{"run " + task, 8, "paused (exit 8)"},
		{"run --json --on-ask deny --refusals ok " + task, 0, `"exit_code": 0`},
		{"run --jsonl --on-ask deny --color always " + task, 3, `"type":"run.completed"`},
		{"run --json --on-ask deny -o " + s.dir + "/out " + task, 3, `"denied": [`},
		{"run -o " + s.dir + "/no/out " + task, 2, "--output: "},
		{"run --json --color pink " + task, 2, "--color=pink"},
		{"run --param x " + task, 2, "want NAME=VALUE"},
		{"run --model anthropic/x " + task, 4, "ANTHROPIC_API_KEY"},
		{"run absent.yaml", 2, "no such file"},
		{"tools", 0, "fs_read"},
		{"tools list --json --task " + task, 0, `"name": "post"`},
		{"tools inspect post --task " + task, 0, "external_send"},
		{"tools inspect post --json --task " + task, 0, `"tier": 1`},
		{"tools inspect nothing", 2, "there is no tool"},
		{"tools list --task absent.yaml", 2, "no such file"},
		{"policy", 0, "check"},
		{"policy check --param most=5 " + rule, 0, "1 files, 1 rules"},
		{"policy check --json --param most=5 " + rule, 0, `"rules": 1`},
		{"policy check --param most " + rule, 2, "want NAME=JSON"},
		{"policy check " + rule, 2, "most"},
		{"policy check --strict --task " + task, 1, "uncovered: post"},
		{"policy check --task absent.yaml", 2, "no such file"},
		{"policy check " + filepath.Dir(s.home) + "/none", 2, "no such file"},
		{"trust " + task, 6, "--digest sha256:"},
		{"trust --digest sha256:1 " + task, 6, "look at what changed"},
		{"trust --digest " + strings.TrimSpace(digest) + " " + task, 0, "changed: true"},
		{"trust --digest " + strings.TrimSpace(digest) + " " + task, 0, "changed: false"},
		{"trust -p x " + task, 2, "want NAME=VALUE"},
		{"trust absent.yaml", 2, "no such file"},
		{"trace", 0, "run.completed"},
		{"trace list --json", 0, `"last": "run.paused"`},
		{"trace show r99", 1, "no such run"},
		{"trace verify r99", 1, "no such run"},
		{"doctor", 0, "ok     worker"},
		{"doctor --json", 0, `"check": "memory"`},
		{"nothing", 2, "has no command"},
		{"completion bash", 0, "bash completion"},
	} {
		t.Run(c.args, func(t *testing.T) {
			out, log, code := s.inside("", strings.Fields(c.args)...)
			if code != c.code || !strings.Contains(out+log, c.want) {
				t.Errorf("exit code %d, want %d and %q in\n%s\n%s", code, c.code, c.want, out, log)
			}
		})
	}
}

// A question can be asked of anything that reads lines.
func TestPrompter(t *testing.T) {
	q := bridge.Question{Tool: "post", Server: "mail", Call: "r/1/1", Unknown: true, Lease: "post, 3 times", Held: policy.Tainted(policy.Private, "r/1/0"),
		Args:  []bridge.Arg{{Name: "to", Value: `"bob"`, Destination: true, Seen: []string{"look (call 1): »bob«"}}, {Name: "key", Value: "text of 3", Sensitive: true, Taint: policy.Tainted(policy.Untrusted, "r/1/0")}},
		Gates: []policy.Decision{{Gate: "lease", Rule: "tier-1", Reason: "it needs a yes"}}, Paths: []policy.PathFact{{Param: "path", Abs: "/w/x"}},
		URLs: []policy.URLFact{{Param: "url", Host: "example.com", Port: "443"}}}
	for _, c := range []struct {
		typed string
		want  bridge.Answer
	}{
		{"yes\n", bridge.Answer{Yes: true}},
		{"lease\n", bridge.Answer{Yes: true, Scope: bridge.ForLease}},
		{"no\n", bridge.Answer{}},
		{"", bridge.Answer{}},
		{"yes", bridge.Answer{}},
	} {
		var b strings.Builder
		s := &sys{stdin: strings.NewReader(c.typed), stderr: &b, env: func(string) (string, bool) { return "", false }}
		p := &prompter{sys: s, progress: newProgress(s, "never"), flush: func() {}, here: func() bool { return true }, size: func() (int, int) { return 100, 40 }}
		a, err := p.Approve(t.Context(), q)
		if err != nil || a.Yes != c.want.Yes || a.Scope != c.want.Scope || a.By == "" {
			t.Errorf("%q: %+v, %v; want %+v", c.typed, a, err, c.want)
		}
		for _, want := range []string{"post of server mail (not pinned) asks to run", "it may have happened already", "why:  it needs a yes  (lease/tier-1)",
			`to (destination) = "bob"`, "seen in look (call 1): »bob«", "key (not shown; may come from untrusted content) = text of 3", "path: path → /w/x",
			"host: url → example.com:443", "it can: nothing beyond its answer", "private (from r/1/0)", "lease would allow: post, 3 times"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("no %q in\n%s", want, &b)
			}
		}
	}
}

// A question ends with its run: nobody's yes comes after that.
func TestPrompterEndsWithItsRun(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	for name, body := range map[string]string{"at the question": "x", "at a page": strings.Repeat("x", 9000)} {
		s := &sys{stdin: r, stderr: io.Discard, env: func(string) (string, bool) { return "", false }}
		p := &prompter{sys: s, progress: newProgress(s, "never"), flush: func() {}, here: func() bool { return true }, size: func() (int, int) { return 80, 24 }}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		a, err := p.Approve(ctx, bridge.Question{Tool: "post", Args: []bridge.Arg{{Name: "body", Value: body}}})
		if err == nil || a.Yes {
			t.Errorf("%s: %+v, %v; want an error", name, a, err)
		}
	}
}

// A terminal that went away is no answer: the question stays open, and the signal
// that says so ends the run.
func TestPrompterWithoutItsTerminal(t *testing.T) {
	s := &sys{stdin: strings.NewReader(""), stderr: io.Discard, env: func(string) (string, bool) { return "", false }}
	p := &prompter{sys: s, progress: newProgress(s, "never"), flush: func() {}, here: func() bool { return false }, size: func() (int, int) { return 80, 24 }}
	a, err := p.Approve(t.Context(), bridge.Question{Tool: "post"})
	if !errors.Is(err, bridge.ErrPaused) || a.Yes {
		t.Errorf("%+v, %v; want a pause", a, err)
	}
}
