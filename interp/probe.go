package interp

import (
	"context"
	"errors"
	"fmt"

	"github.com/codeact-dev/codeact/interp/wire"
	"github.com/codeact-dev/codeact/interp/worker"
)

// A Canary is one forbidden action that a worker tried, and what came of it.
type Canary struct {
	Action  string // open, write, connect, exec or memory
	Stopped bool
	By      string // what the system answered, or what the worker died of
}

// Probe starts a worker for each action that no worker may be able to do, lets it try, and reports what was really
// stopped. It requires no confinement, so that it can show what is missing. Its error says that it could not try.
func Probe(ctx context.Context, cfg Config) ([]Canary, error) {
	cfg.Require, cfg.Unsafe = []string{}, false
	in, err := New(cfg)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var canaries []Canary
	for _, action := range worker.Canaries() {
		c, err := in.probe(ctx, action)
		if err != nil {
			return canaries, fmt.Errorf("%s: %w", action, err)
		}
		canaries = append(canaries, c)
	}
	return canaries, nil
}

func (in *Interp) probe(ctx context.Context, action string) (Canary, error) {
	p, err := in.start()
	if err != nil {
		return Canary{}, err
	}
	return try(ctx, newSession(p, in.cfg.Limits, nil), in.cfg, action)
}

// try opens s for one action and waits for its end, for as long as a block may take.
func try(ctx context.Context, s *Session, cfg Config, action string) (Canary, error) {
	defer s.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit+cfg.Limits.Wall, wallError(cfg.Limits))
	defer cancel()
	if err := s.open(ctx, cfg, wire.Open{Canary: action}); err != nil {
		return Canary{}, err
	}
	defer context.AfterFunc(ctx, func() { s.kill(context.Cause(ctx)) })()

	var done wire.Done
	f, err := s.proc.Conn().Receive()
	if err == nil {
		err = f.Decode(&done)
	}
	switch {
	case errors.Is(err, wire.ErrMalformed):
		return Canary{}, err
	case s.cause.Load() != nil:
		return Canary{}, *s.cause.Load()
	case err != nil:
		died := deathError(s.proc.Wait(), s.limits)
		if died.Err == ErrWorkerCrash {
			return Canary{}, died
		}
		return Canary{Action: action, Stopped: true, By: died.Err.Error()}, nil
	case done.Fault != nil && done.Fault.Kind != wire.FaultRuntime:
		return Canary{}, fmt.Errorf("%w: %s", ErrProtocol, wire.Clip(done.Fault.Msg, s.limits.ErrorBytes))
	case done.Fault != nil:
		return Canary{Action: action, Stopped: true, By: wire.Clip(done.Fault.Msg, s.limits.ErrorBytes)}, nil
	}
	return Canary{Action: action}, nil
}
