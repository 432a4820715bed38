package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/bridgetest"
	"github.com/codeact-dev/codeact/interp"
	"github.com/codeact-dev/codeact/policy"
)

// A pausing run is one whose approver is never there: the answers come into its
// journal while no worker lives, and each session then runs every block again.
type pausing struct {
	*bridgetest.Journal
	b      *bridge.EffectBridgeAdapter
	in     *interp.Interp
	asked  int
	blocks []string

	mu      sync.Mutex
	effects []string // guarded by mu; "note 1", in the order in which the tools ran
}

func newPausing(t *testing.T, blocks []string) *pausing {
	t.Helper()
	p := &pausing{Journal: bridgetest.NewJournal(), blocks: blocks}
	away := approverFunc(func(context.Context, bridge.Question) (bridge.Answer, error) {
		p.asked++
		return bridge.Answer{}, bridge.ErrPaused
	})
	var pr probe
	b, err := bridge.New(bridge.Config{Approver: away, Tools: []bridge.Tool{
		pr.tool("note", p.acts("note")), pr.tool("post", p.acts("post"), tier(policy.AlwaysAsk)),
	}})
	if err != nil {
		t.Fatal(err)
	}
	p.b = b
	if p.in, err = interp.New(interp.Config{Worker: []string{worker}, NoSpare: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.in.Close() })
	return p
}

type approverFunc func(context.Context, bridge.Question) (bridge.Answer, error)

func (f approverFunc) Approve(ctx context.Context, q bridge.Question) (bridge.Answer, error) {
	return f(ctx, q)
}

// acts is what a tool does: it counts, and gives ten times n, or fails where n is 9.
func (p *pausing) acts(name string) func(*bridge.Tool) {
	return func(t *bridge.Tool) {
		t.Run = func(_ context.Context, permit *bridge.Permit) (bridge.Output, error) {
			n, _ := permit.Args()["n"].(int64)
			p.mu.Lock()
			defer p.mu.Unlock()
			p.effects = append(p.effects, fmt.Sprintf("%s %d", name, n))
			if n == 9 {
				return bridge.Output{Local: true}, errors.New("nine is too many")
			}
			return bridge.Output{Value: n * 10, Local: true}, nil
		}
	}
}

// session runs the blocks from the first in a new worker, until one fails.
func (p *pausing) session(t *testing.T) (any, error) {
	t.Helper()
	s, err := p.in.Session(t.Context(), p.b.Signatures())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	lineage := p.b.NewLineage()
	var res interp.Result
	for i, code := range p.blocks {
		door, err := p.b.Open(p.Run("r1"), i+1, lineage.Read(i+1, code))
		if err != nil {
			t.Fatal(err)
		}
		if res, err = s.Exec(t.Context(), code, door); err != nil {
			if s.Dead() {
				t.Error("the pause cost the worker")
			}
			return nil, err
		}
	}
	return res.Value, nil
}

// answer says yes to every question that waits, and returns how many did.
func (p *pausing) answer(t *testing.T) (n int) {
	t.Helper()
	for call, r := range p.Records {
		if r.Phase != bridge.Asking || r.Answer != nil {
			continue
		}
		n++
		a := yes
		a.Digest, a.At = r.Question.Digest, r.Question.Asked
		if err := p.Resolved(call, a); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

func TestAPauseUnwindsTheBlockAndResumesIt(t *testing.T) {
	const define = "got = []\ndef keep(n):\n  got.append(note(n=n))\n  return post(n=n)\ndef outer(n):\n  note(n=n + 100)\n  r = keep(n)\n  note(n=n + 200)\n  return [r] + got"
	tests := []struct {
		name   string
		blocks []string
		pauses [][]string // what has run when each pause comes, all of it in this order
		ran    []string   // at the end; where calls run at once the order is that of their text
		want   any
	}{
		{"at the top", []string{"note(n=1)\nx = post(n=2)\nnote(n=3)\nx"}, [][]string{{"note 1"}},
			[]string{"note 1", "post 2", "note 3"}, int64(20)},
		{"in nested functions", []string{define + "\nouter(1)"}, [][]string{{"note 101", "note 1"}},
			[]string{"note 101", "note 1", "post 1", "note 201"}, []any{int64(10), int64(10)}},
		{"in functions of an earlier block", []string{define, "outer(1)", "note(n=5)\nouter(2)"},
			[][]string{{"note 101", "note 1"}, {"note 101", "note 1", "post 1", "note 201", "note 5", "note 102", "note 2"}},
			[]string{"note 101", "note 1", "post 1", "note 201", "note 5", "note 102", "note 2", "post 2", "note 202"},
			[]any{int64(20), int64(10), int64(20)}},
		{"in a comprehension", []string{"[post(n=i) if i == 2 else note(n=i) for i in range(4)]"}, [][]string{{"note 0", "note 1"}},
			[]string{"note 0", "note 1", "post 2", "note 3"}, []any{int64(0), int64(10), int64(20), int64(30)}},
		{"in nested comprehensions, twice", []string{"{str(i): [post(n=10 * i + j) for j in range(2) if i != j] for i in range(2)}"},
			[][]string{nil, {"post 1"}}, []string{"post 1", "post 10"}, map[string]any{"0": []any{int64(10)}, "1": []any{int64(100)}}},
		{"in a builtin's function", []string{"sorted([3, 1, 2], key=lambda i: post(n=i) if i == 1 else note(n=i))"}, [][]string{{"note 3"}},
			[]string{"note 3", "post 1", "note 2"}, []any{int64(1), int64(2), int64(3)}},
		{"in attempt", []string{"bad = attempt(note, n=9)\nr = attempt(post, n=1)\nnote(n=2)\n[bad.ok, bad.error, r.ok, r.value]"},
			[][]string{{"note 9"}}, []string{"note 9", "post 1", "note 2"}, []any{false, "note: nine is too many", true, int64(10)}},
		{"in attempt, of a call that then fails", []string{"r = attempt(post, n=9)\n[r.ok, r.error]"},
			[][]string{nil}, []string{"post 9"}, []any{false, "post: nine is too many"}},
		{"in parallel", []string{"note(n=0)\nr = parallel([(note, {'n': 1}), (post, {'n': 2}), (note, {'n': 3})])\nnote(n=4)\n[x.value for x in r]"},
			[][]string{{"note 0"}}, []string{"note 0", "note 1", "note 3", "note 4", "post 2"}, []any{int64(10), int64(20), int64(30)}},
		{"in parallel, of several", []string{"def f(ns):\n  return [x.value or x.error for x in parallel([(post, {'n': n}) for n in ns])]\n[f([1, 9]), f([2])]"},
			[][]string{nil, {"post 1", "post 9"}}, []string{"post 1", "post 2", "post 9"},
			[]any{[]any{int64(10), "post: nine is too many"}, []any{int64(20)}}},
		{"in a loop that goes on", []string{"out = []\nfor i in range(3):\n  out.append(post(n=i))\nout"},
			[][]string{nil, {"post 0"}, {"post 0", "post 1"}}, []string{"post 0", "post 1", "post 2"}, []any{int64(0), int64(10), int64(20)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPausing(t, tt.blocks)
			for i, ran := range tt.pauses {
				if _, err := p.session(t); !errors.Is(err, bridge.ErrPaused) {
					t.Fatalf("session %d: got %v, want a pause", i+1, err)
				}
				effects := p.effects
				if len(p.blocks) == 1 && slices.Contains(ran, "post 9") {
					slices.Sort(effects)
				}
				if d := cmp.Diff(ran, effects); d != "" {
					t.Errorf("at pause %d: %s", i+1, d)
				}
				if p.answer(t) == 0 {
					t.Fatal("nobody was asked")
				}
			}
			for range 2 { // the second time everything is in the journal
				got, err := p.session(t)
				if err != nil || !cmp.Equal(got, tt.want) {
					t.Fatalf("got %v, %v, want %v", got, err, tt.want)
				}
			}
			p.ranOnce(t, tt.ran)
		})
	}
}

// ranOnce holds the effects against what a block that never paused would have
// done, and against what the journal says.
func (p *pausing) ranOnce(t *testing.T, want []string) {
	t.Helper()
	posts := 0
	for _, e := range want {
		if e[0] == 'p' {
			posts++
		}
	}
	slices.Sort(want)
	slices.Sort(p.effects)
	if d := cmp.Diff(want, p.effects); d != "" {
		t.Errorf("effects: %s", d)
	}
	if begun, ended := count[bridge.Begun](p.Journal), count[bridge.Outcome](p.Journal); begun != len(want) || ended != len(want) {
		t.Errorf("the journal has %d beginnings and %d ends of %d effects", begun, ended, len(want))
	}
	if p.asked != posts || count[bridge.Question](p.Journal) != posts {
		t.Errorf("asked %d times, %d questions recorded, for %d posts", p.asked, count[bridge.Question](p.Journal), posts)
	}
}
