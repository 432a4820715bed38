package bridge_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/policy"
)

// paused is a rig with one question that waits, for post(to="bob").
func paused(t *testing.T, p *probe, mods ...func(*bridge.Tool)) (*rig, *approver) {
	t.Helper()
	a := says(bridge.Answer{}, bridge.ErrPaused)
	r := newRig(t, bridge.Config{Approver: a, Tools: []bridge.Tool{p.tool("post", append([]func(*bridge.Tool){sends, tier(policy.AskOnce)}, mods...)...)}})
	_, err := r.call(t, "post", map[string]any{"to": "bob"})
	if wantErr(t, err, bridge.ErrPaused, "a-r1-1-1"); !unwinds(err) {
		t.Fatalf("the script could catch it: %v", err)
	}
	return r, a
}

// reply answers the waiting question, as a person does in another process.
func reply(r *rig, a bridge.Answer, after time.Duration) {
	q := r.Records["r1/1/1"].Question
	a.Digest, a.At = q.Digest, q.Asked.Add(after)
	if err := r.Resolved(q.Call, a); err != nil {
		panic(err)
	}
}

func TestAnAnswerThatCameWhileTheRunDidNotRun(t *testing.T) {
	changed := func(r *rig) { r.cfg.Tools[0].Doc = "It does something else now." }
	tests := []struct {
		name   string
		answer bridge.Answer
		after  time.Duration
		change func(*rig)
		want   string // "" is that it ran
		leases int
	}{
		{name: "yes", answer: yes},
		{name: "no", answer: bridge.Answer{Reason: "not today"}, want: "denied by approver: not today"},
		{name: "yes, for a lease", answer: bridge.Answer{Yes: true, Scope: bridge.ForLease, By: "alice"}, leases: 1},
		{name: "yes, too late", answer: yes, after: bridge.DefaultApprovalTTL, want: "nobody answered by 2026-05-27T12:00:00Z"},
		{name: "yes, to another tool", answer: yes, change: changed, want: "what was approved has changed since"},
		{name: "yes, but a gate more asks", answer: yes, want: "what was approved has changed since", change: func(r *rig) {
			r.cfg.Hooks = []bridge.Hook{hook{before: func(bridge.HookCall) bridge.HookResult {
				return bridge.HookResult{Decision: policy.Decision{Verdict: policy.Ask, Rule: "new"}}
			}}}
		}},
		{name: "yes, to a lease that was not described", answer: bridge.Answer{Yes: true, Scope: bridge.ForLease}, change: func(r *rig) {
			rec := r.Records["r1/1/1"]
			rec.Question.Lease = ""
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p probe
			r, a := paused(t, &p)
			reply(r, tt.answer, tt.after)
			if tt.change != nil {
				tt.change(r)
			}
			for range 2 { // the second time everything is in the journal
				r.resume(t)
				_, err := r.call(t, "post", map[string]any{"to": "bob"})
				if tt.want != "" {
					wantErr(t, err, bridge.ErrDenied, tt.want)
				} else if err != nil {
					t.Fatal(err)
				}
			}
			if ran := map[bool]int{true: 1}[tt.want == ""]; p.ran != ran || len(a.asked) != 1 {
				t.Errorf("it ran %d times after %d questions", p.ran, len(a.asked))
			}
			if n := len(r.State.Leases.All()); n != tt.leases {
				t.Errorf("there are %d leases, want %d", n, tt.leases)
			}
		})
	}
}

func TestAQuestionThatWaitsIsAskedAgainAndExpires(t *testing.T) {
	var p probe
	r, a := paused(t, &p)
	r.now = noon.Add(time.Hour)
	r.resume(t)
	_, err := r.call(t, "post", map[string]any{"to": "bob"})
	wantErr(t, err, bridge.ErrPaused)
	if count[bridge.Question](r.Journal) != 1 || len(a.asked) != 2 || a.asked[1].Expires != noon.Add(24*time.Hour) {
		t.Errorf("asked %d times, recorded %d, until %v", len(a.asked), count[bridge.Question](r.Journal), a.asked[1].Expires)
	}
	r.now = noon.Add(24 * time.Hour)
	r.resume(t)
	_, err = r.call(t, "post", map[string]any{"to": "bob"})
	wantErr(t, err, bridge.ErrDenied, "approver (expired)")
	if len(a.asked) != 2 || p.ran != 0 || event[bridge.Answer](t, r.Journal).Yes {
		t.Errorf("asked %d times, ran %d", len(a.asked), p.ran)
	}
}

func TestAnApproverSaysYesOrItIsNo(t *testing.T) {
	tests := []struct {
		name   string
		a      bridge.Answer
		err    error
		late   bool
		want   string
		unwind bool
	}{
		{name: "zero", want: "a person said no"},
		{name: "a yes with an error", a: yes, err: errDisk, want: "the approver gave an error: no space left"},
		{name: "a yes with a pause", a: yes, err: bridge.ErrPaused, want: "waiting for approval", unwind: true},
		{name: "a yes after the end", a: yes, late: true, want: "nobody answered by"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p probe
			a := &approver{}
			r := newRig(t, bridge.Config{Approver: a, ApprovalTTL: time.Hour, Tools: []bridge.Tool{p.tool("post", tier(policy.AlwaysAsk))}})
			a.answer = func(bridge.Question) (bridge.Answer, error) {
				if tt.late {
					r.now = r.now.Add(time.Hour)
				}
				return tt.a, tt.err
			}
			_, err := r.call(t, "post", nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) || unwinds(err) != tt.unwind || p.ran != 0 {
				t.Errorf("it ran %d times: %v", p.ran, err)
			}
		})
	}
}

// The waiting of a person is in the answer, so that lease time can stand still.
func TestAnAnswerSaysHowLongItTook(t *testing.T) {
	var p probe
	a := &approver{}
	r := newRig(t, bridge.Config{Approver: a, Tools: []bridge.Tool{p.tool("post", tier(policy.AlwaysAsk))}})
	a.answer = func(bridge.Question) (bridge.Answer, error) { r.now = r.now.Add(time.Minute); return yes, nil }
	if _, err := r.call(t, "post", nil); err != nil {
		t.Fatal(err)
	}
	if got := event[bridge.Answer](t, r.Journal); got.Waited != time.Minute || got.Digest != a.asked[0].Digest {
		t.Errorf("recorded %+v", got)
	}
	if b := event[bridge.Begun](t, r.Journal); b.At != noon.Add(time.Minute) {
		t.Errorf("begun at %v: rates would count it before it was", b.At)
	}
}

func TestAPersonSeesAllOfWhatIsApproved(t *testing.T) {
	var p probe
	a := says(yes, nil)
	long := strings.Repeat("a ", 40_000) + "rm -rf"
	r := newRig(t, bridge.Config{Approver: a, Security: policy.Security{SendsAfterPrivate: true}, Tools: []bridge.Tool{p.tool("post", tier(policy.AlwaysAsk), func(t *bridge.Tool) {
		t.Params = bridge.MustSchema(`{"type": "object", "additionalProperties": true, "properties": {"to": {"type": "string"}, "pin": {}, "body": {"type": "string"}}}`)
		t.Destinations, t.Sensitive, t.Server = []string{"to"}, []string{"pin"}, "bank"
		t.Caps = policy.Declare(policy.ExternalSend)
	})}})
	r.State.Authority.Learn("r1/0/1", "read", policy.RecordSpec{}, "write to bob@x.com today")
	r.State.Held = policy.Tainted(policy.Private, "r1/0/1")
	if _, err := r.call(t, "post", map[string]any{"to": "bob@x.com", "body": long, "pin": "4711", "z\u202e": "x\x1b[2J", "y": "1"}); err != nil {
		t.Fatal(err)
	}
	q := a.asked[0]
	var names []string
	for _, arg := range q.Args {
		names = append(names, arg.Name)
	}
	if want := []string{"to", "pin", "body", "y", `z\u{202e}`}; !slices.Equal(names, want) {
		t.Errorf("arguments %q, want %q", names, want)
	}
	if to := q.Args[0]; !to.Destination || len(to.Seen) != 1 || !strings.Contains(to.Seen[0], "read (call r1/0/1)") || to.Taint.Clean() {
		t.Errorf("to is shown as %+v", to)
	}
	if pin := q.Args[1]; !pin.Sensitive || !strings.HasPrefix(pin.Value, `"[sensitive string, 4 bytes, hmac `) {
		t.Errorf("pin is shown as %+v", pin)
	}
	if q.Args[2].Value != `"`+long+`"` || strings.Contains(q.Args[4].Value, "\x1b") {
		t.Errorf("body is cut, or %q can hide", q.Args[4].Value)
	}
	if q.Server != "bank" || !slices.Equal(q.Capabilities, []string{"external_send"}) || q.Held.Clean() || len(q.Gates) != 1 || len(q.Digest) != 64 {
		t.Errorf("asked %+v", q)
	}
}

// Redaction must not hide where an effect goes.
func TestADestinationThatCannotBeShownIsNotAsked(t *testing.T) {
	var p probe
	a := says(yes, nil)
	r := newRig(t, bridge.Config{Approver: a, Tools: []bridge.Tool{p.tool("post", sends, caps(policy.Destructive), tier(policy.AlwaysAsk))}})
	_, err := r.call(t, "post", map[string]any{"to": token})
	wantErr(t, err, bridge.ErrDenied, "to says where it goes and holds what looks like a secret")
	if len(a.asked) != 0 || p.ran != 0 || strings.Contains(err.Error(), token) {
		t.Errorf("asked %d times, ran %d: %v", len(a.asked), p.ran, err)
	}
	if _, err := r.call(t, "post", map[string]any{"to": "bob", "body": token}); err != nil {
		t.Fatal(err)
	}
	if body := a.asked[0].Args[1].Value; !strings.Contains(body, "[redacted:") || p.args["body"] != token {
		t.Errorf("the body is shown as %s and given as %v", body, p.args["body"])
	}
}

func TestAChangeIsShownAndMustStillBeThatChange(t *testing.T) {
	var p probe
	diff, fails := "-old\n+new\x1b", error(nil)
	a := &approver{}
	r := newRig(t, bridge.Config{Approver: a, Tools: []bridge.Tool{p.tool("edit", tier(policy.AlwaysAsk), func(t *bridge.Tool) {
		t.Sensitive = []string{"body"}
		t.Preview = func(_ context.Context, permit *bridge.Permit) (string, error) {
			return diff + permit.String("body"), fails
		}
	})}})
	a.answer = func(bridge.Question) (bridge.Answer, error) { return yes, nil }
	if _, err := r.call(t, "edit", map[string]any{"body": "hunter2"}); err != nil || a.asked[0].Diff != "-old\n+new\\x1b[sensitive]" {
		t.Errorf("shown %q: %v", a.asked[0].Diff, err)
	}
	a.answer = func(bridge.Question) (bridge.Answer, error) { diff = "-everything"; return yes, nil }
	_, err := r.call(t, "edit", nil)
	wantErr(t, err, bridge.ErrDenied, "is not what was shown any more")
	fails = errors.New("the file is gone")
	_, err = r.call(t, "edit", nil)
	wantErr(t, err, bridge.ErrDenied, "nobody could see what it would do: the file is gone")
	if p.ran != 1 || event[bridge.Answer](t, r.Journal).Rule != "question" {
		t.Errorf("it ran %d times", p.ran)
	}
}

// A link that leads elsewhere since the question is another file.
func TestAYesToAFileIsNoYesToAnother(t *testing.T) {
	var p probe
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to string) {
		os.Remove(filepath.Join(dir, "l"))
		if err := os.Symlink(to, filepath.Join(dir, "l")); err != nil {
			t.Skip(err)
		}
	}
	link("a")
	a := says(bridge.Answer{}, bridge.ErrPaused)
	r := newRig(t, bridge.Config{Approver: a, Tools: []bridge.Tool{p.tool("del", tier(policy.AlwaysAsk), func(t *bridge.Tool) { t.Paths = []string{"to"} })}},
		space(t, dir, workspace.Config{}))
	_, err := r.call(t, "del", map[string]any{"to": "l"})
	wantErr(t, err, bridge.ErrPaused)
	if got := a.asked[0].Paths[0].Rel; got != "a" {
		t.Fatalf("asked about %s", got)
	}
	reply(r, yes, 0)
	link("b")
	r.resume(t)
	_, err = r.call(t, "del", map[string]any{"to": "l"})
	if wantErr(t, err, bridge.ErrDenied, "has changed since"); p.ran != 0 {
		t.Error("it ran")
	}
}
