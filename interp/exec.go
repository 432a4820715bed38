package interp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"

	"github.com/codeact-dev/codeact/interp/wire"
)

// execution is one block on its way. It believes nothing that the worker says.
type execution struct {
	*Session
	ctx     context.Context // of this Exec
	caller  Caller
	id      uint64
	calls   int
	unwound error // the error of the call that ended the block, without its Unwind mark
	clock   stopwatch
	printed transcript
	over    bool
}

func newExecution(ctx context.Context, s *Session, c Caller) *execution {
	e := &execution{Session: s, ctx: ctx, caller: c, id: rand.Uint64(), printed: transcript{bytesLeft: s.limits.PrintBytes}}
	e.clock = stopwatch{left: s.limits.Wall, expire: func() { s.kill(wallError(s.limits)) }}
	return e
}

// run sends the block and serves its calls until the worker says that it is done, or ends.
func (e *execution) run(block string) (Result, error) {
	stop := context.AfterFunc(e.ctx, func() { e.kill(context.Cause(e.ctx)) })
	defer stop()
	defer e.watchCPU()()
	e.clock.start()
	defer e.clock.stop()
	defer func() { // a panic of the Caller must not leave a block half-way
		if !e.over {
			e.kill(ErrClosed)
		}
	}()
	result, err := e.converse(block)
	result.Printed, result.Truncated = e.printed.text(), e.printed.truncated
	e.over = true
	return result, err
}

func (e *execution) converse(block string) (Result, error) {
	if err := e.proc.Conn().Send(wire.Block{ID: e.id, Source: block}); err != nil {
		return Result{}, e.lost(err)
	}
	for {
		f, err := e.proc.Conn().Receive()
		if err != nil {
			return Result{}, e.lost(err)
		}
		switch f.Kind {
		case wire.KindDone:
			return e.finish(f)
		case wire.KindPrint:
			err = e.hear(f)
		case wire.KindBatch:
			err = e.serveBatch(f)
		default:
			err = e.serve(f)
		}
		if err != nil {
			return Result{}, err
		}
	}
}

// reply sends the answer to a call or a batch. A block whose context ended meanwhile gets none: the worker's last word could
// otherwise come before the kill.
func (e *execution) reply(m wire.Message) error {
	if e.ctx.Err() != nil {
		e.kill(context.Cause(e.ctx))
		return e.lost(context.Cause(e.ctx))
	}
	if err := e.proc.Conn().Send(m); err != nil {
		return e.lost(err)
	}
	return nil
}

// position is the form that an honest worker gives.
var position = regexp.MustCompile(`^block(#[0-9]{1,9})?:[0-9]{1,9}:[0-9]{1,9}$`)

// serve checks a call and passes it on, with the clock stopped. Its error ends the session.
func (e *execution) serve(f wire.Frame) error {
	var c wire.Call
	if err := f.Decode(&c); err != nil {
		return e.lost(err)
	}
	call, err := e.check(c, &wire.Budget{Bytes: e.limits.ArgBytes})
	if err != nil {
		return err
	}
	value, err := e.pass(call)
	return e.reply(e.answer(call, value, err, &wire.Budget{Bytes: e.limits.ResultBytes}))
}

// pass hands one call to the Caller.
func (e *execution) pass(c Call) (any, error) {
	e.clock.stop()
	defer e.clock.start()
	return e.caller.Call(e.ctx, c)
}

// check says whether c is what an honest worker would ask now, and counts it. Its arguments are taken from args.
func (e *execution) check(c wire.Call, args *wire.Budget) (Call, error) {
	plain, err := args.Plain(c.Args, e.limits.ArgBytes)
	switch {
	case e.unwound != nil:
		return Call{}, e.lied("a call after the block was ended")
	case c.Block != e.id:
		return Call{}, e.lied("a call of another block")
	case c.N != e.calls+1:
		return Call{}, e.lied("call %d, want %d", c.N, e.calls+1)
	case !e.tools[c.Tool]:
		return Call{}, e.lied("a call of an unknown tool")
	case c.Position != "" && !position.MatchString(c.Position):
		return Call{}, e.lied("a malformed position")
	case err != nil:
		return Call{}, e.lied("arguments: %v", err)
	}
	e.calls = c.N
	given, _ := plain.(map[string]any)
	return Call{Tool: c.Tool, Args: given, Position: c.Position, N: c.N}, nil
}

// answer turns what the Caller returned into a reply. Its value is taken from results.
func (e *execution) answer(c Call, value any, err error, results *wire.Budget) wire.Reply {
	var unwind *unwindError
	if errors.As(err, &unwind) {
		if e.unwound == nil {
			e.unwound = unwind.err
		} else {
			e.unwound = errors.Join(e.unwound, unwind.err)
		}
		return wire.Reply{N: c.N, Unwind: true}
	}
	if err == nil {
		value, err = results.Plain(value, e.limits.ResultBytes)
		if err == nil {
			return wire.Reply{N: c.N, Value: value}
		}
		err = fmt.Errorf("%s: result: %w; ask for less", c.Tool, err)
	}
	return wire.Reply{N: c.N, Failed: true, Error: wire.Clip(err.Error(), e.limits.ErrorBytes)}
}

// lied kills a worker that said what no honest worker says.
func (e *execution) lied(format string, args ...any) error {
	err := &BlockError{Err: ErrProtocol, Msg: fmt.Sprintf(format, args...)}
	e.kill(err)
	return e.lost(err)
}

// lost says why there will be no answer. The host's own reason comes first, then the wait status. An error that the
// Caller has already unwound with stays in the chain: what it asks for (a pause, say) holds all the same.
func (e *execution) lost(err error) error {
	if isLie(err) {
		return e.lied("%v", err)
	}
	e.dead.Store(true)
	death := e.proc.Wait()
	var out *BlockError
	cause := e.cause.Load()
	switch {
	case cause == nil:
		out = deathError(death, e.limits)
	case !errors.As(*cause, &out):
		out = &BlockError{Err: *cause, Msg: "the block was ended"}
	}
	if e.unwound != nil {
		return &BlockError{Err: errors.Join(e.unwound, out.Err), Msg: out.Msg, Hint: out.Hint}
	}
	return out
}
