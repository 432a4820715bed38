package defaults

import (
	"fmt"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/policy"
	"github.com/codeact-dev/codeact/policy/rules"
	"github.com/codeact-dev/codeact/policy/rules/format"
	"github.com/codeact-dev/codeact/policy/rules/source"
)

func compiled(t testing.TB, more ...rules.File) *rules.Policy {
	t.Helper()
	p, err := rules.Compile(nil, append(more, File())...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Compiling runs the examples: each rule has some that fire and some that do not.
func TestTheDefaultPolicyHoldsWhatItShows(t *testing.T) {
	p := compiled(t)
	if n := len(p.Places()); n < 4 || p.Rules() != 0 || p.Files() != 0 {
		t.Errorf("%d validations, and %d rules of %d files of the operator", n, p.Rules(), p.Files())
	}
	for _, w := range p.Check(nil) {
		t.Error(w)
	}
	for doc := range strings.SplitSeq(string(text), "\n---\n") {
		if !strings.Contains(doc, "expect: allow") || !strings.Contains(doc, "expect: ask") {
			t.Errorf("a rule whose examples only fire, or never:\n%.200s", doc)
		}
	}
	if out, err := format.File(source.File{Name: Name, Data: text}); err != nil || string(out) != string(text) {
		t.Errorf("it is not formatted: %v", err)
	}
}

// A rule is as good as its examples: with any validation turned into true, the file
// must not load.
func TestEveryValidationIsProvenByAnExample(t *testing.T) {
	n := 0
	for i := range strings.Count(string(text), "    - expression: '") {
		parts := strings.SplitN(string(text), "    - expression: '", i+2)
		rest := parts[len(parts)-1]
		mutant := strings.TrimSuffix(string(text), rest) + "true || (" + strings.Replace(rest, "'\n", ")'\n", 1)
		if _, err := rules.Compile(nil, rules.File{Name: "m", Data: []byte(mutant)}); err == nil || !strings.Contains(err.Error(), "fails: expected") {
			t.Errorf("validation %d can be true: %v", i, err)
		}
		n++
	}
	if n != 5 {
		t.Errorf("%d validations, want 5", n)
	}
}

// A task cannot replace a rule by one of its own that has the same name.
func TestANameOfOursIsTaken(t *testing.T) {
	theirs := strings.NewReplacer("action: ask", "action: audit", "action: deny", "action: audit").Replace(strings.Split(string(text), "  examples:")[0])
	_, err := rules.Compile(nil, File(), rules.File{Name: "theirs.yaml", Data: []byte(theirs)})
	if err == nil || !strings.Contains(err.Error(), `duplicate policy "default-financial"`) {
		t.Error(err)
	}
}

func TestAToolWithoutFilesMoneyOrCommandsIsLeftAlone(t *testing.T) {
	p := compiled(t)
	for _, name := range []string{"send_email", "delete_email", "cancel_event", "delete_file", "send_money", "http_fetch", "post_webpage"} {
		r := policy.Request{Tool: policy.ToolView{Name: name}, Args: map[string]any{"id": "13", "to": "x"}, Held: policy.Tainted(policy.Untrusted, "c1")}
		if d := p.Judge(r); d.Verdict != policy.Allow {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// Every spelling of a file that runs by itself asks, and its look-alikes do not.
func TestFilesThatRunByThemselves(t *testing.T) {
	p := compiled(t)
	for path, want := range map[string]policy.Verdict{
		".env": policy.Ask, "a/.npmrc": policy.Ask, ".husky/pre-push": policy.Ask, "..data": policy.Ask, ".github/dependabot.yml": policy.Ask,
		"a/../.git/hooks/x": policy.Ask, "/home/ann/.bash_profile": policy.Ask, "~/.zshrc": policy.Ask, "azure-pipelines.yml": policy.Ask,
		"lib/x.so": policy.Ask, "Setup.EXE": policy.Ask, "GEMINI.md": policy.Ask, "site-packages/a.pth": policy.Ask,
		"lefthook-local.YAML": policy.Ask, "AGENTS.override.md": policy.Ask, "x/SKILL.md": policy.Ask, "go.instructions.md": policy.Ask, "usercustomize.py": policy.Ask,
		"authorized_keys2": policy.Ask, "crontab": policy.Ask, "var/spool/crontabs/ann": policy.Ask, "etc/cron.daily/x": policy.Ask, "Library/LaunchAgents/a.plist": policy.Ask,
		"a.hta": policy.Ask, "a.JAR": policy.Ask, "a.psm1": policy.Ask, "a.psd1": policy.Ask, "a.scpt": policy.Ask, "a.url": policy.Ask, "a.vbe": policy.Ask, "a.wsf": policy.Ask,
		"a.timer": policy.Ask, "Mail.app/Contents/MacOS/Mail": policy.Ask, "post-merge": policy.Ask, "prepare-commit-msg": policy.Ask, "packages/husky/pre": policy.Ask,
		"my-conftest.py": policy.Allow, "conftest.pyi": policy.Allow, "husky": policy.Allow, "app/page.tsx": policy.Allow, "my.apps/a.txt": policy.Allow, "crontab.md": policy.Allow,
		"instructions.md": policy.Allow, "skills.md": policy.Allow, "pre-push.md": policy.Allow, "lefthook.md": policy.Allow, "cron/job.go": policy.Allow, "jar.go": policy.Allow,
		"./a.txt": policy.Allow, "../a.txt": policy.Allow, ".": policy.Allow, "..": policy.Allow, "a.b/c.d": policy.Allow, "Makefile": policy.Allow,
		"docs/shell.md": policy.Allow, "hash.go": policy.Allow, "my-agents.md": policy.Allow, "a.sh/b.txt": policy.Allow, "src/hooks/a.ts": policy.Allow, "": policy.Allow,
	} {
		write := policy.Request{Tool: policy.ToolView{Name: "fs_write"}, Paths: []policy.PathFact{{Rel: "ok.txt"}, {Rel: path}}}
		redirect := policy.Request{Tool: policy.ToolView{Name: "other_tool"}, Shell: &policy.ShellFact{Writes: []string{"ok.txt", path}}}
		for _, r := range []policy.Request{write, redirect} {
			if d := p.Judge(r); d.Verdict != want || want == policy.Ask && d.Reason != "this writes what runs or is obeyed by itself: "+path {
				t.Errorf("%s by %s: %+v, want %s", path, r.Tool.Name, d, want)
			}
		}
	}
}

// The limit of a rule is 100,000 units: the dearest of ours costs some 600 a path, so
// that a call with more than 160 of them is denied for its cost.
func TestDefaultCost(t *testing.T) {
	r := policy.Request{Tool: policy.ToolView{Name: "shell", Labels: []string{"financial"}}, Args: map[string]any{}, Shell: &policy.ShellFact{Parsed: true, Risk: "low"}}
	for i := range 50 {
		r.Args[fmt.Sprintf("a%d", i%10)] = "x"
		r.Paths = append(r.Paths, policy.PathFact{Rel: fmt.Sprintf("some/directory/of/a/project/file-%d.go", i)})
		r.Shell.Writes = append(r.Shell.Writes, fmt.Sprintf("/workspace/some/directory/file-%d.go", i))
	}
	for _, e := range compiled(t).Explain(r).Rules {
		t.Logf("%s costs %d", e.Policy, e.Cost)
		if e.Cost > 65_000 {
			t.Errorf("%s costs %d", e.Policy, e.Cost)
		}
	}
}
