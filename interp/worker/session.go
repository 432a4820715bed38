package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"

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
		"math":     math.Module,
		"struct":   starlark.NewBuiltin("struct", starlarkstruct.Make),
		"final":    s.final,
		"attempt":  starlark.NewBuiltin("attempt", s.attempt),
		"parallel": starlark.NewBuiltin("parallel", s.parallel),
	}
	maps.Copy(s.globals, guards())
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
		bytesLeft: s.limits.PrintBytes, linesLeft: s.limits.PrintLines,
		send: func(text string, truncated bool) error {
			return s.conn.Send(wire.Print{Block: block.ID, Text: text, Truncated: truncated})
		}}}
	before := s.box.used()
	err := s.box.slice(s.limits.CPU)
	if err == nil {
		err = r.protect(ctx)
	}
	done := wire.Done{Block: block.ID, Steps: r.steps, CPU: int64(s.box.used() - before), Warnings: r.warnings}
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
