package interp

import (
	"errors"
	"fmt"
	"strings"

	"github.com/codeact-dev/codeact/interp/wire"
	"github.com/codeact-dev/codeact/interp/worker"
)

// Why a block failed. Exec returns them inside a *BlockError; errors.Is finds them.
var (
	ErrSource           = errors.New("block too large")                // over a static limit; it did not run
	ErrSyntax           = errors.New("invalid block")                  // does not parse or resolve; it did not run
	ErrRuntime          = errors.New("script error")                   // the script failed
	ErrSteps            = errors.New("step limit reached")             // the only limit that always ends a block at the same step
	ErrOutput           = errors.New("output too large")               // a value given to final or a tool, or a last expression
	ErrCPU              = errors.New("processor time limit reached")   // the worker died
	ErrMemory           = errors.New("memory limit reached")           // the worker died, in most cases
	ErrWall             = errors.New("time limit reached")             // the worker was killed
	ErrSandboxViolation = errors.New("forbidden system call")          // the worker died; an attack or a bug
	ErrWorkerCrash      = errors.New("interpreter process died")       // for no known reason
	ErrProtocol         = errors.New("interpreter process lied")       // and was killed; an attack or a bug
	ErrSandbox          = errors.New("required confinement is absent") // no session was started
	ErrClosed           = errors.New("closed")                         // by Close, or by the death of the worker in an earlier Exec
)

// BlockError is a failed block. Its Error is the text that the model reads: valid UTF-8 of at most 4 KiB.
type BlockError struct {
	Err  error // a sentinel of this package, the error given to Unwind, or the cause of ctx's end
	Line int   // 1-based, in this block; 0 means unknown
	Col  int   // 1-based
	Msg  string
	Hint string // what to write instead; may be empty
}

// maxErrorText bounds BlockError.Error, in bytes.
const maxErrorText = 4 << 10

func (e *BlockError) Error() string {
	var b strings.Builder
	b.WriteString(e.Err.Error())
	if e.Line > 0 {
		fmt.Fprintf(&b, " at line %d, column %d", e.Line, e.Col)
	}
	if e.Msg != "" {
		b.WriteString(": " + e.Msg)
	}
	hint := ""
	if e.Hint != "" {
		hint = wire.Clip("\nhint: "+e.Hint, maxErrorText/4)
	}
	return wire.Clip(b.String(), maxErrorText-len(hint)) + hint
}

func (e *BlockError) Unwrap() error { return e.Err }

// unwindError marks an error that ends the block.
type unwindError struct{ err error }

func (e *unwindError) Error() string { return e.err.Error() }
func (e *unwindError) Unwrap() error { return e.err }

// Unwind marks err, returned from Caller.Call, as one that the script cannot catch: the block ends, and Exec returns an
// error in which errors.Is finds err. Unwind(nil) is nil.
func Unwind(err error) error {
	if err == nil {
		return nil
	}
	return &unwindError{err}
}

// Unwinds reports whether err was marked by Unwind.
func Unwinds(err error) bool {
	var u *unwindError
	return errors.As(err, &u)
}

// faults maps what a living worker may report.
var faults = map[wire.FaultKind]error{
	wire.FaultSource:  ErrSource,
	wire.FaultSyntax:  ErrSyntax,
	wire.FaultRuntime: ErrRuntime,
	wire.FaultSteps:   ErrSteps,
	wire.FaultOutput:  ErrOutput,
	wire.FaultMemory:  ErrMemory,
}

// deathError says what the death of a worker means for the writer of the block.
func deathError(d worker.Death, l Limits) *BlockError {
	switch d.Cause(l.Memory) {
	case worker.CauseCPU:
		return cpuError(l)
	case worker.CauseMemory:
		return &BlockError{Err: ErrMemory, Msg: fmt.Sprintf("the block needed more than %d MiB, or nested a value too deep", l.Memory>>20),
			Hint: "make smaller lists and strings, and do not nest values in a loop"}
	case worker.CauseSandbox:
		return &BlockError{Err: ErrSandboxViolation, Msg: "the interpreter was stopped"}
	}
	return &BlockError{Err: ErrWorkerCrash, Msg: "the block was stopped half-way", Hint: "write it in smaller steps"}
}

// cpuError is the end by the processor time, that the kernel or the host counted.
func cpuError(l Limits) *BlockError {
	return &BlockError{Err: ErrCPU, Msg: fmt.Sprintf("the block computed for more than %v", l.CPU),
		Hint: "loop over less, or let a tool do the work"}
}

// wallError is the end by the host's own clock.
func wallError(l Limits) *BlockError {
	return &BlockError{Err: ErrWall, Msg: fmt.Sprintf("the block ran for more than %v, its tool calls not counted", l.Wall),
		Hint: "loop over less; to compare, hash or print a value of values of values may never end"}
}
