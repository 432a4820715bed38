package bridge_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/interp"
	"github.com/codeact-dev/codeact/policy"
	"github.com/codeact-dev/codeact/policy/rules"
)

func rulesOf(t *testing.T, spec string) *rules.Policy {
	t.Helper()
	text := "apiVersion: codeact.dev/v1\nkind: ToolCallPolicy\nmetadata: {name: ours}\nspec:\n" + spec
	p, err := rules.Compile(nil, rules.File{Name: "p.yaml", Data: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestADeniedCallListsEveryReason(t *testing.T) {
	var p probe
	hooked := 0
	r := newRig(t, bridge.Config{MaxCalls: 2, Policy: rulesOf(t, "  validations:\n    - {expression: 'false', message: not on Sundays}\n"),
		Hooks: []bridge.Hook{hook{before: func(bridge.HookCall) bridge.HookResult { hooked++; return fine }}},
		Tools: []bridge.Tool{p.tool("post", sends, tier(policy.AlwaysAsk), func(t *bridge.Tool) {
			t.Paths, t.Rate = []string{"to"}, bridge.Rate{N: 1, Per: time.Minute}
		})}})
	r.State.Begun["post"] = []time.Time{noon}
	r.State.Held = policy.Tainted(policy.Private, "c").Join(policy.Tainted(policy.Untrusted, "c"))
	for range 2 {
		if _, err := r.call(t, "nope", nil); err == nil {
			t.Fatal("an unknown tool ran")
		}
	}
	_, err := r.call(t, "post", map[string]any{"to": "eve"})
	wantErr(t, err, bridge.ErrDenied)
	d := event[bridge.Decided](t, r.Journal)
	var said []string
	for _, g := range d.Gates {
		said = append(said, g.Gate+" "+g.Verdict.String())
	}
	want := []string{"registry allow", "schema allow", "facts deny", "interlock deny", "named deny", "secrets allow", "caps deny", "lease ask", "rate deny", "policy deny"}
	if !slices.Equal(said, want) {
		t.Errorf("the gates said %q, want %q", said, want)
	}
	for _, reason := range []string{"this run has no workspace", "a step may make 2 calls", "may begin 1 times in 1m0s", "not on Sundays"} {
		if !strings.Contains(err.Error(), reason) {
			t.Errorf("the reason %q is missing in %v", reason, err)
		}
	}
	if hooked != 0 || p.ran != 0 {
		t.Errorf("hooks ran %d times, the tool %d", hooked, p.ran)
	}
}

func TestABlockThatDoesNotHeedItsCapEnds(t *testing.T) {
	var p probe
	r := newRig(t, bridge.Config{MaxCalls: 2, Tools: []bridge.Tool{p.tool("note")}})
	for range 2 { // the second time the calls are in the journal
		for n := 1; n <= 4; n++ {
			_, err := r.call(t, "note", nil)
			switch {
			case n <= 2 && err != nil:
				t.Error(err)
			case n == 3:
				if wantErr(t, err, bridge.ErrDenied, "this is call 3; split the work"); unwinds(err) {
					t.Error("the first refusal ends the block")
				}
			case n == 4:
				if wantErr(t, err, bridge.ErrStepCalls); !unwinds(err) {
					t.Error("the script could catch it")
				}
			}
		}
		r.resume(t)
	}
	if p.ran != 2 {
		t.Errorf("it ran %d times", p.ran)
	}
}

func TestAMistakeIsNoRefusal(t *testing.T) {
	var p probe
	r := newRig(t, bridge.Config{Tools: []bridge.Tool{p.tool("note")}})
	for _, c := range []interp.Call{
		{Tool: "note", Args: map[string]any{"n": "1"}},
		{Tool: "note", Args: map[string]any{"other": int64(1)}},
		{Tool: "note", Args: map[string]any{"n": []byte("x")}},
		{Tool: strings.Repeat("x\x1b", 100)},
		{Tool: "note", Args: map[string]any{"n": deep(65)}},
	} {
		_, err := r.door.Call(t.Context(), c)
		if wantErr(t, err, bridge.ErrBadCall); unwinds(err) {
			t.Errorf("%s: the script cannot catch it", c.Tool)
		}
		d := event[bridge.Decided](t, r.Journal)
		if !d.Bad || d.Decision.Verdict != policy.Deny || len(d.Tool) > 90 || strings.Contains(d.Tool, "\x1b") {
			t.Errorf("recorded %+v", d)
		}
	}
	if p.ran != 0 || count[bridge.Decided](r.Journal) != 5 {
		t.Errorf("it ran %d times", p.ran)
	}
}

// deep is a list in a list, n levels.
func deep(n int) any {
	var v any = int64(1)
	for range n {
		v = []any{v}
	}
	return v
}

func TestAHookThatChangesACall(t *testing.T) {
	set := func(to string) func(bridge.HookCall) bridge.HookResult {
		return func(c bridge.HookCall) bridge.HookResult {
			r := fine
			r.Args = map[string]any{"to": to, "body": c.Request.Args["body"]}
			return r
		}
	}
	turns := 0
	tests := []struct {
		name  string
		hooks []bridge.Hook
		to    string // what the tool gets
		want  string // why not
		bad   bool
	}{
		{name: "once", hooks: []bridge.Hook{hook{before: set("carol")}}, to: "carol"},
		{name: "to the same", hooks: []bridge.Hook{hook{before: set("bob")}}, to: "bob"},
		{name: "two of them", hooks: []bridge.Hook{hook{before: set("carol")}, hook{before: set("dave")}}, want: "changed arguments that a hook had changed already"},
		{name: "again and again", hooks: []bridge.Hook{hook{before: func(c bridge.HookCall) bridge.HookResult {
			turns++
			return set(fmt.Sprint("x", turns))(c)
		}}}, want: "changed-twice"},
		{name: "to what a gate denies", hooks: []bridge.Hook{hook{before: set("eve")}}, want: "never to eve"},
		{name: "and another denies", hooks: []bridge.Hook{hook{before: set("carol")}, hook{before: func(bridge.HookCall) bridge.HookResult { return denial("no") }}}, want: "hooks: no"},
		{name: "to what nobody can read", hooks: []bridge.Hook{hook{before: func(bridge.HookCall) bridge.HookResult {
			return bridge.HookResult{Decision: policy.Allowed("hooks"), Args: map[string]any{"n": deep(65)}}
		}}}, want: "cannot be read", bad: true},
		{name: "to what the tool does not take", hooks: []bridge.Hook{hook{before: func(bridge.HookCall) bridge.HookResult {
			return bridge.HookResult{Decision: policy.Allowed("hooks"), Args: map[string]any{"m": int64(1)}}
		}}}, want: "the call is", bad: true},
		{name: "no decision", hooks: []bridge.Hook{hook{before: func(bridge.HookCall) bridge.HookResult { return bridge.HookResult{} }}}, want: "denied by hooks"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p probe
			r := newRig(t, bridge.Config{Hooks: tt.hooks, Policy: rulesOf(t, "  validations:\n    - {expression: '!has(args.to) || args.to != \"eve\"', message: never to eve}\n"),
				Tools: []bridge.Tool{p.tool("post", func(t *bridge.Tool) { t.Sensitive = []string{"body.pin"} })}})
			body := map[string]any{"pin": "4711", "list": []any{"a"}}
			for range 2 { // a resumed run knows the call by what the script wrote
				_, err := r.call(t, "post", map[string]any{"to": "bob", "body": body})
				if tt.want != "" {
					is := bridge.ErrDenied
					if tt.bad {
						is = bridge.ErrBadCall
					}
					wantErr(t, err, is, tt.want)
				} else if err != nil {
					t.Fatal(err)
				}
				r.resume(t)
			}
			if tt.want != "" {
				if p.ran != 0 {
					t.Error("it ran")
				}
				return
			}
			if p.ran != 1 || p.args["to"] != tt.to || p.args["body"].(map[string]any)["pin"] != "4711" {
				t.Errorf("it ran %d times with %v", p.ran, p.args)
			}
			if d := event[bridge.Decided](t, r.Journal); d.Args["to"] != tt.to || len(d.Notes) != map[bool]int{true: 1}[tt.to != "bob"] {
				t.Errorf("recorded %v with the notes %q", d.Args, d.Notes)
			}
		})
	}
}

// What a hook hands back of what it was not shown is what it was, at any depth.
func TestAHookThatHandsPlaceholdersBackChangesNoSecret(t *testing.T) {
	var p probe
	r := newRig(t, bridge.Config{Tools: []bridge.Tool{p.tool("post")}, Hooks: []bridge.Hook{hook{before: func(c bridge.HookCall) bridge.HookResult {
		r := fine
		body := c.Request.Args["body"].(map[string]any)
		r.Args = map[string]any{"to": "carol", "body": map[string]any{"l": []any{body["l"].([]any)[0], "new"}, "m": body["m"], "more": "x", "other": []any{}, "kind": map[string]any{}}}
		return r
	}}}})
	_, err := r.call(t, "post", map[string]any{"to": "bob", "body": map[string]any{"l": []any{token, "old"}, "m": token, "other": []any{"1"}, "kind": "text"}})
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(p.args["body"])
	if want := fmt.Sprint(map[string]any{"l": []any{token, "new"}, "m": token, "more": "x", "other": []any{}, "kind": map[string]any{}}); got != want {
		t.Errorf("the tool got %s, want %s", got, want)
	}
}

func TestAHookThatStopsEndsTheRun(t *testing.T) {
	var p probe
	r := newRig(t, bridge.Config{Tools: []bridge.Tool{p.tool("post")}, Hooks: []bridge.Hook{hook{before: func(bridge.HookCall) bridge.HookResult {
		return bridge.HookResult{Stop: true, Notes: []string{"seen", "seen"}, Decision: policy.Decision{Verdict: policy.Allow, Reason: "enough"}}
	}}}})
	_, err := r.call(t, "post", nil)
	if wantErr(t, err, bridge.ErrStopped, "enough"); !unwinds(err) || p.ran != 0 {
		t.Errorf("it ran %d times: %v", p.ran, err)
	}
	if d := event[bridge.Decided](t, r.Journal); d.Decision.Verdict != policy.Deny || !slices.Equal(d.Notes, []string{"seen"}) {
		t.Errorf("recorded %+v", d)
	}
}

func TestPathsAndURLsAreResolvedBeforeAnyRule(t *testing.T) {
	var p probe
	dir := t.TempDir()
	r := newRig(t, bridge.Config{Tools: []bridge.Tool{
		p.tool("read", func(t *bridge.Tool) { t.Paths = []string{"to", "body"} }),
		p.tool("get", func(t *bridge.Tool) { t.URLs = []string{"to", "body"} })}}, space(t, dir, workspace.Config{ReadDeny: []string{"secrets/**"}}))
	for _, tt := range []struct {
		tool string
		args map[string]any
		want string // in the error; "" allows
		rule string
	}{
		{"read", map[string]any{"to": "./x/../a"}, "", ""},
		{"read", map[string]any{"body": []any{"a", int64(1), "b"}}, "", ""},
		{"read", map[string]any{"to": "x/../secrets/a"}, "to: ", "path"},
		{"read", map[string]any{"to": "../a"}, "to: ", "path"},
		{"read", map[string]any{"body": map[string]any{"a": "../a"}}, "", ""}, // no path that the tool could open
		{"get", map[string]any{"to": "https://a.test/x"}, "", ""},
		{"get", map[string]any{"to": "https://u:p@a.test/x"}, "user name", "url"},
		{"get", map[string]any{"body": []any{"https://a.test", "ftp://a.test"}}, "body: ", "url"},
	} {
		_, err := r.call(t, tt.tool, tt.args)
		d := event[bridge.Decided](t, r.Journal)
		if tt.want == "" {
			if err != nil {
				t.Errorf("%v: %v", tt.args, err)
			}
			continue
		}
		wantErr(t, err, bridge.ErrDenied, tt.want)
		if d.Decision.Gate != "facts" || d.Decision.Rule != tt.rule {
			t.Errorf("%v: %+v", tt.args, d.Decision)
		}
	}
	if d := event[bridge.Decided](t, r.Journal); len(d.URLs) != 2 || d.URLs[0].Host != "a.test" || d.URLs[1].Err == "" {
		t.Errorf("recorded %+v", d.URLs)
	}
}

func TestRulesLeaveNotes(t *testing.T) {
	var p probe
	r := newRig(t, bridge.Config{Tools: []bridge.Tool{p.tool("post")},
		Policy: rulesOf(t, "  validations:\n    - {expression: 'true'}\n  auditAnnotations:\n    - {key: to, valueExpression: 'args.to'}\n")})
	if _, err := r.call(t, "post", map[string]any{"to": token}); err != nil {
		t.Fatal(err)
	}
	d := event[bridge.Decided](t, r.Journal)
	if len(d.Notes) != 1 || !strings.HasPrefix(d.Notes[0], "policy ours: audit to: [redacted:") {
		t.Errorf("the notes are %q", d.Notes)
	}
}

func TestARunThatIsAttendedIsInteractive(t *testing.T) {
	for _, attended := range []bool{false, true} {
		var p probe
		r := newRig(t, bridge.Config{Tools: []bridge.Tool{p.tool("post")}, Policy: rulesOf(t, "  validations:\n    - {expression: 'run.mode == \"interactive\"'}\n")},
			func(r *bridge.Run) { r.Attended = attended })
		if _, err := r.door.Call(context.Background(), interp.Call{Tool: "post"}); (err == nil) != attended {
			t.Errorf("attended %v: %v", attended, err)
		}
	}
}
