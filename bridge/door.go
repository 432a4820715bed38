package bridge

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/codeact-dev/codeact/bridge/egress"
	"github.com/codeact-dev/codeact/bridge/plain"
	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/interp"
	"github.com/codeact-dev/codeact/leases"
	"github.com/codeact-dev/codeact/policy"
)

// A Door serves one step of one run: it counts the step's calls and carries each
// through the walk. It is safe for concurrent use, one call or batch at a time.
type Door struct {
	b      *EffectBridgeAdapter
	run    Run
	step   int
	flight Preflight

	mu       sync.Mutex
	calls    int           // guarded by mu; this step's
	passed   map[claim]int // guarded by mu; how often each was made
	external []string      // guarded by mu; ids of this step's calls that brought third-party content in
	warnings []warning     // guarded by mu; what the injection scan found in this step
}

// maxName bounds the name of a tool that does not exist, in bytes: as long as a
// tool's may be.
const maxName = 64

type warning struct {
	call, tool string
	Suspicion
}

// A passage is one call on its way through the walk.
type passage struct {
	d    *Door
	b    *EffectBridgeAdapter
	id   string
	n    int // within the step, from 1
	call interp.Call
	tool *Tool
	turn policy.Taint // what the other calls of its batch would bring in, by what they declare

	given  string // hash of the arguments as the script gave them: what the journal knows the call by
	record Record

	// Of the arguments as they are now: take sets them all.
	args    map[string]any
	masked  map[string]any // without what is sensitive
	public  map[string]any // without secrets too; nil until shown is asked
	text    []byte         // canonical JSON of args
	hash    string         // of masked
	quoted  []string       // sensitive values, to be taken out of reasons
	level   policy.Tier    // what the tool demands for them
	req     policy.Request
	targets map[string]workspace.Target // by the text of the argument
	lease   leases.Lease
	scripts []string // that its commands run, as written

	decisions []policy.Decision
	notes     []string
	bad       bool // the call is a mistake, not refused
	unknown   bool // there is no such tool
	stop      error
	changed   map[string]any // by a hook; judged next
	rewritten bool           // the arguments are a hook's
	verdict   policy.Decision
	asked     *Question // nil when nobody is to be asked
	answer    *Answer   // nil until someone answered
	staged    bool      // a draft stands for the effect

	permit    Permit
	out       Output
	failure   error
	outcome   Outcome
	concealed string // what its HTML hides from a reader; only the injection scan reads it
	done      bool   // the outcome is known: the rest of the walk is not for this call
	err       error  // why the call ended; see interp.Unwind
}

// A step of the walk. Each may end the call with an error, or with done.
type step struct {
	name   string
	take   func(*passage, context.Context) error
	cleans bool // it makes a result fit to be shown: if it fails, nothing is shown
}

// walk is the way of one call, from top to bottom. Live, resumed and replayed
// runs share it: a call that the journal knows leaves it at the first step.
var walk = []step{
	{"journal", (*passage).recall, false},
	{"gates", (*passage).judge, false},
	{"question", (*passage).pose, false},
	{stepAsk, (*passage).ask, false},
	{"answer", (*passage).heed, false},
	{stepBegin, (*passage).begin, false},
	{"stage", (*passage).stage, false},
	{stepRun, (*passage).perform, false},
	{"bound", (*passage).bound, true},
	{"html", (*passage).stripHTML, true},
	{"redact", (*passage).redact, true},
	{"inject", (*passage).suspect, true},
	{"visible", (*passage).reveal, true},
	{"after", (*passage).after, true},
	{"spill", (*passage).spill, true},
	{"taint", (*passage).taint, false},
	{"end", (*passage).end, false},
}

// step takes one step. Code that is linked in may panic on what a script or a
// third party wrote: that must end the call, and not the host.
func (p *passage) step(ctx context.Context, s step) (err error) {
	defer func() {
		switch v := recover(); {
		case v == nil:
		case s.cleans:
			p.hide("it could not be made fit to be shown, in the step " + s.name)
		default:
			err = interp.Unwind(fmt.Errorf("bridge: %s: the step %s panicked: %v", p.call.Tool, s.name, v))
		}
	}()
	return s.take(p, ctx)
}

// without reports whether a test left this control out.
func (p *passage) without(name string) bool { return p.b.testOnlyWithout == name }

// recall returns what the journal knows of the call, so that a block that runs
// again acts once.
func (p *passage) recall(context.Context) error {
	r := p.d.run.Journal.Recorded(p.id)
	p.record = r
	if r.Phase == Unseen {
		return nil
	}
	if r.Tool != p.call.Tool || r.ArgHash != p.given {
		return interp.Unwind(fmt.Errorf("%w: call %s was %s with arguments %.12s, is now %s with %.12s",
			ErrDiverged, p.id, r.Tool, r.ArgHash, p.call.Tool, p.given))
	}
	switch {
	case r.Phase == Refused:
		p.bad = r.Refusal.Bad
		return p.deny(r.Refusal.Decision)
	case r.Phase == Ended:
		p.outcome, p.done = *r.Outcome, true
	case r.Answer != nil && !r.Answer.Yes:
		return p.refused(declined(*r.Answer))
	}
	return nil
}

// begin makes the intent durable. After it the effect may have happened.
func (p *passage) begin(ctx context.Context) error {
	if err := p.still(ctx); err != nil {
		return err
	}
	b := Begun{Call: p.id, Tool: p.tool.Name, ArgHash: p.given, Lease: p.lease.ID, Attempt: p.record.Attempts + 1, At: p.b.cfg.Now(),
		Durable: !p.tool.Idempotent}
	if p.tool.Caps.Has(policy.ExternalSend) && !p.tool.Staged {
		b.Sends, b.To = p.req.ArgsBytes, p.to()
	}
	if err := p.d.run.Journal.Begin(b); err != nil {
		return interp.Unwind(fmt.Errorf("bridge: %s: the intent could not be recorded, so it was not done: %w", p.tool.Name, err))
	}
	return nil
}

// still makes sure that what was judged, perhaps a day ago, is what would be done
// now.
func (p *passage) still(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return interp.Unwind(fmt.Errorf("bridge: %s: not begun: %w", p.tool.Name, err))
	}
	if now, err := plain.Append(nil, p.args); err != nil || !bytes.Equal(now, p.text) {
		return interp.Unwind(fmt.Errorf("bridge: %s: its arguments changed after they were judged: a hook, or the tool's Approval or Preview, wrote to them", p.tool.Name))
	}
	if d := p.rateAt(p.b.cfg.Now()); d.Verdict == policy.Deny && !p.without("rate") {
		return p.decline("rate", d.Reason) // others of its batch, or of the time of waiting, came first
	}
	if p.lease.ID == "" {
		return nil
	}
	l, err := p.peek(p.b.cfg.Now())
	switch {
	case err == nil:
		p.lease = l
	case p.level != policy.AskOnce:
		p.lease = leases.Lease{} // it was not what allowed the call
	default:
		return p.decline("lease-ended", fmt.Sprintf("the lease %s ended before the call began: %v", p.lease.ID, err))
	}
	return nil
}

// to says where a call sends: to the hosts of its URLs, to its other destinations,
// each in one spelling, or only to whatever its tool stands for.
func (p *passage) to() []string {
	var to []string
	for _, u := range p.req.URLs {
		to = append(to, u.Host)
	}
	for _, name := range p.tool.Destinations {
		if !slices.Contains(p.tool.URLs, name) && !slices.Contains(p.tool.Paths, name) {
			for _, text := range texts(p.masked[name]) {
				to = append(to, receivers(text)...)
			}
		}
	}
	slices.Sort(to)
	if to = slices.Compact(to); len(to) == 0 {
		return []string{p.tool.Name}
	}
	return to
}

// receivers are those that a text names, each in one spelling, so that a budget of
// theirs is one: the host of a URL, the addresses of mail, or the text as it is, in
// lower case.
func receivers(text string) []string {
	text = strings.TrimSpace(text)
	if u, err := egress.ParseURL(text); err == nil {
		return []string{u.Host}
	}
	text = strings.ToLower(strings.TrimRight(text, "., \t"))
	if address, ok := strings.CutPrefix(text, "mailto:"); ok {
		text, _, _ = strings.Cut(address, "?")
		if plain, err := url.PathUnescape(text); err == nil {
			text = plain
		}
	}
	list, err := mail.ParseAddressList(rootDots.Replace(text))
	if err != nil {
		return []string{strings.TrimRight(strings.TrimSpace(text), ".")}
	}
	var to []string
	for _, a := range list {
		to = append(to, a.Address)
	}
	return to
}

// rootDots end the name of a host, which is the same without.
var rootDots = strings.NewReplacer(".>", ">", ".,", ",", ". ", " ")

func (p *passage) root() Root {
	return Root{space: p.d.run.Space, judged: p.targets, state: p.d.run.State, turn: p.turn}
}

func (p *passage) idempotencyKey() string {
	mac := hmac.New(sha256.New, p.d.run.Key)
	mac.Write([]byte(p.id + "\x00" + p.hash))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// perform runs the tool and notes what it really touched.
func (p *passage) perform(ctx context.Context) error {
	if p.staged {
		return nil
	}
	p.permit = Permit{id: p.id, args: p.args, now: p.req.Now, secrets: p.b.cfg.Secrets, key: p.idempotencyKey, root: p.root(), http: HTTP{client: p.b.cfg.HTTP}, box: p.b.cfg.Box}
	start := time.Now()
	failed := p.watched(ctx)
	p.outcome = Outcome{Call: p.id, Tool: p.tool.Name, Value: p.out.Value, Failed: failed, Wrote: p.permit.wrote, Sent: p.permit.sent,
		External: !p.out.Local || p.permit.network, Millis: time.Since(start).Milliseconds()}
	if p.failure != nil {
		p.outcome.Value, p.outcome.Refused, p.outcome.Unknown = nil, refusedBy(p.failure), errors.Is(p.failure, ErrOutcomeUnknown) || ctx.Err() != nil && !p.tool.Idempotent
	}
	return nil
}

// refusedBy names the guard that refused, where a tool's failure is a refusal: a
// run must not look as if nothing had been.
func refusedBy(err error) string {
	switch {
	case errors.Is(err, egress.ErrRefused):
		return "egress"
	case errors.Is(err, workspace.ErrReadOnly), errors.Is(err, workspace.ErrDenied), errors.Is(err, workspace.ErrOutside):
		return "workspace"
	}
	return ""
}

// watched runs the tool. What an unconfined one changes in the workspace meanwhile is
// recorded as written by it: nobody else tells.
func (p *passage) watched(ctx context.Context) (failed string) {
	if !p.tool.Unconfined || p.d.run.Space == nil {
		return p.act(ctx)
	}
	p.permit.unconfined = true
	root := p.permit.Root()
	before, err := root.survey(false)
	if err != nil {
		p.failure = fmt.Errorf("the workspace could not be looked at, so nothing was run: %w", err)
		return p.failure.Error()
	}
	failed = p.act(ctx)
	if err := root.changed(before); err != nil && p.failure == nil {
		p.failure, failed = err, err.Error()
	}
	return failed
}

// act runs the tool: its second line is the one that touches the world. A tool
// that panics has failed, and what it had done by then is recorded as ever.
func (p *passage) act(ctx context.Context) (failed string) {
	defer func() {
		if v := recover(); v != nil {
			failed = fmt.Sprintf("it panicked: %v", v)
			p.out, p.failure = Output{}, errors.New(failed)
		}
	}()
	if p.out, p.failure = p.tool.Run(ctx, &p.permit); p.failure == nil {
		return ""
	}
	if failed = p.failure.Error(); failed == "" {
		failed = p.tool.Name + " gave an error without a text"
	}
	return failed
}

// taint sets what the result brings in, and what the files that were written hold
// of it. It is joined to the conversation by End, before the script has the value.
func (p *passage) taint(context.Context) error {
	o := &p.outcome
	o.Taint = policy.TaintOf(p.tool.Caps, o.External, p.id).Join(p.permit.brought)
	for i := range o.Wrote {
		o.Wrote[i].Untrusted = o.Wrote[i].Untrusted || o.Taint.Untrusted() || p.permit.network
	}
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
	case o.Stop != "":
		return nil, interp.Unwind(fmt.Errorf("%w: %s", ErrStopped, o.Stop))
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
