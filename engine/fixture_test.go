package engine

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/plain"
	"github.com/codeact-dev/codeact/engine/models"
	"github.com/codeact-dev/codeact/engine/store"
	"github.com/codeact-dev/codeact/interp"
	"github.com/codeact-dev/codeact/interp/interptest"
	"github.com/codeact-dev/codeact/policy"
)

// worker is the interpreter's program, built without the race detector.
var worker string

func TestMain(m *testing.M) {
	path, remove := interptest.Worker()
	worker = path
	code := m.Run()
	remove()
	os.Exit(code)
}

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// A tester is what *testing.T and *rapid.T have in common.
type tester interface {
	Helper()
	Error(...any)
	Errorf(string, ...any)
	Fatal(...any)
	Fatalf(string, ...any)
	Context() context.Context
}

// A stage is everything that a run needs, in memory but for its trace.
type stage struct {
	model  models.Model
	task   Task
	bridge bridge.Config
	interp interp.Config
	store  *store.Store
	config func(*Config)

	tools   map[string]func(*bridge.Permit) (bridge.Output, error) // what the tools do instead
	effects []string                                               // what the tools did
}

// newStage is a stage for a model that says the given replies.
func newStage(t testing.TB, replies ...string) *stage {
	t.Helper()
	steps := make([]models.Step, len(replies))
	for i, r := range replies {
		steps[i] = models.Step{Text: r}
	}
	s, err := store.Open(filepath.Join(t.TempDir(), "traces"))
	if err != nil {
		t.Fatal(err)
	}
	return &stage{model: models.NewScripted(steps), store: s, interp: interp.Config{Unsafe: true}, tools: map[string]func(*bridge.Permit) (bridge.Output, error){},
		task:   Task{Name: "test", Goal: "Do the work for bob.", Principal: "tester"},
		bridge: bridge.Config{Now: func() time.Time { return noon }, Security: policy.Security{Named: policy.NamedOff, SendsAfterPrivate: true}}}
}

// block is a reply with one block.
func block(code string) string { return "```starlark\n" + code + "\n```" }

// props are the tools of every stage: a name, its tier, what it can do.
var props = []struct {
	name string
	tier policy.Tier
	caps policy.Capabilities
	dest []string
}{
	{"diary", policy.Free, policy.Declare(policy.PrivateData), nil},
	{"page", policy.Free, policy.Declare(policy.UntrustedInput), nil},
	{"post", policy.Free, policy.Declare(policy.ExternalSend), []string{"to"}},
	{"note", policy.Free, policy.Declare(), nil},
	{"fails", policy.Free, policy.Declare(), nil},
	{"once", policy.AskOnce, policy.Declare(), nil},
	{"always", policy.AlwaysAsk, policy.Declare(), nil},
}

func (s *stage) offer(t tester) []bridge.Tool {
	schema, err := bridge.ParseSchema([]byte(`{"type":"object","properties":{"to":{"type":["string","null"]},"text":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	var ts []bridge.Tool
	for _, p := range props {
		ts = append(ts, bridge.Tool{Name: p.name, Doc: "Does " + p.name + ".", Params: schema, Tier: p.tier, Caps: p.caps, Destinations: p.dest, Record: policy.RecordSpec{ID: "ref"},
			Run: func(_ context.Context, permit *bridge.Permit) (bridge.Output, error) { return s.act(p.name, permit) }})
	}
	return ts
}

// act is what every tool does: it leaves a trace of itself, and returns its text.
func (s *stage) act(name string, p *bridge.Permit) (bridge.Output, error) {
	if do := s.tools[name]; do != nil {
		return do(p)
	}
	if name == "fails" {
		return bridge.Output{Local: true}, errors.New("out of order")
	}
	s.effects = append(s.effects, name+" "+p.String("text"))
	return bridge.Output{Value: p.Arg("text"), Local: name != "page"}, nil
}

// A played is what became of a run.
type played struct {
	Outcome
	conversation *Conversation
	events       []Event
	prompts      []models.Prompt
	err          error
	raw          string // the bytes of the trace
}

// play runs the stage, and checks what must hold after every run: the trace is
// sound and ends as a trace must, and the conversation that it tells is the one
// that ran.
func (s *stage) play(t tester) played {
	t.Helper()
	return s.playIn(t, t.Context())
}

func (s *stage) playIn(t tester, ctx context.Context) played {
	t.Helper()
	p := s.perform(t, ctx)
	if p.err != nil {
		t.Fatal(p.err)
	}
	if r, err := store.Verify(p.Trace); err != nil || r.Torn {
		t.Errorf("the trace is not sound: %v, torn %v", err, r.Torn)
	}
	last := p.events[len(p.events)-1].event()
	if want := map[bool]string{true: "run.paused", false: "run.completed"}[p.Status == Paused]; last != want {
		t.Errorf("the trace ends with %s, want %s", last, want)
	}
	loaded, err := Load(s.store, p.RunID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(asJSON(t, p.Outcome), asJSON(t, loaded.Outcome())); diff != "" {
		t.Errorf("the outcome of the trace (-live +loaded):\n%s", diff)
	}
	sameState(t, p.conversation, loaded)
	return p
}

// perform runs the stage and checks nothing.
func (s *stage) perform(t tester, ctx context.Context) (p played) {
	t.Helper()
	e, end := s.engine(t, &p)
	defer end()
	p.conversation, p.err = e.converse(ctx, s.task)
	if p.conversation != nil {
		p.Outcome = p.conversation.Outcome()
		data, _ := os.ReadFile(p.Trace)
		p.raw = string(data)
	}
	return p
}

// engine is one for this stage, whose events and prompts go to p, and what ends it.
func (s *stage) engine(t tester, p *played) (e *Engine, end func()) {
	t.Helper()
	s.bridge.Tools = s.offer(t)
	b, err := bridge.New(s.bridge)
	if err != nil {
		t.Fatal(err)
	}
	in, err := interp.New(s.interp)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Model: &spy{s.model, &p.prompts}, Bridge: b, Interp: in, Store: s.store, Now: s.bridge.Now,
		Observe: func(e Event, _ store.Line) { p.events = append(p.events, e) }}
	if s.config != nil {
		s.config(&cfg)
	}
	if e, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	return e, func() { in.Close() }
}

// A spy keeps the prompts that a model was given.
type spy struct {
	models.Model
	prompts *[]models.Prompt
}

func (s *spy) Complete(ctx context.Context, p models.Prompt) (models.Reply, error) {
	*s.prompts = append(*s.prompts, p)
	return s.Model.Complete(ctx, p)
}

// Left lets the script's count through.
func (s *spy) Left() int {
	if m, ok := s.Model.(interface{ Left() int }); ok {
		return m.Left()
	}
	return 0
}

// replies is a model that gives them in order, whatever they cost, and then fails.
type replies struct{ list []models.Reply }

func (r *replies) Name() string { return "replies" }

func (r *replies) Complete(context.Context, models.Prompt) (models.Reply, error) {
	if len(r.list) == 0 {
		return models.Reply{}, errors.New("the server of key sk-live is down")
	}
	next := r.list[0]
	r.list = r.list[1:]
	return next, nil
}

func asJSON(t tester, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// sameState says where two conversations differ.
func sameState(t tester, live, loaded *Conversation) {
	t.Helper()
	for _, part := range []struct {
		name string
		of   func(*Conversation) any
	}{
		{"held", func(c *Conversation) any { return c.Held() }},
		{"seen", func(c *Conversation) any { return c.Seen() }},
		{"leases", func(c *Conversation) any { return c.state.Leases.All() }},
		{"counters", func(c *Conversation) any {
			return []any{c.state.Calls, c.state.BytesSent, c.state.CostUSD, c.state.Waited, c.blockedSends, c.failing, c.failures, c.usage}
		}},
		{"begun", func(c *Conversation) any { return c.state.Begun }},
		{"tainted", func(c *Conversation) any { return c.state.Tainted }},
		{"denied", func(c *Conversation) any { return c.denied }},
		{"limit", func(c *Conversation) any { return c.over }},
		{"start", func(c *Conversation) any { return c.started }},
		{"records", recordsOf},
		{"steps", func(c *Conversation) any {
			var list []any
			for _, s := range c.steps {
				list = append(list, []any{s.n, s.reply, s.code, s.observation.String(), s.ran, s.lost})
			}
			return list
		}},
		{"authority", authorityOf},
		{"goal", func(c *Conversation) any { return c.goal() }},
	} {
		if diff := cmp.Diff(asJSON(t, part.of(live)), asJSON(t, part.of(loaded))); diff != "" {
			t.Errorf("%s (-live +loaded):\n%s", part.name, diff)
		}
	}
}

func recordsOf(c *Conversation) any {
	list := map[string]any{}
	for id, r := range c.records {
		value := ""
		if r.Outcome != nil {
			value, _ = plain.JSON(r.Outcome.Value)
		}
		list[id] = []any{r, value}
	}
	return list
}

// authorityOf is where the texts of these tests stand, as a person would be told.
func authorityOf(c *Conversation) any {
	var list []any
	for _, text := range []string{"bob", "mallory", "x1"} {
		list = append(list, c.state.Authority.Where(text))
	}
	return list
}

// kinds lists the types of the events.
func (p played) kinds() []string {
	var list []string
	for _, e := range p.events {
		list = append(list, e.event())
	}
	return list
}

// observations joins what the model read.
func (p played) observations() string {
	var b strings.Builder
	for _, e := range p.events {
		if s, ok := e.(*StepCompleted); ok {
			b.WriteString(s.Observation + "\n")
		}
	}
	return b.String()
}

// ended checks how the run ended.
func (p played) ended(t tester, want Status, reason string) {
	t.Helper()
	if p.Status != want || p.ExitCode != want.ExitCode() || !strings.Contains(p.Reason, reason) {
		t.Errorf("ended %s (%d): %q, want %s: %q\n%s", p.Status, p.ExitCode, p.Reason, want, reason, p.observations())
	}
}

func (p played) has(kind string) bool { return slices.Contains(p.kinds(), kind) }
