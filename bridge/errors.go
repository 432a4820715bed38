package bridge

import (
	"errors"
	"fmt"

	"github.com/codeact-dev/codeact/policy"
)

// Why a call did not run.
var (
	// ErrDenied: a gate or a person refused the call. A script can catch it.
	ErrDenied = errors.New("denied")

	// ErrBadCall: there is no such tool, or it does not take these arguments. A
	// script can catch it; it is a mistake, not a refusal.
	ErrBadCall = errors.New("bad call")

	// ErrPaused: a person has not answered yet. It unwinds the block.
	ErrPaused = errors.New("waiting for approval")

	// ErrDiverged: the same block, run again, asked for something else than the
	// journal recorded. It unwinds the block.
	ErrDiverged = errors.New("the block diverged from its record")

	// ErrStepCalls: a block went on calling long after its cap. It unwinds the
	// block.
	ErrStepCalls = errors.New("too many calls in one step")

	// ErrOutcomeUnknown: the other side of a tool was lost in the middle of a call,
	// so that the effect may or may not have happened. A tool's error wraps it; the
	// same call is then not repeated without a person's yes.
	ErrOutcomeUnknown = errors.New("it may have happened or not")

	// ErrStopped: a hook asked for the end of the run. It unwinds the block.
	ErrStopped = errors.New("stopped by a hook")
)

// A CallError says which gate stopped which call. It wraps one of the sentinels.
type CallError struct {
	Call     string
	Tool     string
	Decision policy.Decision
	Err      error
}

// Error is what the model reads: who refused, why, and what else it can do.
func (e *CallError) Error() string {
	by := e.Decision.Gate
	if e.Decision.Rule != "" {
		by += " (" + e.Decision.Rule + ")"
	}
	if errors.Is(e.Err, ErrBadCall) {
		return fmt.Sprintf("%s: %s", e.Tool, e.Decision.Reason)
	}
	return fmt.Sprintf("%s: %v by %s: %s", e.Tool, e.Err, by, e.Decision.Reason)
}

func (e *CallError) Unwrap() error { return e.Err }
