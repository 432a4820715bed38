package bridge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/interp"
	"github.com/codeact-dev/codeact/policy"
)

// The steps at which a batch is more than its calls one after the other.
const (
	stepAsk   = "approver" // all questions are put together
	stepBegin = "begin"    // none begins once one of them unwinds
	stepRun   = "run"      // those that began run at once
)

// maxAtOnce bounds how many calls of a batch run at the same time.
const maxAtOnce = 4

var _ interp.BatchCaller = (*Door)(nil)

// Call carries one call of the script through the walk. It satisfies
// interp.Caller: an error that the script must not catch is wrapped by
// interp.Unwind; any other is a *CallError or the tool's own.
func (d *Door) Call(ctx context.Context, c interp.Call) (any, error) {
	r := d.carry(ctx, []interp.Call{c})[0]
	return r.Value, r.Err
}

// CallBatch carries the calls of one parallel. All are numbered and judged first,
// each on what the whole batch would bring in, and all questions are answered;
// only then they begin, in their order, and run at most four at a time. A refused
// call is its own result; once one unwinds no other begins.
func (d *Door) CallBatch(ctx context.Context, cs []interp.Call) ([]interp.BatchResult, error) {
	return d.carry(ctx, cs), nil
}

func (d *Door) carry(ctx context.Context, cs []interp.Call) []interp.BatchResult {
	d.mu.Lock()
	defer d.mu.Unlock()
	ps := make([]*passage, len(cs))
	for i, c := range cs {
		ps[i] = d.admit(c)
	}
	for i, p := range ps {
		p.turn = turn(ps, i)
		p.open(ctx)
	}
	for _, s := range walk {
		d.all(ctx, s, ps)
	}
	results := make([]interp.BatchResult, len(ps))
	for i, p := range ps {
		if p.err == nil {
			results[i].Value, p.err = p.enter()
		}
		results[i].Err = p.err
	}
	return results
}

// admit numbers a call.
func (d *Door) admit(c interp.Call) *passage {
	d.calls++
	if d.passed == nil {
		d.passed = make(map[claim]int)
	}
	d.passed[claim{c.Position, c.Tool}]++
	p := &passage{d: d, b: d.b, call: c, n: d.calls, id: fmt.Sprintf("%s/%d/%d", d.run.ID, d.step, d.calls), tool: d.b.tools[c.Tool]}
	if p.tool == nil {
		p.call.Tool = scan.Line(c.Tool, maxName) // whoever made it up may have made up anything
	}
	return p
}

// turn is what the others of a batch would bring in.
func turn(ps []*passage, but int) (t policy.Taint) {
	for i, p := range ps {
		if i != but && p.tool != nil {
			t = t.Join(policy.TaintOf(p.tool.Caps, true, p.id))
		}
	}
	return t
}

// open reads the arguments. A call whose arguments cannot be read ends here.
func (p *passage) open(ctx context.Context) {
	cause := p.take(p.call.Args)
	p.given = p.hash
	if cause == nil {
		return
	}
	if p.err = p.recall(ctx); p.err == nil {
		p.err = p.unreadable(cause)
	}
}

// all takes one step of the walk with every call that is still on its way.
func (d *Door) all(ctx context.Context, s step, ps []*passage) {
	switch {
	case len(ps) == 1:
	case s.name == stepRun:
		atOnce(ctx, s, ps)
		return
	case s.name == stepAsk && !ps[0].without(stepAsk):
		together(ctx, ps)
		return
	}
	for _, p := range ps {
		switch {
		case p.left(s):
		case s.name == stepBegin && unwinding(ps):
			p.err = errNotBegun
		default:
			p.err = p.step(ctx, s)
		}
	}
}

// atOnce takes the step with several calls at the same time, and waits for all.
func atOnce(ctx context.Context, s step, ps []*passage) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, maxAtOnce)
	for _, p := range ps {
		if p.left(s) {
			continue
		}
		wg.Go(func() {
			slots <- struct{}{}
			p.err = p.step(ctx, s)
			<-slots
		})
	}
	wg.Wait()
}

// left reports whether the step is not for the call.
func (p *passage) left(s step) bool { return p.err != nil || p.done || p.without(s.name) }

// errNotBegun is the end of a call whose batch unwound before it began. The block
// ends with it, so that no script sees it.
var errNotBegun = errors.New("not begun: another call of its batch ended the block")

func unwinding(ps []*passage) bool {
	return slices.ContainsFunc(ps, func(p *passage) bool { return interp.Unwinds(p.err) })
}
