package assembly_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/engine/assembly"
)

// The head of every task of these tests; a row adds to it.
const (
	head   = "apiVersion: codeact.dev/v1\nkind: Task\nmetadata: {name: test}\ngoal: Do the work.\n"
	ws     = "workspace: {dir: ws}\n"
	final  = "model: {provider: scripted, script: [{code: 'final(1)'}]}\n"
	mocks  = "tools: {mock: tools.yaml}\n"
	live   = "model: {provider: anthropic, name: claude}\n"
	home   = "apiVersion: codeact.dev/v1\nkind: Home\n"
	guard  = "hooks: {PreToolUse: [{matcher: note, hooks: [{type: command, command: ./hook.sh}]}]}\n"
	custom = "model: {provider: openai-compatible, name: m, baseUrl: 'https://models.test/v1', apiKeyEnv: AWS_SECRET}\n"
)

// A place is a directory with a task, what it names, and a home.
type place struct{ dir, home string }

// newPlace writes the task and files; "home" is the home's configuration.
func newPlace(t *testing.T, task string, files map[string]string) place {
	t.Helper()
	p := place{t.TempDir(), filepath.Join(t.TempDir(), "codeact")}
	write(t, filepath.Join(p.dir, "task.yaml"), task)
	write(t, filepath.Join(p.dir, "ws/readme.txt"), "hello")
	write(t, filepath.Join(p.dir, "tools.yaml"), tools)
	write(t, filepath.Join(p.dir, "hook.sh"), "#!/bin/sh\nexit 0\n")
	if err := os.Chmod(filepath.Join(p.dir, "hook.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if name == "home" {
			write(t, filepath.Join(p.home, "config.yaml"), text)
			continue
		}
		write(t, filepath.Join(p.dir, name), text)
	}
	return p
}

const tools = `apiVersion: codeact.dev/v1
kind: MockTools
effects: effects.jsonl
tools:
  - {name: note, tier: 0, capabilities: [], effect: append, params: {type: object, properties: {n: {type: integer}}}, responses: [{value: ok, external: false}]}
  - {name: order, tier: 1, capabilities: [], effect: append, params: {type: object, properties: {n: {type: integer}}}, responses: [{value: ok, external: false}]}
  - {name: mail, tier: 1, capabilities: [external_send], destinations: [to], effect: append, params: {type: object, properties: {to: {type: string}}}, responses: [{value: ok, external: false}]}
`

func (p place) open(t *testing.T, change func(*assembly.Options)) (*assembly.Run, error) {
	t.Helper()
	opt := assembly.Options{Home: p.home, UserHome: filepath.Dir(p.home), Cwd: p.dir, Unsafe: true, Principal: "alice"}
	if change != nil {
		change(&opt)
	}
	return assembly.Open(t.Context(), filepath.Join(p.dir, "task.yaml"), opt)
}

// Every fault has a kind, which is the exit code: a wrong file, a credential that
// is missing, or something that needs leave which nobody gave.
func TestWhatKeepsARunFromStarting(t *testing.T) {
	usage := error(nil)
	for _, test := range []struct {
		name  string
		task  string
		files map[string]string
		opt   func(*assembly.Options)
		kind  error
		want  []string
	}{
		{"no home is given", head + ws + final, nil, func(o *assembly.Options) { o.Home = "" }, usage, []string{"Options.Home is required"}},
		{"faults of task and home together", head + "gaol: x\n" + ws + final, map[string]string{"home": home + "permits: [x]\n"}, nil, usage, []string{"gaol", "permits", "config.yaml"}},
		{"no model", head + ws, nil, nil, usage, []string{"model", "--model provider/name"}},
		{"a model that is no model", head + ws + final, nil, func(o *assembly.Options) { o.Model = "claude" }, usage, []string{`model "claude": want provider/name`}},
		{"scripted without a script", head + ws + live, nil, func(o *assembly.Options) { o.Model = "scripted/x" }, usage, []string{"needs a script"}},
		{"a provider that is not there", head + ws + final, nil, func(o *assembly.Options) { o.Model = "google/g" }, usage, []string{"google"}},
		{"an unknown tool", head + ws + final + "tools: {builtin: [fs_raed]}\n", nil, nil, usage, []string{"fs_raed"}},
		{"an override of nothing", head + ws + final + "tools: {overrides: {nope: {tier: 2}}}\n", nil, nil, usage, []string{"tools.overrides.nope", "no tool of this name"}},
		{"a policy that is not there", head + ws + final, nil, func(o *assembly.Options) { o.Policies = []string{"/nowhere/p.yaml"} }, usage, []string{"/nowhere/p.yaml"}},
		{"a policy that is none", head + ws + final + "policies: [p.yaml]\n", map[string]string{"p.yaml": "kind: x\n"}, nil, usage, []string{"p.yaml"}},
		{"a workspace that is not there", head + "workspace: {dir: nowhere}\n" + final, nil, nil, usage, []string{"there is no directory", "nowhere"}},
		{"a limit that is raised", head + ws + final + "limits: {steps: 5}\n", nil, func(o *assembly.Options) { o.Limits = []string{"steps=6", "stpes=1"} }, usage, []string{"a flag may only lower it", "stpes"}},
		{"modes that are none", head + ws + final, nil, func(o *assembly.Options) { o.Mode, o.OnAsk = "yolo", "yes" }, usage, []string{`mode "yolo"`, `on-ask "yes"`}},
		{"nobody to be interactive with", head + ws + final, nil, func(o *assembly.Options) { o.Mode = "interactive" }, usage, []string{"needs a terminal"}},
		{"a cost that cannot be known", head + ws + live + "limits: {costUsd: 1}\n", nil, env("ANTHROPIC_API_KEY"), usage, []string{"limits.costUsd", "model.prices"}},
		{"a server whose key nobody knows", head + ws + "model: {provider: openai-compatible, name: m, baseUrl: 'https://models.test/v1'}\n", nil, nil, assembly.ErrPrecondition, []string{"models.test", "only a trusted task may choose", "--trust sha256:"}},
		{"a pattern that is none", head + ws + final + "redact: {patterns: ['(']}\n", nil, nil, usage, []string{"("}},

		{"a model without its key", head + ws + live, nil, nil, assembly.ErrCredential, []string{"set the environment variable ANTHROPIC_API_KEY"}},
		{"secrets that are not there", head + ws + final + "secrets: [TOKEN, {name: B, env: OTHER}, {name: C, file: /nowhere/c}]\n", nil, nil, assembly.ErrCredential,
			[]string{"secret TOKEN: the environment variable TOKEN is not set", "secret B: the environment variable OTHER", "secret C: ", "/nowhere/c"}},
		{"a secret that others may read", head + ws + final + "secrets: [{name: C, file: c.txt}]\n", map[string]string{"c.txt": "x"}, nil, assembly.ErrCredential, []string{"chmod 600"}},

		{"a workspace that holds the homes", head + "workspace: {dir: /}\n" + final, nil, nil, assembly.ErrPrecondition, []string{"whole file system"}},
		{"a read root that holds the homes", head + "workspace: {dir: ws, read: [{path: /, as: all}]}\n" + final, nil, nil, assembly.ErrPrecondition, []string{"whole file system"}},
		{"a trace in the workspace", head + ws + final + "trace: {dir: ws/traces}\n", nil, nil, assembly.ErrPrecondition, []string{"trace.dir "}},
		{"a command of a task that nobody trusts", head + ws + final + mocks + guard, nil, nil, assembly.ErrPrecondition, []string{`hook PreToolUse: ["./hook.sh"]`, "codeact trust", "--trust sha256:"}},
		{"a digest of something else", head + ws + final, nil, func(o *assembly.Options) { o.Trust = "sha256:00" }, assembly.ErrPrecondition, []string{"not this task's"}},
		{"a variable of a task that nobody trusts", head + ws + custom, nil, env("AWS_SECRET"), assembly.ErrPrecondition, []string{"AWS_SECRET", "only a trusted task may choose"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := newPlace(t, test.task, test.files).open(t, test.opt)
			if err == nil {
				r.Close()
				t.Fatal("it started")
			}
			for _, kind := range []error{assembly.ErrCredential, assembly.ErrPrecondition, assembly.ErrState} {
				if errors.Is(err, kind) != (kind == test.kind) {
					t.Errorf("is %v: %v; %v", kind, errors.Is(err, kind), err)
				}
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in:\n%v", want, err)
				}
			}
		})
	}
}

// env is an environment in which the given variables are set.
func env(names ...string) func(*assembly.Options) {
	return func(o *assembly.Options) {
		o.Env = func(name string) (string, bool) { return "value-of-" + name, slices.Contains(names, name) }
	}
}

// What a task may say and this version does not do is refused by its name, all at
// once: a setting that was accepted and not enforced would be worse than none.
func TestWhatIsNotThereYetIsRefusedByName(t *testing.T) {
	settings := map[string]string{
		"trace.otlp":             "trace: {otlp: {endpoint: 'https://o.test'}}\n",
		"model.roles":            "model: {provider: scripted, script: [{code: 'final(1)'}], roles: {reflect: {provider: anthropic, name: m}}}\n",
		"model.provider":         "model: {provider: replay, trace: t.jsonl}\n",
		"reflection.autoApply":   "reflection: {enabled: true, autoApply: true}\n",
		"reflection.lessonsFrom": "reflection: {lessonsFrom: [other]}\n",
	}
	for path, setting := range settings {
		t.Run(path, func(t *testing.T) {
			task := head + ws + setting
			if !strings.HasPrefix(setting, "model:") {
				task += final
			}
			_, err := newPlace(t, task, map[string]string{"t.jsonl": "{}"}).open(t, nil)
			if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "is not there yet in this version; ") {
				t.Errorf("got %v", err)
			}
		})
	}
	all := head + ws + final
	for _, path := range []string{"trace.otlp", "reflection.autoApply"} {
		all += settings[path]
	}
	_, err := newPlace(t, all, nil).open(t, nil)
	if n := strings.Count(err.Error(), "is not there yet"); n != 2 {
		t.Errorf("%d of 2 are named: %v", n, err)
	}
}

// FAULTS M4: a cloned project disabled the policy. A task loosens nothing without
// the permit of the home, and what it loosens is recorded.
func TestM4ATaskLoosensOnlyWhatTheHomePermits(t *testing.T) {
	for setting, permit := range map[string]string{
		"security: {trifecta: ask}\n":          "trifecta.ask",
		"security: {trifecta: allow}\n":        "trifecta.allow",
		"security: {interlock: precise}\n":     "interlock.precise",
		"security: {named: 'off'}\n":           "named.off",
		"security: {blockPrivateIPs: false}\n": "private-ips",
	} {
		t.Run(permit, func(t *testing.T) {
			for _, files := range []map[string]string{nil, {"home": home + "permit: [autoapply]\n"}} {
				_, err := newPlace(t, head+ws+final+setting, files).open(t, nil)
				if !errors.Is(err, assembly.ErrPrecondition) || !strings.Contains(err.Error(), "permit: ["+permit+"]") {
					t.Errorf("without the permit: %v", err)
				}
			}
			r, err := newPlace(t, head+ws+final+setting, map[string]string{"home": home + "permit: [" + permit + "]\n"}).open(t, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if len(r.Loosened) != 1 || !slices.Equal(r.Task.Loosened, r.Loosened) {
				t.Errorf("loosened %q, recorded %q", r.Loosened, r.Task.Loosened)
			}
		})
	}
	_, err := newPlace(t, head+ws+final+"security: {allowPrivate: ['127.0.0.1:80']}\n", nil).open(t, nil)
	if err == nil || !strings.Contains(err.Error(), "allowPrivate") {
		t.Errorf("a task that opens private addresses: %v", err)
	}
}

func TestAHookThatCanNeverRunIsRefused(t *testing.T) {
	task := head + ws + final + mocks + strings.Replace(guard, "matcher: note", "matcher: nothing", 1)
	p := newPlace(t, task, nil)
	_, err := p.open(t, func(o *assembly.Options) { o.Trust = p.digest(t) })
	if err == nil || !strings.Contains(err.Error(), `matcher "nothing" fits none of this task's tools`) || !strings.Contains(err.Error(), "note, order, mail") {
		t.Errorf("got %v", err)
	}
}

// digest is what the refusal of an untrusted task tells to trust.
func (p place) digest(t *testing.T, with ...func(*assembly.Options)) string {
	t.Helper()
	_, err := p.open(t, func(o *assembly.Options) {
		for _, set := range with {
			set(o)
		}
	})
	if !errors.Is(err, assembly.ErrPrecondition) {
		t.Fatalf("it needs no trust: %v", err)
	}
	_, text, _ := strings.Cut(err.Error(), "--trust ")
	digest, _, _ := strings.Cut(text, " ")
	return digest
}

// The program that was looked at is the one that runs. The workspace is another
// directory, and may hold a program of the same name that the run wrote.
func TestAHookIsTheFileThatWasTrusted(t *testing.T) {
	const refuse, allow = "#!/bin/sh\ncat >/dev/null\necho no >&2\nexit 2\n", "#!/bin/sh\ncat >/dev/null\nexit 0\n"
	for name, hook := range map[string]string{
		"a line":            `{type: command, command: ./hook.sh}`,
		"a line with words": `{type: command, command: "./hook.sh --strict 'a b'"}`,
		"a program":         `{type: command, command: ./hook.sh, args: [x]}`,
		"a script":          `{type: command, command: sh, args: [hook.sh]}`,
	} {
		t.Run(name, func(t *testing.T) {
			task := head + ws + mocks + code("attempt(note, n=1)") + "hooks: {PreToolUse: [{matcher: note, hooks: [" + hook + "]}]}\n"
			p := newPlace(t, task, map[string]string{"hook.sh": refuse, "ws/hook.sh": allow})
			for _, file := range []string{"hook.sh", "ws/hook.sh"} {
				if err := os.Chmod(filepath.Join(p.dir, file), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			digest := p.digest(t)
			o := p.run(t, func(o *assembly.Options) { o.Trust = digest })
			if len(o.Denied) != 1 || o.Denied[0].Gate != "hooks" || p.effects(t) != 0 {
				t.Errorf("%s %s, refused: %+v", o.Status, o.Reason, o.Denied)
			}
		})
	}
	p := newPlace(t, head+ws+final+mocks+"hooks: {PreToolUse: [{matcher: note, hooks: [{type: command, command: 'sh hook.sh'}]}]}\n", nil)
	digest := p.digest(t)
	_, err := p.open(t, func(o *assembly.Options) { o.Trust = digest })
	if err == nil || !strings.Contains(err.Error(), "names the file hook.sh in a line for the shell") {
		t.Errorf("a file that the shell would look for elsewhere: %v", err)
	}
}
