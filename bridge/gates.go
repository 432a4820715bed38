package bridge

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/codeact-dev/codeact/bridge/plain"
	"github.com/codeact-dev/codeact/interp"
	"github.com/codeact-dev/codeact/leases"
	"github.com/codeact-dev/codeact/policy"
)

// A gate judges one call. Order is data: [gates] is the security boundary, read
// from top to bottom.
type gate struct {
	name  string
	judge func(*passage, context.Context) policy.Decision
	kind  gateKind
}

type gateKind uint8

const (
	pure     gateKind = iota // runs whatever the others said, so that every reason is known
	readable                 // if it denies, the later gates cannot read the call: the fold ends, and it is a mistake, not a refusal
	last                     // runs only if nothing has denied: it has effects of its own
)

var gates = []gate{
	{"registry", (*passage).registry, readable},
	{"schema", (*passage).schema, readable},
	{"facts", (*passage).facts, pure},
	{"interlock", (*passage).interlock, pure},
	{"named", (*passage).named, pure},
	{"caps", (*passage).caps, pure},
	{"lease", (*passage).leased, pure},
	{"rate", (*passage).rate, pure},
	{"policy", (*passage).rules, pure},
	{"hooks", (*passage).hooks, last},
}

// judge folds the gates' decisions. What a hook changed passes every gate again,
// once.
func (p *passage) judge(ctx context.Context) error {
	p.decisions, p.bad = p.decisions[:0], false
	if p.record.Phase == Running {
		p.decisions = append(p.decisions, p.unknownOutcome())
	}
	for _, g := range gates {
		if p.without(g.name) || g.kind == last && policy.Narrow(p.decisions...).Verdict == policy.Deny {
			continue
		}
		d := g.judge(p, ctx)
		if d.Gate == "" {
			d.Gate = g.name
		}
		p.decisions = append(p.decisions, d)
		if p.bad = g.kind == readable && d.Verdict == policy.Deny; p.bad {
			break
		}
	}
	if p.changed != nil {
		return p.again(ctx)
	}
	return p.decided()
}

// again starts the gates over with the arguments that a hook put in. Their
// labels are the floor, which no argument's own label can be below, so the change
// cannot lose taint.
func (p *passage) again(ctx context.Context) error {
	args := p.changed
	p.changed, p.rewritten = nil, true
	if err := p.take(args); err != nil {
		return err
	}
	p.notes = append(p.notes, "a hook changed the arguments; every gate judged them again")
	return p.judge(ctx)
}

// decided appends the decision to the journal and ends a call that is refused.
func (p *passage) decided() error {
	p.verdict = policy.Narrow(p.decisions...)
	if p.verdict.Verdict == policy.Allow {
		p.verdict = policy.Allowed("") // no one gate did it
	}
	d := Decided{Call: p.id, Tool: p.call.Tool, Args: p.shown(), ArgHash: p.hash, Position: p.call.Position,
		Decision: p.verdict, Gates: slices.Clone(p.decisions), Notes: p.notes, Held: p.d.run.State.Held,
		Paths: p.req.Paths, URLs: p.req.URLs, Lease: p.lease.ID, Bad: p.bad}
	if err := p.d.run.Journal.Decided(d); err != nil {
		return interp.Unwind(err)
	}
	if p.stop != nil {
		return interp.Unwind(p.stop)
	}
	if p.verdict.Verdict != policy.Deny {
		return nil
	}
	if p.d.calls >= 2*p.b.cfg.MaxCalls {
		return interp.Unwind(&CallError{p.id, p.call.Tool, p.verdict, ErrStepCalls})
	}
	return p.refused(p.verdict)
}

func (p *passage) refused(d policy.Decision) error {
	err := ErrDenied
	if p.bad {
		err = ErrBadCall
	}
	return &CallError{p.id, p.call.Tool, d, err}
}

func (p *passage) registry(context.Context) policy.Decision {
	if p.tool == nil {
		p.tool = &Tool{Name: p.call.Tool, Run: func(context.Context, *Permit) (Output, error) { return Output{}, errNoRun }}
		return policy.Decision{Reason: "there is no such tool; call one of the tools that are listed"}
	}
	return policy.Allowed("")
}

func (p *passage) schema(context.Context) policy.Decision {
	if err := p.tool.Params.validate(p.args); err != nil {
		return policy.Decision{Reason: fmt.Sprintf("%v; the call is %s", err, p.tool.Signature())}
	}
	return policy.Allowed("")
}

func (p *passage) interlock(context.Context) policy.Decision { return policy.Interlock(p.req) }

func (p *passage) named(context.Context) policy.Decision { return policy.Named(p.req) }

func (p *passage) caps(context.Context) policy.Decision {
	if n := p.b.cfg.MaxCalls; p.d.calls > n {
		return policy.Decision{Rule: "calls-per-step", Reason: fmt.Sprintf(
			"a step may make %d calls and this is call %d; split the work: end this block now and go on in the next one", n, p.d.calls)}
	}
	return policy.Allowed("")
}

// leased asks for what the tool's tier demands: nothing, a lease, or a person
// every time. A lease never lowers a tier.
func (p *passage) leased(context.Context) policy.Decision {
	tier := p.tier()
	l, err := p.peek(tier)
	if err == nil {
		p.lease = l
		p.req.Lease = policy.LeaseView{ID: l.ID, UsesLeft: l.Uses, Expires: l.Expires, ApprovedBy: l.ApprovedBy}
	}
	switch {
	case tier == policy.Free:
		return policy.Allowed("")
	case tier == policy.AlwaysAsk:
		return policy.Decision{Verdict: policy.Ask, Rule: "tier-2", Reason: p.tool.Name + " needs a person's yes for every call"}
	case err != nil:
		return policy.Decision{Verdict: policy.Ask, Rule: "tier-1", Reason: fmt.Sprintf("%s needs a person's yes or a lease: %v", p.tool.Name, err)}
	case p.needsTrust(l):
		return policy.Decision{Verdict: policy.Ask, Rule: "untrusted-task", Reason: fmt.Sprintf(
			"the lease comes from a task file that is not trusted, so it does not cover sends, nor changes outside workspace.writable; to trust the file, run with --trust %s", p.b.cfg.TaskDigest)}
	}
	return policy.Allowed("")
}

func (p *passage) tier() policy.Tier {
	tier := p.tool.Tier
	if p.tool.Approval != nil {
		switch p.tool.Approval(p.args) {
		case Never:
		case Once:
			tier = tier.Stricter(policy.AskOnce)
		default:
			tier = policy.AlwaysAsk
		}
	}
	return tier
}

// peek finds the lease that this call would spend.
func (p *passage) peek(tier policy.Tier) (leases.Lease, error) {
	s := p.d.run.State
	return s.Leases.Peek(p.tool.Name, tier, s.Active(p.req.Now), p.fits)
}

func (p *passage) fits(l leases.Lease) bool {
	return l.Binds(p.canonical) && (l.When == "" || p.holds(l.When))
}

// canonical is a parameter's value as leases are bound to it: a path as it was
// resolved, so that two writings of one path are one.
func (p *passage) canonical(param string) string {
	v, ok := p.args[param]
	if !ok {
		return ""
	}
	if path, isText := v.(string); isText && slices.Contains(p.tool.Paths, param) {
		if t, ok := p.targets[path]; ok {
			v = t.Rel
		}
	}
	text, err := plain.JSON(v)
	if err != nil {
		return ""
	}
	return text
}

// holds evaluates a lease's condition. What cannot be evaluated does not hold.
func (p *passage) holds(when string) bool {
	v, ok := p.b.whens.Load(when)
	if !ok {
		e, err := policy.CompileExpr(when, "lease.when")
		if v = any(e); err != nil {
			v = err
		}
		p.b.whens.Store(when, v)
	}
	e, ok := v.(*policy.Expr)
	if !ok {
		return false
	}
	yes, err := e.Holds(p.req)
	return yes && err == nil
}

// needsTrust reports whether l comes from a task file that nobody vouched for
// while the call does what such a file must not grant itself.
func (p *passage) needsTrust(l leases.Lease) bool {
	if p.b.cfg.TaskTrusted || !strings.HasPrefix(l.ApprovedBy, "task ") {
		return false
	}
	if p.tool.Caps.Has(policy.ExternalSend) {
		return true
	}
	outside := len(p.req.Paths) == 0 || slices.ContainsFunc(p.req.Paths, func(f policy.PathFact) bool { return !f.Writable })
	return p.tool.Caps.Has(policy.Destructive) && outside
}

// rate counts the begun calls in the window that ends now, so that an edge gives
// no second burst and a refused call costs nothing.
func (p *passage) rate(context.Context) policy.Decision {
	r := p.tool.Rate
	if r.N == 0 {
		return policy.Allowed("")
	}
	begun := p.d.run.State.Begun[p.tool.Name]
	since := p.req.Now.Add(-r.Per)
	i, _ := slices.BinarySearchFunc(begun, since, func(t, s time.Time) int {
		if t.After(s) {
			return 1
		}
		return -1
	})
	if len(begun)-i < r.N {
		return policy.Allowed("")
	}
	wait := begun[len(begun)-r.N].Add(r.Per).Sub(p.req.Now)
	return policy.Decision{Rule: "rate", Values: []policy.Value{{Name: "retry-after", Value: wait.String()}}, Reason: fmt.Sprintf(
		"%s may begin %d times in %v; retry after %v", p.tool.Name, r.N, r.Per, wait.Round(time.Millisecond))}
}

func (p *passage) rules(context.Context) policy.Decision {
	d, notes := p.b.cfg.Policy.JudgeAll(p.req)
	for _, n := range notes {
		p.notes = append(p.notes, fmt.Sprintf("policy %s: %s %s: %s", n.Policy, n.Kind, n.Key, n.Text))
	}
	return d
}

// hooks runs every hook, so that all reasons are known, and folds what they say.
func (p *passage) hooks(ctx context.Context) policy.Decision {
	d := policy.Allowed("")
	c := p.hookCall()
	for _, h := range p.b.cfg.Hooks {
		r := h.Before(ctx, c)
		p.notes = append(p.notes, r.Notes...)
		if r.Stop {
			p.stop = fmt.Errorf("%w: %s", ErrStopped, r.Decision.Reason)
			r.Decision.Verdict = policy.Deny
		}
		if r.Args != nil && r.Decision.Verdict != policy.Deny {
			if p.rewritten || p.changed != nil {
				r.Decision = policy.Decision{Rule: "changed-twice", Reason: "a hook changed arguments that a hook had changed already"}
			} else {
				p.changed = r.Args
			}
		}
		d = d.Narrow(r.Decision)
	}
	if d.Verdict == policy.Deny {
		p.changed = nil
	}
	if d.Gate == "" {
		d.Gate = "hooks"
	}
	return d
}

func (p *passage) unknownOutcome() policy.Decision {
	if p.tool != nil && p.tool.Idempotent {
		return policy.Allowed("journal")
	}
	return policy.Decision{Verdict: policy.Ask, Gate: "journal", Rule: "unknown-outcome", Reason: fmt.Sprintf(
		"this call was begun %d time(s) and never ended, so it may have happened already; it is not repeated without a person's yes", p.record.Attempts)}
}
