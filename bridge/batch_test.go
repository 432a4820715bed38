package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/interp"
	"github.com/codeact-dev/codeact/leases"
	"github.com/codeact-dev/codeact/policy"
)

// A crew is a probe for tools that run at the same time.
type crew struct {
	mu   sync.Mutex
	ran  []string // guarded by mu; what "to" was
	now  int      // guarded by mu; at this moment
	most int      // guarded by mu; at any moment
}

func (c *crew) tool(name string, mods ...func(*bridge.Tool)) bridge.Tool {
	var p probe
	t := p.tool(name, mods...)
	t.Run = func(_ context.Context, permit *bridge.Permit) (bridge.Output, error) {
		c.enter(permit.String("to"))
		defer c.leave()
		if permit.String("to") == "boom" {
			panic("boom")
		}
		time.Sleep(time.Duration(permit.Int("n", 0)) * time.Second) // in a bubble: no time passes outside
		return bridge.Output{Value: permit.String("to"), Local: true}, nil
	}
	return t
}

func (c *crew) enter(who string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ran = append(c.ran, who)
	c.now++
	c.most = max(c.most, c.now)
}

func (c *crew) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now--
}

// batch makes one call of the tool for each word, as members of one parallel.
func (r *rig) batch(t *testing.T, tool string, words ...string) []interp.BatchResult {
	t.Helper()
	var cs []interp.Call
	for _, w := range words {
		cs = append(cs, call(tool, map[string]any{"to": w}))
	}
	rs, err := r.door.CallBatch(t.Context(), cs)
	if err != nil || len(rs) != len(cs) {
		t.Fatalf("%d results, %v", len(rs), err)
	}
	return rs
}

func TestWhatOneMemberUsesUpTheNextDoesNotHave(t *testing.T) {
	for _, tt := range []struct {
		name string
		mod  func(*bridge.Tool)
		rule string
	}{
		{"the last use of a lease", tier(policy.AskOnce), "lease-ended"},
		{"the rate", func(t *bridge.Tool) { t.Rate = bridge.Rate{N: 1, Per: time.Minute} }, "rate"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c crew
			r := newRig(t, bridge.Config{Tools: []bridge.Tool{c.tool("post", tt.mod)}})
			l := leases.New("l", "post", policy.AskOnce, noon)
			l.Uses = 1
			if err := r.State.Leases.Grant(l); err != nil {
				t.Fatal(err)
			}
			rs := r.batch(t, "post", "a", "b")
			if rs[0].Value != any("a") || rs[0].Err != nil {
				t.Errorf("the first: %+v", rs[0])
			}
			var refused *bridge.CallError
			if !errors.As(rs[1].Err, &refused) || refused.Decision.Rule != tt.rule || unwinds(rs[1].Err) {
				t.Errorf("the second: %v", rs[1].Err)
			}
			if !slices.Equal(c.ran, []string{"a"}) || count[bridge.Begun](r.Journal) != 1 || event[bridge.Answer](t, r.Journal).Rule != tt.rule {
				t.Errorf("ran %q with %d intents", c.ran, count[bridge.Begun](r.Journal))
			}
		})
	}
}

func TestAPausedMemberLetsNoneBegin(t *testing.T) {
	var c crew
	a := says(bridge.Answer{}, bridge.ErrPaused)
	r := newRig(t, bridge.Config{Approver: a, Tools: []bridge.Tool{c.tool("free"), c.tool("post", tier(policy.AlwaysAsk))}})
	rs, err := r.door.CallBatch(t.Context(), []interp.Call{call("free", nil), call("post", map[string]any{"to": "a"}), call("free", nil), call("post", map[string]any{"to": "b"})})
	if err != nil {
		t.Fatal(err)
	}
	for i, res := range rs {
		asks := i%2 == 1
		if res.Err == nil || res.Value != nil || errors.Is(res.Err, bridge.ErrPaused) != asks || unwinds(res.Err) != asks {
			t.Errorf("member %d: %+v", i, res)
		}
	}
	if len(c.ran) != 0 || count[bridge.Begun](r.Journal) != 0 || count[bridge.Question](r.Journal) != 2 || len(a.asked) != 2 {
		t.Errorf("ran %q; %d questions, %d intents", c.ran, count[bridge.Question](r.Journal), count[bridge.Begun](r.Journal))
	}

	// Once both are answered the whole batch runs, and nobody is asked again.
	a.answer = func(bridge.Question) (bridge.Answer, error) { return yes, nil }
	r.resume(t)
	rs, _ = r.door.CallBatch(t.Context(), []interp.Call{call("free", nil), call("post", map[string]any{"to": "a"}), call("free", nil), call("post", map[string]any{"to": "b"})})
	for i, res := range rs {
		if res.Err != nil {
			t.Errorf("member %d: %v", i, res.Err)
		}
	}
	if len(c.ran) != 4 || count[bridge.Question](r.Journal) != 2 {
		t.Errorf("ran %q after %d questions", c.ran, count[bridge.Question](r.Journal))
	}
}

// on fails the n-th event of its type.
func on[E any](n int) func(any) error {
	return func(e any) error {
		if _, is := e.(E); is {
			if n--; n == 0 {
				return errDisk
			}
		}
		return nil
	}
}

// A batch that was cut off goes on where it stood: what ended is not done again, what
// never began is done, and what may have happened needs a tool that bears it or a yes.
func TestABatchThatWasCutOffGoesOn(t *testing.T) {
	for _, tt := range []struct {
		name          string
		fail          func(any) error
		idempotent    bool
		first, second []string // what ran
		denied        int      // of the second try, the member; -1 for none
	}{
		{"before any intent", on[bridge.Begun](1), false, nil, []string{"a", "b", "c"}, -1},
		{"between two intents", on[bridge.Begun](2), false, []string{"a"}, []string{"b", "c"}, -1},
		{"before an end", on[bridge.Outcome](2), false, []string{"a", "b", "c"}, nil, 1},
		{"before an end, and it may be done twice", on[bridge.Outcome](2), true, []string{"a", "b", "c"}, []string{"b"}, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c crew
			r := newRig(t, bridge.Config{Tools: []bridge.Tool{c.tool("post", func(t *bridge.Tool) { t.Idempotent = tt.idempotent })}})
			r.Fail = tt.fail
			var unwound int
			for _, res := range r.batch(t, "post", "a", "b", "c") {
				if unwinds(res.Err) {
					unwound++
					wantErr(t, res.Err, errDisk)
				}
			}
			slices.Sort(c.ran)
			if unwound != 1 || !slices.Equal(c.ran, tt.first) {
				t.Errorf("%d members unwound, %q ran, want 1 and %q", unwound, c.ran, tt.first)
			}
			c.ran, r.Fail = nil, nil
			for range 2 { // the second time all is recorded
				r.resume(t)
				for i, res := range r.batch(t, "post", "a", "b", "c") {
					want := any(string(rune('a' + i)))
					if i == tt.denied {
						want = nil
						wantErr(t, res.Err, bridge.ErrDenied, "may have happened already")
					} else if res.Err != nil {
						t.Error(res.Err)
					}
					if res.Value != want {
						t.Errorf("member %d: %v, want %v", i, res.Value, want)
					}
				}
			}
			if slices.Sort(c.ran); !slices.Equal(c.ran, tt.second) {
				t.Errorf("then %q ran, want %q", c.ran, tt.second)
			}
		})
	}
}

func TestARefusedMemberIsItsOwnResult(t *testing.T) {
	var c crew
	r := newRig(t, bridge.Config{Tools: []bridge.Tool{c.tool("note"), c.tool("post", tier(policy.AlwaysAsk))}})
	rs, _ := r.door.CallBatch(t.Context(), []interp.Call{call("post", nil), call("note", map[string]any{"to": "a"}), call("nope", nil),
		call("note", map[string]any{"to": "boom"}), call("note", map[string]any{"n": "no number"}), call("note", map[string]any{"to": func() {}})})
	wantErr(t, rs[0].Err, bridge.ErrDenied)
	wantErr(t, rs[2].Err, bridge.ErrBadCall)
	wantErr(t, rs[4].Err, bridge.ErrBadCall)
	wantErr(t, rs[5].Err, bridge.ErrBadCall, "cannot be read")
	var failed *bridge.ToolError
	if rs[1].Value != any("a") || !errors.As(rs[3].Err, &failed) || !strings.Contains(failed.Msg, "it panicked: boom") {
		t.Errorf("%+v", rs)
	}
	var ids []string
	for _, e := range r.Events {
		if d, is := e.(bridge.Decided); is {
			ids = append(ids, d.Call)
		}
	}
	if slices.Sort(ids); fmt.Sprint(ids) != "[r1/1/1 r1/1/2 r1/1/3 r1/1/4 r1/1/5 r1/1/6]" {
		t.Errorf("decided %q", ids)
	}
}

// However long each takes, at most four run at once, and ids, events and results
// stand in the order of the script.
func TestABatchKeepsItsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c crew
		r := newRig(t, bridge.Config{Tools: []bridge.Tool{c.tool("wait")}})
		var cs []interp.Call
		for i := range 10 {
			cs = append(cs, call("wait", map[string]any{"to": fmt.Sprint(i), "n": int64(10 - i)}))
		}
		rs, err := r.door.CallBatch(t.Context(), cs)
		if err != nil {
			t.Fatal(err)
		}
		for i, res := range rs {
			if res.Value != any(fmt.Sprint(i)) || res.Err != nil {
				t.Errorf("result %d: %+v", i, res)
			}
		}
		var begun, ended []string
		for _, e := range r.Events {
			switch e := e.(type) {
			case bridge.Begun:
				begun = append(begun, e.Call)
			case bridge.Outcome:
				ended = append(ended, e.Call)
			}
		}
		if !slices.Equal(begun, ended) || len(begun) != 10 || begun[0] != "r1/1/1" || begun[9] != "r1/1/10" {
			t.Errorf("begun %q, ended %q", begun, ended)
		}
		if c.most != 4 {
			t.Errorf("%d ran at once, want 4", c.most)
		}
	})
}

func TestACancelledBatchBeginsNothing(t *testing.T) {
	var c crew
	r := newRig(t, bridge.Config{Tools: []bridge.Tool{c.tool("note")}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rs, _ := r.door.CallBatch(ctx, []interp.Call{call("note", nil), call("note", nil)})
	wantErr(t, rs[0].Err, context.Canceled, "not begun")
	if !unwinds(rs[0].Err) || unwinds(rs[1].Err) || rs[1].Err == nil || len(c.ran) != 0 {
		t.Errorf("%v, %v; ran %q", rs[0].Err, rs[1].Err, c.ran)
	}
}

// A file that one member fills from outside may be rewritten by the next before
// anybody knows what is in it.
func TestAFileWrittenBesideAHostileReadIsThirdParty(t *testing.T) {
	for _, sibling := range []bool{false, true} {
		dir := t.TempDir()
		var p probe
		write := p.tool("write", func(t *bridge.Tool) {
			t.Paths = []string{"to"}
			t.Run = func(_ context.Context, permit *bridge.Permit) (bridge.Output, error) {
				return bridge.Output{Local: true}, permit.Root().Write(permit.String("to"), []byte("text"))
			}
		})
		r := newRig(t, bridge.Config{Tools: []bridge.Tool{write, p.tool("page", caps(policy.UntrustedInput))}}, space(t, dir, workspace.Config{Writable: []string{"**"}}))
		cs := []interp.Call{call("write", map[string]any{"to": "f.txt"})}
		if sibling {
			cs = append(cs, call("page", nil))
		}
		rs, _ := r.door.CallBatch(t.Context(), cs)
		if rs[0].Err != nil {
			t.Fatal(rs[0].Err)
		}
		if r.State.Tainted["f.txt"] != sibling {
			t.Errorf("beside a page %v: the file is third-party content: %v", sibling, r.State.Tainted["f.txt"])
		}
	}
}
