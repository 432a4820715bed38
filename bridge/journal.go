package bridge

import (
	"time"

	"github.com/codeact-dev/codeact/bridge/scan/redact"
	"github.com/codeact-dev/codeact/leases"
	"github.com/codeact-dev/codeact/policy"
)

// A Journal remembers one conversation. Its owner appends an event for each of
// these and folds it into the [State] before it returns: the bridge reads that
// state and never writes it.
//
// An error of any of them ends the block: what cannot be recorded must not
// happen.
type Journal interface {
	// Recorded returns what is known of a call. A call that was never seen is
	// the zero Record.
	Recorded(call string) Record

	// Decided appends what the gates said. It is the last word on a call that
	// they refuse.
	Decided(Decided) error

	// Asked appends a question, durably, before anyone is asked.
	Asked(Question) error

	// Resolved appends the answer to a question, durably, before it is acted on;
	// and the bridge's own no to a call that the gates let through.
	Resolved(call string, a Answer) error

	// Granted appends a lease that an answer gave.
	Granted(leases.Lease) error

	// Begin appends the intent of an effect. It is the spend of lease and rate.
	// Where b.Durable is set the intent is on disk before Begin returns.
	Begin(b Begun) error

	// End appends what became of the call. The taint that it brings is joined to
	// the state before End returns.
	End(o Outcome) error
}

// A Phase says how far a recorded call came.
type Phase uint8

// The phases of a recorded call.
const (
	Unseen  Phase = iota
	Asking        // a person was asked; the answer, if there is one, is in Record.Answer
	Refused       // the gates or a person refused it, or it was a bad call
	Running       // begun and never ended: its outcome is unknown
	Ended
)

// A Record is what a journal knows of one call.
type Record struct {
	Phase    Phase
	Tool     string
	ArgHash  string
	Attempts int // how often it was begun
	Question *Question
	Answer   *Answer
	Refusal  *Decided // of a call that was refused
	Outcome  *Outcome // of a call that ended
}

// Decided is what the gates said of a call, with the facts that they judged.
type Decided struct {
	Call     string            `json:"call"`
	Tool     string            `json:"tool"`
	Args     map[string]any    `json:"args"` // sensitive parameters and secrets replaced
	ArgHash  string            `json:"arg_hash"`
	Position string            `json:"position,omitempty"` // block:line:col, as the worker claims
	Decision policy.Decision   `json:"decision"`
	Gates    []policy.Decision `json:"gates"`
	Notes    []string          `json:"notes,omitempty"` // warnings and audit annotations of policies and hooks
	Held     policy.Taint      `json:"held"`
	Carries  policy.Taint      `json:"carries"` // what its arguments and control flow hold: its result may give it back
	Paths    []policy.PathFact `json:"paths,omitempty"`
	URLs     []policy.URLFact  `json:"urls,omitempty"`
	Shell    *policy.ShellFact `json:"shell,omitempty"`
	Control  policy.Taint      `json:"control"` // what the control flow that led to the call holds
	Lease    string            `json:"lease,omitempty"`
	Bad      bool              `json:"bad,omitempty"` // a mistake of the script, not a refusal
}

// Begun is the intent of an effect.
type Begun struct {
	Call    string    `json:"call"`
	Tool    string    `json:"tool"`
	ArgHash string    `json:"arg_hash"`
	Lease   string    `json:"lease,omitempty"`
	Attempt int       `json:"attempt"`
	Sends   int       `json:"sends,omitempty"` // bytes of the arguments, for a tool that sends
	To      []string  `json:"to,omitempty"`    // where it sends them: hosts of URLs, else destinations; a sensitive one by its keyed hash
	At      time.Time `json:"at"`
	Durable bool      `json:"durable"`
}

// An Outcome is what became of a call that began. Its value and error are clean:
// they are what script, state, trace and model see.
type Outcome struct {
	Call      string           `json:"call"`
	Tool      string           `json:"tool"`
	Value     any              `json:"-"` // plain data; the journal encodes it with package plain
	Failed    string           `json:"failed,omitempty"`
	External  bool             `json:"external"`
	Taint     policy.Taint     `json:"taint"`
	Bytes     int              `json:"bytes"`           // size of the value as canonical JSON
	Spill     string           `json:"spill,omitempty"` // where the whole value stands, as "@spill/…"
	Findings  []redact.Finding `json:"findings,omitempty"`
	Injection *Suspicion       `json:"injection,omitempty"`
	Wrote     []Written        `json:"wrote,omitempty"`
	Hidden    string           `json:"hidden,omitempty"`  // why a hook or a scan hid the value
	Unknown   bool             `json:"unknown,omitempty"` // the other side was lost before it answered: the effect may have happened
	Draft     string           `json:"draft,omitempty"`   // of a staged call: nothing was sent
	Sent      map[string]int64 `json:"sent,omitempty"`    // bytes that a command sent through the proxy of its box, by host
	Refused   string           `json:"refused,omitempty"` // who refused while the tool ran: egress or workspace
	Stop      string           `json:"stop,omitempty"`    // why a hook ends the run with this call
	Notes     []string         `json:"notes,omitempty"`   // of hooks that saw the result
	Millis    int64            `json:"ms"`
}

// A Suspicion is what the injection scan found in a result. It is a warning, not
// a control.
type Suspicion struct {
	Score float64  `json:"score"` // 0 to 1
	Rules []string `json:"rules"`
}

// A State is what a conversation's events fold to, as the gates read it. The
// owner of the journal changes it, on the same goroutine as the calls.
type State struct {
	Held, Seen policy.Taint           // what tools returned, and what the model has read of it
	Brought    map[Place]policy.Taint // what the results of the calls at a place hold
	SeenAt     map[int]policy.Taint   // by step: what the model had read when it wrote the block
	Authority  *policy.Authority
	Leases     *leases.Book
	Begun      map[string][]time.Time // by tool, in order; as far back as a rate looks
	Calls      int
	BytesSent  int64
	CostUSD    float64
	Waited     time.Duration     // spent waiting for people: lease time stands still
	SentTo     map[string]int64  // bytes, by Begun.To
	Unknown    map[Effect]string // by what was called: the id of the last call, where its outcome is not known
	Tainted    map[string]bool   // paths and SHA-256 sums of files written while third-party content was held
	Made       map[string]bool   // paths of files that this run made and that are there still

	// Untrusted reports whether an earlier run wrote the content with this hex
	// SHA-256 while it held third-party content; nil knows of no earlier run. It is
	// no part of the fold: what it answered stands in the Outcome's taint.
	Untrusted func(sha256 string) bool

	// Elsewhere returns when other runs of this principal began a tool, since a
	// moment; nil knows of no other run. An error refuses the call.
	Elsewhere func(tool string, since time.Time) ([]time.Time, error)
}

// An Effect is a tool with its arguments, by the hash that the journal has of them.
type Effect struct{ Tool, ArgHash string }

// Active is the time of the lease clock: now, less what was spent waiting for
// people.
func (s *State) Active(now time.Time) time.Time { return now.Add(-s.Waited) }
