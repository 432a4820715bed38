package hooks_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/bridge/hooks"
	"github.com/google/go-cmp/cmp"
)

// What a hook at UserPromptSubmit makes of the prompt.
func TestUserPromptSubmit(t *testing.T) {
	say := func(fields string) string {
		return `printf '%s' '{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit",` + fields + `}}'`
	}
	for _, tt := range []struct {
		name    string
		command string
		want    hooks.Verdict // Decision, Reason, Prompt and Context
	}{
		{"nothing", "true", hooks.Verdict{Decision: "none"}},
		{"text is context, as in Claude Code", "echo the branch is main", hooks.Verdict{Decision: "none", Context: "the branch is main"}},
		{"context in JSON", say(`"additionalContext":"a"`), hooks.Verdict{Decision: "none", Context: "a"}},
		{"context beside", `echo '{"additionalContext":"a"}'`, hooks.Verdict{Decision: "none", Context: "a"}},
		{"another prompt", say(`"updatedPrompt":"b"`), hooks.Verdict{Decision: "none", Prompt: "b"}},
		{"an empty prompt", say(`"updatedPrompt":" "`), hooks.Verdict{Decision: "deny", Reason: "h: hook_failed:invalid JSON: updatedPrompt is empty; to refuse the prompt, give a decision"}},
		{"a prompt that is none", say(`"updatedPrompt":1`), hooks.Verdict{Decision: "deny", Reason: "h: hook_failed:invalid JSON: updatedPrompt is a json.Number, want a string"}},
		{"a refusal", `echo '{"decision":"block","reason":"not on friday"}'`, hooks.Verdict{Decision: "deny", Reason: "h: not on friday"}},
		{"a refusal changes nothing", "echo x; echo no >&2; exit 2", hooks.Verdict{Decision: "deny", Reason: "h: no"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := compile(t, t.TempDir(), hooks.Hook{Event: "UserPromptSubmit", Name: "h", Command: tt.command}).Run(t.Context(), "UserPromptSubmit", "", hooks.Input{Prompt: "p"})
			got := hooks.Verdict{Decision: v.Decision, Reason: v.Reason, Prompt: v.Prompt, Context: v.Context}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
	two := compile(t, t.TempDir(), hooks.Hook{Event: "UserPromptSubmit", Command: "echo one"}, hooks.Hook{Event: "UserPromptSubmit", Command: "echo two"},
		hooks.Hook{Event: "UserPromptSubmit", Command: say(`"updatedPrompt":"b"`)})
	if v := two.Run(t.Context(), "UserPromptSubmit", "", hooks.Input{}); v.Context != "one\ntwo" || v.Prompt != "b" {
		t.Errorf("%+v", v)
	}
	differ := compile(t, t.TempDir(), hooks.Hook{Event: "UserPromptSubmit", Command: say(`"updatedPrompt":"a"`)}, hooks.Hook{Event: "UserPromptSubmit", Command: say(`"updatedPrompt":"b"`)})
	if v := differ.Run(t.Context(), "UserPromptSubmit", "", hooks.Input{}); v.Decision != "deny" || v.Prompt != "" || !strings.Contains(v.Reason, "conflict") {
		t.Errorf("%+v", v)
	}
	elsewhere := compile(t, t.TempDir(), hooks.Hook{Event: "RunStart", Command: `echo '{"hookSpecificOutput":{"updatedPrompt":"b"}}'`}, hooks.Hook{Event: "RunStart", Command: "echo text"})
	if v := elsewhere.Run(t.Context(), "RunStart", "", hooks.Input{}); v.Decision != "deny" || v.Context != "" || !strings.Contains(v.Reason, "updatedPrompt in RunStart, where there is no prompt") {
		t.Errorf("%+v", v)
	}
}

// Each run's transcript is its own.
func TestATranscriptIsNamed(t *testing.T) {
	dir := t.TempDir()
	s := compile(t, dir, hooks.Hook{Event: "RunStart", Command: "cat > seen"}).WithTranscript(func(run string) string { return "/traces/" + run })
	for _, tt := range []struct {
		in   hooks.Input
		want string
	}{{hooks.Input{SessionID: "r1"}, "/traces/r1"}, {hooks.Input{SessionID: "r1", TranscriptPath: "/t"}, "/t"}} {
		s.Run(t.Context(), "RunStart", "", tt.in)
		data, err := os.ReadFile(filepath.Join(dir, "seen"))
		if err != nil || !strings.Contains(string(data), `"transcript_path":"`+tt.want+`"`) {
			t.Errorf("%s, %v; want %s", data, err, tt.want)
		}
	}
}
