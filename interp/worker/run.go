package worker

import (
	"context"
	"errors"
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/codeact-dev/codeact/interp/wire"
)

// dialect is fixed: a change of it changes what recorded blocks mean. Recursion stays off, it bounds the Go stack.
var dialect = &syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true}

// valueName receives a block's last bare expression. No source can spell it.
const valueName = "$value"

// run is one block on its way. Builtins find it on their thread.
type run struct {
	*session
	block      wire.Block
	name       string // file name in positions; unique in the session
	out        printer
	calls      int
	steps      uint64
	outOfSteps bool
	warnings   []string

	value    any
	hasValue bool
	final    any
	finished bool
	ended    error // set once by final, an unwinding call or a lost host; no call is made after it
}

const runKey = "run"

func runOf(thread *starlark.Thread) *run { return thread.Local(runKey).(*run) }

// panicError is a Go panic in the parser, the interpreter or a builtin.
type panicError struct{ cause any }

func (p panicError) Error() string { return fmt.Sprintf("internal error: %v", p.cause) }

// outOfMemory says that Go refused an allocation by a panic, as for list(range(1<<62)), and did not die of it.
func (p panicError) outOfMemory() bool {
	return allocationPanic.MatchString(fmt.Sprint(p.cause))
}

// protect checks and runs the block, and turns a panic into an error.
func (r *run) protect(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicError{p}
		}
	}()
	file, err := r.check(r.block.Source)
	if err != nil {
		return err
	}
	return r.interpret(ctx, file)
}

// interpret runs a checked file. ExecREPLChunk keeps the globals and, unlike ExecFile, never freezes: freezing a deep or
// shared value can hang or overflow the stack.
func (r *run) interpret(ctx context.Context, file *syntax.File) error {
	thread := &starlark.Thread{Name: "block", Print: func(t *starlark.Thread, msg string) {
		if err := r.out.print(msg); err != nil {
			t.Cancel(r.end(err).Error())
		}
	}}
	thread.SetLocal(runKey, r)
	thread.SetMaxExecutionSteps(r.limits.Steps)
	thread.OnMaxSteps = func(t *starlark.Thread) {
		r.outOfSteps = true
		t.Cancel("too many steps")
	}
	stop := context.AfterFunc(ctx, func() { thread.Cancel("the host has ended the block") })
	defer stop()
	defer func() { r.steps = thread.Steps; delete(r.globals, valueName) }()

	takeLast(file)
	if err := starlark.ExecREPLChunk(file, thread, r.globals); err != nil {
		return err
	}
	return r.keepValue(r.globals[valueName])
}

// takeLast turns a last bare expression into an assignment to valueName.
func takeLast(file *syntax.File) {
	n := len(file.Stmts)
	if n == 0 {
		return
	}
	last, ok := file.Stmts[n-1].(*syntax.ExprStmt)
	if !ok {
		return
	}
	start := syntax.Start(last)
	file.Stmts[n-1] = &syntax.AssignStmt{OpPos: start, Op: syntax.EQ,
		LHS: &syntax.Ident{NamePos: start, Name: valueName}, RHS: last.X}
}

// keepValue converts the value of the last expression. One that is not data, such as a function, was hardly meant to be
// shown, so that it is a warning. One over its limit is an error, which must say that the block's effects have happened.
func (r *run) keepValue(v starlark.Value) error {
	if v == nil || v == starlark.None {
		return nil
	}
	plain, err := toPlain(v, r.limits.FinalBytes)
	switch {
	case err == nil:
		r.value, r.hasValue = plain, true
	case errors.Is(err, wire.ErrSize):
		return fmt.Errorf("the block ran to its end, but its last expression is not shown: %w", err)
	default:
		r.warnings = append(r.warnings, "the last expression is not shown: "+err.Error())
	}
	return nil
}

// end records why the block stops and returns the error that unwinds it.
func (r *run) end(why error) error {
	if r.ended == nil {
		r.ended = why
	}
	return r.ended
}

var (
	errFinal  = errors.New("final")
	errUnwind = errors.New("the host has ended the block")
)
