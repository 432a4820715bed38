package bridge_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/interp"
	"github.com/codeact-dev/codeact/leases"
	"github.com/codeact-dev/codeact/policy"
)

// Whatever the journal cannot keep must not happen, and the script must not go on.
func TestAnEventThatCannotBeRecordedEndsTheBlock(t *testing.T) {
	lease := bridge.Answer{Yes: true, Scope: bridge.ForLease}
	tests := []struct {
		name  string
		fails func(event any) bool
		cfg   bridge.Config
		tier  policy.Tier
		ran   int
	}{
		{"decided", func(e any) bool { _, is := e.(bridge.Decided); return is }, bridge.Config{}, policy.Free, 0},
		{"asked", func(e any) bool { _, is := e.(bridge.Question); return is }, bridge.Config{Approver: says(yes, nil)}, policy.AlwaysAsk, 0},
		{"resolved", func(e any) bool { _, is := e.(bridge.Answer); return is }, bridge.Config{Approver: says(yes, nil)}, policy.AlwaysAsk, 0},
		{"resolved, nobody to ask", func(e any) bool { _, is := e.(bridge.Answer); return is }, bridge.Config{}, policy.AlwaysAsk, 0},
		{"granted", func(e any) bool { _, is := e.(leases.Lease); return is }, bridge.Config{Approver: says(lease, nil)}, policy.AskOnce, 0},
		{"begin", func(e any) bool { _, is := e.(bridge.Begun); return is }, bridge.Config{}, policy.Free, 0},
		{"end", func(e any) bool { _, is := e.(bridge.Outcome); return is }, bridge.Config{}, policy.Free, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p probe
			tt.cfg.Tools = []bridge.Tool{p.tool("note", tier(tt.tier))}
			r := newRig(t, tt.cfg)
			r.Fail = func(e any) error {
				if tt.fails(e) {
					return errDisk
				}
				return nil
			}
			v, err := r.call(t, "note", nil)
			wantErr(t, err, errDisk)
			if !unwinds(err) || v != nil {
				t.Errorf("the script could catch it: %v, %v", v, err)
			}
			if p.ran != tt.ran {
				t.Errorf("it ran %d times, want %d", p.ran, tt.ran)
			}
		})
	}
}

func TestABlockThatRunsAgainActsOnce(t *testing.T) {
	var p probe
	r := newRig(t, bridge.Config{Tools: []bridge.Tool{p.tool("note"), p.tool("post", tier(policy.AlwaysAsk))}})
	for range 2 {
		if v, err := r.call(t, "note", map[string]any{"n": int64(1)}); v != any("ok") || err != nil {
			t.Fatal(v, err)
		}
		_, err := r.call(t, "post", nil)
		wantErr(t, err, bridge.ErrDenied, "nobody can be asked")
		_, err = r.call(t, "nope", nil)
		wantErr(t, err, bridge.ErrBadCall)
		_, err = r.call(t, "note", map[string]any{"n": math.NaN()})
		wantErr(t, err, bridge.ErrBadCall, "cannot be read")
		r.resume(t)
	}
	if p.ran != 1 || count[bridge.Decided](r.Journal) != 4 || count[bridge.Answer](r.Journal) != 1 {
		t.Errorf("it ran %d times with %d events", p.ran, len(r.Events))
	}
}

func TestAnotherCallThanTheRecordedOneDiverges(t *testing.T) {
	for name, c := range map[string]interp.Call{
		"tool":       {Tool: "other"},
		"arguments":  {Tool: "note", Args: map[string]any{"n": int64(2)}},
		"unreadable": {Tool: "note", Args: map[string]any{"n": math.Inf(1)}},
	} {
		t.Run(name, func(t *testing.T) {
			var p probe
			r := newRig(t, bridge.Config{Tools: []bridge.Tool{p.tool("note"), p.tool("other")}})
			if _, err := r.call(t, "note", nil); err != nil {
				t.Fatal(err)
			}
			r.resume(t)
			_, err := r.door.Call(t.Context(), c)
			if wantErr(t, err, bridge.ErrDiverged); !unwinds(err) || p.ran != 1 {
				t.Errorf("it ran %d times: %v", p.ran, err)
			}
		})
	}
}

// crash leaves a call behind that began and never ended.
func crash(t *testing.T, r *rig, tool string) {
	t.Helper()
	r.Fail = func(e any) error {
		if _, ended := e.(bridge.Outcome); ended {
			return errDisk
		}
		return nil
	}
	if _, err := r.call(t, tool, nil); !errors.Is(err, errDisk) {
		t.Fatal(err)
	}
	r.Fail = nil
	r.resume(t)
}

func TestAnIdempotentCallOfUnknownOutcomeRunsAgainWithTheSameKey(t *testing.T) {
	var p probe
	r := newRig(t, bridge.Config{Tools: []bridge.Tool{p.tool("put", func(t *bridge.Tool) { t.Idempotent = true })}})
	crash(t, r, "put")
	if _, err := r.call(t, "put", nil); err != nil {
		t.Fatal(err)
	}
	if p.ran != 2 || p.keys[0] != p.keys[1] || len(p.keys[0]) != 32 {
		t.Errorf("it ran %d times with the keys %q", p.ran, p.keys)
	}
	if b := event[bridge.Begun](t, r.Journal); b.Attempt != 2 || b.Durable {
		t.Errorf("begun as %+v", b)
	}
}

func TestACallOfUnknownOutcomeAsks(t *testing.T) {
	for _, tt := range []struct {
		name string
		a    *approver
		ran  int
	}{
		{"yes", says(yes, nil), 2}, {"no", says(bridge.Answer{}, nil), 1}, {"a lease is not offered", says(bridge.Answer{Yes: true, Scope: bridge.ForLease}, nil), 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var p probe
			r := newRig(t, bridge.Config{Tools: []bridge.Tool{p.tool("post")}, Approver: tt.a})
			crash(t, r, "post")
			_, err := r.call(t, "post", nil)
			if p.ran != tt.ran || (err == nil) != (tt.ran == 2) {
				t.Errorf("it ran %d times: %v", p.ran, err)
			}
			if q := tt.a.asked[0]; !q.Unknown || q.Decision.Rule != "unknown-outcome" || q.Lease != "" {
				t.Errorf("asked %+v", q)
			}
		})
	}
}

// An approval that was spent on the first attempt must not serve the second: the
// question is another one, also after a pause in between.
func TestAnEarlierYesDoesNotCoverAnUnknownOutcome(t *testing.T) {
	var p probe
	a := says(yes, nil)
	r := newRig(t, bridge.Config{Tools: []bridge.Tool{p.tool("post", tier(policy.AlwaysAsk))}, Approver: a})
	crash(t, r, "post")
	a.answer = func(bridge.Question) (bridge.Answer, error) { return bridge.Answer{}, bridge.ErrPaused }
	for range 2 {
		_, err := r.call(t, "post", nil)
		if wantErr(t, err, bridge.ErrPaused); !unwinds(err) {
			t.Errorf("the script could catch it: %v", err)
		}
		r.resume(t)
	}
	if p.ran != 1 || count[bridge.Question](r.Journal) != 2 {
		t.Errorf("it ran %d times after %d questions", p.ran, count[bridge.Question](r.Journal))
	}
	// A call that paused is still one of unknown outcome, whatever its tier.
	free := newRig(t, bridge.Config{Tools: []bridge.Tool{p.tool("post")}, Approver: a})
	crash(t, free, "post")
	for range 2 {
		_, err := free.call(t, "post", nil)
		wantErr(t, err, bridge.ErrPaused)
		free.resume(t)
	}
}

func TestPanicsEndTheCallAndNotTheHost(t *testing.T) {
	boom := func(t *bridge.Tool) {
		t.Run = func(_ context.Context, p *bridge.Permit) (bridge.Output, error) { panic("index out of range") }
	}
	var p probe
	tests := []struct {
		name    string
		cfg     bridge.Config
		want    error
		text    string
		ran     int
		unwinds bool
	}{
		{"tool", bridge.Config{Tools: []bridge.Tool{p.tool("x", boom)}}, nil, "it panicked: index out of range", 0, false},
		{"an error without a text", bridge.Config{Tools: []bridge.Tool{p.tool("x", returns(bridge.Output{Value: "v"}, errors.New("")))}}, nil, "gave an error without a text", 0, false},
		{"an error that is nil", bridge.Config{Tools: []bridge.Tool{p.tool("x", returns(bridge.Output{}, (*bridge.CallError)(nil)))}}, nil, "it panicked", 0, false},
		{"approval", bridge.Config{Tools: []bridge.Tool{p.tool("x", func(t *bridge.Tool) {
			t.Approval = func(map[string]any) bridge.Requirement { panic("no such key") }
		})}}, bridge.ErrDenied, "needs a person's yes for every call", 0, false},
		{"approver", bridge.Config{Tools: []bridge.Tool{p.tool("x", tier(policy.AlwaysAsk))},
			Approver: &approver{answer: func(bridge.Question) (bridge.Answer, error) { panic("closed") }}}, bridge.ErrDenied, "it panicked: closed", 0, false},
		{"preview", bridge.Config{Tools: []bridge.Tool{p.tool("x", tier(policy.AlwaysAsk), func(t *bridge.Tool) {
			t.Preview = func(context.Context, *bridge.Permit) (string, error) { panic("nil map") }
		})}, Approver: says(yes, nil)}, bridge.ErrDenied, "its preview panicked: nil map", 0, false},
		{"hook before", bridge.Config{Tools: []bridge.Tool{p.tool("x")}, Hooks: []bridge.Hook{hook{before: func(bridge.HookCall) bridge.HookResult { panic("h") }}}},
			bridge.ErrDenied, "the gate hooks panicked: h", 0, false},
		{"hook after", bridge.Config{Tools: []bridge.Tool{p.tool("x")}, Hooks: []bridge.Hook{hook{after: func(bridge.HookCall, bridge.HookOutput) bridge.HookResult { panic("h") }}}},
			nil, "its result is hidden: it could not be made fit", 1, false},
		{"clock", bridge.Config{Tools: []bridge.Tool{p.tool("x", tier(policy.AlwaysAsk))}, Approver: says(yes, nil)}, nil, "the step question panicked", 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p = probe{}
			r := newRig(t, tt.cfg)
			if tt.unwinds {
				r.Fail = func(e any) error {
					if _, is := e.(bridge.Question); is {
						panic("journal")
					}
					return nil
				}
			}
			v, err := r.call(t, "x", nil)
			if err == nil || v != nil || !strings.Contains(err.Error(), tt.text) || tt.want != nil && !errors.Is(err, tt.want) {
				t.Fatalf("got %v, %v", v, err)
			}
			if unwinds(err) != tt.unwinds || p.ran != tt.ran {
				t.Errorf("unwinds %v after %d runs", unwinds(err), p.ran)
			}
			if !tt.unwinds && tt.want == nil && count[bridge.Outcome](r.Journal) != 1 {
				t.Error("its outcome was not recorded")
			}
		})
	}
}

func TestACancelledCallIsNotBegunAndABegunOneIsRecorded(t *testing.T) {
	var p probe
	ctx, cancel := context.WithCancel(t.Context())
	a := &approver{answer: func(bridge.Question) (bridge.Answer, error) { return yes, nil }}
	r := newRig(t, bridge.Config{Approver: a, Tools: []bridge.Tool{p.tool("ask", tier(policy.AlwaysAsk)), p.tool("note"),
		p.tool("slow", func(t *bridge.Tool) {
			t.Run = func(ctx context.Context, _ *bridge.Permit) (bridge.Output, error) {
				cancel()
				return bridge.Output{}, ctx.Err()
			}
		})}})
	_, err := r.door.Call(ctx, interp.Call{Tool: "slow"})
	var failed *bridge.ToolError
	if !errors.As(err, &failed) || !errors.Is(err, context.Canceled) || failed.Tool != "slow" {
		t.Errorf("got %v", err)
	}
	if o := event[bridge.Outcome](t, r.Journal); o.Failed == "" || o.Tool != "slow" {
		t.Errorf("recorded %+v", o)
	}
	_, err = r.door.Call(ctx, interp.Call{Tool: "note"})
	if wantErr(t, err, context.Canceled, "not begun"); !unwinds(err) || p.ran != 0 {
		t.Errorf("it ran %d times: %v", p.ran, err)
	}
	_, err = r.door.Call(ctx, interp.Call{Tool: "ask"})
	wantErr(t, err, bridge.ErrPaused)
}

// What runs is what was judged, or nothing.
func TestArgumentsThatAreWrittenToAfterTheyWereJudgedEndTheBlock(t *testing.T) {
	var p probe
	a := &approver{}
	r := newRig(t, bridge.Config{Approver: a, Tools: []bridge.Tool{p.tool("post", tier(policy.AlwaysAsk), func(t *bridge.Tool) {
		t.Preview = func(_ context.Context, permit *bridge.Permit) (string, error) {
			if permit.IdempotencyKey() != "" {
				return "", errors.New("a preview has a key to send with")
			}
			return "same", nil
		}
	})}})
	args := map[string]any{"to": "bob"}
	a.answer = func(bridge.Question) (bridge.Answer, error) { args["to"] = "eve"; return yes, nil }
	_, err := r.call(t, "post", args)
	if err == nil || !unwinds(err) || !strings.Contains(err.Error(), "changed after they were judged") || p.ran != 0 {
		t.Errorf("it ran %d times: %v", p.ran, err)
	}
}

func TestALeaseThatEndedWhileAskingRefuses(t *testing.T) {
	var p probe
	a := &approver{}
	r := newRig(t, bridge.Config{Approver: a, Tools: []bridge.Tool{p.tool("post", tier(policy.AskOnce)), p.tool("mail", tier(policy.AlwaysAsk))},
		Hooks: []bridge.Hook{hook{before: func(bridge.HookCall) bridge.HookResult {
			return bridge.HookResult{Decision: policy.Decision{Verdict: policy.Ask, Reason: "look at it"}}
		}}}})
	for _, tool := range []string{"post", "mail"} {
		if err := r.State.Leases.Grant(leases.New("l-"+tool, tool, policy.AlwaysAsk, noon)); err != nil {
			t.Fatal(err)
		}
	}
	a.answer = func(q bridge.Question) (bridge.Answer, error) {
		r.State.Leases.Revoke("l-" + q.Tool)
		return yes, nil
	}
	_, err := r.call(t, "post", nil)
	wantErr(t, err, bridge.ErrDenied, "the lease l-post ended before the call began")
	if a := event[bridge.Answer](t, r.Journal); a.Rule != "lease-ended" || a.Yes || p.ran != 0 {
		t.Errorf("it ran %d times, recorded %+v", p.ran, a)
	}
	// A yes that is needed every time did not rest on the lease.
	if _, err := r.call(t, "mail", nil); err != nil || p.ran != 1 {
		t.Error(p.ran, err)
	}
	if b := event[bridge.Begun](t, r.Journal); b.Lease != "" {
		t.Errorf("the lease %s was spent", b.Lease)
	}
}

func TestTheBytesOfASendAreCountedByItsArguments(t *testing.T) {
	var p probe
	r := newRig(t, bridge.Config{Tools: []bridge.Tool{p.tool("post", sends)}})
	if _, err := r.call(t, "post", map[string]any{"to": "bob"}); err != nil {
		t.Fatal(err)
	}
	if b := event[bridge.Begun](t, r.Journal); b.Sends != len(`{"to":"bob"}`) || !b.Durable || b.At != noon {
		t.Errorf("begun as %+v", b)
	}
	if o := event[bridge.Outcome](t, r.Journal); o.External || o.Bytes != len(`"ok"`) || o.Millis > time.Minute.Milliseconds() {
		t.Errorf("ended as %+v", o)
	}
}
