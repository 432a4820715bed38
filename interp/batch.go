package interp

import (
	"context"
	"errors"
	"fmt"

	"github.com/codeact-dev/codeact/interp/wire"
)

// BatchCaller is a Caller that takes the calls of one parallel at once. One that is only a Caller gets them one after the
// other, until one unwinds.
type BatchCaller interface {
	Caller
	// CallBatch returns one result for each call, in their order, once all calls that it began have ended. A result's
	// error is as that of Call. An error of its own is that of every call.
	CallBatch(ctx context.Context, calls []Call) ([]BatchResult, error)
}

// BatchResult is what one call of a batch returned.
type BatchResult struct {
	Value any
	Err   error
}

// serveBatch checks the calls of a batch and passes them on. Its error ends the session.
func (e *execution) serveBatch(f wire.Frame) error {
	var b wire.Batch
	if err := f.Decode(&b); err != nil {
		return e.lost(err)
	}
	if n := len(b.Calls); n < 1 || n > wire.MaxBatch {
		return e.lied("a batch of %d calls", n)
	}
	args := &wire.Budget{Bytes: e.limits.ArgBytes}
	calls := make([]Call, len(b.Calls))
	for i, c := range b.Calls {
		var err error
		if calls[i], err = e.check(c, args); err != nil {
			return err
		}
	}
	results := e.passAll(calls)
	values := &wire.Budget{Bytes: wire.BatchReplyBytes}
	replies := make([]wire.Reply, len(calls))
	for i, c := range calls {
		replies[i] = e.answer(c, results[i].Value, results[i].Err, values)
	}
	return e.reply(wire.Replies{Replies: replies})
}

// passAll hands the calls to the Caller and returns one result for each.
func (e *execution) passAll(calls []Call) []BatchResult {
	batch, ok := e.caller.(BatchCaller)
	if !ok {
		return e.passEach(calls)
	}
	e.clock.stop()
	defer e.clock.start()
	results, err := batch.CallBatch(e.ctx, calls)
	if err == nil && len(results) != len(calls) {
		err = Unwind(fmt.Errorf("interp: caller returned %d results for %d calls", len(results), len(calls)))
	}
	if err == nil {
		return results
	}
	results = make([]BatchResult, len(calls))
	var unwind *unwindError
	for i := range results {
		if results[i].Err = err; errors.As(err, &unwind) {
			err = errNotBegun // once is enough to end the block
		}
	}
	return results
}

// errNotBegun is the result of the calls after one that unwound. The block ends, so that no script sees it.
var errNotBegun = errors.New("not begun")

func (e *execution) passEach(calls []Call) []BatchResult {
	results := make([]BatchResult, len(calls))
	for i := range results {
		results[i].Err = errNotBegun
	}
	var unwind *unwindError
	for i, c := range calls {
		value, err := e.pass(c)
		results[i] = BatchResult{value, err}
		if errors.As(err, &unwind) {
			break
		}
	}
	return results
}
