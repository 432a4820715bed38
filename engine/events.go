package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/plain"
	"github.com/codeact-dev/codeact/leases"
	"github.com/codeact-dev/codeact/policy"
)

// An Event is one thing that happened. The set is closed: events.go lists it, and
// a line of another type does not load.
type Event interface{ event() string }

// The events, in the order in which a run first has them.
type (
	// RunStarted is the first event, written before any work.
	RunStarted struct {
		Task         string            `json:"task"`
		Goal         string            `json:"goal"`
		User         []string          `json:"user,omitempty"` // other text of the user: parameters, instructions of a trusted task
		Destinations []string          `json:"destinations,omitempty"`
		Identity     []string          `json:"identity,omitempty"`
		Labels       map[string]string `json:"labels,omitempty"`
		Principal    string            `json:"principal"`
		Mode         string            `json:"mode"`
		Model        string            `json:"model"`
		Limits       Limits            `json:"limits"`
		Leases       []leases.Lease    `json:"leases,omitempty"`
		Marker       string            `json:"marker"`
		Tools        []ToolPin         `json:"tools"`
		Security     policy.Security   `json:"security"`
		Policy       string            `json:"policy,omitempty"` // digest of the rules
		TaskDigest   string            `json:"task_digest,omitempty"`
		Sandbox      []string          `json:"sandbox"`       // what confines the interpreter
		Box          []string          `json:"box,omitempty"` // what confines commands: kind, network, and what was seen to hold
		Loosened     []string          `json:"loosened,omitempty"`
		Inbound      []Inbound         `json:"inbound,omitempty"` // what of the task reads like another's orders
		Versions     map[string]string `json:"versions"`
	}
	// ToolPin is a tool as it was when the run started.
	ToolPin struct {
		Name         string              `json:"name"`
		Server       string              `json:"server,omitempty"`
		Labels       []string            `json:"labels,omitempty"`
		Sandboxed    bool                `json:"sandboxed,omitempty"`
		Pinned       bool                `json:"pinned,omitempty"`
		Tier         policy.Tier         `json:"tier"`
		Capabilities policy.Capabilities `json:"capabilities"`
		Pin          string              `json:"pin"` // SHA-256 over name, description and schema
		Record       policy.RecordSpec   `json:"record,omitzero"`
	}
	// StepStarted opens a step: one reply of the model.
	StepStarted struct {
		Step int `json:"step"`
	}
	// ModelCompleted is the model's reply.
	ModelCompleted struct {
		Step  int    `json:"step"`
		Text  string `json:"text"`
		Model string `json:"model"`
		Usage Usage  `json:"usage"`
		Stop  string `json:"stop,omitempty"`
	}
	// CodeProposed is the block of a reply.
	CodeProposed struct {
		Step  int      `json:"step"`
		Code  string   `json:"code"`
		Tools []string `json:"tools,omitempty"` // no other can be called: see bridge.Preflight
	}
	// CallDecided is what the gates said of a call.
	CallDecided struct{ bridge.Decided }
	// ApprovalRequested is a question to a person.
	ApprovalRequested struct{ bridge.Question }
	// ApprovalResolved is the answer.
	ApprovalResolved struct {
		Call string `json:"call"`
		bridge.Answer
	}
	// LeaseGranted is a lease that an answer gave; those of the task stand in
	// RunStarted.
	LeaseGranted struct{ leases.Lease }
	// CallStarted is the intent of an effect, and the spend of its lease.
	CallStarted struct{ bridge.Begun }
	// CallCompleted is what became of a call that began.
	CallCompleted struct {
		bridge.Outcome
		Data json.RawMessage `json:"value,omitempty"`      // Outcome.Value, as package plain writes it
		Blob string          `json:"value_blob,omitempty"` // where Data stands instead, by SHA-256
	}
	// TaintChanged says that the conversation holds more than before.
	TaintChanged struct {
		Held policy.Taint `json:"held"`
		By   string       `json:"by"` // the call
	}
	// DraftOpened says that the run sends a draft of another: with it comes what that
	// one held.
	DraftOpened struct {
		Draft string       `json:"draft"`
		Call  string       `json:"call"` // which staged it
		Held  policy.Taint `json:"held"`
	}
	// LimitWarning says that a limit is 80 % used.
	LimitWarning struct {
		Limit string `json:"limit"`
		Used  string `json:"used"`
		Of    string `json:"of"`
	}
	// WorkerDied says that the interpreter was lost with a block.
	WorkerDied struct {
		Step     int    `json:"step"`
		Cause    string `json:"cause"`
		Security bool   `json:"security,omitempty"` // it tried what its sandbox forbids
	}
	// StepCompleted closes a step with what the model reads of it.
	StepCompleted struct {
		Step        int          `json:"step"`
		Observation string       `json:"observation"`
		Seen        policy.Taint `json:"seen"`
		Error       string       `json:"error,omitempty"`  // kind of the block's error
		Detail      string       `json:"detail,omitempty"` // its text, for a person; it may quote what the block read
		Lost        bool         `json:"lost,omitempty"`   // the block's variables are gone: it is not run again
		Ran         bool         `json:"ran,omitempty"`    // the block ran
	}
	// LessonProposed is what the run would pass on. Nothing is learned from it yet.
	LessonProposed struct {
		ID    string       `json:"id"`
		Kind  string       `json:"kind"`
		Text  string       `json:"text"`
		Calls []string     `json:"calls,omitempty"`
		Taint policy.Taint `json:"taint"`
	}
	// RunPaused ends the events of a run that waits for a person.
	RunPaused struct {
		Approval string `json:"approval"`
		Call     string `json:"call"`
		Reason   string `json:"reason"`
	}
	// RunCompleted is the last event of every other run.
	RunCompleted struct {
		Status       Status          `json:"status"`
		ExitCode     int             `json:"exit_code"`
		Reason       string          `json:"reason,omitempty"`
		Output       json.RawMessage `json:"output,omitempty"`
		Usage        Usage           `json:"usage"`
		BlockedSends int             `json:"blocked_sends"`
		Denied       []Denial        `json:"denied"`
	}
)

// Usage counts tokens and their cost.
type Usage struct {
	Input   int64   `json:"input"`
	Output  int64   `json:"output"`
	CostUSD float64 `json:"cost_usd"`
	Unknown bool    `json:"cost_unknown,omitempty"` // some reply had no known price or no usage
}

func (u Usage) add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.CostUSD + v.CostUSD, u.Unknown || v.Unknown}
}

func (*RunStarted) event() string        { return "run.started" }
func (*StepStarted) event() string       { return "step.started" }
func (*ModelCompleted) event() string    { return "model.completed" }
func (*CodeProposed) event() string      { return "code.proposed" }
func (*CallDecided) event() string       { return "call.decided" }
func (*ApprovalRequested) event() string { return "approval.requested" }
func (*ApprovalResolved) event() string  { return "approval.resolved" }
func (*LeaseGranted) event() string      { return "lease.granted" }
func (*CallStarted) event() string       { return "call.started" }
func (*CallCompleted) event() string     { return "call.completed" }
func (*TaintChanged) event() string      { return "taint.changed" }
func (*DraftOpened) event() string       { return "draft.opened" }
func (*LimitWarning) event() string      { return "limit.warning" }
func (*WorkerDied) event() string        { return "worker.died" }
func (*StepCompleted) event() string     { return "step.completed" }
func (*LessonProposed) event() string    { return "lesson.proposed" }
func (*RunPaused) event() string         { return "run.paused" }
func (*RunCompleted) event() string      { return "run.completed" }

// newEvent returns an empty event of a type, nil for an unknown one.
func newEvent(kind string) Event {
	for _, e := range []Event{new(RunStarted), new(StepStarted), new(ModelCompleted), new(CodeProposed), new(CallDecided),
		new(ApprovalRequested), new(ApprovalResolved), new(LeaseGranted), new(CallStarted), new(CallCompleted), new(TaintChanged),
		new(DraftOpened), new(LimitWarning), new(WorkerDied), new(StepCompleted), new(LessonProposed), new(HookRan), new(RunPaused), new(RunCompleted)} {
		if e.event() == kind {
			return e
		}
	}
	return nil
}

// maxInline is the size of a result from which it stands in a file beside the
// trace, in bytes.
const maxInline = 64 << 10

// blobs keeps large values by digest.
type blobs interface {
	Blob(data []byte) (digest string, err error)
}

// pack puts the value of a result into the event, or beside the trace.
func (e *CallCompleted) pack(b blobs) error {
	data, err := plain.Append(nil, e.Value)
	if err != nil {
		return err
	}
	if len(data) <= maxInline {
		e.Data = data
		return nil
	}
	e.Blob, err = b.Blob(data)
	return err
}

// unpack restores the value, with read for what stands beside the trace.
func (e *CallCompleted) unpack(read func(digest string) ([]byte, error)) error {
	data := []byte(e.Data)
	if e.Blob != "" {
		var err error
		if data, err = read(e.Blob); err != nil {
			return err
		}
	}
	if len(data) == 0 {
		return nil
	}
	v, err := plain.Decode(data)
	e.Value = v
	return err
}

// DecodeEvent reads the event of one line. read finds a value that stands beside
// the trace, by its digest.
func DecodeEvent(kind string, body []byte, read func(digest string) ([]byte, error)) (Event, error) {
	e := newEvent(kind)
	if e == nil {
		return nil, fmt.Errorf("engine: event %q is not known to this version", kind)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber() // arguments are reported as they were, also integers over 2^53
	if err := d.Decode(e); err != nil {
		return nil, fmt.Errorf("engine: event %s: %w", kind, err)
	}
	if c, ok := e.(*CallCompleted); ok {
		if err := c.unpack(read); err != nil {
			return nil, fmt.Errorf("engine: event %s: %w", kind, err)
		}
	}
	return e, nil
}

// A Denial is one refused call.
type Denial struct {
	Call   string `json:"call"`
	Tool   string `json:"tool"`
	Gate   string `json:"gate"`
	Rule   string `json:"rule,omitempty"`
	Reason string `json:"reason"`
}

// A CallReport is one call as a run's report lists it. Args are redacted.
type CallReport struct {
	ID       string         `json:"id"`
	Step     int            `json:"step"`
	Tool     string         `json:"tool"`
	Args     map[string]any `json:"args"`
	Decision policy.Verdict `json:"decision"` // as the gates left it
	Gate     string         `json:"gate,omitempty"`
	Rule     string         `json:"rule,omitempty"`
	Asked    bool           `json:"asked"`
	Executed bool           `json:"executed"`
	External bool           `json:"external"`
	Error    string         `json:"error,omitempty"`
	Unknown  bool           `json:"unknown,omitempty"` // the effect may have happened or not
	Draft    string         `json:"draft,omitempty"`   // of a call that was staged instead
	Millis   int64          `json:"ms"`
}

// An ApprovalReport is one question as a run's report lists it.
type ApprovalReport struct {
	ID    string    `json:"id"`
	Call  string    `json:"call"`
	Tool  string    `json:"tool"`
	State string    `json:"state"` // pending, approved or denied
	At    time.Time `json:"at"`
}
