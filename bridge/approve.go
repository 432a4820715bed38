package bridge

import (
	"context"
	"time"

	"github.com/codeact-dev/codeact/policy"
)

// An Approver asks a person.
//
// It returns an error that wraps [ErrPaused] when nobody can answer now: the
// block unwinds, the question stays open, and the same call asks the journal for
// the answer when the run is resumed. Any other error refuses the call. It must
// never answer yes by itself.
type Approver interface {
	Approve(ctx context.Context, q Question) (Answer, error)
}

// A BatchApprover is an Approver that can be asked several questions at once, as
// the calls of one parallel need them answered.
//
// It returns one answer a question, in their order. An error holds for all of
// them, as that of Approve does for one.
type BatchApprover interface {
	Approver
	ApproveAll(ctx context.Context, qs []Question) ([]Answer, error)
}

// A Question is what a person must see in order to answer. What is in it is
// already redacted; what shows it must still escape it.
type Question struct {
	ID           string               `json:"id"` // of the approval
	Call         string               `json:"call"`
	Tool         string               `json:"tool"`
	Server       string               `json:"server,omitempty"`
	Pinned       bool                 `json:"pinned,omitempty"` // its definition is what the operator approved
	Args         []Arg                `json:"args"`             // every argument, in the declared order
	Capabilities []string             `json:"capabilities"`
	Decision     policy.Decision      `json:"decision"` // why it asks
	Gates        []policy.Decision    `json:"gates"`    // every gate that asks
	Paths        []policy.PathFact    `json:"paths,omitempty"`
	URLs         []policy.URLFact     `json:"urls,omitempty"`
	Held         policy.Taint         `json:"held"`
	Unnamed      []policy.UnnamedLeaf `json:"unnamed,omitempty"` // destinations that nobody named, and what the user wrote nearest to each
	Diff         string               `json:"diff,omitempty"`
	Shell        *policy.ShellFact    `json:"shell,omitempty"`   // what the command was classified as; a hint
	Files        []Operand            `json:"files,omitempty"`   // files that the command would run, as they were when it asked
	Unknown      bool                 `json:"unknown,omitempty"` // an earlier attempt began and its outcome is not known
	Lease        string               `json:"lease,omitempty"`   // what a lease would cover; "" when none is offered
	Digest       string               `json:"digest"`            // SHA-256 over all that a yes is bound to: arguments, files, diff, tool, policy, asking gates
	Asked        time.Time            `json:"asked"`
	Expires      time.Time            `json:"expires"`
}

// An Operand is a file that a command would run. A yes is bound to what it holds.
type Operand struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"` // hex; "" of one that could not be read
}

// An Arg is one argument of a question.
type Arg struct {
	Name        string       `json:"name"`
	Value       string       `json:"value"` // canonical JSON; of a sensitive one its type, length and keyed hash
	Sensitive   bool         `json:"sensitive,omitempty"`
	Destination bool         `json:"destination,omitempty"`
	Taint       policy.Taint `json:"taint"`
	Seen        []string     `json:"seen,omitempty"` // where the value stands in earlier results
}

// A Scope says how far a yes reaches.
type Scope uint8

// The scopes of a yes.
const (
	ForCall  Scope = iota // this call alone
	ForLease              // the lease that the question describes
)

// An Answer is a person's word. The zero Answer is no.
type Answer struct {
	Yes    bool          `json:"yes"`
	Scope  Scope         `json:"scope,omitempty"`
	By     string        `json:"by,omitempty"`
	Reason string        `json:"reason,omitempty"`
	Rule   string        `json:"rule,omitempty"` // why the bridge said no by itself: question, stale, expired, lease-ended; else ""
	Digest string        `json:"digest"`         // of the question that was answered
	At     time.Time     `json:"at"`
	Waited time.Duration `json:"waited,omitempty"`
}
