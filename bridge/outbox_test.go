package bridge_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/policy"
)

// A shelf keeps drafts in memory.
type shelf struct {
	kept []bridge.Draft
	err  error
}

func (s *shelf) Stage(d bridge.Draft) error {
	s.kept = append(s.kept, d)
	return s.err
}

func staged(t *bridge.Tool) { t.Staged = true }

func TestAStagedCallIsADraftAndNeverAnEffect(t *testing.T) {
	tests := []struct {
		name   string
		outbox bridge.Outbox
		tier   policy.Tier
		want   string // of the error; "" stages
	}{
		{name: "of a free tool", outbox: &shelf{}, tier: policy.Free},
		{name: "of one that would ask", outbox: &shelf{}, tier: policy.AlwaysAsk},
		{name: "that cannot be kept", outbox: &shelf{err: errDisk}, tier: policy.Free, want: "nothing was sent, and no draft was kept: no space left"},
		{name: "without an outbox", tier: policy.Free, want: "nothing was sent, and no draft was kept: this run has no outbox"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p probe
			a := says(yes, nil)
			r := newRig(t, bridge.Config{Approver: a, Tools: []bridge.Tool{p.tool("post", sends, staged, tier(tt.tier))}},
				func(run *bridge.Run) { run.Outbox = tt.outbox })
			v, err := r.call(t, "post", map[string]any{"to": "bob"})
			if p.ran != 0 || len(a.asked) != 0 {
				t.Errorf("it ran %d times after %d questions", p.ran, len(a.asked))
			}
			if tt.want != "" {
				var tool *bridge.ToolError
				if !errors.As(err, &tool) || tool.Msg != tt.want {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			d := tt.outbox.(*shelf).kept[0]
			if m, _ := v.(map[string]any); m["staged"] != true || m["draft"] != "d-r1-1-1" || d.ID != "d-r1-1-1" {
				t.Errorf("value %v of draft %s", v, d.ID)
			}
			if d.Tool != "post" || d.Args["to"] != "bob" || d.Pin != r.b.Pin("post") || d.Question.Args[0].Value != `"bob"` || d.Question.Lease != "" {
				t.Errorf("draft %+v", d)
			}
			if o := event[bridge.Outcome](t, r.Journal); o.Draft != d.ID || o.External {
				t.Errorf("outcome %+v", o)
			}
			if b := event[bridge.Begun](t, r.Journal); b.Sends != 0 || b.To != nil {
				t.Errorf("a draft sends nothing: %+v", b)
			}
		})
	}
}

func TestADraftHoldsWhatTheConversationHeld(t *testing.T) {
	var p probe
	s := &shelf{}
	r := newRig(t, bridge.Config{Security: policy.Security{Named: policy.NamedAsk}, Tools: []bridge.Tool{p.tool("page", caps(policy.UntrustedInput), returns(bridge.Output{Value: "x"}, nil)), p.tool("post", sends, staged)}},
		func(run *bridge.Run) { run.Outbox = s })
	for _, tool := range []string{"page", "post"} {
		if _, err := r.call(t, tool, map[string]any{"to": "bob"}); err != nil {
			t.Fatal(err)
		}
	}
	if !s.kept[0].Held.Untrusted() || !s.kept[0].Question.Args[0].Taint.Untrusted() {
		t.Errorf("draft %+v", s.kept[0])
	}
}

func TestWhatIsDeniedIsNotStaged(t *testing.T) {
	var p probe
	s := &shelf{}
	no := hook{before: func(bridge.HookCall) bridge.HookResult { return denial("not on a Sunday") }}
	r := newRig(t, bridge.Config{Hooks: []bridge.Hook{no}, Tools: []bridge.Tool{p.tool("post", sends, staged)}}, func(run *bridge.Run) { run.Outbox = s })
	_, err := r.call(t, "post", map[string]any{"to": "bob"})
	wantErr(t, err, bridge.ErrDenied, "not on a Sunday")
	if s.kept != nil {
		t.Error("a draft was kept")
	}
}

func TestOnlyWhatSendsCanBeStaged(t *testing.T) {
	var p probe
	_, err := bridge.New(bridge.Config{Tools: []bridge.Tool{p.tool("note", staged)}})
	if err == nil {
		t.Error("a tool that sends nothing can be staged")
	}
}

func TestACallWhoseOutcomeIsUnknownIsNotRepeatedUnasked(t *testing.T) {
	lost := func(err error) func(*bridge.Tool) { return returns(bridge.Output{Local: true}, err) }
	gone := errors.Join(errors.New("the server died"), bridge.ErrOutcomeUnknown)
	tests := []struct {
		name  string
		err   error
		mod   func(*bridge.Tool)
		again map[string]any
		asked int
	}{
		{name: "the same call again", err: gone, again: map[string]any{"to": "bob"}, asked: 1},
		{name: "another", err: gone, again: map[string]any{"to": "eve"}},
		{name: "of a tool that can be repeated", err: gone, mod: func(t *bridge.Tool) { t.Idempotent = true }, again: map[string]any{"to": "bob"}},
		{name: "after a plain error", err: errDisk, again: map[string]any{"to": "bob"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p probe
			a := says(yes, nil)
			mods := []func(*bridge.Tool){sends, lost(tt.err)}
			if tt.mod != nil {
				mods = append(mods, tt.mod)
			}
			r := newRig(t, bridge.Config{Approver: a, Tools: []bridge.Tool{p.tool("post", mods...)}})
			if _, err := r.call(t, "post", map[string]any{"to": "bob"}); err == nil {
				t.Fatal("no error")
			}
			if o := event[bridge.Outcome](t, r.Journal); o.Unknown != errors.Is(tt.err, bridge.ErrOutcomeUnknown) {
				t.Errorf("outcome %+v", o)
			}
			_, _ = r.call(t, "post", tt.again)
			if len(a.asked) != tt.asked || tt.asked > 0 && (!a.asked[0].Unknown || a.asked[0].Lease != "" || a.asked[0].Gates[0].Rule != "unknown-outcome") {
				t.Errorf("%d questions: %+v", len(a.asked), a.asked)
			}
		})
	}
}

// A panel answers several questions at once.
type panel struct {
	approver
	sets    [][]bridge.Question
	answers []bridge.Answer
	err     error
	moves   func()
}

func (p *panel) ApproveAll(_ context.Context, qs []bridge.Question) ([]bridge.Answer, error) {
	p.sets = append(p.sets, qs)
	if p.moves != nil {
		p.moves()
	}
	return p.answers, p.err
}

func TestTheQuestionsOfABatchArePutTogether(t *testing.T) {
	tests := []struct {
		name    string
		answers []bridge.Answer
		err     error
		ran     []string
		want    string // of the first error
	}{
		{name: "all yes", answers: []bridge.Answer{yes, yes, yes}, ran: []string{"a", "b", "c"}},
		{name: "one no", answers: []bridge.Answer{yes, {Reason: "not b"}, yes}, ran: []string{"a", "c"}, want: "not b"},
		{name: "too few", answers: []bridge.Answer{yes}, want: "it gave 1 answers to 3 questions"},
		{name: "an error", err: errDisk, want: "no space left"},
		{name: "a pause", err: bridge.ErrPaused, want: "waiting for approval"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var c crew
			p := &panel{answers: tt.answers, err: tt.err}
			r := newRig(t, bridge.Config{Approver: p, Tools: []bridge.Tool{c.tool("post", sends, tier(policy.AlwaysAsk))}})
			p.moves = func() { r.now = r.now.Add(time.Hour) }
			rs := r.batch(t, "post", "a", "b", "c")
			if len(p.sets) != 1 || len(p.sets[0]) != 3 || len(p.asked) != 0 {
				t.Fatalf("asked %d sets and %d questions", len(p.sets), len(p.asked))
			}
			if d := cmp.Diff(tt.ran, slices.Sorted(slices.Values(c.ran))); d != "" {
				t.Error(d)
			}
			for _, res := range rs {
				if res.Err != nil {
					wantErr(t, res.Err, res.Err, tt.want)
					break
				}
			}
			if tt.err == nil && r.State.Waited != time.Hour {
				t.Errorf("%v were waited, and not one hour for all", r.State.Waited)
			}
		})
	}
}
