package bridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/codeact-dev/codeact/bridge/plain"
	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/interp"
	"github.com/codeact-dev/codeact/leases"
	"github.com/codeact-dev/codeact/policy"
	"github.com/codeact-dev/codeact/policy/rules"
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
	{"secrets", (*passage).secrets, pure},
	{"caps", (*passage).caps, pure},
	{"lease", (*passage).leased, pure},
	{"rate", (*passage).rate, pure},
	{"policy", (*passage).rules, pure},
	{"hooks", (*passage).hooks, last},
}

// judge folds the gates' decisions. What a hook changed passes every gate again,
// once.
func (p *passage) judge(ctx context.Context) error {
	p.decisions, p.bad = make([]policy.Decision, 0, len(gates)+1), false
	if p.doubtful() {
		p.decisions = append(p.decisions, p.unknownOutcome())
	}
	for _, g := range gates {
		if p.without(g.name) || g.kind == last && policy.Narrow(p.decisions...).Verdict == policy.Deny {
			continue
		}
		d := p.hear(ctx, g)
		if d.Gate == "" {
			d.Gate = g.name
		}
		p.decisions = append(p.decisions, d)
		if g.kind == readable && d.Verdict == policy.Deny {
			p.bad = d.Rule != panicked
			break
		}
	}
	if p.changed != nil {
		return p.again(ctx)
	}
	return p.decided()
}

// panicked is the rule of a gate that did not come to an end.
const panicked = "panic"

// hear lets one gate judge. One that panics denies.
func (p *passage) hear(ctx context.Context, g gate) (d policy.Decision) {
	defer func() {
		if v := recover(); v != nil {
			d = policy.Decision{Rule: panicked, Reason: fmt.Sprintf("the gate %s panicked: %v", g.name, v)}
		}
	}()
	return g.judge(p, ctx)
}

// again starts the gates over with the arguments that a hook put in. Their
// labels are the floor, which no argument's own label can be below, so the change
// cannot lose taint.
func (p *passage) again(ctx context.Context) error {
	args := p.changed
	p.changed, p.rewritten = nil, true
	if err := p.take(args); err != nil {
		return p.unreadable(err)
	}
	p.note("a hook changed the arguments; every gate judged them again")
	return p.judge(ctx)
}

// note keeps a line for the trace, once.
func (p *passage) note(text string) {
	if text = p.quote(text); !slices.Contains(p.notes, text) {
		p.notes = append(p.notes, text)
	}
}

// decided appends the decision to the journal and ends a call that is refused.
// Reasons may quote what a script or a third party wrote.
func (p *passage) decided() error {
	for i, d := range p.decisions {
		p.decisions[i] = p.quoteDecision(d)
	}
	p.verdict = policy.Narrow(p.decisions...)
	if p.verdict.Verdict == policy.Allow {
		p.verdict = policy.Allowed("") // no one gate did it
	}
	d := Decided{Call: p.id, Tool: p.call.Tool, Args: p.shown(), ArgHash: p.given, Position: scan.Line(p.call.Position, maxName),
		Decision: p.verdict, Gates: p.decisions, Notes: p.notes, Held: p.d.run.State.Held, Carries: p.carries(), Control: p.req.Control, Lease: p.lease.ID, Bad: p.bad}
	d.Paths, d.URLs = p.shownFacts()
	d.Shell = p.shownShell()
	if err := p.d.run.Journal.Decided(d); err != nil {
		return interp.Unwind(err)
	}
	if p.stop != nil {
		return interp.Unwind(p.stop)
	}
	if p.verdict.Verdict != policy.Deny {
		return nil
	}
	return p.deny(p.verdict)
}

// deny ends a call that the gates refused. A block that does not heed its cap for
// as many calls again ends with it.
func (p *passage) deny(d policy.Decision) error {
	if p.n >= 2*p.b.cfg.MaxCalls {
		return interp.Unwind(&CallError{p.id, p.call.Tool, d, ErrStepCalls})
	}
	return p.refused(d)
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
		p.unknown = true
		p.tool = &Tool{Name: p.call.Tool} // for the other gates; it has nothing to run
		return policy.Decision{Reason: "there is no such tool; call one of the tools that are listed"}
	}
	if !p.d.flight.grants(p.tool.Name) {
		return policy.Decision{Rule: "not-announced", Reason: "no block of this run names this tool, so the call does not come from its code"}
	}
	return policy.Allowed("")
}

// errUnfit stands for what the validator says where it would quote a sensitive
// value.
var errUnfit = errors.New("the arguments do not fit the schema")

func (p *passage) schema(context.Context) policy.Decision {
	if err := p.tool.Params.validate(p.args); err != nil {
		if p.masking() {
			err = errUnfit
		}
		return policy.Decision{Reason: fmt.Sprintf("%v; the call is %s", err, p.tool.Signature())}
	}
	return policy.Allowed("")
}

func (p *passage) interlock(context.Context) policy.Decision { return policy.Interlock(p.req) }

func (p *passage) named(context.Context) policy.Decision { return policy.Named(p.req) }

func (p *passage) caps(context.Context) policy.Decision {
	if n := p.b.cfg.MaxCalls; p.n > n {
		return policy.Decision{Rule: "calls-per-step", Reason: fmt.Sprintf(
			"a step may make %d calls and this is call %d; split the work: end this block now and go on in the next one", n, p.n)}
	}
	return policy.Allowed("")
}

// leased asks for what the tool's tier demands: nothing, a lease, or a person
// every time. A lease never lowers a tier.
func (p *passage) leased(context.Context) policy.Decision {
	tier := p.level
	l, err := p.peek(p.req.Now)
	if err == nil {
		p.lease = l
		p.req.Lease = policy.LeaseView{ID: l.ID, UsesLeft: l.Uses, Expires: l.Expires, ApprovedBy: l.ApprovedBy}
	}
	switch {
	case tier == policy.Free:
		return policy.Allowed("")
	case tier == policy.AlwaysAsk && p.tool.Tier != tier:
		return policy.Decision{Verdict: policy.Ask, Rule: "arguments", Reason: fmt.Sprintf(
			"%s needs a person's yes for every call with arguments like these, whatever lease there is", p.tool.Name)}
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

// tier is what the tool demands for these arguments. Nothing has judged them yet,
// so Approval may well panic on them: then every call asks.
func (p *passage) tier() (tier policy.Tier) {
	defer func() {
		if recover() != nil {
			tier = policy.AlwaysAsk
		}
	}()
	tier = p.tool.Tier
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
func (p *passage) peek(now time.Time) (leases.Lease, error) {
	s := p.d.run.State
	return s.Leases.Peek(p.tool.Name, p.level, s.Active(now), p.fits)
}

func (p *passage) fits(l leases.Lease) bool {
	return l.Binds(p.canonical) && (l.When == "" || p.holds(l.When))
}

// canonical is a parameter's value as leases are bound to it, "" when it was not
// given: paths as they were resolved, so that two writings of one path are one and
// one writing of two files is two; what is sensitive by its keyed hash.
func (p *passage) canonical(param string) string {
	v, ok := p.args[param]
	if !ok {
		return ""
	}
	switch {
	case p.covers(param):
		v = p.masked[param]
	case slices.Contains(p.tool.Paths, param):
		v = mapText(v, func(path string) string {
			if t, ok := p.targets[path]; ok {
				return t.Rel
			}
			return path
		})
	}
	text, _ := plain.JSON(v) // it was canonical when it was taken
	return text
}

// holds evaluates a lease's condition. What cannot be evaluated does not hold.
func (p *passage) holds(when string) bool {
	v, ok := p.b.whens.Load(when)
	if !ok {
		e, err := rules.CompileExpr(when, "lease.when")
		if v = any(e); err != nil {
			v = err
		}
		p.b.whens.Store(when, v)
	}
	e, ok := v.(*rules.Expr)
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
	if p.tool.Sandboxed {
		return false // it can change nothing outside of what is writable
	}
	outside := len(p.req.Paths) == 0 || slices.ContainsFunc(p.req.Paths, func(f policy.PathFact) bool { return !f.Writable })
	return p.tool.Caps.Has(policy.Destructive) && outside
}

func (p *passage) rules(context.Context) policy.Decision {
	d, notes := p.b.cfg.Policy.JudgeAll(p.req)
	for _, n := range notes {
		p.note(fmt.Sprintf("policy %s: %s %s: %s", n.Policy, n.Kind, n.Key, n.Text))
	}
	return d
}

// hooks runs every hook, so that all reasons are known, and folds what they say.
func (p *passage) hooks(ctx context.Context) policy.Decision {
	d := policy.Allowed("")
	for _, h := range p.b.cfg.Hooks {
		r := h.Before(ctx, p.hookCall())
		for _, n := range r.Notes {
			p.note(n)
		}
		if r.Stop {
			p.stop = fmt.Errorf("%w: %s", ErrStopped, p.quote(r.Decision.Reason))
			r.Decision.Verdict = policy.Deny
		}
		if r.Args != nil && r.Decision.Verdict != policy.Deny {
			r.Decision = r.Decision.Narrow(p.change(p.meant(r.Args)))
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

// change keeps the arguments that a hook wants. Hooks may change a call once, or
// two of them could change it for ever; the same arguments again are no change.
func (p *passage) change(args map[string]any) policy.Decision {
	text, err := plain.Append(nil, p.tool.Params.fill(args))
	switch {
	case err == nil && bytes.Equal(text, p.text):
	case p.rewritten || p.changed != nil:
		return policy.Decision{Rule: "changed-twice", Reason: "a hook changed arguments that a hook had changed already"}
	default:
		p.changed = args
	}
	return policy.Allowed("")
}

// doubtful reports whether the effect may have happened already: this call, or an
// earlier one of the same tool and arguments, began and its outcome is not known.
func (p *passage) doubtful() bool {
	return p.record.Attempts > 0 || p.d.run.State.Unknown[p.effect()] != ""
}

func (p *passage) effect() Effect { return Effect{p.call.Tool, p.given} }

func (p *passage) unknownOutcome() policy.Decision {
	if p.tool != nil && (p.tool.Idempotent || p.tool.Staged) {
		return policy.Allowed("journal")
	}
	why := fmt.Sprintf("this call was begun %d time(s) and never ended", p.record.Attempts)
	if p.record.Attempts == 0 {
		why = fmt.Sprintf("the same call, %s, lost its other side before it ended", p.d.run.State.Unknown[p.effect()])
	}
	return policy.Decision{Verdict: policy.Ask, Gate: "journal", Rule: "unknown-outcome",
		Reason: why + ", so it may have happened already; it is not repeated without a person's yes"}
}
