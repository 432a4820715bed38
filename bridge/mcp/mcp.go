// Package mcp runs MCP servers and offers their tools as bridge tools.
//
// A stdio server is a program with all the rights of the user who runs codeact:
// nothing here confines it, so a task file that names one must be trusted first.
// All that a server says is a third party's text, its descriptions, schemas and
// annotations too: they are pinned when a person approves them, and a change
// takes the server's tools away. A pin says nothing about what a tool does.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/go-multierror"
	"github.com/rs/zerolog"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/policy"
)

// The defaults and bounds of a connection.
const (
	DefaultTimeout = 60 * time.Second // of one call
	startTimeout   = 30 * time.Second // to start a server and to list its tools
	maxLine        = 8 << 20          // bytes of one message: what the bridge reads of a result
	maxRestarts    = 2                // of one server in one run
)

// A Server is one entry of mcpServers: a Command to talk to on standard input and
// output, or a URL of the streamable HTTP transport.
type Server struct {
	Name    string // the first part of its tools' names
	Command string
	Args    []string
	Env     map[string]string // beside PATH, HOME, LANG and TMPDIR; values may be secrets
	Cwd     string
	URL     string
	Headers map[string]string // values may be secrets; sent to URL alone

	Include []string // the server's names of the tools to offer; none: all
	Exclude []string // and of those not to offer

	AddCaps          []policy.Flag // beside what the annotations leave
	Tier             policy.Tier   // the zero value asks for every call
	AllowFree        bool          // Tier may be Free: for programs that embed this; no task file can say so
	TrustAnnotations bool          // believe hints that a tool does less
	Record           bool          // approve at first use what it offers, without a question
	Timeout          time.Duration // of one call; 0 means 60 s
}

// A Config says which servers to start and what they may reach.
type Config struct {
	Servers []Server
	Pins    *Pins

	// Ask shows a person what a server offers that was not approved, and returns
	// the answer. nil is nobody: then the server is refused before it is started,
	// where that can be known. Ask is called for one server at a time.
	Ask func(ctx context.Context, server string, changes []Change) (bool, error)

	// Transport carries HTTP. It must guard against servers of this machine and
	// its networks. nil refuses servers with a URL.
	Transport http.RoundTripper

	// Spill keeps what is no text and returns the path under which the run reads
	// it. nil leaves it out of results, and says so.
	Spill func(name string, data []byte) (path string, err error)

	Redact  func(string) string // takes secrets out of texts; nil leaves them
	Log     zerolog.Logger      // progress that servers report, at debug level
	Version string              // of codeact, for the server to know

	testOnlyStart time.Duration // instead of startTimeout
}

// Servers are running servers. They are safe for concurrent use; Close must come
// after the last call.
type Servers struct {
	servers  []*server
	tools    []bridge.Tool
	warnings []string
}

// Connect starts the servers, at the same time, and lists their tools. Its error
// names everything that is wrong; then nothing is left running. errors.Is finds
// ErrUnpinned and ErrDrift in it.
func Connect(ctx context.Context, cfg Config) (_ *Servers, err error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	s := &Servers{}
	defer func() {
		if err != nil {
			err = multierror.Append(err, s.Close()).ErrorOrNil()
		}
	}()
	for _, one := range cfg.Servers {
		s.servers = append(s.servers, &server{Server: one, cfg: &cfg})
	}
	if err := s.each(func(one *server) error { return one.start(ctx) }); err != nil {
		return nil, err
	}
	var errs *multierror.Error
	for _, one := range s.servers {
		if err := one.approve(ctx); err != nil {
			errs = multierror.Append(errs, err)
		}
	}
	if err := errs.ErrorOrNil(); err != nil {
		return nil, err
	}
	if err := s.build(); err != nil {
		return nil, err
	}
	return s, nil
}

// each calls f for every server at the same time and waits for all.
func (s *Servers) each(f func(*server) error) error {
	errs := make([]error, len(s.servers))
	var wg sync.WaitGroup
	for i, one := range s.servers {
		wg.Go(func() { errs[i] = f(one) })
	}
	wg.Wait()
	return joined(errs)
}

func joined(errs []error) error {
	var all *multierror.Error
	for _, err := range errs {
		if err != nil {
			all = multierror.Append(all, err)
		}
	}
	return all.ErrorOrNil()
}

// build makes the tools. Two of one name are an error: which of them a script
// means must not depend on an order.
func (s *Servers) build() error {
	var errs []error
	owner := map[string]string{}
	for _, one := range s.servers {
		tools, warnings, err := one.tools()
		errs = append(errs, err)
		for i := range tools {
			name := tools[i].Name
			if other, taken := owner[name]; taken {
				errs = append(errs, &Error{Server: one.Name, Tool: name, Err: fmt.Errorf("the server %s has a tool of this name too: leave one out with excludeTools", other)})
			}
			owner[name] = one.Name
		}
		s.tools, s.warnings = append(s.tools, tools...), append(s.warnings, warnings...)
	}
	return joined(errs)
}

// Tools are the tools of all servers, in the order of the Config.
func (s *Servers) Tools() []bridge.Tool { return s.tools }

// Warnings are what a person should know of the tools, fit to be shown: what of
// their schemas is left to the servers to check, and descriptions that read like
// orders.
func (s *Servers) Warnings() []string { return s.warnings }

// Check lists the tools of those servers that said that theirs changed, and
// returns an error that is ErrDrift if they are not the approved ones any more. It
// is to be called between steps; calls look for themselves.
func (s *Servers) Check(ctx context.Context) error {
	return s.each(func(one *server) error {
		one.mu.Lock()
		defer one.mu.Unlock()
		err := one.recheck(ctx)
		if errors.Is(err, ErrDrift) {
			return err
		}
		return nil // a server that is gone is the next call's trouble
	})
}

// Close ends the servers and whatever they started.
func (s *Servers) Close() error {
	return s.each((*server).close)
}

// Inspect starts a server, returns what a pin of it would hold, and ends it. It
// asks for no approval and stores none; the texts are the server's own, not fit to
// be shown.
func Inspect(ctx context.Context, one Server, cfg Config) (_ Pin, err error) {
	cfg.Servers = []Server{one}
	if err := joined(cfg.faults()); err != nil {
		return Pin{}, err
	}
	s := &server{Server: one, cfg: &cfg}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.start(ctx); err != nil {
		return Pin{}, err
	}
	return s.pin, nil
}
