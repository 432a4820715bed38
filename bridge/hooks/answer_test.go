package hooks

import (
	"slices"
	"testing"
	"unicode/utf8"
)

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", "text", "{", "{}", `{"decision":"block"}`, `{"hookSpecificOutput":{"permissionDecision":"ask","updatedInput":{"a":[1,2.5,1e999]}}}`,
		`{"continue":false}`, "log\n{\"decision\":\"deny\"}", `{"decision":"deny"}{`,
	} {
		f.Add(PreToolUse, []byte(s))
	}
	f.Add(UserPromptSubmit, []byte(`{"additionalContext":"a","hookSpecificOutput":{"updatedPrompt":"b"}}`))
	f.Add(UserPromptSubmit, []byte("a text \xff"))
	f.Fuzz(func(t *testing.T, event string, out []byte) {
		a, err := parse(event, out)
		switch {
		case err != nil:
		case !slices.Contains(strictness, a.decision):
			t.Fatalf("%q: decision %q", out, a.decision)
		case a.input != nil && event != PreToolUse, a.output != nil && event != PostToolUse, a.prompt+a.context != "" && event != UserPromptSubmit:
			t.Fatalf("%q: %s changed what it cannot", out, event)
		case !utf8.ValidString(a.prompt + a.context):
			t.Fatalf("%q: a prompt that is no text", out)
		}
	})
}
