package bridge_test

// Each test is the smallest scenario of one kind of fault that others have shipped.

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/hooks"
	"github.com/codeact-dev/codeact/interp"
	"github.com/codeact-dev/codeact/policy"
)

// D1: the cleaned text was used only where the raw output was no JSON, and it
// always was.
func TestD1EveryShapeOfResultIsCleanedAndWrapped(t *testing.T) {
	for _, value := range []any{token, `{"k": "` + token + `"}`, map[string]any{"k": []any{token}}, []any{map[string]any{token: int64(1)}}, []byte(token)} {
		var p probe
		r := newRig(t, bridge.Config{Tools: []bridge.Tool{p.tool("page", caps(policy.UntrustedInput), returns(bridge.Output{Value: value}, nil))}})
		v, err := r.call(t, "page", nil)
		if err != nil || strings.Contains(fmt.Sprintf("%s", v), token) {
			t.Errorf("the script got %v, %v", v, err)
		}
		text := r.door.Observe(interp.Result{HasValue: true, Value: v}, nil).String()
		if strings.Contains(text, token) || strings.HasPrefix(text, "value:") {
			t.Errorf("the model reads %s", text)
		}
	}
}

// lethal is a conversation with both legs of the trifecta.
func lethal(r *rig) {
	r.State.Held = policy.Tainted(policy.Private, "c").Join(policy.Tainted(policy.Untrusted, "c"))
}

// D2: the taint policy had no caller.
func TestD2TheTaintOfWhatToolsReallyReturnedBlocksASend(t *testing.T) {
	var p, q probe
	r := newRig(t, bridge.Config{Security: policy.Security{SendsAfterPrivate: true, Named: policy.NamedOff}, Tools: []bridge.Tool{
		p.tool("post", sends), q.tool("page", caps(policy.UntrustedInput), returns(bridge.Output{Value: "x"}, nil)), q.tool("notes", caps(policy.PrivateData))}})
	for i, tool := range []string{"post", "page", "post", "notes", "post"} {
		_, err := r.call(t, tool, map[string]any{"to": "eve"})
		if i < 4 && err != nil {
			t.Fatal(tool, err)
		}
		if i == 4 {
			wantErr(t, err, bridge.ErrDenied, "denied by interlock")
		}
	}
	if p.ran != 2 {
		t.Errorf("%d sends, want 2", p.ran)
	}
}

// D3: every tool was taken to do nothing and to need nobody.
func TestD3AToolThatDeclaresNothingIsTakenToDoEverything(t *testing.T) {
	var p probe
	undeclared := func(t *bridge.Tool) { t.Caps, t.Tier = policy.Capabilities{}, 0 }
	r := newRig(t, bridge.Config{Tools: []bridge.Tool{p.tool("x", undeclared)}})
	_, err := r.call(t, "x", nil)
	wantErr(t, err, bridge.ErrDenied, "needs a person's yes for every call")
	lethal(r)
	_, err = r.call(t, "x", nil)
	wantErr(t, err, bridge.ErrDenied, "denied by interlock")
	if v := r.b.Tools()[0]; p.ran != 0 || len(v.Caps.Names()) != 4 || v.Tier != policy.AlwaysAsk {
		t.Errorf("a policy sees %+v", v)
	}
}

// D8: a lease grew with each call of the model.
func TestD8NothingButAnAnswerGrantsALease(t *testing.T) {
	var p probe
	answer := yes
	a := &approver{answer: func(bridge.Question) (bridge.Answer, error) { return answer, nil }}
	r := newRig(t, bridge.Config{Approver: a, Tools: []bridge.Tool{p.tool("post", tier(policy.AskOnce)), p.tool("other", tier(policy.AskOnce))}})
	ask := func(tool string) {
		t.Helper()
		if _, err := r.call(t, tool, nil); err != nil {
			t.Fatal(err)
		}
	}
	ask("post")
	if n := len(r.State.Leases.All()); n != 0 {
		t.Fatalf("a yes to one call left %d leases", n)
	}
	answer.Scope = bridge.ForLease
	ask("post")
	granted := r.State.Leases.All()[0]
	for range 3 {
		ask("post")
		r.resume(t)
		r.door, _ = r.b.Open(r.Run("r1"), 2+granted.Uses-r.State.Leases.All()[0].Uses, bridge.Preflight{})
	}
	left := r.State.Leases.All()
	if len(left) != 1 || left[0].Uses != granted.Uses-3 || left[0].Expires != granted.Expires || left[0].Tool != "post" || len(a.asked) != 2 {
		t.Errorf("of %+v it became %+v after %d questions", granted, left, len(a.asked))
	}
}

// D9: a rule was asked only where a table had been filled before.
func TestD9RulesAreAskedOfEveryCall(t *testing.T) {
	var p probe
	r := newRig(t, bridge.Config{Policy: rulesOf(t, "  validations:\n    - {expression: 'false', message: closed}\n"), Tools: []bridge.Tool{p.tool("x")}})
	r.State = bridge.State{Leases: r.State.Leases, Authority: r.State.Authority, Begun: map[string][]time.Time{}} // of a run that just began
	_, err := r.call(t, "x", nil)
	wantErr(t, err, bridge.ErrDenied, "closed")
	_, err = r.call(t, "nope", nil)
	wantErr(t, err, bridge.ErrBadCall)
	for _, e := range r.Events {
		if d, ok := e.(bridge.Decided); !ok || len(d.Gates) == 0 {
			t.Errorf("a call has no decision: %+v", e)
		}
	}
}

// D10: the count of a step's calls was one for the whole process.
func TestD10TheCapIsOfAStepOfARun(t *testing.T) {
	var p probe
	r := newRig(t, bridge.Config{MaxCalls: 2, Tools: []bridge.Tool{p.tool("x")}})
	other := newRig(t, r.cfg)
	second, err := r.b.Open(r.Run("r1"), 2, bridge.Preflight{})
	if err != nil {
		t.Fatal(err)
	}
	alien, err := r.b.Open(other.Run("r2"), 1, bridge.Preflight{})
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range []*bridge.Door{r.door, r.door, second, alien, second, alien} {
		if _, err := d.Call(t.Context(), call("x", nil)); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	for _, d := range []*bridge.Door{r.door, second, alien} {
		_, err := d.Call(t.Context(), call("x", nil))
		wantErr(t, err, bridge.ErrDenied, "this is call 3")
	}
}

// D11: "always", said once, held for every run of everyone.
func TestD11AYesOfOneRunIsNoneOfAnother(t *testing.T) {
	var p probe
	a := says(bridge.Answer{Yes: true, Scope: bridge.ForLease}, nil)
	r := newRig(t, bridge.Config{Approver: a, Tools: []bridge.Tool{p.tool("post", sends, tier(policy.AskOnce))}})
	other := newRig(t, r.cfg)
	alien, err := r.b.Open(other.Run("r2"), 1, bridge.Preflight{})
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range []*bridge.Door{r.door, r.door, alien} {
		if _, err := d.Call(t.Context(), call("post", map[string]any{"to": "bob"})); err != nil {
			t.Fatal(err)
		}
		if want := []int{1, 1, 2}[i]; len(a.asked) != want {
			t.Errorf("%d: %d questions, want %d", i, len(a.asked), want)
		}
	}
}

// commands is a hook of shell commands, for one event.
func commands(t *testing.T, event string, lines ...string) bridge.Hook {
	t.Helper()
	var hs []hooks.Hook
	for _, l := range lines {
		hs = append(hs, hooks.Hook{Event: event, Command: l, Name: "h", Timeout: 5 * time.Second})
	}
	set, err := hooks.Compile(hs, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return bridge.CommandHooks(set, "")
}

// D12 and B21: a hook that failed let the call run, and so did one that exited
// with 2 after it had written JSON.
func TestD12AHookThatFailsBlocks(t *testing.T) {
	for name, tt := range map[string]struct {
		command string
		runs    bool
	}{
		"says nothing":          {`cat >/dev/null`, true},
		"fails":                 {`exit 1`, false},
		"is killed":             {`kill -9 $$`, false},
		"is not there":          {`no-such-program-anywhere`, false},
		"writes no JSON":        {`echo '{"decision":'; exit 0`, false},
		"B21 context, then 2":   {`echo '{"additionalContext":"x"}'; exit 2`, false},
		"B21 nonsense, then 2":  {`echo '{'; exit 2`, false},
		"B21 allow, then 2":     {`echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'; exit 2`, false},
		"allows":                {`echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'`, true},
		"asks, and nobody is":   {`echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask"}}'`, false},
		"ends the run":          {`echo '{"continue":false,"stopReason":"enough"}'`, false},
		"changes the arguments": {`echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"to":"carol"}}}'`, true},
	} {
		var p probe
		r := newRig(t, bridge.Config{Hooks: []bridge.Hook{commands(t, hooks.PreToolUse, tt.command)}, Tools: []bridge.Tool{p.tool("x")}})
		_, err := r.call(t, "x", map[string]any{"to": "bob"})
		if (err == nil) != tt.runs || (p.ran == 1) != tt.runs || errors.Is(err, bridge.ErrStopped) != (name == "ends the run") {
			t.Errorf("%s: it ran %d times: %v", name, p.ran, err)
		}
		if name == "changes the arguments" && p.args["to"] != "carol" {
			t.Errorf("the tool got %v", p.args)
		}
	}
	for name, tt := range map[string]struct{ command, want string }{
		"says nothing": {`cat >/dev/null`, ""}, "fails": {`exit 1`, "its result is hidden"}, "hides": {`echo '{"decision":"block","reason":"private"}'`, "private"},
	} {
		for _, fails := range []error{nil, errDisk} {
			var p probe
			r := newRig(t, bridge.Config{Hooks: []bridge.Hook{commands(t, hooks.PostToolUse, tt.command)}, Tools: []bridge.Tool{p.tool("x", returns(bridge.Output{Value: "v"}, fails))}})
			_, err := r.call(t, "x", nil)
			if tt.want == "" && !errors.Is(err, fails) || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%s after: %v", name, err)
			}
		}
	}
}

// D13 and D14 are TestD13ASensitiveValueReachesTheToolAlone; what is below holds for
// the results of such a call too.
func TestD14AValueThatTheRunKnowsIsNotInTheTrace(t *testing.T) {
	var p probe
	const secret = "correct-horse-battery"
	r := newRig(t, bridge.Config{Redactor: redactor(t, map[string]string{"DB": secret}), Approver: says(bridge.Answer{Yes: true, Reason: secret}, nil),
		Tools: []bridge.Tool{p.tool("x", tier(policy.AlwaysAsk), returns(bridge.Output{Value: "a " + secret}, nil)), p.tool("y", returns(bridge.Output{}, errors.New(secret)))}})
	for _, tool := range []string{"x", "y"} {
		r.call(t, tool, map[string]any{"body": []any{secret, map[string]any{secret: "k"}}})
	}
	text := r.door.Observe(interp.Result{Printed: secret, HasValue: true, Value: secret}, errors.New(secret)).String()
	if all := traced(t, r) + text; strings.Contains(all, secret) || len(r.Events) != 8 {
		t.Errorf("%d events:\n%s", len(r.Events), all)
	}
}

// D21: a window that starts at fixed times gave two bursts at its edge, forgot all
// in a restart, and counted what was refused.
func TestD21ARateSlidesAndCountsWhatBegan(t *testing.T) {
	var p probe
	a := &approver{answer: func(bridge.Question) (bridge.Answer, error) { return bridge.Answer{}, nil }}
	r := newRig(t, bridge.Config{Approver: a, Tools: []bridge.Tool{p.tool("x", func(t *bridge.Tool) { t.Rate = bridge.Rate{N: 2, Per: time.Minute} }),
		p.tool("asks", tier(policy.AlwaysAsk), func(t *bridge.Tool) { t.Rate = bridge.Rate{N: 1, Per: time.Minute} })}})
	for i, tt := range []struct {
		at   time.Duration
		runs bool
	}{{58 * time.Second, true}, {59 * time.Second, true}, {61 * time.Second, false}, {117 * time.Second, false}, {118 * time.Second, true}, {118 * time.Second, false}, {119 * time.Second, true}} {
		r.now = noon.Add(tt.at)
		if i == 3 { // a restart
			run := r.Run("r1")
			b, err := bridge.New(r.cfg)
			if err != nil {
				t.Fatal(err)
			}
			if r.door, err = b.Open(run, 2, bridge.Preflight{}); err != nil {
				t.Fatal(err)
			}
		}
		_, err := r.call(t, "x", nil)
		if (err == nil) != tt.runs || err != nil && !strings.Contains(err.Error(), "retry after") {
			t.Errorf("%d at %v: %v", i, tt.at, err)
		}
	}
	for range 3 {
		_, err := r.call(t, "asks", nil)
		if wantErr(t, err, bridge.ErrDenied, "a person said no"); strings.Contains(err.Error(), "retry after") {
			t.Error("a refused call was counted")
		}
	}
}

// D24: what lay too deep was passed over and let through.
func TestD24WhatLiesTooDeepIsRefused(t *testing.T) {
	bury := func(v any, n int) any {
		for range n {
			v = map[string]any{"k": v}
		}
		return v
	}
	for n, runs := range map[int]bool{10: true, 62: true, 65: false, 10_000: false} {
		var p probe
		r := newRig(t, bridge.Config{Tools: []bridge.Tool{p.tool("x")}})
		_, err := r.call(t, "x", map[string]any{"body": bury(token, n)})
		if (err == nil) != runs || strings.Contains(traced(t, r), token) {
			t.Errorf("%d levels: %v", n, err)
		}
		var q probe
		back := newRig(t, bridge.Config{Tools: []bridge.Tool{q.tool("x", returns(bridge.Output{Value: bury(token, n)}, nil))}})
		v, err := back.call(t, "x", nil)
		if (err == nil) != runs || strings.Contains(fmt.Sprint(v), token) {
			t.Errorf("%d levels back: %v", n, err)
		}
	}
}
