package hooks

import (
	"slices"
	"testing"
)

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", "text", "{", "{}", `{"decision":"block"}`, `{"hookSpecificOutput":{"permissionDecision":"ask","updatedInput":{"a":[1,2.5,1e999]}}}`,
		`{"continue":false}`, "log\n{\"decision\":\"deny\"}", `{"decision":"deny"}{`,
	} {
		f.Add(PreToolUse, []byte(s))
	}
	f.Fuzz(func(t *testing.T, event string, out []byte) {
		a, err := parse(event, out)
		switch {
		case err != nil:
		case !slices.Contains(strictness, a.decision):
			t.Fatalf("%q: decision %q", out, a.decision)
		case a.input != nil && event != PreToolUse, a.output != nil && event != PostToolUse:
			t.Fatalf("%q: %s changed what it cannot", out, event)
		}
	})
}
