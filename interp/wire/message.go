package wire

import "fmt"

// Kind says which Message a frame holds.
type Kind byte

// The messages in the order in which a session uses them.
const (
	KindSetup Kind = iota + 1
	KindHello
	KindOpen
	KindReady
	KindBlock
	KindCall
	KindReply
	KindBatch
	KindReplies
	KindPrint
	KindDone
)

var kindNames = [...]string{KindSetup: "setup", KindHello: "hello", KindOpen: "open", KindReady: "ready",
	KindBlock: "block", KindCall: "call", KindReply: "reply", KindBatch: "batch", KindReplies: "replies", KindPrint: "print", KindDone: "done"}

// String names the kind for errors.
func (k Kind) String() string {
	if k == 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("kind %d", byte(k))
	}
	return kindNames[k]
}

// Message is one of the messages below; no other type can be sent.
type Message interface{ kind() Kind }

// Setup is the host's first frame, sent before anything untrusted exists.
type Setup struct {
	Version   int    `cbor:"1,keyasint"`
	Limits    Limits `cbor:"2,keyasint"`
	Unguarded bool   `cbor:"3,keyasint"` // builtins without friendly bounds, to try what holds without them
}

// Hello is the worker's answer to Setup: what took hold of the confinement, and what did not with the reason.
type Hello struct {
	Version int      `cbor:"1,keyasint"`
	Held    []string `cbor:"2,keyasint"`
	Missed  []string `cbor:"3,keyasint"`
}

// Open starts the worker's one session. With a Canary the worker tries that one forbidden action instead, and answers
// Done if it is still there; its Fault is the refusal, and none says that the action was done.
type Open struct {
	Tools  []Signature `cbor:"1,keyasint"`
	Canary string      `cbor:"2,keyasint"`
}

// Ready is the worker's answer to an Open without a Canary: it lives, and has the session. A Hello says less, since one can
// wait in the socket after its sender's death.
type Ready struct{}

// Block asks the worker to run Source. ID is unpredictable, so that no frame for it can have been prepared.
type Block struct {
	ID     uint64 `cbor:"1,keyasint"`
	Source string `cbor:"2,keyasint"`
}

// Call asks the host for one tool call. N is 1, 2, 3 … within the block.
type Call struct {
	Block    uint64         `cbor:"1,keyasint"`
	N        int            `cbor:"2,keyasint"`
	Tool     string         `cbor:"3,keyasint"`
	Args     map[string]any `cbor:"4,keyasint"`
	Position string         `cbor:"5,keyasint"`
}

// Reply answers the Call of the same N. Failed: Error is a text that the script may catch. Unwind: the block must end.
type Reply struct {
	N      int    `cbor:"1,keyasint"`
	Value  any    `cbor:"2,keyasint"`
	Failed bool   `cbor:"3,keyasint"`
	Error  string `cbor:"4,keyasint"`
	Unwind bool   `cbor:"5,keyasint"`
}

// Bounds of a Batch and its Replies, which must each fit a frame. Its arguments share the bytes of one call.
const (
	MaxBatch        = 50      // calls
	BatchReplyBytes = 3 << 20 // values of all replies together
)

// Batch asks the host for several calls at once, whose N follow each other.
type Batch struct {
	Calls []Call `cbor:"1,keyasint"`
}

// Replies answers a Batch in its order. Unwind of any member is the end of the block.
type Replies struct {
	Replies []Reply `cbor:"1,keyasint"`
}

// Print is text that the block printed, sent at once so that it outlives the worker. Truncated says that the rest, of
// this text and of later ones, was dropped.
type Print struct {
	Block     uint64 `cbor:"1,keyasint"`
	Text      string `cbor:"2,keyasint"`
	Truncated bool   `cbor:"3,keyasint"`
}

// Done ends the block of the same ID. A nil Fault is success.
type Done struct {
	Block    uint64   `cbor:"1,keyasint"`
	HasValue bool     `cbor:"2,keyasint"`
	Value    any      `cbor:"3,keyasint"`
	HasFinal bool     `cbor:"4,keyasint"`
	Final    any      `cbor:"5,keyasint"`
	Steps    uint64   `cbor:"6,keyasint"`
	CPU      int64    `cbor:"7,keyasint"` // nanoseconds
	Warnings []string `cbor:"8,keyasint"`
	Fault    *Fault   `cbor:"9,keyasint"`
}

// FaultKind says why a block failed while its worker lives on.
type FaultKind string

// The faults that a worker may report. Death has other causes, which the host reads from the wait status.
const (
	FaultSource  FaultKind = "source"  // over a static limit: size, nesting, nodes, literal
	FaultSyntax  FaultKind = "syntax"  // does not parse or resolve
	FaultRuntime FaultKind = "runtime" // an error of the script
	FaultSteps   FaultKind = "steps"   // the step limit
	FaultOutput  FaultKind = "output"  // a value too large to leave the worker
	FaultMemory  FaultKind = "memory"  // an allocation that Go refused without dying
	FaultUnwind  FaultKind = "unwind"  // the host asked for the end of the block
)

// Fault is a failed block. Line and Col are 1-based; 0 means unknown.
type Fault struct {
	Kind FaultKind `cbor:"1,keyasint"`
	Line int       `cbor:"2,keyasint"`
	Col  int       `cbor:"3,keyasint"`
	Msg  string    `cbor:"4,keyasint"`
	Hint string    `cbor:"5,keyasint"`
}

func (Setup) kind() Kind   { return KindSetup }
func (Hello) kind() Kind   { return KindHello }
func (Open) kind() Kind    { return KindOpen }
func (Ready) kind() Kind   { return KindReady }
func (Block) kind() Kind   { return KindBlock }
func (Call) kind() Kind    { return KindCall }
func (Reply) kind() Kind   { return KindReply }
func (Batch) kind() Kind   { return KindBatch }
func (Replies) kind() Kind { return KindReplies }
func (Print) kind() Kind   { return KindPrint }
func (Done) kind() Kind    { return KindDone }
