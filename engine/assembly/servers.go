package assembly

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-multierror"

	"github.com/codeact-dev/codeact/bridge/egress"
	"github.com/codeact-dev/codeact/bridge/mcp"
	"github.com/codeact-dev/codeact/engine/taskfile"
)

// serverRate is how many requests a server that is reached by URL gets: one that
// polls, or whose tools are many, needs more than a host that is only read.
var serverRate = egress.Rate{N: 600, Per: time.Minute}

// connect starts the MCP servers of the task, each as the operator approved it.
// Nothing is started before trust and the checks of the task are through.
func (r *Run) connect(ctx context.Context, secrets map[string]string) error {
	if len(r.File.Servers) == 0 || r.opt.Look {
		return nil
	}
	cfg, err := r.serverConfig(secrets)
	if err != nil {
		return err
	}
	if r.attended() && r.opt.Vouch != nil {
		cfg.Ask = r.opt.Vouch
	}
	r.servers, err = mcp.Connect(ctx, cfg)
	switch {
	case errors.Is(err, mcp.ErrUnpinned), errors.Is(err, mcp.ErrDrift):
		return fmt.Errorf("%w: %w", ErrPrecondition, listed{err})
	case err != nil:
		return listed{err}
	}
	r.Warnings = append(r.Warnings, r.servers.Warnings()...)
	return nil
}

// A listed error shows the errors in it one a line.
type listed struct{ error }

func (l listed) Unwrap() error { return l.error }

func (l listed) Error() string {
	var many *multierror.Error
	if !errors.As(l.error, &many) {
		return l.error.Error()
	}
	texts := make([]string, len(many.Errors))
	for i, err := range many.Errors {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "\n")
}

func (r *Run) serverConfig(secrets map[string]string) (mcp.Config, error) {
	client, err := egress.New(egress.Config{AllowPrivate: r.File.Security.PrivateIPs, Allow: r.Home.Security.AllowPrivate, HostRate: serverRate})
	if err != nil {
		return mcp.Config{}, err
	}
	pins, err := r.pins()
	if err != nil {
		return mcp.Config{}, err
	}
	cfg := mcp.Config{Pins: pins, Transport: client.RoundTripper(), Redact: r.redacted, Log: r.opt.Log, Version: r.opt.Version, Spill: r.spill}
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(r.File.Servers)) {
		if r.File.Servers[name].Disabled {
			continue
		}
		s, err := r.server(name, r.File.Servers[name], secrets)
		if err != nil {
			texts = append(texts, fmt.Sprintf("mcpServers.%s: %v", name, err))
			continue
		}
		cfg.Servers = append(cfg.Servers, s)
	}
	if texts != nil {
		return cfg, fmt.Errorf("%w: %s", ErrCredential, strings.Join(texts, "\n"))
	}
	return cfg, nil
}

// pins is what was approved of the servers of this task, by the path of its file.
func (r *Run) pins() (*mcp.Pins, error) {
	task := r.path
	if task == "" {
		task = "-:" + r.File.Metadata.Name
	}
	return mcp.OpenPins(filepath.Join(r.opt.Home, "pins.json"), task)
}

// server is one entry with its secrets in their places.
func (r *Run) server(name string, s taskfile.Server, secrets map[string]string) (mcp.Server, error) {
	env, err := r.resolved(s.Env, secrets)
	headers, also := r.resolved(s.Headers, secrets)
	cwd := s.Cwd
	if cwd == "" {
		cwd = r.File.Dir
	}
	command := s.Command
	if s.File != "" {
		command = s.File
	}
	return mcp.Server{Name: name, Command: command, Args: s.Args, Env: env, Cwd: cwd, URL: s.URL, Headers: headers, Include: s.IncludeTools,
		Exclude: s.ExcludeTools, AddCaps: s.AddCapabilities, Tier: s.Tier, TrustAnnotations: s.TrustAnnotations, Record: s.Pin == "record",
		Timeout: s.Timeout}, errors.Join(err, also)
}

func (r *Run) resolved(values map[string]taskfile.Template, secrets map[string]string) (map[string]string, error) {
	out := make(map[string]string, len(values))
	for _, k := range slices.Sorted(maps.Keys(values)) {
		v, err := values[k].Resolve(lookup(secrets), r.env)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k, err)
		}
		out[k] = v
	}
	return out, nil
}

// spill keeps what a server returned that is no text, where the run can read it.
func (r *Run) spill(name string, data []byte) (string, error) {
	s := r.current.Load()
	if s == nil {
		return "", errors.New("there is no workspace yet")
	}
	return s.Spill(name, data)
}

// redacted takes secrets out of what servers say.
func (r *Run) redacted(text string) string {
	if r.hider == nil {
		return "[not shown: secrets are not known yet]"
	}
	text, _ = r.hider.String(text)
	return text
}

// unseen reports whether a name is, or a pattern may be, that of a tool of a server
// which was not started: who only looks starts none.
func (r *Run) unseen(name string) bool {
	if r.servers != nil {
		return false
	}
	for server := range r.File.Servers {
		if prefix := strings.ReplaceAll(server, "-", "_") + "_"; strings.HasPrefix(name, prefix) || strings.ContainsAny(name, "*?[.|") {
			return true
		}
	}
	return false
}

// drifted says that a server is not what was approved any more. Its tools are off
// by then; nobody is there to ask, so the run ends.
func (r *Run) drifted(ctx context.Context) error {
	if r.servers == nil {
		return nil
	}
	if err := r.servers.Check(ctx); err != nil && !r.attended() {
		return err
	}
	return nil
}

// Pinned is the approval of one server against what it is now.
type Pinned struct {
	Server  string
	Now     mcp.Pin
	Changes []mcp.Change // what nobody approved yet
}

// Inspect starts the named servers, or all, one after the other, and compares each
// with what was approved. It needs the trust that a run needs: a server is a program
// with your rights.
func (r *Run) Inspect(ctx context.Context, names ...string) ([]Pinned, error) {
	if err := r.vouch(); err != nil {
		return nil, err
	}
	r.opt.Look = false // the secrets that a server needs are read
	secrets, err := r.secrets(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.hide(secrets); err != nil {
		return nil, err
	}
	cfg, err := r.serverConfig(secrets)
	if err != nil {
		return nil, err
	}
	var list []Pinned
	for _, s := range cfg.Servers {
		if len(names) > 0 && !slices.Contains(names, s.Name) {
			continue
		}
		now, err := mcp.Inspect(ctx, s, cfg)
		if err != nil {
			return list, err
		}
		changes, err := cfg.Pins.Diff(s.Name, now)
		if err != nil {
			return list, err
		}
		list = append(list, Pinned{s.Name, now, changes})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("the task has no such server: it has %s", strings.Join(slices.Sorted(maps.Keys(r.File.Servers)), ", "))
	}
	return list, nil
}

// Approve stores what a person approved of a server.
func (r *Run) Approve(ctx context.Context, p Pinned) error {
	pins, err := r.pins()
	if err != nil {
		return err
	}
	return pins.Approve(ctx, p.Server, p.Now)
}
