package hooks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/codeact-dev/codeact/bridge/hooks"
	"github.com/google/go-cmp/cmp"
)

func specific(fields string) string {
	return `printf '%s' '{"hookSpecificOutput":{"hookEventName":"PreToolUse",` + fields + `}}'`
}

// The table of the hook contract, row by row.
func TestB21PreToolUse(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       string // decision
		outcome    string // "" means the same
		reason     string // a part of it
	}{
		{"exit 2 blocks", "echo no >&2; exit 2", "deny", "", "no"},
		{"exit 2 without a word blocks", "exit 2", "deny", "", "gave no reason"},
		{"exit 2 with other JSON blocks (B21)", `echo '{"additionalContext":"x"}'; exit 2`, "deny", "", ""},
		{"exit 2 with invalid JSON blocks (B21)", `echo '{"a'; exit 2`, "deny", "", ""},
		{"exit 2 with an allow blocks (B21)", specific(`"permissionDecision":"allow"`) + "; exit 2", "deny", "", ""},
		{"exit 2 with a reason in JSON keeps it", `echo '{"decision":"block","reason":"friday"}'; exit 2`, "deny", "", "friday"},
		{"exit 2 and continue false stops", `echo '{"continue":false,"stopReason":"over"}'; exit 2`, "stop", "", "over"},
		{"exit 0 is no opinion", "exit 0", "none", "", ""},
		{"text is no opinion", "echo checked 3 files", "none", "", ""},
		{"a list is no verdict, and must not pass for none", "echo '[\"deny\"]'", "deny", "failed", "hook_failed:invalid JSON"},
		{"a misspelt key is no verdict either", `echo '{"decison":"block"}'`, "deny", "failed", `unknown key "decison"`},
		{"nor is one deeper", specific(`"permisionDecision":"deny"`), "deny", "failed", `unknown key "permisionDecision"`},
		{"an object without a decision is no opinion", `echo '{"systemMessage":"hi"}'`, "none", "", ""},
		{"nulls are absent", `echo '{"decision":null,"continue":null,"hookSpecificOutput":null}'`, "none", "", ""},
		{"continue true is no opinion", `echo '{"continue":true}'`, "none", "", ""},
		{"deny", specific(`"permissionDecision":"deny","permissionDecisionReason":"why"`), "deny", "", "why"},
		{"top-level deny", `echo '{"decision":"deny","reason":"why"}'`, "deny", "", "why"},
		{"top-level block", `echo '{"decision":"block"}'`, "deny", "", ""},
		{"a byte order mark hides nothing", `printf '\357\273\277{"decision":"block"}'`, "deny", "", ""},
		{"ask", specific(`"permissionDecision":"ask","permissionDecisionReason":"sure?"`), "ask", "", "sure?"},
		{"defer asks", specific(`"permissionDecision":"defer"`), "ask", "", ""},
		{"allow counts for nothing", specific(`"permissionDecision":"allow"`), "none", "allow_ignored", ""},
		{"approve counts for nothing", `echo '{"decision":"approve"}'`, "none", "allow_ignored", ""},
		{"the stricter of two decisions counts", `echo '{"decision":"block","reason":"r","hookSpecificOutput":{"permissionDecision":"allow"}}'`, "deny", "", "r"},
		{"continue false stops", `echo '{"continue":false,"stopReason":"enough"}'`, "stop", "", "enough"},
		{"exit 49 stops", "echo enough >&2; exit 49", "stop", "", "enough"},
		{"another exit blocks", "echo first; echo last >&2; exit 1", "deny", "failed", "hook_failed:exit 1: last"},
		{"a signal inside the shell blocks", "kill -9 $$", "deny", "failed", "hook_failed:exit 137"},
		{"an unknown program blocks", "exec no-such-program-anywhere", "deny", "failed", "hook_failed:not found"},
		{"invalid JSON blocks", `echo '{"decision":'`, "deny", "failed", "hook_failed:invalid JSON"},
		{"two objects block", `echo '{} {}'`, "deny", "failed", "hook_failed:invalid JSON"},
		{"two decisions in one object block", `echo '{"decision":"block","decision":"approve"}'`, "deny", "failed", `hook_failed:invalid JSON: the key "decision" stands twice`},
		{"in another spelling too", `echo '{"decision":"block","\u0064ecision":"approve"}'`, "deny", "failed", `the key "decision" stands twice`},
		{"two nested decisions block", specific(`"permissionDecision":"deny","permissionDecision":"allow"`), "deny", "failed", `the key "permissionDecision" stands twice`},
		{"two nested objects block", `echo '{"hookSpecificOutput":{"permissionDecision":"deny"},"hookSpecificOutput":{}}'`, "deny", "failed", `the key "hookSpecificOutput" stands twice`},
		{"two values of one argument block", specific(`"updatedInput":{"l":[{"to":"a","n":1,"to":"b"}]}`), "deny", "failed", `the key "to" stands twice`},
		{"one key in two objects is no fault", specific(`"updatedInput":{"l":[{"to":"a"},{"to":"b"}],"to":"c"}`), "none", "", ""},
		{"an unknown decision blocks", specific(`"permissionDecision":"maybe"`), "deny", "failed", `"maybe"`},
		{"a decision of a wrong type blocks", `echo '{"continue":"false"}'`, "deny", "failed", "continue is a string"},
		{"a nested wrong type blocks", specific(`"permissionDecision":true`), "deny", "failed", "permissionDecision is a bool"},
		{"the answer to another event blocks", `echo '{"hookSpecificOutput":{"hookEventName":"PostToolUse"}}'`, "deny", "failed", "PostToolUse"},
		{"a log line cannot hide a verdict", `echo starting; echo '{"decision":"block"}'`, "deny", "failed", "other text stands before"},
		{"a log line in braces is no verdict", `echo starting; echo '{x}'`, "none", "", ""},
		{"too much output blocks", "head -c 3000000 /dev/zero", "deny", "failed", "hook_failed:output: more than"},
		{"binary output is no opinion", `printf '\000\377\376{'`, "none", "", ""},
		{"much on standard error is only cut", "head -c 300000 /dev/zero >&2", "none", "", ""},
		{"binary on standard error is made text", `printf 'a\377b' >&2; exit 2`, "deny", "", "a\ufffdb"},
		{"there is no terminal", "if (: </dev/tty) 2>/dev/null; then exit 2; fi", "none", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			s := compile(t, dir, hooks.Hook{Event: "PreToolUse", Name: "h", Command: script(t, dir, "h.sh", tt.body)})
			v := s.Run(t.Context(), "PreToolUse", "fs_write", hooks.Input{})
			if tt.outcome == "" {
				tt.outcome = tt.want
			}
			if v.Decision != tt.want || len(v.Runs) != 1 || v.Runs[0].Outcome != tt.outcome || !strings.Contains(v.Reason, tt.reason) {
				t.Errorf("%+v, want %s, outcome %s, reason %q", v, tt.want, tt.outcome, tt.reason)
			}
			if (v.Reason == "") != (v.Decision == "none") {
				t.Errorf("decision %s with reason %q", v.Decision, v.Reason)
			}
			if (tt.outcome == "allow_ignored") != (len(v.Warnings) == 1 && strings.HasPrefix(v.Warnings[0], "hook_allow_ignored: h")) {
				t.Errorf("warnings %q", v.Warnings)
			}
		})
	}
}

func TestOnFailureWarnOnlyWarns(t *testing.T) {
	dir := t.TempDir()
	s := compile(t, dir,
		hooks.Hook{Event: "PreToolUse", Name: "weak", Command: "exit 1", OnFailure: "warn"},
		hooks.Hook{Event: "PreToolUse", Name: "still", Command: "exit 2", OnFailure: "warn", Matcher: "b"},
	)
	v := s.Run(t.Context(), "PreToolUse", "a", hooks.Input{})
	if v.Decision != "none" || v.Runs[0].Outcome != "failed" || len(v.Warnings) != 1 || !strings.Contains(v.Warnings[0], "hook_failed:exit 1") {
		t.Errorf("%+v", v)
	}
	if v := s.Run(t.Context(), "PreToolUse", "b", hooks.Input{}); v.Decision != "deny" {
		t.Errorf("exit 2 is a refusal, not a failure: %+v", v)
	}
}

func TestATimeoutIsNoRefusal(t *testing.T) {
	dir := t.TempDir()
	for name, body := range map[string]string{
		"sleeps":                              "sleep 30",
		"has a child that holds the pipe":     "sleep 30 & sleep 30",
		"ignores signals":                     "trap '' TERM INT HUP; while :; do sleep 1; done",
		"has a child in a session of its own": "command -v setsid >/dev/null && setsid sleep 3 & sleep 30",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := compile(t, dir, hooks.Hook{Event: "PreToolUse", Name: "slow", Command: body, Timeout: 300 * time.Millisecond})
			start := time.Now()
			v := s.Run(t.Context(), "PreToolUse", "a", hooks.Input{})
			if took := time.Since(start); took > 2300*time.Millisecond {
				t.Errorf("took %s", took)
			}
			if v.Decision != "deny" || !strings.Contains(v.Reason, "hook_failed:timeout: no answer within 300ms; nobody refused") {
				t.Errorf("%+v", v)
			}
		})
	}
}

func TestAChildThatHoldsThePipeMakesOutputIncomplete(t *testing.T) {
	s := compile(t, t.TempDir(), hooks.Hook{Event: "PreToolUse", Command: "sleep 30 & exit 0"})
	start := time.Now()
	v := s.Run(t.Context(), "PreToolUse", "a", hooks.Input{})
	if v.Decision != "deny" || !strings.Contains(v.Reason, "hook_failed:output: incomplete") || time.Since(start) > 2*time.Second {
		t.Errorf("%+v after %s", v, time.Since(start))
	}
}

func TestACancelledRunIsSaidToBeCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	v := compile(t, t.TempDir(), hooks.Hook{Event: "PreToolUse", Command: "true"}).Run(ctx, "PreToolUse", "a", hooks.Input{})
	if v.Decision != "deny" || !strings.Contains(v.Reason, "hook_failed:cancelled") || v.Runs[0].Exit != -1 {
		t.Errorf("%+v", v)
	}
}

func TestAHookThatVanishedBlocks(t *testing.T) {
	dir := t.TempDir()
	s := compile(t, dir, hooks.Hook{Event: "PreToolUse", Command: script(t, dir, "h.sh", "exit 0"), Args: []string{}})
	if err := os.Remove(filepath.Join(dir, "h.sh")); err != nil {
		t.Fatal(err)
	}
	v := s.Run(t.Context(), "PreToolUse", "a", hooks.Input{})
	if v.Decision != "deny" || !strings.Contains(v.Reason, "hook_failed:start: ") {
		t.Errorf("%+v", v)
	}
}

func TestASignalBlocks(t *testing.T) {
	dir := t.TempDir()
	s := compile(t, dir, hooks.Hook{Event: "PreToolUse", Command: script(t, dir, "h.sh", "kill -9 $$"), Args: []string{}})
	v := s.Run(t.Context(), "PreToolUse", "a", hooks.Input{})
	if v.Decision != "deny" || !strings.Contains(v.Reason, "hook_failed:killed: signal: killed") {
		t.Errorf("%+v", v)
	}
}

func TestUnreadInputFailsNothing(t *testing.T) {
	in := hooks.Input{ToolInput: map[string]any{"text": strings.Repeat("x", 1<<20)}}
	v := compile(t, t.TempDir(), hooks.Hook{Event: "PreToolUse", Command: "exec true"}).Run(t.Context(), "PreToolUse", "a", in)
	if v.Decision != "none" || v.Runs[0].Outcome != "none" {
		t.Errorf("%+v", v)
	}
}

func TestInputThatHasNoJSONBlocks(t *testing.T) {
	in := hooks.Input{ToolInput: map[string]any{"x": math.NaN()}}
	v := compile(t, t.TempDir(), hooks.Hook{Event: "PreToolUse", Command: "true"}).Run(t.Context(), "PreToolUse", "a", in)
	if v.Decision != "deny" || !strings.Contains(v.Reason, "hook_failed:input: ") {
		t.Errorf("%+v", v)
	}
}

func TestStrictestWinsAndReasonsKeepTheirOrder(t *testing.T) {
	s := compile(t, t.TempDir(),
		hooks.Hook{Event: "PreToolUse", Name: "one", Command: "echo first >&2; exit 2"},
		hooks.Hook{Event: "PreToolUse", Name: "two", Command: "true"},
		hooks.Hook{Event: "PreToolUse", Name: "three", Command: specific(`"permissionDecision":"ask","permissionDecisionReason":"third"`)},
		hooks.Hook{Event: "PreToolUse", Name: "four", Command: "echo fourth >&2; exit 49"},
	)
	v := s.Run(t.Context(), "PreToolUse", "a", hooks.Input{})
	if v.Decision != "stop" || v.Reason != "one: first; three: third; four: fourth" || len(v.Runs) != 4 {
		t.Errorf("%+v", v)
	}
}

func TestUpdatedInput(t *testing.T) {
	update := func(x string) hooks.Hook {
		return hooks.Hook{Event: "PreToolUse", Command: specific(`"updatedInput":` + x)}
	}
	for _, tt := range []struct {
		name  string
		hooks []hooks.Hook
		want  map[string]any
		deny  bool
	}{
		{"numbers stay exact", []hooks.Hook{update(`{"a":9007199254740993,"b":1.5,"c":[123456789012345678901234567890],"d":1e400}`)}, map[string]any{
			"a": int64(9007199254740993), "b": 1.5, "c": []any{bigInt("123456789012345678901234567890")}, "d": "1e400"}, false},
		{"empty is an update", []hooks.Hook{update(`{}`)}, map[string]any{}, false},
		{"null is none", []hooks.Hook{update(`null`)}, nil, false},
		{"two may agree", []hooks.Hook{update(`{"a":1}`), update(`{"a":1}`)}, map[string]any{"a": int64(1)}, false},
		{"two may not differ", []hooks.Hook{update(`{"a":1}`), update(`{"a":2}`)}, nil, true},
		{"a denial drops it", []hooks.Hook{update(`{"a":1}`), {Event: "PreToolUse", Command: "exit 2"}}, nil, true},
		{"a list is no input", []hooks.Hook{update(`[1]`)}, nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := compile(t, t.TempDir(), tt.hooks...).Run(t.Context(), "PreToolUse", "a", hooks.Input{})
			if d := cmp.Diff(tt.want, v.UpdatedInput, cmp.Comparer(func(a, b *big.Int) bool { return a.Cmp(b) == 0 })); d != "" {
				t.Error(d)
			}
			if tt.deny != (v.Decision == "deny") {
				t.Errorf("%+v", v)
			}
		})
	}
}

func bigInt(s string) *big.Int { b, _ := new(big.Int).SetString(s, 10); return b }

func TestPostToolUse(t *testing.T) {
	post := func(fields string) string {
		return `printf '%s' '{"hookSpecificOutput":{"hookEventName":"PostToolUse",` + fields + `}}'`
	}
	for _, tt := range []struct {
		name, command, decision string
		output                  any
	}{
		{"output may be replaced", post(`"updatedToolOutput":{"n":1}`), "none", map[string]any{"n": int64(1)}},
		{"by Claude Code's older name too", post(`"updatedMCPToolOutput":"less"`), "none", "less"},
		{"block hides it", `echo '{"decision":"block","reason":"r"}'`, "deny", nil},
		{"the call cannot be changed any more", post(`"updatedInput":{}`), "deny", nil},
		{"null replaces nothing", post(`"updatedToolOutput":null`), "none", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := compile(t, t.TempDir(), hooks.Hook{Event: "PostToolUse", Command: tt.command}).Run(t.Context(), "PostToolUse", "a", hooks.Input{})
			if d := cmp.Diff(tt.output, v.UpdatedOutput); d != "" || v.Decision != tt.decision {
				t.Errorf("%+v %s", v, d)
			}
		})
	}
}

func TestObserversDecideNothing(t *testing.T) {
	for _, event := range []string{"ApprovalRequest", "Notification", "RunEnd"} {
		for command, warning := range map[string]string{"exit 2": "hook_observes_only: ", "exit 49": "hook_observes_only: ", "exit 1": "hook_failed:exit 1: "} {
			v := compile(t, t.TempDir(), hooks.Hook{Event: event, Command: command}).Run(t.Context(), event, "", hooks.Input{})
			if v.Decision != "none" || v.Reason != "" || len(v.Warnings) != 1 || !strings.Contains(v.Warnings[0], warning) {
				t.Errorf("%s %s: %+v", event, command, v)
			}
		}
	}
}

func TestStandardInput(t *testing.T) {
	dir := t.TempDir()
	in := hooks.Input{
		SessionID: "r1", TranscriptPath: "/t", PermissionMode: "default", ToolUseID: "c1", DurationMs: 7, External: true,
		ToolInput: map[string]any{"p": "[hidden]"}, ToolInputSecret: map[string]any{"p": "hunter22"},
		ToolResponse: []any{int64(1)}, Codeact: json.RawMessage(`{"v":1}`),
	}
	common := map[string]any{
		"session_id": "r1", "transcript_path": "/t", "cwd": dir, "permission_mode": "default", "tool_name": "a", "tool_use_id": "c1",
		"tool_input": map[string]any{"p": "[hidden]"}, "codeact": map[string]any{"v": 1.0},
	}
	with := func(more map[string]any) map[string]any {
		out := map[string]any{}
		for _, m := range []map[string]any{common, more} {
			for k, v := range m {
				out[k] = v
			}
		}
		return out
	}
	for _, tt := range []struct {
		hook hooks.Hook
		in   hooks.Input
		tool string
		want map[string]any
	}{
		{hooks.Hook{Event: "PreToolUse"}, in, "a", with(map[string]any{"hook_event_name": "PreToolUse"})},
		{hooks.Hook{Event: "PreToolUse", ReceivesSecrets: true}, in, "a",
			with(map[string]any{"hook_event_name": "PreToolUse", "tool_input": map[string]any{"p": "hunter22"}})},
		{hooks.Hook{Event: "PostToolUse"}, in, "a",
			with(map[string]any{"hook_event_name": "PostToolUse", "tool_response": []any{1.0}, "duration_ms": 7.0, "external": true})},
		{hooks.Hook{Event: "PreToolUse", ReceivesSecrets: true}, hooks.Input{Cwd: "/w"}, "a", map[string]any{
			"session_id": "", "transcript_path": "", "cwd": "/w", "hook_event_name": "PreToolUse", "tool_name": "a", "tool_input": map[string]any{}}},
		{hooks.Hook{Event: "UserPromptSubmit"}, hooks.Input{Prompt: "p"}, "", map[string]any{
			"session_id": "", "transcript_path": "", "cwd": dir, "hook_event_name": "UserPromptSubmit", "prompt": "p"}},
	} {
		tt.hook.Command = "cat >seen"
		if v := compile(t, dir, tt.hook).Run(t.Context(), tt.hook.Event, tt.tool, tt.in); v.Decision != "none" {
			t.Errorf("%+v", v)
		}
		data, err := os.ReadFile(filepath.Join(dir, "seen"))
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tt.want, got); d != "" || !bytes.HasSuffix(data, []byte("\n")) {
			t.Errorf("%s: %s", tt.hook.Event, d)
		}
	}
}

func TestEnvironmentIsShort(t *testing.T) {
	t.Setenv("MY_API_KEY", "hunter22")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x=hunter22")
	t.Setenv("LANG", "C")
	dir := t.TempDir()
	s := compile(t, dir, hooks.Hook{Event: "PreToolUse", Command: script(t, dir, "h.sh", "env >seen"), Args: []string{}})
	if v := s.Run(t.Context(), "PreToolUse", "fs_read", hooks.Input{RunID: "r9", SessionID: "s"}); v.Decision != "none" {
		t.Fatalf("%+v", v)
	}
	data, err := os.ReadFile(filepath.Join(dir, "seen"))
	if err != nil {
		t.Fatal(err)
	}
	env := "\n" + string(data)
	for _, want := range []string{"CODEACT_RUN_ID=r9", "CODEACT_EVENT=PreToolUse", "CODEACT_TOOL_NAME=fs_read", "CODEACT_PROJECT_DIR=" + dir, "CLAUDE_PROJECT_DIR=" + dir, "LANG=C"} {
		if !strings.Contains(env, "\n"+want+"\n") {
			t.Errorf("no %s in %s", want, env)
		}
	}
	if strings.Contains(env, "hunter22") {
		t.Errorf("a secret was inherited: %s", env)
	}
}

func TestArgumentsGoWithoutAShell(t *testing.T) {
	dir := t.TempDir()
	s := compile(t, dir, hooks.Hook{Event: "PreToolUse", Command: "sh", Args: []string{"-c", `printf %s "$1" >&2; exit 2`, "x", "$(id); a b"}})
	if v := s.Run(t.Context(), "PreToolUse", "a", hooks.Input{}); v.Runs[0].Reason != "$(id); a b" {
		t.Errorf("%+v", v)
	}
}

// Who cuts a reason must redact it first: half a secret is not found any more.
func TestReasonsAreAsLongAsTheyWereWritten(t *testing.T) {
	s := compile(t, t.TempDir(), hooks.Hook{Event: "PreToolUse", Command: "for i in 1 2 3 4 5 6 7 8; do printf 'x%0300d' 0 | sed 's/0/é/g' >&2; done; exit 2"})
	v := s.Run(t.Context(), "PreToolUse", "a", hooks.Input{})
	if r := v.Runs[0].Reason; r != strings.Repeat("x"+strings.Repeat("é", 300), 8) {
		t.Errorf("%d bytes", len(r))
	}
}
