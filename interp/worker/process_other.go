//go:build !unix

package worker

import (
	"errors"
	"time"

	"github.com/codeact-dev/codeact/interp/wire"
)

// Process cannot exist here: this system has no socket that a child inherits as descriptor 3.
type Process struct{}

// Spawn always fails.
func Spawn([]string) (*Process, error) {
	return nil, errors.New("worker: worker processes need a Unix system; interp.Config.Unsafe runs blocks in this process")
}

// Conn is never called, since Spawn returns no Process.
func (*Process) Conn() *wire.Conn { return nil }

// Kill is never called.
func (*Process) Kill() {}

// Wait is never called.
func (*Process) Wait() Death { return Death{} }

// connect is never reached, since no worker starts.
func connect() error { return errors.New("worker: not tried on this system") }

// CPU is never called.
func (*Process) CPU() (time.Duration, bool) { return 0, false }
