package bridge

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/codeact-dev/codeact/bridge/plain"
	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/interp"
	"github.com/codeact-dev/codeact/leases"
	"github.com/codeact-dev/codeact/policy"
)

// A Door serves one step of one run: it counts the step's calls and carries each
// through the walk. It is safe for concurrent use, one call at a time.
type Door struct {
	b    *EffectBridgeAdapter
	run  Run
	step int

	mu       sync.Mutex
	calls    int       // guarded by mu; this step's
	external []string  // guarded by mu; ids of this step's calls that brought third-party content in
	warnings []warning // guarded by mu; what the injection scan found in this step
}

type warning struct {
	call, tool string
	Suspicion
}

// A passage is one call on its way through the walk.
type passage struct {
	d    *Door
	b    *EffectBridgeAdapter
	id   string
	call interp.Call
	tool *Tool

	args    map[string]any
	hash    string
	req     policy.Request
	targets map[string]workspace.Target // by the text of the argument
	record  Record

	decisions []policy.Decision
	notes     []string
	bad       bool // the call is a mistake, not refused
	stop      error
	changed   map[string]any // by a hook; judged next
	rewritten bool           // the arguments are a hook's
	verdict   policy.Decision
	lease     leases.Lease

	permit  Permit
	out     Output
	failure error
	outcome Outcome
	done    bool // the outcome is known: the rest of the walk is not for this call
}

// A step of the walk. Each may end the call with an error, or with done.
type step struct {
	name string
	take func(*passage, context.Context) error
}

// walk is the way of one call, from top to bottom. Live, resumed and replayed
// runs share it: a call that the journal knows leaves it at the first step.
var walk = []step{
	{"journal", (*passage).recall},
	{"gates", (*passage).judge},
	{"approver", (*passage).ask},
	{"begin", (*passage).begin},
	{"run", (*passage).perform},
	{"bound", (*passage).bound},
	{"html", (*passage).stripHTML},
	{"redact", (*passage).redact},
	{"inject", (*passage).suspect},
	{"visible", (*passage).reveal},
	{"after", (*passage).after},
	{"spill", (*passage).spill},
	{"taint", (*passage).taint},
	{"end", (*passage).end},
}

// Call carries one call of the script through the walk. It satisfies
// interp.Caller: an error that the script must not catch is wrapped by
// interp.Unwind; any other is a *CallError or the tool's own.
func (d *Door) Call(ctx context.Context, c interp.Call) (any, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	p := &passage{d: d, b: d.b, call: c, id: fmt.Sprintf("%s/%d/%d", d.run.ID, d.step, d.calls), tool: d.b.tools[c.Tool]}
	if err := p.take(c.Args); err != nil {
		return nil, err
	}
	for _, s := range walk {
		if p.without(s.name) {
			continue
		}
		if err := s.take(p, ctx); err != nil {
			return nil, err
		}
		if p.done {
			break
		}
	}
	return p.enter()
}

// without reports whether a test left this control out.
func (p *passage) without(name string) bool { return p.b.testOnlyWithout == name }

// take sets the arguments and everything that is computed from them alone.
func (p *passage) take(args map[string]any) error {
	if p.tool != nil {
		args = p.tool.Params.fill(args)
	}
	if args == nil {
		args = map[string]any{}
	}
	text, err := plain.Append(nil, args)
	if err != nil {
		return fmt.Errorf("bridge: %s: arguments: %w", p.call.Tool, err)
	}
	p.args = args
	if p.hash, err = p.hashArgs(text); err != nil {
		return err
	}
	d, s := p.d, p.d.run.State
	mode := "unattended"
	if d.run.Attended {
		mode = "interactive"
	}
	sec := d.b.cfg.Security
	sec.Attended = d.run.Attended
	p.req = policy.Request{Call: p.id, Args: args, ArgsBytes: len(text), Held: s.Held, Seen: s.Seen, Control: s.Held,
		Run:     policy.RunView{ID: d.run.ID, Mode: mode, BytesSent: s.BytesSent, CallsThisStep: d.calls, ToolCalls: s.Calls, CostUSD: s.CostUSD},
		Session: d.run.Session, Labels: d.run.Labels, Now: d.b.cfg.Now(), Security: sec, Authority: s.Authority}
	if p.tool != nil {
		p.req.Tool = p.tool.view(p.tier())
	} else {
		p.req.Tool = policy.ToolView{Name: p.call.Tool}
	}
	return nil
}

// hashArgs hashes canonical arguments. A sensitive one enters as a keyed hash, so
// that the trace cannot be searched for its value.
func (p *passage) hashArgs(text []byte) (string, error) {
	if p.tool != nil && len(p.tool.Sensitive) > 0 {
		hidden, err := p.hideSensitive()
		if err == nil {
			text, err = plain.Append(nil, hidden)
		}
		if err != nil {
			return "", fmt.Errorf("bridge: %s: arguments: %w", p.call.Tool, err)
		}
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// shown is the arguments as anyone but the tool sees them.
func (p *passage) shown() map[string]any {
	args := p.args
	if p.tool != nil && len(p.tool.Sensitive) > 0 {
		var err error
		if args, err = p.hideSensitive(); err != nil {
			return map[string]any{"error": err.Error()}
		}
	}
	clean, _ := p.b.cfg.Redactor.Value(args)
	if m, ok := clean.(map[string]any); ok {
		return m
	}
	return map[string]any{}
}

// hideSensitive replaces what the tool declares as sensitive by its type, length
// and keyed hash.
func (p *passage) hideSensitive() (map[string]any, error) {
	return scan.Sensitive(p.args, p.tool.Sensitive, func(v []byte) string {
		mac := hmac.New(sha256.New, p.d.run.Key)
		mac.Write(v)
		return hex.EncodeToString(mac.Sum(nil)[:8])
	})
}

// recall returns what the journal knows of the call, so that a block that runs
// again acts once.
func (p *passage) recall(context.Context) error {
	r := p.d.run.Journal.Recorded(p.id)
	p.record = r
	if r.Phase == Unseen {
		return nil
	}
	if r.Tool != p.call.Tool || r.ArgHash != p.hash {
		return interp.Unwind(fmt.Errorf("%w: call %s was %s with arguments %.12s, is now %s with %.12s",
			ErrDiverged, p.id, r.Tool, r.ArgHash, p.call.Tool, p.hash))
	}
	switch {
	case r.Phase == Refused:
		p.bad = r.Refusal.Bad
		return p.refused(r.Refusal.Decision)
	case r.Phase == Ended:
		p.outcome, p.done = *r.Outcome, true
	case r.Answer != nil && !r.Answer.Yes:
		return p.refused(declined(*r.Answer))
	}
	return nil
}

// begin makes the intent durable. After it the effect may have happened.
func (p *passage) begin(context.Context) error {
	if id := p.lease.ID; id != "" {
		l, err := p.peek(p.tier())
		switch {
		case err == nil:
			p.lease = l
		case p.tier() != policy.AskOnce:
			p.lease = leases.Lease{} // it was not what allowed the call
		default:
			return p.refused(policy.Decision{Gate: "lease", Rule: "ended", Reason: fmt.Sprintf("the lease %s ended before the call began: %v", id, err)})
		}
	}
	b := Begun{Call: p.id, Tool: p.tool.Name, ArgHash: p.hash, Lease: p.lease.ID, Attempt: p.record.Attempts + 1, At: p.req.Now,
		Durable: !p.tool.Idempotent}
	if p.tool.Caps.Has(policy.ExternalSend) {
		b.Sends = p.req.ArgsBytes
	}
	if err := p.d.run.Journal.Begin(b); err != nil {
		return interp.Unwind(fmt.Errorf("bridge: %s: the intent could not be recorded, so it was not done: %w", p.tool.Name, err))
	}
	return nil
}

func (p *passage) root() Root {
	return Root{space: p.d.run.Space, judged: p.targets, state: p.d.run.State}
}

func (p *passage) idempotencyKey() string {
	mac := hmac.New(sha256.New, p.d.run.Key)
	mac.Write([]byte(p.id + "\x00" + p.hash))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// perform runs the tool: this is the one line that touches the world.
func (p *passage) perform(ctx context.Context) error {
	p.permit = Permit{id: p.id, args: p.args, now: p.req.Now, secrets: p.b.cfg.Secrets, key: p.idempotencyKey(), root: p.root(), http: HTTP{client: p.b.cfg.HTTP}}
	start := time.Now()
	p.out, p.failure = p.tool.Run(ctx, &p.permit)
	p.outcome = Outcome{Call: p.id, Tool: p.tool.Name, Value: p.out.Value, Wrote: p.permit.wrote,
		External: !p.out.Local || p.permit.network, Millis: time.Since(start).Milliseconds()}
	if p.failure != nil {
		p.outcome.Failed, p.outcome.Value = p.failure.Error(), nil
		if p.outcome.Failed == "" {
			p.outcome.Failed = p.tool.Name + " gave an error without a text"
		}
	}
	return nil
}

// taint sets what the result brings in. It is joined to the conversation by End,
// before the script has the value.
func (p *passage) taint(context.Context) error {
	p.outcome.Taint = policy.TaintOf(p.tool.Caps, p.outcome.External, p.id).Join(p.permit.brought)
	return nil
}

// end records what became of the call. A cancelled run still records it: the
// effect may have happened.
func (p *passage) end(context.Context) error {
	if err := p.d.run.Journal.End(p.outcome); err != nil {
		return interp.Unwind(fmt.Errorf("bridge: %s: its end could not be recorded: %w", p.tool.Name, err))
	}
	return nil
}

// enter hands the recorded outcome to the script.
func (p *passage) enter() (any, error) {
	o := p.outcome
	if o.Taint.Untrusted() || o.Taint.Unvouched() {
		p.d.external = append(p.d.external, p.id)
	}
	if o.Injection != nil {
		p.d.warnings = append(p.d.warnings, warning{p.id, o.Tool, *o.Injection})
	}
	switch {
	case o.Hidden != "":
		return nil, fmt.Errorf("%s: its result is hidden: %s", o.Tool, o.Hidden)
	case o.Failed != "":
		return nil, &ToolError{Call: p.id, Tool: o.Tool, Msg: o.Failed, Err: p.failure}
	}
	return o.Value, nil
}

// A ToolError is a tool's own failure, with its cleaned text. In a run that was
// resumed or replayed the cause is not known and Err is nil.
type ToolError struct {
	Call, Tool, Msg string
	Err             error
}

func (e *ToolError) Error() string { return e.Tool + ": " + e.Msg }

func (e *ToolError) Unwrap() error { return e.Err }

// ask puts the question to a person where a gate asks.
func (p *passage) ask(ctx context.Context) error {
	if p.verdict.Verdict != policy.Ask {
		return nil
	}
	if p.b.cfg.Approver == nil {
		return p.refused(policy.Decision{Gate: p.verdict.Gate, Rule: p.verdict.Rule, Reason: p.verdict.Reason + "; nobody can be asked in this run"})
	}
	q, err := p.question(ctx)
	if err != nil {
		return err
	}
	a, err := p.answer(ctx, q)
	switch {
	case errors.Is(err, ErrPaused) || ctx.Err() != nil:
		return interp.Unwind(fmt.Errorf("%s: %w: approval %s: %s", p.tool.Name, err, q.ID, p.verdict.Reason))
	case err != nil:
		return err
	case !a.Yes:
		return p.refused(declined(a))
	case a.Scope == ForLease:
		return p.grant(q, a)
	}
	return nil
}

// answer takes the journal's answer to this very question, or asks.
func (p *passage) answer(ctx context.Context, q Question) (Answer, error) {
	if a := p.record.Answer; a != nil && p.record.Question != nil && p.record.Phase == Asking {
		if a.Digest != q.Digest {
			return Answer{}, p.refused(policy.Decision{Gate: "approver", Rule: "stale", Reason: "what was approved has changed since: the arguments, the tool or the policy are others now"})
		}
		return *a, nil
	}
	if p.record.Phase != Asking {
		if err := p.d.run.Journal.Asked(q); err != nil {
			return Answer{}, interp.Unwind(err)
		}
	}
	asked := p.b.cfg.Now()
	a, err := p.b.cfg.Approver.Approve(ctx, q)
	if errors.Is(err, ErrPaused) || ctx.Err() != nil {
		return Answer{}, errors.Join(ErrPaused, ctx.Err())
	}
	if err != nil {
		a = Answer{Reason: "the approver gave an error: " + err.Error()}
	}
	a.Digest, a.At = q.Digest, p.b.cfg.Now()
	a.Waited = a.At.Sub(asked)
	if err := p.d.run.Journal.Resolved(p.id, a); err != nil {
		return Answer{}, interp.Unwind(err)
	}
	return a, nil
}

func declined(a Answer) policy.Decision {
	d := policy.Decision{Gate: "approver", Reason: "a person said no"}
	if a.Reason != "" {
		d.Reason = a.Reason
	}
	return d
}

var _ interp.Caller = (*Door)(nil)
