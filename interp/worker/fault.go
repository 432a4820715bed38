package worker

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.starlark.net/starlark"

	"github.com/codeact-dev/codeact/interp/wire"
)

// maxFrames bounds the frames of a backtrace, innermost kept.
const maxFrames = 20

// allocationPanic matches Go's words for a size that cannot be allocated: "makeslice: cap out of range",
// "strings: Repeat output length overflow", "bytes.Buffer: too large".
var allocationPanic = regexp.MustCompile(`makeslice|Repeat output length|Buffer: too large|growslice`)

// fault classifies err. What the run itself recorded comes before what err says.
func (r *run) fault(err error) *wire.Fault {
	var static *staticError
	var panicked panicError
	var eval *starlark.EvalError
	f := &wire.Fault{Kind: wire.FaultRuntime, Msg: err.Error()}
	switch {
	case r.ended != nil && !r.finished:
		f.Kind, f.Msg = wire.FaultUnwind, r.ended.Error()
	case r.outOfSteps:
		f.Kind = wire.FaultSteps
		f.Msg = fmt.Sprintf("more than %d steps", r.limits.Steps)
		f.Hint = "loop over less, or let a tool do the search"
		r.locate(f, err, false)
	case errors.As(err, &static):
		f.Kind, f.Hint = static.kind, static.hint
		if static.pos.IsValid() {
			f.Line, f.Col = int(static.pos.Line), int(static.pos.Col)
		}
	case errors.As(err, &panicked):
		if panicked.outOfMemory() {
			f.Kind, f.Hint = wire.FaultMemory, "make smaller lists and strings"
		}
	case errors.As(err, &eval):
		f.Msg, f.Hint = eval.Msg, runtimeHint(eval.Msg)
		if errors.Is(err, wire.ErrSize) {
			f.Kind, f.Hint = wire.FaultOutput, "give out less at once: a part, a count or a summary"
		}
		r.locate(f, err, true)
	case errors.Is(err, wire.ErrSize): // of the last expression
		f.Kind, f.Hint = wire.FaultOutput, "do not run the block again: end one with a part, a count or a summary of the value"
	}
	f.Msg = wire.Clip(f.Msg, r.limits.ErrorBytes)
	return f
}

// locate sets the innermost position of this block and, where functions were called, adds the backtrace. The message
// may embed a value of megabytes, so it is cut first and the backtrace still fits.
func (r *run) locate(f *wire.Fault, err error, backtrace bool) {
	var eval *starlark.EvalError
	if !errors.As(err, &eval) {
		return
	}
	var lines []string
	for i := len(eval.CallStack) - 1; i >= 0; i-- {
		frame := eval.CallStack[i]
		if frame.Pos.Line == 0 {
			continue // a builtin
		}
		here := frame.Pos.Filename() == r.name
		if here && f.Line == 0 {
			f.Line, f.Col = int(frame.Pos.Line), int(frame.Pos.Col)
		}
		if len(lines) < maxFrames {
			where := ""
			if !here {
				where = " of " + frame.Pos.Filename()
			}
			lines = append(lines, fmt.Sprintf("\n  in %s, line %d%s", wire.Clip(frame.Name, 60), frame.Pos.Line, where))
		}
	}
	if backtrace && len(lines) > 1 {
		trace := wire.Clip(strings.Join(lines, ""), r.limits.ErrorBytes/2)
		f.Msg = wire.Clip(f.Msg, r.limits.ErrorBytes/8*7-len(trace)) + trace // an eighth is left for the host's words
	}
}

// runtimeHint adds what the library's message leaves out.
func runtimeHint(msg string) string {
	switch {
	case strings.Contains(msg, "called recursively"):
		return "recursion is not available: use a loop with a list as its stack"
	case strings.HasPrefix(msg, "unknown binary op: string + ") || strings.Contains(msg, "unknown binary op: int + string"):
		return "convert with str(x) first"
	}
	return ""
}
