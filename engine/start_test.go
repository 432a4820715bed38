package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/engine/store"
	"github.com/codeact-dev/codeact/interp"
	"github.com/codeact-dev/codeact/policy"
)

func TestAnEngineNamesEverythingThatItLacks(t *testing.T) {
	e, err := New(Config{})
	if e != nil || err == nil {
		t.Fatalf("got %v, %v", e, err)
	}
	for _, name := range []string{"Model", "Bridge", "Interp", "Store"} {
		if !strings.Contains(err.Error(), "engine: Config."+name+" is required") {
			t.Errorf("%s is not named in %v", name, err)
		}
	}
}

func TestATaskIsCheckedBeforeAnythingStarts(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Task)
		want   []string
	}{
		{"no name and no goal", func(k *Task) { k.Name, k.Goal = "", "" }, []string{"a task needs a name and a goal"}},
		{"a negative limit", func(k *Task) { k.Limits.CostUSD = -1 }, []string{"a limit is negative"}},
		{"a lease that cannot be read", func(k *Task) { k.Leases = []LeaseSpec{{Tool: "note"}, {Tool: "note", When: "call."}} }, []string{"leases[1].when"}},
		{"a schema that is none", func(k *Task) { k.Output.Schema = "[" }, []string{"engine: output schema"}},
		{"a schema that refers to nothing", func(k *Task) { k.Output.Schema = `{"$ref": "#/$defs/none"}` }, []string{"engine: output schema"}},
		{"all at once", func(k *Task) { k.Name, k.Limits.Steps, k.Output.Schema = "", -1, "[" }, []string{"a name and a goal", "negative", "schema"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStage(t, block("note()"))
			test.change(&s.task)
			p := s.perform(t, t.Context())
			if p.err == nil || p.conversation != nil || len(s.effects) != 0 {
				t.Fatalf("it started: %v", p.err)
			}
			for _, want := range test.want {
				if !strings.Contains(p.err.Error(), want) {
					t.Errorf("%q is not in %v", want, p.err)
				}
			}
			if runs, err := s.store.List(); err != nil || len(runs) != 0 {
				t.Errorf("there is a trace: %v, %v", runs, err)
			}
		})
	}
}

func TestRunReportsWhatBecameOfATask(t *testing.T) {
	s := newStage(t, block("final(1)"))
	b, err := bridge.New(bridge.Config{Tools: s.offer(t)})
	if err != nil {
		t.Fatal(err)
	}
	in, err := interp.New(s.interp)
	if err != nil {
		t.Fatal(err)
	}
	space := func(string) (*workspace.Space, error) {
		opened, _, err := workspace.Open(workspace.Config{Dir: t.TempDir()})
		return opened, err
	}
	e, err := New(Config{Model: s.model, Bridge: b, Interp: in, Store: s.store, Space: space})
	if err != nil {
		t.Fatal(err)
	}
	before := time.Now().Add(-time.Second)
	o, err := e.Run(t.Context(), s.task)
	if err != nil || o.Status != Completed || string(o.Output) != "1" {
		t.Errorf("%+v, %v", o, err)
	}
	for line, err := range store.ReadFile(o.Trace) {
		if err != nil || line.TS.Before(before) {
			t.Errorf("line %d at %v, %v", line.Seq, line.TS, err)
		}
	}
	if o, err := e.Run(t.Context(), Task{}); err == nil || o.RunID != "" {
		t.Errorf("an empty task: %+v, %v", o, err)
	}
}

// What cannot start leaves nothing that is locked or running.
func TestARunThatCannotStartGivesEverythingBack(t *testing.T) {
	for name, config := range map[string]func(*Config){
		"engine: workspace: no room": func(c *Config) {
			c.Space = func(string) (*workspace.Space, error) { return nil, errors.New("no room") }
		},
		"engine: interp": func(c *Config) { c.Interp.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, block("final(1)"))
			s.config = config
			p := s.perform(t, t.Context())
			if p.err == nil || !strings.Contains(p.err.Error(), name) || p.conversation != nil {
				t.Fatalf("got %v", p.err)
			}
			runs, err := s.store.List()
			if err != nil || len(runs) != 1 {
				t.Fatalf("%v, %v", runs, err)
			}
		})
	}
}

// The id of a run is drawn, so that two runs never write one trace.
func TestTwoWritersNeverShareATrace(t *testing.T) {
	s := newStage(t, block("note()\nfinal(1)"))
	var locked *store.LockedError
	s.tools["note"] = func(p *bridge.Permit) (bridge.Output, error) {
		id, _, _ := strings.Cut(p.Call(), "/")
		_, err := s.store.Create(id)
		if !errors.As(err, &locked) || locked.PID != os.Getpid() {
			t.Errorf("a second writer of %s: %v", id, err)
		}
		return bridge.Output{Local: true}, nil
	}
	s.play(t).ended(t, Completed, "")
	if locked == nil {
		t.Error("no second writer was tried")
	}
}

func TestRunIDsSortByTimeAndAreNeverTheSame(t *testing.T) {
	a, b, later := newRunID(noon), newRunID(noon), newRunID(noon.Add(time.Second))
	if !regexp.MustCompile(`^r20260501-120000-[0-9a-f]{12}$`).MatchString(a) || a == b || later < a {
		t.Errorf("%s, %s, %s", a, b, later)
	}
}

func TestEveryStatusHasItsExitCode(t *testing.T) {
	for s, want := range map[Status]int{Completed: 0, CompletedWithRefusals: 3, LimitReached: 5, RefusedToStart: 6, Paused: 8, Cancelled: 130, Failed: 1, "": 1} {
		if got := s.ExitCode(); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	}
	err := error(&LimitError{Limit: "steps", Of: "2", Why: "why"})
	if !errors.Is(err, ErrLimit) || err.Error() != "engine: limit steps (2) reached: why" {
		t.Error(err)
	}
}

// lender says yes for as long as the lease that is offered.
type lender struct{ asked int }

func (l *lender) Approve(context.Context, bridge.Question) (bridge.Answer, error) {
	l.asked++
	return bridge.Answer{Yes: true, Scope: bridge.ForLease, By: "alice"}, nil
}

func TestALeaseIsGrantedOnceAndSpent(t *testing.T) {
	s := newStage(t, block("once(text=\"a\")\nonce(text=\"b\")\nfinal(1)"))
	person := &lender{}
	s.task.Attended, s.bridge.Approver = true, person
	p := s.play(t)
	p.ended(t, Completed, "")
	ls := p.conversation.state.Leases.All()
	if person.asked != 1 || len(ls) != 1 || ls[0].Uses != 48 || ls[0].ApprovedBy != "user:alice" {
		t.Errorf("asked %d times, leases %+v", person.asked, ls)
	}
	if mode := p.events[0].(*RunStarted).Mode; mode != "interactive" {
		t.Errorf("mode %s", mode)
	}
}

func TestTheLeasesOfATaskStartWithIt(t *testing.T) {
	k := Task{Leases: []LeaseSpec{{Tool: "a"}, {Tool: "b", Tier: policy.AskOnce, Uses: 2, TTL: time.Hour, When: "true", ApprovedBy: "task x"}}}
	ls := k.leases(noon)
	if len(ls) != 2 || ls[0].Uses != 50 || !ls[0].Expires.Equal(noon.Add(30*time.Minute)) {
		t.Errorf("the defaults: %+v", ls)
	}
	if l := ls[1]; l.ID != "l-task-2" || l.Uses != 2 || !l.Expires.Equal(noon.Add(time.Hour)) || l.When != "true" || l.ApprovedBy != "task x" {
		t.Errorf("%+v", l)
	}
}

// A stopper is a hook that ends the run before one tool.
type stopper struct{ tool string }

func (s stopper) Before(_ context.Context, c bridge.HookCall) bridge.HookResult {
	if c.Request.Tool.Name == s.tool {
		return bridge.HookResult{Decision: policy.Decision{Reason: "the office is closed"}, Stop: true}
	}
	return bridge.HookResult{Decision: policy.Allowed("")}
}

func (stopper) After(context.Context, bridge.HookCall, bridge.HookOutput) bridge.HookResult {
	return bridge.HookResult{Decision: policy.Allowed("")}
}

func TestAHookCanEndTheRun(t *testing.T) {
	s := newStage(t, block("note()\nattempt(post, to=\"bob\")\nnote(text=\"late\")\nfinal(1)"))
	s.bridge.Hooks = []bridge.Hook{stopper{"post"}}
	p := s.play(t)
	p.ended(t, CompletedWithRefusals, "the office is closed")
	if len(s.effects) != 1 || string(p.Output) != "null" {
		t.Errorf("effects %q, output %s", s.effects, p.Output)
	}
}

func TestAnOpenQuestionPausesTheRun(t *testing.T) {
	s := newStage(t, block("note()\nattempt(always)\nnote(text=\"late\")"))
	s.bridge.Approver = moody{func() int { return 3 }}
	p := s.play(t)
	p.ended(t, Paused, "always waits for a person's answer")
	if len(s.effects) != 1 || len(p.Approvals) != 1 || p.Approvals[0].State != "pending" {
		t.Errorf("effects %q, approvals %+v", s.effects, p.Approvals)
	}
}

// Without a key its hashes would be open to guessing.
func TestAKeyThatIsLostKeepsARunFromStarting(t *testing.T) {
	s := newStage(t, block("final(1)"))
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "keys"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.store, err = store.Open(filepath.Join(dir, "traces")); err != nil {
		t.Fatal(err)
	}
	if p := s.perform(t, t.Context()); p.err == nil || !strings.Contains(p.err.Error(), "key of run") {
		t.Errorf("got %v", p.err)
	}
}
