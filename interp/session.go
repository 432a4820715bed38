package interp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/codeact-dev/codeact/interp/wire"
)

// Call is one tool call of a block.
type Call struct {
	Tool     string
	Args     map[string]any // nil, bool, int64, *big.Int, float64, string, []byte, []any and map[string]any only
	Position string         // "block:line:col"; "block#2:line:col" in a function of the session's second block. A claim, not a proof
	N        int            // 1, 2, 3 … within the block
}

// Caller serves the calls of a block, one at a time.
type Caller interface {
	// Call returns plain data, as in Call.Args. An error is one that the script can catch with attempt, and its text
	// reaches the script; an error marked by Unwind ends the block, and Exec returns it.
	Call(ctx context.Context, c Call) (any, error)
}

// Result is what a block left. After an error it holds what was printed and counted until then.
type Result struct {
	Printed   string
	Truncated bool // Printed was cut, and says so at its end
	Value     any  // of a last bare expression
	HasValue  bool // there was one, and it is not None
	Final     any  // the argument of final
	HasFinal  bool
	Steps     uint64        // as the worker counted
	Warnings  []string      // about the block, for its writer
	CPU       time.Duration // as the worker measured
}

// Session is one worker with the globals of the blocks that it ran. Close and Dead may be called at any time, Exec by
// one goroutine after another. A block that fails keeps the globals that it had set.
type Session struct {
	limits Limits
	tools  map[string]bool
	held   []string

	running sync.Mutex // held by Exec
	blocks  int        // guarded by running
	proc    process
	dead    atomic.Bool
	cause   atomic.Pointer[error] // why this host killed the worker; set once
}

func newSession(p process, limits Limits, tools []Signature) *Session {
	s := &Session{proc: p, limits: limits, tools: make(map[string]bool, len(tools))}
	for _, t := range tools {
		s.tools[t.Name] = true
	}
	return s
}

// startLimit bounds the start: a healthy worker needs some 15 ms.
const startLimit = 20 * time.Second

// open hears the worker's hello and answers it, and refuses a worker that is less confined than required, or dead: it
// returns once the worker has said that it is ready, or without waiting where it has a canary to try.
func (s *Session) open(ctx context.Context, cfg Config, open wire.Open) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { s.kill(context.Cause(ctx)) })
	defer stop()

	hello, err := s.greet()
	if err != nil {
		return s.startError(err)
	}
	if missing := lacking(cfg.Require, hello); !cfg.Unsafe && len(missing) > 0 {
		return fmt.Errorf("interp: %w: %s; require less, or run on a system that has it", ErrSandbox, missing)
	}
	s.held = hello.Held
	err = s.proc.Conn().Send(open)
	if err == nil && open.Canary == "" {
		err = s.receive(&wire.Ready{})
	}
	if err != nil {
		return s.startError(err)
	}
	return nil
}

// receive reads the one message that may come now.
func (s *Session) receive(m wire.Message) error {
	f, err := s.proc.Conn().Receive()
	if err != nil {
		return err
	}
	return f.Decode(m)
}

func (s *Session) greet() (hello wire.Hello, err error) {
	if err := s.receive(&hello); err != nil {
		return hello, err
	}
	if hello.Version != wire.Version {
		return hello, fmt.Errorf("version %d, want %d", hello.Version, wire.Version)
	}
	return hello, nil
}

// startError says why there is no worker, with its own words.
func (s *Session) startError(err error) error {
	if cause := s.cause.Load(); cause != nil {
		return fmt.Errorf("interp: start: %w", *cause)
	}
	s.dead.Store(true)
	death := s.proc.Wait()
	return fmt.Errorf("interp: start: %w: %w: %s", ErrWorkerCrash, err, wire.Clip(death.Stderr, 500))
}

// Exec runs one block; c serves its calls. The error is a *BlockError, but for ErrClosed. When ctx ends, so does the
// worker. Check Dead after an error: a dead session is rebuilt by executing the earlier blocks in a new one.
func (s *Session) Exec(ctx context.Context, block string, c Caller) (Result, error) {
	s.running.Lock()
	defer s.running.Unlock()
	if s.dead.Load() {
		return Result{}, fmt.Errorf("interp: session: %w", ErrClosed)
	}
	if ctx.Err() != nil {
		return Result{}, &BlockError{Err: context.Cause(ctx), Msg: "the block did not start"}
	}
	if err := s.checkSource(block); err != nil {
		return Result{}, err
	}
	s.blocks++
	return newExecution(ctx, s, c).run(block)
}

// Blocks is how many blocks the worker was given, and so the number of the last one in Call.Position. It may be called
// between two Execs.
func (s *Session) Blocks() int { return s.blocks }

func (s *Session) checkSource(block string) error {
	switch {
	case len(block) > s.limits.Source:
		return &BlockError{Err: ErrSource, Msg: fmt.Sprintf("%d bytes, at most %d", len(block), s.limits.Source),
			Hint: "write several blocks; variables and functions stay"}
	case !utf8.ValidString(block):
		return &BlockError{Err: ErrSyntax, Msg: "the block is not valid UTF-8"}
	}
	return nil
}

// kill ends the worker; the first cause given is the one that Exec returns.
func (s *Session) kill(cause error) {
	s.cause.CompareAndSwap(nil, &cause)
	s.dead.Store(true)
	s.proc.Kill()
}

// Dead says whether the worker is gone.
func (s *Session) Dead() bool { return s.dead.Load() }

// Sandbox lists the confinement that the worker said took hold.
func (s *Session) Sandbox() []string { return slices.Clone(s.held) }

// Close ends the worker and waits until it is gone. A running Exec returns an error with ErrClosed.
func (s *Session) Close() error {
	s.kill(ErrClosed)
	s.proc.Wait()
	return nil
}

// isLie says whether err is a frame that no honest worker sends.
func isLie(err error) bool { return errors.Is(err, wire.ErrMalformed) }
