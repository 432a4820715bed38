package engine

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-multierror"
	"github.com/rs/zerolog"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/engine/models"
	"github.com/codeact-dev/codeact/engine/store"
	"github.com/codeact-dev/codeact/interp"
	"github.com/codeact-dev/codeact/policy"
)

// An Advisor recalls lessons for a goal. It may return nothing.
type Advisor interface {
	Advise(ctx context.Context, goal string) ([]Advice, error)
}

// A Config is what an engine works with. Model, Bridge, Interp and Store are
// required.
type Config struct {
	Model  models.Model
	Bridge *bridge.EffectBridgeAdapter
	Interp *interp.Interp
	Store  *store.Store

	MaxOutputTokens int      // of one reply; 0 leaves it to the model's adapter
	Temperature     *float64 // nil leaves it to the provider

	// Space opens the files of a run; nil gives it none. The run closes them.
	Space func(runID string) (*workspace.Space, error)

	// Check is called before each step; its error ends the run as one whose security
	// preconditions are not met any more, exit code 6. nil checks nothing.
	Check func(context.Context) error

	Outbox bridge.Outbox // keeps the drafts of staged tools; nil: staged calls fail

	Advisor Advisor                 // nil recalls nothing
	Hooks   Hooks                   // at the turns of a run; nil has none
	Observe func(Event, store.Line) // sees every event after it is in the trace; nil shows nobody
	OnText  func(string)            // sees the model's reply as it arrives; nil shows nobody
	Now     func() time.Time        // nil means time.Now

	// Log gets what an operator of a service wants to follow: events by type, run
	// and call, never what agents or tools wrote. The zero Logger is silent.
	Log zerolog.Logger
}

// An Engine runs tasks. It is safe for concurrent use, as far as its Observe is.
type Engine struct{ cfg Config }

// New checks cfg. Its error names everything that is missing.
func New(cfg Config) (*Engine, error) {
	var errs *multierror.Error
	for _, field := range []struct {
		name    string
		missing bool
	}{{"Model", cfg.Model == nil}, {"Bridge", cfg.Bridge == nil}, {"Interp", cfg.Interp == nil}, {"Store", cfg.Store == nil}} {
		if field.missing {
			errs = multierror.Append(errs, fmt.Errorf("engine: Config.%s is required", field.name))
		}
	}
	if err := errs.ErrorOrNil(); err != nil {
		return nil, err
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Engine{cfg}, nil
}

// newRunID returns a fresh id: the time, so that ids sort, and 48 random bits.
func newRunID(now time.Time) string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails: see crypto/rand
	return now.UTC().Format("r20060102-150405-") + hex.EncodeToString(b[:])
}

// Run does the task in a new conversation. The Outcome says how it ended, also
// when it failed; the error is for what kept a run from starting or its trace
// from being written, and then nothing more was done.
func (e *Engine) Run(ctx context.Context, t Task) (Outcome, error) {
	c, err := e.converse(ctx, t)
	if c == nil {
		return Outcome{}, err
	}
	return c.Outcome(), err
}

// converse runs the task and returns its conversation, nil when it did not start.
func (e *Engine) converse(ctx context.Context, t Task) (*Conversation, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	r, err := e.start(ctx, t, nil)
	if err != nil {
		return nil, err
	}
	defer r.close()
	if err := r.greet(); err != nil {
		return r.Conversation, err
	}
	return r.Conversation, r.loop()
}

// A run is a conversation at work.
type run struct {
	*journal
	e        *Engine
	task     Task
	ctx      context.Context // of this one Run call; a cause says which limit or signal ended it
	cancel   context.CancelCauseFunc
	space    *workspace.Space
	session  *interp.Session // nil where a draft is sent
	draft    *bridge.Draft   // what is sent, in a run that does nothing else
	lineage  *bridge.Lineage // of the session's blocks
	doors    bridge.Run
	system   string
	advice   []Advice
	nudges   int
	retries  int // left, for a final value that does not match
	validate func(any) error
}

// start opens trace, files and interpreter, and writes the first event. A draft
// that is sent needs no interpreter. On an error it leaves nothing open.
func (e *Engine) start(ctx context.Context, t Task, draft *bridge.Draft) (_ *run, err error) {
	now := e.cfg.Now()
	id := newRunID(now)
	trace, err := e.cfg.Store.Create(id)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	r := &run{e: e, task: t, retries: t.Output.retries()}
	r.journal = &journal{Conversation: newConversation(id, trace.Path()), trace: trace, now: e.cfg.Now, observe: e.cfg.Observe, log: e.cfg.Log, warned: map[string]bool{},
		mark: e.cfg.Store.MarkUntrusted}
	r.state.Untrusted, r.state.Elsewhere = e.cfg.Store.Untrusted, e.elsewhere(id, t.Principal)
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	r.alive = func() error { return context.Cause(r.ctx) }
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	if r.validate, err = validator(t.Output); err != nil {
		return nil, err
	}
	if e.cfg.Space != nil {
		if r.space, err = e.cfg.Space(id); err != nil {
			return nil, fmt.Errorf("engine: workspace: %w", err)
		}
	}
	if r.draft = draft; draft == nil {
		if r.session, err = e.cfg.Interp.Session(r.ctx, e.cfg.Bridge.Signatures()); err != nil {
			return nil, fmt.Errorf("engine: %w", err)
		}
	}
	return r, r.open(now)
}

// open writes the first event and makes what every step needs.
func (r *run) open(now time.Time) error {
	e, t := r.e, r.task
	var seed [32]byte
	_, _ = rand.Read(seed[:])
	marker := scan.NewMarker(seed[:])
	key, err := e.cfg.Store.Key(r.id)
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	l := t.Limits.withDefaults()
	if err := r.add(&RunStarted{Task: t.Name, Goal: t.Goal, User: t.Says, Destinations: t.Destinations, Identity: t.Identity, Labels: t.Labels,
		Principal: t.Principal, Mode: mode(t.Attended), Model: e.cfg.Model.Name(), Limits: l, Leases: t.leases(now), Marker: marker.String(),
		Tools: e.pins(), Security: e.cfg.Bridge.Security(), Policy: e.cfg.Bridge.PolicyDigest(), TaskDigest: t.Digest,
		Sandbox: r.sandbox(), Box: t.Box, Loosened: t.Loosened, Inbound: t.Inbound, Versions: t.Versions}, true); err != nil {
		return err
	}
	r.doors = bridge.Run{ID: r.id, Attended: t.Attended, Session: policy.SessionView{ID: r.id, User: t.Principal}, Labels: t.Labels,
		Space: r.space, Outbox: e.cfg.Outbox, Journal: r.journal, State: r.state, Marker: marker, Key: key}
	r.lineage = e.cfg.Bridge.NewLineage()
	r.clock = &stopwatch{left: l.WallTime, expire: func() {
		r.cancel(&LimitError{Limit: "wallTime", Of: l.WallTime.String(), Why: "the run's active time is over"})
	}}
	r.clock.start()
	r.asked = r.asking
	r.instruct()
	if e.cfg.Advisor != nil {
		if r.advice, err = e.cfg.Advisor.Advise(r.ctx, t.Goal); err != nil {
			return fmt.Errorf("engine: advice: %w", err)
		}
	}
	return nil
}

func (r *run) sandbox() []string {
	if r.session == nil {
		return nil
	}
	return r.session.Sandbox()
}

// instruct makes the first part of the prompt.
func (r *run) instruct() {
	b := r.e.cfg.Bridge
	r.system = briefing{task: r.task, goal: r.goal(), tools: b.Signatures(), views: b.Tools(), limits: r.limits(), calls: b.MaxCalls()}.system()
}

func (r *run) close() {
	r.cancel(nil)
	r.clock.stop()
	if r.session != nil {
		r.session.Close()
	}
	if r.space != nil {
		r.space.Close()
	}
	r.trace.Close()
}

func mode(attended bool) string {
	if attended {
		return "interactive"
	}
	return "unattended"
}

func (e *Engine) pins() []ToolPin {
	var pins []ToolPin
	records := e.cfg.Bridge.RecordSpecs()
	for _, t := range e.cfg.Bridge.Tools() {
		pins = append(pins, ToolPin{Name: t.Name, Server: t.Server, Labels: t.Labels, Sandboxed: t.Sandboxed, Pinned: t.Pinned, Tier: t.Tier, Capabilities: t.Caps, Pin: e.cfg.Bridge.Pin(t.Name), Record: records[t.Name]})
	}
	return pins
}

// ErrTrace is wrapped by every error of writing the trace. The run ended before the
// next effect, and its trace does not say so.
var ErrTrace = errors.New("the trace cannot be written")
