package worker

import (
	"context"
	"errors"
	"fmt"

	"go.starlark.net/lib/json"
	"go.starlark.net/lib/math"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"github.com/codeact-dev/codeact/interp/wire"
)

// session is what persists between blocks. It serves one goroutine.
type session struct {
	conn     *wire.Conn
	limits   wire.Limits
	box      Confinement
	globals  starlark.StringDict // reserved names and whatever the blocks assigned
	reserved map[string]bool     // names that a block may not rebind
	tools    map[*starlark.Builtin]tool
	final    *starlark.Builtin
	readers  readers
	chunk    int // number of the running block, from 1
}

func newSession(conn *wire.Conn, limits wire.Limits, box Confinement, tools []wire.Signature) *session {
	s := &session{conn: conn, limits: limits, box: box, reserved: map[string]bool{},
		tools: map[*starlark.Builtin]tool{}, readers: readers{}}
	s.final = starlark.NewBuiltin("final", finish)
	s.globals = starlark.StringDict{
		"json":    json.Module,
		"math":    math.Module,
		"struct":  starlark.NewBuiltin("struct", starlarkstruct.Make),
		"final":   s.final,
		"attempt": starlark.NewBuiltin("attempt", s.attempt),
	}
	for _, sig := range tools {
		t := tool{sig}
		b := starlark.NewBuiltin(sig.Name, t.run)
		s.tools[b] = t
		s.globals[sig.Name] = b
	}
	for name := range s.globals {
		s.reserved[name] = true
	}
	for name := range starlark.Universe {
		s.reserved[name] = true
	}
	return s
}

// ReservedNames are the names that no tool may have.
func ReservedNames() map[string]bool {
	return newSession(nil, wire.Limits{}, Confinement{}, nil).reserved
}

// exec runs one block. It always answers, also after a panic; it does not answer if the process dies.
func (s *session) exec(ctx context.Context, block wire.Block) wire.Done {
	s.chunk++
	r := &run{session: s, block: block, name: fmt.Sprintf("block#%d", s.chunk), out: printer{
		bytesLeft: s.limits.PrintBytes, linesLeft: s.limits.PrintLines}}
	before := s.box.used()
	err := s.box.slice(s.limits.CPU)
	if err == nil {
		err = r.protect(ctx)
	}
	done := wire.Done{Block: block.ID, Printed: r.out.String(), Truncated: r.out.truncated, Steps: r.steps,
		CPU: int64(s.box.used() - before), Warnings: r.warnings}
	switch {
	case r.finished && errors.Is(r.ended, errFinal):
		done.HasFinal, done.Final = true, r.final
	case err != nil:
		done.Fault = r.fault(err)
	default:
		done.HasValue, done.Value = r.hasValue, r.value
	}
	return done
}
