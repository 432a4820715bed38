package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-multierror"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server is one of a run, over all its sessions.
type server struct {
	Server
	cfg *Config
	pin Pin // what the server was at the start: that, or nothing, is offered

	stale atomic.Bool  // it said that its tools changed
	notes atomic.Int64 // how many of its reports of progress were logged

	mu       sync.Mutex
	session  *session // guarded by mu; nil before the start and after close
	restarts int      // guarded by mu
	drift    error    // guarded by mu; once set nothing of the server is used again
}

// start makes the first connection and takes down what the server is.
func (s *server) start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defs, err := s.connect(ctx)
	s.pin = Pin{Identity: s.cfg.identity(s.Server), Tools: defs}
	return err
}

// connect makes a session and lists the tools of it.
//
// Preconditions: mu is held.
func (s *server) connect(ctx context.Context) ([]Definition, error) {
	limit, cancel := context.WithTimeout(ctx, s.cfg.startTimeout())
	defer cancel()
	n, err := s.dial(limit)
	if err != nil {
		return nil, s.failed(n, "", "it did not start: ", limit, err)
	}
	s.session = n
	return s.list(limit)
}

// list asks for the tools as they are now.
//
// Preconditions: mu is held, and there is a session.
func (s *server) list(ctx context.Context) ([]Definition, error) {
	s.stale.Store(false) // before the question: a change after it must be seen
	tools, err := s.session.list(ctx)
	if err != nil && !errors.Is(err, errTooMuch) {
		return nil, s.failed(s.session, "", "it did not list its tools: ", ctx, err)
	}
	defs, errs := []Definition(nil), []error{err}
	if err == nil {
		defs, errs = s.pick(tools)
	}
	var all *multierror.Error
	for _, err := range errs {
		all = multierror.Append(all, &Error{Server: s.Name, Err: err})
	}
	return defs, all.ErrorOrNil()
}

// approve makes sure that somebody approved what the server is.
func (s *server) approve(ctx context.Context) error {
	pins := s.cfg.Pins
	old, known, err := pins.get(s.Name)
	if err != nil {
		return err
	}
	changes := diff(old, s.pin)
	refused := &PinError{Task: pins.task, Server: s.Name, Changes: changes, Err: ErrDrift}
	if !known {
		refused.Err = ErrUnpinned
	}
	switch {
	case known && len(changes) == 0:
		return nil
	case !known && s.Record:
	case s.cfg.Ask == nil:
		return refused
	default:
		if yes, err := s.cfg.Ask(ctx, s.Name, changes); err != nil || !yes {
			return errors.Join(refused, err)
		}
	}
	return pins.Approve(ctx, s.Name, s.pin)
}

// recheck lists the tools again where the server said that they changed.
//
// Preconditions: mu is held.
func (s *server) recheck(ctx context.Context) error {
	if s.drift != nil || s.session == nil || s.session.ended() || !s.stale.Load() {
		return s.drift
	}
	limit, cancel := context.WithTimeout(ctx, s.cfg.startTimeout())
	defer cancel()
	defs, err := s.list(limit)
	return s.compare(defs, err)
}

// compare keeps what differs from the start as the reason why the server is not
// used any more. A list that cannot be read differs; one that did not come may
// come later.
//
// Preconditions: mu is held.
func (s *server) compare(defs []Definition, err error) error {
	var faults *multierror.Error
	changes := diff(s.pin, Pin{Identity: s.pin.Identity, Tools: defs})
	switch {
	case errors.As(err, &faults):
		s.drift = &PinError{Task: s.cfg.Pins.task, Server: s.Name, Changes: changes, Err: errors.Join(ErrDrift, err)}
	case err != nil:
		s.stale.Store(true)
		return err
	case len(changes) > 0:
		s.drift = &PinError{Task: s.cfg.Pins.task, Server: s.Name, Changes: changes, Err: ErrDrift}
	}
	return s.drift
}

// ready returns a session whose tools are the approved ones. A dead server is
// started again, at most twice. Calls that come meanwhile wait.
func (s *server) ready(ctx context.Context) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.recheck(ctx); err != nil {
		return nil, err
	}
	switch {
	case s.session == nil:
		return nil, &Error{Server: s.Name, Err: errors.New("it was closed")}
	case !s.session.ended():
		return s.session, nil
	case s.restarts == maxRestarts:
		return nil, s.failed(s.session, "", "it is not started a third time: ", ctx, errors.New("it died"))
	}
	s.restarts++
	s.session.close()
	defs, err := s.connect(ctx)
	if err := s.compare(defs, err); err != nil {
		return nil, err
	}
	return s.session, nil
}

// call asks the server to run a tool. What ends without its answer wraps
// bridge.ErrOutcomeUnknown, unless it ended before the question was asked.
func (s *server) call(ctx context.Context, tool, id string, args map[string]any) (*sdk.CallToolResult, error) {
	n, err := s.ready(ctx)
	if err != nil {
		return nil, err
	}
	limit, cancel := context.WithTimeout(ctx, s.timeout())
	defer cancel()
	params := &sdk.CallToolParams{Name: tool, Arguments: args}
	params.SetProgressToken(id)
	res, err := n.mcp.CallTool(limit, params)
	if err == nil {
		return res, nil
	}
	if e := answered(err); e != nil {
		return nil, &Error{Server: s.Name, Tool: tool, Err: s.cfg.said(fmt.Sprintf("%s (code %d)", e.Message, e.Code))}
	}
	return nil, s.failed(n, tool, "", limit, err)
}

// failed explains an end without an answer.
func (s *server) failed(n *session, tool, what string, ctx context.Context, cause error) error {
	e := &Error{Server: s.Name, Tool: tool}
	text := cause.Error()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		text = "it did not answer in time"
	case ctx.Err() != nil:
		text = "the run ended before it answered"
	case n != nil:
		if how := n.death(); how != "" {
			text = how
		}
	}
	if n != nil {
		e.Stderr = s.cfg.words(n.proc)
	}
	e.Err = s.cfg.said(what + text)
	if tool != "" {
		e.Err = lost(e.Err)
	}
	return e
}

func (s *server) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session != nil {
		s.session.close()
		s.session = nil
	}
	return nil
}

var newlines = strings.NewReplacer("\n", `\n`, "\t", `\t`)

// oneLine puts a text that is visible on one line.
func oneLine(text string) string { return newlines.Replace(strings.TrimSpace(text)) }
