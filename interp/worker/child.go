// Package worker runs blocks of Starlark in a process that holds nothing worth stealing, and spawns that process.
//
// Starlark itself cannot be made safe: one builtin can take all memory, overflow the stack or never return. Everything
// in the child's half (Serve and below) must therefore be expected to die, hang or lie; only process_*.go, namespace_*.go
// and cause.go run in the host. Serve called in the host's own process protects from nothing.
package worker

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/codeact-dev/codeact/interp/wire"
)

// Serve is the child: it confines itself, then runs one session's blocks from rw until the host closes it (nil error).
// Ending ctx cancels a running block between two steps; it does not interrupt a builtin.
func Serve(ctx context.Context, rw io.ReadWriter, confine Confine) error {
	conn := wire.NewConn(rw)
	var setup wire.Setup
	if err := receive(conn, &setup); err != nil {
		return err
	}
	if setup.Version != wire.Version {
		return fmt.Errorf("worker: host speaks version %d, this worker %d", setup.Version, wire.Version)
	}
	box := confine(setup.Limits)
	if err := conn.Send(wire.Hello{Version: wire.Version, Held: box.Held, Missed: box.Missed}); err != nil {
		return err
	}
	var open wire.Open
	if err := receive(conn, &open); err != nil {
		return endOfInput(err)
	}
	if open.Canary != "" {
		return conn.Send(tryForbidden(open.Canary, setup.Limits))
	}
	s := newSession(conn, setup.Limits, box, open.Tools)
	if setup.Unguarded {
		s.removeGuards()
	}
	if err := conn.Send(wire.Ready{}); err != nil {
		return err
	}
	for {
		var block wire.Block
		if err := receive(conn, &block); err != nil {
			return endOfInput(err)
		}
		if err := conn.Send(s.exec(ctx, block)); err != nil {
			return err
		}
	}
}

// receive reads the one message that may come now.
func receive(conn *wire.Conn, m wire.Message) error {
	f, err := conn.Receive()
	if err != nil {
		return err
	}
	return f.Decode(m)
}

// endOfInput turns the host's orderly close into success.
func endOfInput(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
