package bridge_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/bridgetest"
	"github.com/codeact-dev/codeact/bridge/scan/redact"
	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/interp"
	"github.com/codeact-dev/codeact/policy"
)

var errDisk = errors.New("no space left")

// noon is the time of every test that does not move it.
var noon = time.Date(2026, 5, 26, 12, 0, 0, 0, time.UTC)

// A rig is a run with a journal in memory.
type rig struct {
	*bridgetest.Journal
	cfg  bridge.Config
	mods []func(*bridge.Run)
	door *bridge.Door
	b    *bridge.EffectBridgeAdapter
	now  time.Time
}

func newRig(t *testing.T, cfg bridge.Config, mods ...func(*bridge.Run)) *rig {
	t.Helper()
	r := &rig{Journal: bridgetest.NewJournal(), cfg: cfg, mods: mods, now: noon}
	r.resume(t)
	return r
}

// resume opens the same step again, as a run does that was interrupted.
func (r *rig) resume(t *testing.T) {
	t.Helper()
	r.cfg.Now = func() time.Time { return r.now }
	b, err := bridge.New(r.cfg)
	if err != nil {
		t.Fatal(err)
	}
	run := r.Run("r1")
	for _, mod := range r.mods {
		mod(&run)
	}
	if r.door, err = b.Open(run, 1, bridge.Preflight{}); err != nil {
		t.Fatal(err)
	}
	r.b = b
}

func (r *rig) call(t *testing.T, tool string, args map[string]any) (any, error) {
	t.Helper()
	return r.door.Call(t.Context(), interp.Call{Tool: tool, Args: args})
}

// event returns the last event of its type.
func event[E any](t *testing.T, j *bridgetest.Journal) E {
	t.Helper()
	for i := len(j.Events) - 1; i >= 0; i-- {
		if e, ok := j.Events[i].(E); ok {
			return e
		}
	}
	var none E
	t.Fatalf("no %T among %d events", none, len(j.Events))
	return none
}

func count[E any](j *bridgetest.Journal) (n int) {
	for _, e := range j.Events {
		if _, ok := e.(E); ok {
			n++
		}
	}
	return n
}

// A probe is a tool that counts how often it ran and keeps what it was given.
type probe struct {
	ran  int
	args map[string]any
	keys []string
}

// tool is a free one without effects that takes to, body and n.
func (p *probe) tool(name string, mods ...func(*bridge.Tool)) bridge.Tool {
	t := bridge.Tool{Name: name, Tier: policy.Free, Caps: policy.Declare(),
		Params: bridge.MustSchema(`{"type": "object", "properties": {"to": {"type": "string"}, "body": {}, "n": {"type": "integer"}}}`),
		Run: func(_ context.Context, permit *bridge.Permit) (bridge.Output, error) {
			p.ran++
			p.args, p.keys = permit.Args(), append(p.keys, permit.IdempotencyKey())
			return bridge.Output{Value: "ok", Local: true}, nil
		}}
	for _, mod := range mods {
		mod(&t)
	}
	return t
}

func returns(out bridge.Output, err error) func(*bridge.Tool) {
	return func(t *bridge.Tool) {
		t.Run = func(context.Context, *bridge.Permit) (bridge.Output, error) { return out, err }
	}
}

func tier(level policy.Tier) func(*bridge.Tool) { return func(t *bridge.Tool) { t.Tier = level } }

func caps(flags ...policy.Flag) func(*bridge.Tool) {
	return func(t *bridge.Tool) { t.Caps = policy.Declare(flags...) }
}

func sends(t *bridge.Tool) {
	t.Caps, t.Destinations = policy.Declare(policy.ExternalSend), []string{"to"}
}

// An approver answers with a function and keeps the questions.
type approver struct {
	answer func(bridge.Question) (bridge.Answer, error)
	asked  []bridge.Question
}

func (a *approver) Approve(_ context.Context, q bridge.Question) (bridge.Answer, error) {
	a.asked = append(a.asked, q)
	return a.answer(q)
}

func says(a bridge.Answer, err error) *approver {
	return &approver{answer: func(bridge.Question) (bridge.Answer, error) { return a, err }}
}

var yes = bridge.Answer{Yes: true, By: "alice"}

// A hook says what its functions say, and nothing without them.
type hook struct {
	before func(bridge.HookCall) bridge.HookResult
	after  func(bridge.HookCall, bridge.HookOutput) bridge.HookResult
}

var fine = bridge.HookResult{Decision: policy.Allowed("hooks")}

func (h hook) Before(_ context.Context, c bridge.HookCall) bridge.HookResult {
	if h.before == nil {
		return fine
	}
	return h.before(c)
}

func (h hook) After(_ context.Context, c bridge.HookCall, o bridge.HookOutput) bridge.HookResult {
	if h.after == nil {
		return fine
	}
	return h.after(c, o)
}

func denial(reason string) bridge.HookResult {
	return bridge.HookResult{Decision: policy.Decision{Gate: "hooks", Reason: reason}}
}

// space gives the run files; all of it is writable.
func space(t *testing.T, dir string, cfg workspace.Config) func(*bridge.Run) {
	t.Helper()
	cfg.Dir = dir
	s, _, err := workspace.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return func(r *bridge.Run) { r.Space = s }
}

func wantErr(t *testing.T, err, is error, texts ...string) {
	t.Helper()
	if !errors.Is(err, is) {
		t.Fatalf("error %v, want %v", err, is)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q, want %q in it", err, text)
		}
	}
}

// unwinds reports whether a script cannot catch err.
func unwinds(err error) bool { return reflect.TypeOf(err) == reflect.TypeOf(interp.Unwind(errDisk)) }

// token has the shape of a secret, and is none.
const token = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"

func call(tool string, args map[string]any) interp.Call { return interp.Call{Tool: tool, Args: args} }

func redactor(t *testing.T, secrets map[string]string) *redact.Redactor {
	t.Helper()
	r, err := redact.New(redact.Config{Secrets: secrets})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
