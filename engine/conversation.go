package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/leases"
	"github.com/codeact-dev/codeact/policy"
)

// A Conversation is the fold of its events. Start makes one with an empty history
// and Load one with the history of a trace; there is no other way, so that there
// is none that has forgotten its taint. It is not safe for concurrent use.
type Conversation struct {
	id      string
	path    string // of the trace
	started *RunStarted
	state   *bridge.State
	records map[string]*bridge.Record
	places  map[string]bridge.Place      // of the calls that were decided, by id
	carries map[string]policy.Taint      // of the same
	given   policy.Taint                 // what the calls that began carried: any tool may have it from them
	counted policy.Taint                 // what the number of this step's calls, and its refusals, depend on
	learnt  map[string]policy.RecordSpec // by tool: how its results name things
	steps   []stepRecord
	usage   Usage

	calls        []*CallReport
	byCall       map[string]*CallReport
	denied       []Denial
	approvals    []*ApprovalReport
	blockedSends int
	lessons      []LessonReport

	prompted string // what the model reads instead of the goal; "" for the goal
	added    string // what it reads besides

	failing  string // tool and argument hash of the last failed call
	failures int    // how often in a row
	over     *LimitError
	ended    *RunCompleted
	paused   *RunPaused
}

// A stepRecord is one step as the prompt and a rebuilt worker need it.
type stepRecord struct {
	n           int
	reply       string
	code        string
	observation bridge.Content
	ran, lost   bool
}

func newConversation(id, path string) *Conversation {
	return &Conversation{id: id, path: path, records: make(map[string]*bridge.Record), places: make(map[string]bridge.Place), carries: make(map[string]policy.Taint),
		byCall: make(map[string]*CallReport), learnt: make(map[string]policy.RecordSpec),
		state: &bridge.State{Leases: leases.NewBook(), Authority: policy.NewAuthority(policy.AuthorityConfig{}),
			Begun: make(map[string][]time.Time), Tainted: make(map[string]bool), SentTo: make(map[string]int64), Unknown: make(map[bridge.Effect]string),
			Brought: make(map[bridge.Place]policy.Taint), SeenAt: make(map[int]policy.Taint)}}
}

// ID is the run's.
func (c *Conversation) ID() string { return c.id }

// Held is what every tool returned in this conversation.
func (c *Conversation) Held() policy.Taint { return c.state.Held }

// Seen is what of it entered the model's context.
func (c *Conversation) Seen() policy.Taint { return c.state.Seen }

// record returns the record of a call, a new one if need be.
func (c *Conversation) record(call string) *bridge.Record {
	r := c.records[call]
	if r == nil {
		r = &bridge.Record{}
		c.records[call] = r
	}
	return r
}

// apply folds one event into the conversation. It is the only thing that changes
// one.
func (c *Conversation) apply(e Event) error {
	switch e := e.(type) {
	case *RunStarted:
		return c.applyStart(e)
	case *StepStarted:
		c.steps, c.counted = append(c.steps, stepRecord{n: e.Step}), policy.Taint{}
	case *ModelCompleted:
		c.usage = c.usage.add(e.Usage)
		c.state.CostUSD = c.usage.CostUSD
		c.step().reply = e.Text
	case *CodeProposed:
		c.step().code = e.Code
		c.state.SeenAt[e.Step] = c.state.Seen
	case *CallDecided:
		c.applyDecided(&e.Decided)
	case *ApprovalRequested:
		c.applyAsked(&e.Question)
	case *ApprovalResolved:
		c.applyResolved(e)
	case *LeaseGranted:
		return c.state.Leases.Grant(e.Lease)
	case *CallStarted:
		return c.applyBegun(e.Begun)
	case *CallCompleted:
		c.applyOutcome(&e.Outcome)
	case *StepCompleted:
		s := c.step()
		s.observation, s.ran, s.lost = bridge.Recorded(e.Observation), e.Ran, e.Lost
		c.state.Seen = c.state.Seen.Join(e.Seen)
		if e.Error == secretInBlock {
			c.deny(fmt.Sprintf("%s/%d", c.id, e.Step), "(block)", policy.Decision{Gate: "secrets", Reason: e.Observation}, nil)
		}
	case *DraftOpened:
		c.state.Held, c.state.Seen = c.state.Held.Join(e.Held), c.state.Seen.Join(e.Held)
	case *LessonProposed:
		c.lessons = append(c.lessons, LessonReport{ID: e.ID, State: "proposed"})
	case *HookRan:
		c.applyHook(e)
	case *RunPaused:
		c.paused = e
	case *RunCompleted:
		c.ended = e
	case *TaintChanged, *LimitWarning, *WorkerDied:
		// They say what other events already did.
	}
	return nil
}

func (c *Conversation) step() *stepRecord {
	if len(c.steps) == 0 {
		c.steps = append(c.steps, stepRecord{})
	}
	return &c.steps[len(c.steps)-1]
}

func (c *Conversation) applyStart(e *RunStarted) error {
	c.started = e
	for _, t := range e.Tools {
		c.learnt[t.Name] = t.Record
	}
	c.state.Authority = policy.NewAuthority(policy.AuthorityConfig{User: append([]string{e.Goal}, e.User...),
		Destinations: e.Destinations, Identity: e.Identity})
	for _, l := range e.Leases {
		if err := c.state.Leases.Grant(l); err != nil {
			return err
		}
	}
	return nil
}

func (c *Conversation) applyDecided(d *bridge.Decided) {
	r := c.record(d.Call)
	r.Tool, r.ArgHash = d.Tool, d.ArgHash
	c.carries[d.Call] = d.Carries
	c.counted = c.counted.Join(d.Control)
	c.carry(d.Call, d.Position, d.Carries)
	if d.Decision.Verdict == policy.Deny {
		// A lease, a rate or a cap remembers the calls before as a tool does.
		c.counted = c.counted.Join(d.Carries)
		c.carry(d.Call, d.Position, c.given)
		c.given = c.given.Join(d.Control)
	}
	report := c.byCall[d.Call]
	if report == nil {
		report = &CallReport{ID: d.Call, Step: c.step().n, Tool: d.Tool, Args: d.Args}
		c.calls, c.byCall[d.Call] = append(c.calls, report), report
	}
	report.Decision, report.Gate, report.Rule = d.Decision.Verdict, d.Decision.Gate, d.Decision.Rule
	if d.Decision.Verdict != policy.Deny {
		return
	}
	r.Phase, r.Refusal = bridge.Refused, d
	report.Error = d.Decision.Reason
	c.failed(d.Tool, d.ArgHash)
	if !d.Bad {
		c.deny(d.Call, d.Tool, d.Decision, d.Gates)
	}
}

// carry joins what the result of a call can hold to the place where it stands.
func (c *Conversation) carry(call, position string, t policy.Taint) {
	at, known := c.places[call]
	if !known {
		at = bridge.Place{Step: c.step().n, Pos: position}
		c.places[call] = at
	}
	c.state.Brought[at] = c.state.Brought[at].Join(t)
}

// secretInBlock is the kind of error of a block that was refused for a secret in
// it.
const secretInBlock = "secret_in_block"

// deny lists a refusal. Sends that the interlock blocked are counted once each,
// whatever the other gates said.
func (c *Conversation) deny(call, tool string, d policy.Decision, gates []policy.Decision) {
	c.denied = append(c.denied, Denial{Call: call, Tool: tool, Gate: d.Gate, Rule: d.Rule, Reason: d.Reason})
	for _, g := range gates {
		if g.Gate == "interlock" && g.Verdict == policy.Deny {
			c.blockedSends++
			return
		}
	}
}

func (c *Conversation) applyAsked(q *bridge.Question) {
	r := c.record(q.Call)
	r.Phase, r.Question, r.Answer = bridge.Asking, q, nil // an earlier yes was to another question
	c.approvals = append(c.approvals, &ApprovalReport{ID: q.ID, Call: q.Call, Tool: q.Tool, State: "pending", At: q.Asked})
	if report := c.byCall[q.Call]; report != nil {
		report.Asked = true
	}
}

func (c *Conversation) applyResolved(e *ApprovalResolved) {
	r := c.record(e.Call)
	r.Answer = &e.Answer
	if r.Phase == bridge.Unseen {
		r.Phase = bridge.Asking // nobody could be asked, which is an answer too
	}
	c.state.Waited += e.Waited
	state := "approved"
	if !e.Yes {
		state = "denied"
		c.counted = c.counted.Join(c.carries[e.Call])
		c.carry(e.Call, "", c.given)
		reason := cmp.Or(e.Reason, "a person said no")
		c.deny(e.Call, r.Tool, policy.Decision{Gate: "approver", Rule: e.Rule, Reason: reason}, nil)
		c.failed(r.Tool, r.ArgHash)
		if report := c.byCall[e.Call]; report != nil {
			report.Error = reason
		}
	}
	for _, a := range c.approvals {
		if a.Call == e.Call {
			a.State = state
		}
	}
}

func (c *Conversation) applyBegun(b bridge.Begun) error {
	r := c.record(b.Call)
	r.Phase, r.Attempts = bridge.Running, b.Attempt
	c.given = c.given.Join(c.carries[b.Call])
	c.state.Calls++
	c.state.BytesSent += int64(b.Sends)
	for _, to := range b.To {
		c.state.SentTo[to] += int64(b.Sends)
	}
	c.state.Begun[b.Tool] = append(c.state.Begun[b.Tool], b.At)
	if report := c.byCall[b.Call]; report != nil {
		report.Executed = true
	}
	if b.Lease == "" {
		return nil
	}
	return c.state.Leases.Spend(b.Lease, c.state.Active(b.At))
}

func (c *Conversation) applyOutcome(o *bridge.Outcome) {
	r := c.record(o.Call)
	r.Phase, r.Outcome = bridge.Ended, o
	c.state.Held = c.state.Held.Join(o.Taint)
	c.carry(o.Call, "", o.Taint.Join(c.given)) // what was written with one tool can be read with another
	for host, n := range o.Sent {
		c.state.BytesSent += n
		c.state.SentTo[host] += n
	}
	effect := bridge.Effect{Tool: o.Tool, ArgHash: r.ArgHash}
	if o.Unknown {
		c.state.Unknown[effect] = o.Call
	} else {
		delete(c.state.Unknown, effect)
	}
	if o.Failed == "" && o.Hidden == "" {
		c.state.Authority.Learn(o.Call, o.Tool, c.learnt[o.Tool], o.Value)
		c.failing, c.failures = "", 0
	} else {
		c.failed(o.Tool, r.ArgHash)
	}
	switch {
	case o.Refused != "":
		c.deny(o.Call, o.Tool, policy.Decision{Gate: o.Refused, Reason: o.Failed}, nil)
	case o.Hidden != "":
		c.deny(o.Call, o.Tool, policy.Decision{Gate: "output", Reason: o.Hidden}, nil)
	}
	for _, w := range o.Wrote {
		c.state.Wrote(w)
	}
	if report := c.byCall[o.Call]; report != nil {
		report.External, report.Millis, report.Error, report.Unknown, report.Draft = o.External, o.Millis, o.Failed, o.Unknown, o.Draft
		report.Executed = o.Draft == "" && report.Executed
	}
}

// failed counts failures in a row of one call, errors and refusals alike.
func (c *Conversation) failed(tool, hash string) {
	key := tool + "\x00" + hash
	if key != c.failing {
		c.failing, c.failures = key, 0
	}
	c.failures++
	limit := c.limits().IdenticalCalls
	if c.failures >= limit && c.over == nil {
		c.over = &LimitError{Limit: "identicalCalls", Of: fmt.Sprint(limit),
			Why: fmt.Sprintf("%s failed %d times in a row with the same arguments", tool, c.failures)}
	}
}

func (c *Conversation) limits() Limits {
	if c.started == nil {
		return Limits{}.withDefaults()
	}
	return c.started.Limits.withDefaults()
}

// Outcome is the report of the conversation as it stands. The Status of one that
// neither ended nor waits for a person, as after a crash, is "".
func (c *Conversation) Outcome() Outcome {
	o := Outcome{RunID: c.id, Trace: c.path, Steps: len(c.steps), BlockedSends: c.blockedSends, Usage: c.usage, Output: json.RawMessage("null"),
		Denied: append([]Denial{}, c.denied...), Calls: []CallReport{}, Approvals: []ApprovalReport{}, Lessons: append([]LessonReport{}, c.lessons...),
		Taint: TaintReport{c.state.Held.Private(), c.state.Held.Untrusted(), c.state.Held.Unvouched()}}
	for _, r := range c.calls {
		o.Calls = append(o.Calls, *r)
	}
	for _, a := range c.approvals {
		o.Approvals = append(o.Approvals, *a)
	}
	switch {
	case c.ended != nil:
		o.Status, o.Reason, o.ExitCode = c.ended.Status, c.ended.Reason, c.ended.ExitCode
		if len(c.ended.Output) > 0 {
			o.Output = c.ended.Output
		}
	case c.paused != nil:
		o.Status, o.Reason, o.ExitCode = Paused, c.paused.Reason, Paused.ExitCode()
	}
	return o
}

// deniedCalls is the calls that were refused, and by whom, for a lesson.
func (c *Conversation) deniedCalls() (ids []string, text string) {
	var names []string
	for _, d := range c.denied {
		ids = append(ids, d.Call)
		names = append(names, fmt.Sprintf("%s was refused by %s", d.Tool, d.Gate))
	}
	return ids, strings.Join(names, "; ")
}
