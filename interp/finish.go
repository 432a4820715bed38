package interp

import (
	"fmt"
	"time"

	"github.com/codeact-dev/codeact/interp/wire"
)

// maxWarnings is what a worker may send, and a little more.
const maxWarnings = 32

// finish checks the worker's last frame of a block and turns it into what Exec returns.
func (e *execution) finish(f wire.Frame) (Result, error) {
	var d wire.Done
	if err := f.Decode(&d); err != nil {
		return Result{}, e.lost(err)
	}
	value, final, err := e.values(d)
	switch {
	case err != nil:
		return Result{}, e.lied("%v", err)
	case d.Block != e.id:
		return Result{}, e.lied("the end of another block")
	case len(d.Warnings) > maxWarnings:
		return Result{}, e.lied("%d warnings", len(d.Warnings))
	case d.CPU < 0 || e.unwound != nil != (d.Fault != nil && d.Fault.Kind == wire.FaultUnwind):
		return Result{}, e.lied("an end that does not fit the block")
	}
	r := Result{Value: value, HasValue: d.HasValue, Final: final,
		HasFinal: d.HasFinal, Steps: d.Steps, CPU: time.Duration(d.CPU)}
	for _, w := range d.Warnings {
		r.Warnings = append(r.Warnings, wire.Clip(w, e.limits.ErrorBytes))
	}
	if e.unwound != nil {
		return r, &BlockError{Err: e.unwound}
	}
	if d.Fault == nil {
		return r, nil
	}
	sentinel, ok := faults[d.Fault.Kind]
	if !ok {
		return Result{}, e.lied("an unknown fault")
	}
	return r, e.blockError(sentinel, d.Fault)
}

// values returns the plain values of d. A block has a value, or a final value, or a fault, or none of them.
func (e *execution) values(d wire.Done) (value, final any, err error) {
	n := 0
	for _, has := range []bool{d.HasValue, d.HasFinal, d.Fault != nil} {
		if has {
			n++
		}
	}
	if n > 1 || !d.HasValue && d.Value != nil || !d.HasFinal && d.Final != nil {
		return nil, nil, fmt.Errorf("an end with %d outcomes", n)
	}
	if value, err = wire.Plain(d.Value, e.limits.FinalBytes); err != nil {
		return nil, nil, fmt.Errorf("value: %w", err)
	}
	if final, err = wire.Plain(d.Final, e.limits.FinalBytes); err != nil {
		return nil, nil, fmt.Errorf("final: %w", err)
	}
	return value, final, nil
}

func (e *execution) blockError(sentinel error, f *wire.Fault) *BlockError {
	return &BlockError{Err: sentinel, Line: max(f.Line, 0), Col: max(f.Col, 0),
		Msg: wire.Clip(f.Msg, e.limits.ErrorBytes), Hint: wire.Clip(f.Hint, e.limits.ErrorBytes)}
}
