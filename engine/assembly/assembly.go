// Package assembly turns a task file into a run: it reads the file and what it
// names, checks that everything a run needs is there, and connects the parts.
//
// It is where a control can be lost without anyone noticing: a setting that is
// read and not passed on. So what a task may write and this version does not
// enforce is refused here, by name, and nothing starts with half of a policy.
package assembly

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/mcp"
	"github.com/codeact-dev/codeact/bridge/sandbox"
	"github.com/codeact-dev/codeact/bridge/scan/redact"
	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/engine"
	"github.com/codeact-dev/codeact/engine/models"
	"github.com/codeact-dev/codeact/engine/store"
	"github.com/codeact-dev/codeact/engine/taskfile"
	"github.com/codeact-dev/codeact/engine/taskfile/strictyaml"
	"github.com/codeact-dev/codeact/interp"
	"github.com/codeact-dev/codeact/policy/rules"
)

// What keeps a run from starting, besides faults of files. errors.Is finds them.
var (
	// ErrCredential: a key or a secret is missing.
	ErrCredential = errors.New("credential missing")

	// ErrPrecondition: a security precondition is not met.
	ErrPrecondition = errors.New("security precondition not met")

	// ErrState: the home, or another directory of ours, cannot be used. No file
	// that the operator wrote is at fault.
	ErrState = errors.New("cannot keep the state of a run")
)

// Options is what a caller adds to a task file. Flags can only narrow what the
// file grants: policies add, limits lower.
type Options struct {
	Home     string // codeact's own directory; required
	UserHome string // the user's, which no workspace may hold
	Cwd      string // what the path "-" is relative to
	Stdin    io.Reader
	Env      func(string) (string, bool) // nil knows no variable

	Params    map[string]string // -p NAME=VALUE
	Model     string            // provider/name[@baseURL] instead of the task's model
	Workspace string            // instead of the task's workspace.dir
	Mode      string            // "", interactive, unattended, or plan: only tools of tier 0
	OnAsk     string            // "", pause or deny: deny is the stricter
	Policies  []string          // more policy files
	Limits    []string          // NAME=VALUE, each lower than the task's
	Trust     string            // a digest that the operator vouches for, for this run
	Principal string            // who runs it

	// BestEffort starts the interpreter also where this system cannot confine it as
	// required. It needs the home's permit sandbox.optional, and is recorded.
	BestEffort bool

	// Vouch shows the person who is there what an MCP server offers that nobody
	// approved, and returns the answer; nil refuses such a server.
	Vouch func(ctx context.Context, server string, changes []mcp.Change) (bool, error)

	// Approver asks the person who is there; nil says that nobody is.
	Approver bridge.Approver

	Worker  []string // of the interpreter; nil is this program, through interp.MaybeWorker
	Unsafe  bool     // run blocks in this process: for tests
	Observe func(engine.Event, store.Line)
	OnText  func(string)
	Now     func() time.Time // nil means time.Now
	Version string           // of the program, for the trace
	Log     zerolog.Logger   // see engine.Config

	// Send is the tool of a draft that is sent: see OpenDraft.
	Send string

	// Look only reads: the Run has Tools, Policy and Bridge, needs no trust, key or
	// secret, and cannot Do.
	Look bool
}

// A Run is a task that is ready to run, once.
type Run struct {
	File     *taskfile.Task
	Home     *taskfile.Home
	Task     engine.Task
	Tools    []bridge.Tool
	Policy   *rules.Policy
	Bridge   *bridge.EffectBridgeAdapter
	Store    *store.Store
	Model    models.Model
	Server   string   // where the model is asked, when it is not its provider's own
	Warnings []string // for the person who starts it
	Loosened []string // settings that are looser than the defaults

	opt     Options
	turns   turns            // who is told of the turns of the run
	hider   *redact.Redactor // of all that the run must not show
	interp  *interp.Interp
	box     *sandbox.Box                    // of the shell; nil without one
	servers *mcp.Servers                    // nil without any
	current atomic.Pointer[workspace.Space] // the files of the run that is on, for what servers return
	engine  *engine.Engine
	dir     string // the workspace
	path    string // of the task file, absolute; "" for standard input
}

// Open reads the task file at path and assembles its run. An error that is about
// a file lists every fault with its place. The end of ctx stops what is being started;
// what runs by then is the Run's, until Close.
func Open(ctx context.Context, path string, opt Options) (*Run, error) {
	if opt.Home == "" {
		return nil, errors.New("assembly: Options.Home is required")
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	task, err := taskfile.Load(path, taskfile.Options{Params: opt.Params, Env: opt.Env, Stdin: opt.Stdin, Cwd: opt.Cwd, Home: opt.UserHome})
	home, homeErr := taskfile.LoadHome(filepath.Join(opt.Home, "config.yaml"))
	if err := strictyaml.Join(err, homeErr); err != nil {
		return nil, err
	}
	if err := ownHome(opt.Home); err != nil {
		return nil, err
	}
	task.Default(home)
	r := &Run{File: task, Home: home, opt: opt}
	if err := r.locate(path); err != nil {
		return nil, err
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	if err := r.assemble(ctx); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// locate makes paths absolute: what must not be changed has to be known by one
// name.
func (r *Run) locate(path string) (err error) {
	r.opt.Policies = slices.Clone(r.opt.Policies)
	for i, p := range r.opt.Policies {
		if r.opt.Policies[i], err = filepath.Abs(p); err != nil {
			return fmt.Errorf("%w: %w", ErrState, err)
		}
	}
	if path == "-" {
		return nil
	}
	if r.path, err = filepath.Abs(path); err != nil {
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	return nil
}

// assemble builds the parts, from the rules outwards. What can refuse the run without
// starting anything comes first, then what starts programs of ours, then those of the
// operator, and last the task's servers.
func (r *Run) assemble(ctx context.Context) error {
	secrets, err := r.prepare(ctx)
	if err != nil {
		return err
	}
	if err := r.connect(ctx, secrets); err != nil {
		return err
	}
	if r.Bridge, err = r.bridge(secrets); err != nil || r.opt.Look {
		return err
	}
	for _, w := range r.Policy.Check(r.Bridge.Tools()) {
		if w.Idle {
			r.Warnings = append(r.Warnings, w.String())
		}
	}
	r.clean()
	r.engine, err = engine.New(engine.Config{Model: r.Model, Bridge: r.Bridge, Interp: r.interp, Store: r.Store, Space: r.space, Hooks: r.turns,
		Outbox: r.drafts(), Check: r.drifted, MaxOutputTokens: r.File.Model.MaxOutputTokens, Temperature: r.File.Model.Temperature,
		Observe: r.opt.Observe, OnText: r.opt.OnText, Now: r.opt.Now, Log: r.opt.Log})
	return err
}

// Do runs the task. It may be called once.
func (r *Run) Do(ctx context.Context) (engine.Outcome, error) {
	if r.opt.Look {
		return engine.Outcome{}, errors.New("assembly: a run that was opened to look at cannot be done")
	}
	o, err := r.engine.Run(ctx, r.Task)
	if errors.Is(err, interp.ErrSandbox) {
		return o, fmt.Errorf("%w: %w", ErrPrecondition, err)
	}
	if err == nil && r.File.Output.File != "" && string(o.Output) != "null" {
		err = r.writeOutput(o)
	}
	return o, err
}

// Close frees what an opened run holds; it cannot be done any more. A run that was
// done may be closed too.
func (r *Run) Close() {
	if r.interp != nil {
		r.interp.Close()
	}
	if r.box != nil {
		if err := r.box.Close(); err != nil {
			r.opt.Log.Warn().Err(err).Msg("closing the box")
		}
	}
	if r.servers != nil {
		if err := r.servers.Close(); err != nil {
			r.opt.Log.Warn().Err(err).Msg("closing MCP servers")
		}
	}
}

// Dir is the workspace.
func (r *Run) Dir() string { return r.dir }

// task is the engine's view of the file.
func (r *Run) task() (engine.Task, error) {
	f := r.File
	t := engine.Task{Name: f.Metadata.Name, Goal: f.Goal, Labels: f.Metadata.Labels, Principal: r.opt.Principal, Attended: r.attended(),
		Destinations: f.Security.Destinations, Identity: f.Security.Identity, Digest: f.Digest(), Loosened: r.Loosened, Box: r.boxed(),
		Versions: map[string]string{"codeact": r.opt.Version}}
	for name, v := range f.Params {
		if _, sensitive := f.SensitiveParams[name]; !sensitive {
			t.Says = append(t.Says, fmt.Sprint(v))
		}
	}
	for _, i := range f.Instructions {
		t.Instructions = append(t.Instructions, i.Text)
		if r.trusted() {
			t.Says = append(t.Says, i.Text)
		}
	}
	for _, l := range f.Leases {
		t.Leases = append(t.Leases, engine.LeaseSpec{Tool: l.Tool, Tier: l.Tier, Uses: l.Uses, TTL: l.TTL, When: l.When, ApprovedBy: "task " + f.Digest()})
	}
	l := f.Limits
	t.Limits = engine.Limits{WallTime: l.WallTime, Steps: int(l.Steps), ToolCalls: int(l.ToolCalls), Tokens: l.Tokens,
		IdenticalCalls: int(l.IdenticalCalls), CostUSD: l.CostUSD, BytesSent: l.BytesSent, BytesPerDestination: l.BytesPerDestination}
	t.Output.Retries = f.Output.Retries
	if f.Output.Retries == 0 {
		t.Output.Retries = -1 // the file says never; the engine's zero is its default
	}
	if f.Output.Schema != nil {
		text, err := f.Output.Schema.MarshalJSON()
		if err != nil {
			return t, fmt.Errorf("assembly: output.schema: %w", err)
		}
		if err := bridge.CheckSchema(text); err != nil {
			return t, f.Fault("$.output.schema", "%v", err)
		}
		t.Output.Schema = string(text)
	}
	return t, nil
}

// confinement is what the interpreter's worker must have: nil is all that this
// system can give, and an empty list whatever it gives.
func (r *Run) confinement() []string {
	if r.opt.BestEffort || r.File.Workspace.Sandbox.Optional {
		return []string{}
	}
	return nil
}

// attended reports whether a person is there to answer.
func (r *Run) attended() bool {
	if r.opt.Send != "" { // whoever sends a draft is there
		return r.opt.Approver != nil
	}
	return r.opt.Approver != nil && (r.opt.Mode == "" || r.opt.Mode == "interactive") &&
		(r.File.Approvals.Mode == "" || r.File.Approvals.Mode == "interactive")
}

// pauser leaves every question open.
type pauser struct{}

func (pauser) Approve(context.Context, bridge.Question) (bridge.Answer, error) {
	return bridge.Answer{}, bridge.ErrPaused
}

// approver is who answers: the person who is there, nobody for now, or nobody at
// all, which is no.
func (r *Run) approver() bridge.Approver {
	switch {
	case r.attended():
		return r.opt.Approver
	case r.File.Approvals.Mode == "deny" || r.File.Approvals.OnAsk == "deny" || r.opt.OnAsk == "deny":
		return nil
	}
	return pauser{}
}

// writeOutput puts the final value where the operator asked for it. The path is
// his, not the model's, and it stays inside the workspace. A later run that reads
// it reads what this one held.
func (r *Run) writeOutput(o engine.Outcome) error {
	data := append(slices.Clone(o.Output), '\n')
	if o.Taint.Untrusted {
		sum := sha256.Sum256(data)
		if err := r.Store.MarkUntrusted(hex.EncodeToString(sum[:])); err != nil {
			return fmt.Errorf("assembly: output.file: %w", err)
		}
	}
	s, t, err := r.outputTarget()
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.WriteFile(t, data, workspace.Replace); err != nil {
		return fmt.Errorf("assembly: output.file: %w", err)
	}
	return nil
}

// outputTarget is the file of the output, and the space to write it in. It is asked
// for at the start too, so that a run does not end with a result that has no place.
func (r *Run) outputTarget() (*workspace.Space, workspace.Target, error) {
	path := r.File.Output.File
	hidden := func(part string) bool { return strings.HasPrefix(part, ".") && part != "." && part != ".." }
	if slices.ContainsFunc(strings.Split(filepath.ToSlash(path), "/"), hidden) && !r.trusted() {
		return nil, workspace.Target{}, fmt.Errorf("%w: output.file %s is a hidden file, where only a trusted task may write; to trust it, give --trust %s",
			ErrPrecondition, path, r.File.Digest())
	}
	s, _, err := workspace.Open(workspace.Config{Dir: r.dir, Writable: []string{path}, Protected: r.protected()})
	if err != nil {
		return nil, workspace.Target{}, r.File.Fault("$.output.file", "%v", err)
	}
	t, err := s.Resolve(path)
	if err == nil && !t.Writable {
		err = errors.New("it may not be written: it is a file of this run, or lies outside the workspace")
	}
	if err != nil {
		s.Close()
		return nil, workspace.Target{}, r.File.Fault("$.output.file", "%v", err)
	}
	return s, t, nil
}
