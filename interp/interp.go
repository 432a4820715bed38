// Package interp runs blocks of Starlark in a worker process and hands each tool call to a Caller.
//
// It bounds what a block can use up and where its code can reach. It does not judge a call: whatever a block can reach
// through the Caller, it can do, and a worker that was taken over can ask for any of the session's tools at any time.
package interp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-multierror"

	"github.com/codeact-dev/codeact/interp/wire"
	"github.com/codeact-dev/codeact/interp/worker"
)

// Limits bounds one block and its worker; zero fields are the defaults.
type Limits = wire.Limits

// Signature is a tool as the script sees it. String renders fs_read(path, start=, lines=); Stub a definition for prompts.
type Signature = wire.Signature

// Param is one parameter of a Signature.
type Param = wire.Param

// Config configures an Interp. The zero Config runs workers from this program, with every confinement required.
type Config struct {
	Worker  []string // command of the worker; nil runs this program again, through MaybeWorker
	Limits  Limits
	Require []string // confinement that must have taken hold; nil means all that this system can give
	NoSpare bool     // start a worker only when one is needed: slower, for a program that runs one session
	Unsafe  bool     // run blocks in this process: a block can then kill or hang it. Worker, Require and Memory are ignored

	testOnlyUnguarded bool // builtins without friendly bounds, so that attacks reach the box
}

// Interp starts sessions. It is safe for concurrent use, and keeps one spare worker ready until Close, unless NoSpare.
type Interp struct {
	cfg Config

	mu     sync.Mutex
	spare  process // guarded by mu; nil if there is none
	closed bool    // guarded by mu
}

// process is a worker, in its own process or, if Unsafe, in a goroutine.
type process interface {
	Conn() *wire.Conn
	Kill()              // ends it; safe at any time and from any goroutine
	Wait() worker.Death // returns once it has ended, and frees what it held

	// CPU is the processor time that it has used, as the kernel counts it; false if that is not known.
	CPU() (time.Duration, bool)
}

// maybeWorkerCalled says that this program, run again with the marker, becomes a worker.
var maybeWorkerCalled atomic.Bool

// MaybeWorker makes this process a worker and never returns, if it was started as one. It must stand first in main:
// what runs before it runs in every worker, unconfined.
func MaybeWorker() {
	maybeWorkerCalled.Store(true)
	if len(os.Args) > 1 && os.Args[len(os.Args)-1] == worker.Marker {
		worker.Main()
	}
}

// New checks cfg and returns every fault of it at once. It starts nothing.
func New(cfg Config) (*Interp, error) {
	limits, errs := cfg.Limits.WithDefaults()
	cfg.Limits = limits
	if !cfg.Unsafe {
		errs = append(errs, cfg.settleWorker())
	}
	if err := multierror.Append(nil, errs...).ErrorOrNil(); err != nil {
		return nil, fmt.Errorf("interp: config: %w", err)
	}
	return &Interp{cfg: cfg}, nil
}

// settleWorker fills in the worker's command and what is required of it.
func (cfg *Config) settleWorker() error {
	if cfg.Require == nil {
		cfg.Require = worker.Features()
	}
	switch {
	case cfg.Worker == nil && !maybeWorkerCalled.Load():
		return errors.New("no worker: call interp.MaybeWorker first thing in main, or set Config.Worker")
	case cfg.Worker == nil:
		self, err := ownProgram()
		if err != nil {
			return err
		}
		cfg.Worker = []string{self}
	case len(cfg.Worker) == 0 || cfg.Worker[0] == "":
		return errors.New("worker: the command is empty; nil means this program")
	}
	return nil
}

// ownProgram names this program for exec. On Linux that is the running file, even if its path was replaced or cannot be
// reached by this user any more.
func ownProgram() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// Session starts a worker for the tools. The session belongs to the caller, who closes it. ctx bounds the start only.
func (in *Interp) Session(ctx context.Context, tools []Signature) (*Session, error) {
	if err := checkTools(tools); err != nil {
		return nil, err
	}
	s, err := in.openSpare(ctx, tools)
	if s == nil && err == nil {
		s, err = in.openNew(ctx, tools)
	}
	if err != nil {
		return nil, err
	}
	in.refill()
	return s, nil
}

// openSpare opens a session on the spare worker. It returns nothing if there is none, or if it died while it waited.
func (in *Interp) openSpare(ctx context.Context, tools []Signature) (*Session, error) {
	in.mu.Lock()
	p, closed := in.spare, in.closed
	in.spare = nil
	in.mu.Unlock()
	if closed {
		return nil, fmt.Errorf("interp: %w", ErrClosed)
	}
	if p == nil {
		return nil, nil
	}
	s, err := in.openOn(ctx, p, tools)
	if errors.Is(err, ErrWorkerCrash) {
		return nil, nil
	}
	return s, err
}

func (in *Interp) openNew(ctx context.Context, tools []Signature) (*Session, error) {
	p, err := in.start()
	if err != nil {
		return nil, err
	}
	return in.openOn(ctx, p, tools)
}

// openOn makes p the worker of a session, or ends it.
func (in *Interp) openOn(ctx context.Context, p process, tools []Signature) (*Session, error) {
	s := newSession(p, in.cfg.Limits, tools)
	if err := s.open(ctx, in.cfg, wire.Open{Tools: tools}); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// refill starts a spare worker. One that cannot start is no fault yet: the next Session will say so.
func (in *Interp) refill() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.spare != nil || in.closed || in.cfg.Unsafe || in.cfg.NoSpare {
		return
	}
	if p, err := in.start(); err == nil {
		in.spare = p
	}
}

// start spawns a worker and tells it to confine itself, without waiting until it speaks: a spare is ready long before.
func (in *Interp) start() (process, error) {
	var p process
	if in.cfg.Unsafe {
		p = startLocal()
	} else {
		spawned, err := worker.Spawn(in.cfg.Worker)
		if err != nil {
			return nil, fmt.Errorf("interp: %w", err)
		}
		p = spawned
	}
	// It fails if the worker is gone already, and then there will be no hello, which says why.
	_ = p.Conn().Send(wire.Setup{Version: wire.Version, Limits: in.cfg.Limits, Unguarded: in.cfg.testOnlyUnguarded})
	return p, nil
}

// Close ends the spare worker. Sessions live on until they are closed; no new one can start.
func (in *Interp) Close() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
	if in.spare != nil {
		in.spare.Kill()
		in.spare.Wait()
		in.spare = nil
	}
	return nil
}

// lacking returns what is required and not held, with the worker's reason where it gave one.
func lacking(require []string, hello wire.Hello) []string {
	var out []string
	for _, name := range require {
		if slices.Contains(hello.Held, name) {
			continue
		}
		line := name
		for _, m := range hello.Missed {
			if strings.HasPrefix(m, name+":") {
				line = wire.Clip(m, 200)
			}
		}
		out = append(out, line)
	}
	return out
}
