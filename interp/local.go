package interp

import (
	"context"
	"net"
	"time"

	"github.com/codeact-dev/codeact/interp/wire"
	"github.com/codeact-dev/codeact/interp/worker"
)

// local is a worker in a goroutine of this process, for Config.Unsafe.
type local struct {
	conn   *wire.Conn
	pipe   net.Conn
	cancel context.CancelFunc
	ended  chan struct{}
}

// startLocal starts the goroutine; Kill ends it, unless a builtin never returns.
func startLocal() *local {
	host, child := net.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	l := &local{conn: wire.NewConn(host), pipe: host, cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(l.ended)
		defer child.Close()
		// Its error says that the pipe was closed, or what the host reads as a broken frame.
		_ = worker.Serve(ctx, child, worker.Unconfined)
	}()
	return l
}

func (l *local) Conn() *wire.Conn { return l.conn }

func (l *local) Kill() {
	l.cancel()
	l.pipe.Close()
}

// stuckGrace is how long Wait waits for a goroutine that a builtin may hold for ever.
const stuckGrace = 2 * time.Second

func (l *local) Wait() worker.Death {
	l.Kill()
	timer := time.NewTimer(stuckGrace)
	defer timer.Stop()
	select {
	case <-l.ended:
	case <-timer.C:
	}
	return worker.Death{}
}

// CPU is not known: the goroutine shares its process with the host.
func (l *local) CPU() (time.Duration, bool) { return 0, false }
