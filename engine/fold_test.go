package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/engine/store"
	"github.com/codeact-dev/codeact/policy"
)

// A moody person answers as drawn: no, yes, a lease, or not now.
type moody struct{ draw func() int }

func (m moody) Approve(_ context.Context, q bridge.Question) (bridge.Answer, error) {
	switch m.draw() {
	case 0:
		return bridge.Answer{By: "moody", Reason: "not " + q.Tool}, nil
	case 1:
		return bridge.Answer{Yes: true, By: "moody"}, nil
	case 2:
		return bridge.Answer{Yes: true, Scope: bridge.ForLease, By: "moody"}, nil
	}
	return bridge.Answer{}, bridge.ErrPaused
}

// ticking is a clock that a run moves on by looking at it.
func ticking() func() time.Time {
	now := noon
	return func() time.Time {
		now = now.Add(time.Second)
		return now
	}
}

// statements are what a drawn block is made of.
var statements = []string{
	`print(diary(text="x%d"))`, `page(text="from mallory: x%d")`, `attempt(post, to="bob", text="x%d")`, `attempt(post, to="mallory", text="x%d")`,
	`attempt(note, text="x%d")`, `attempt(fails, text="x%d")`, `attempt(once, text="x%d")`, `attempt(always, text="x%d")`, `fail("x%d")`,
	`attempt(note, text=%d)`, `note(text="x%d" * 30000)`, `x%d = 1`, `final(["x%d", 9007199254740993, 1 << 80])`,
}

// Whatever a run did, its trace tells the same conversation: play compares held
// and seen, records, leases and what is left of them, counters, refusals and the
// report.
func TestATraceTellsTheConversationThatRan(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := newStage(t)
		var list []string
		for range rapid.IntRange(1, 5).Draw(r, "steps") {
			var code []string
			for range rapid.IntRange(0, 5).Draw(r, "statements") {
				line := rapid.SampledFrom(statements).Draw(r, "statement")
				code = append(code, fmt.Sprintf(line, rapid.IntRange(1, 2).Draw(r, "n")))
			}
			list = append(list, rapid.SampledFrom([]string{block(strings.Join(code, "\n")), "no block"}).Draw(r, "reply"))
		}
		s.model = newStage(t, list...).model
		s.bridge.Now = ticking()
		s.bridge.Security.Named = rapid.SampledFrom([]policy.NamedMode{policy.NamedOff, policy.NamedAsk}).Draw(r, "named")
		s.bridge.Security.Trifecta = rapid.SampledFrom([]policy.Verdict{policy.Deny, policy.Ask, policy.Allow}).Draw(r, "trifecta")
		s.task.Attended = rapid.Bool().Draw(r, "attended")
		if s.task.Attended {
			s.bridge.Approver = moody{func() int { return rapid.IntRange(0, 3).Draw(r, "answer") }}
		}
		s.task.Leases = []LeaseSpec{{Tool: "once", Tier: policy.AskOnce, Uses: rapid.IntRange(1, 3).Draw(r, "uses"), ApprovedBy: "tester"}}
		s.task.Limits = Limits{Steps: 6, ToolCalls: rapid.IntRange(1, 20).Draw(r, "toolCalls"), BytesSent: int64(rapid.IntRange(0, 100).Draw(r, "bytesSent"))}
		s.play(r)
	})
}

// large makes note return more than a trace line takes.
func (s *stage) large() *stage {
	s.tools["note"] = func(p *bridge.Permit) (bridge.Output, error) {
		s.effects = append(s.effects, "note "+p.String("text"))
		return bridge.Output{Value: strings.Repeat("x", 200_000), Local: true}, nil
	}
	return s
}

// A large result stands beside the trace, and comes back with it.
func TestALargeResultIsReadBack(t *testing.T) {
	s := newStage(t, block("x = note()\nfinal(len(x))")).large()
	p := s.play(t)
	if strings.Contains(p.raw, strings.Repeat("x", 1000)) {
		t.Error("the result stands in the trace")
	}
	blobs, err := filepath.Glob(strings.TrimSuffix(p.Trace, ".jsonl") + ".blobs/*")
	if err != nil || len(blobs) != 1 {
		t.Fatalf("blobs %v, %v", blobs, err)
	}
	if err := os.WriteFile(blobs[0], []byte(`"y"`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(s.store, p.RunID); !errors.Is(err, store.ErrDigest) {
		t.Errorf("a changed result: %v", err)
	}
}

// A run of which there is only the beginning has no status yet.
func TestACrashedRunLoads(t *testing.T) {
	s := newStage(t, block("page(text=\"x\")\nnote(text=\"y\")"), block("final(1)"))
	p := s.play(t)
	lines := strings.SplitAfter(p.raw, "\n")
	for n := 1; n < len(lines)-1; n++ {
		if err := os.WriteFile(p.Trace, []byte(strings.Join(lines[:n], "")+`{"v":1,"se`), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(s.store, p.RunID)
		if err != nil {
			t.Fatalf("the first %d lines: %v", n, err)
		}
		if o := c.Outcome(); o.Status != "" || o.RunID != p.RunID || c.ID() != p.RunID || string(o.Output) != "null" {
			t.Errorf("the first %d lines: %+v", n, o)
		}
	}
}

func TestATraceThatCannotBeFoldedIsRefused(t *testing.T) {
	start := &RunStarted{Task: "t", Goal: "g"}
	type line struct {
		kind string
		body any
	}
	begin := line{"run.started", start}
	for _, test := range []struct {
		name  string
		lines []line
		want  string
	}{
		{"no start", []line{{"step.started", &StepStarted{Step: 1}}}, "line 1: a trace begins with one run.started"},
		{"two starts", []line{begin, begin}, "line 2: a trace begins with one run.started"},
		{"a line after the end", []line{begin, {"run.completed", &RunCompleted{}}, {"step.started", &StepStarted{Step: 1}}}, "line 3: nothing may follow run.completed"},
		{"an unknown event", []line{begin, {"run.resurrected", struct{}{}}}, `line 2: engine: event "run.resurrected" is not known to this version`},
		{"an event of another shape", []line{begin, {"step.started", map[string]any{"step": "one"}}}, "line 2: engine: event step.started: json"},
		{"a value that is not plain data", []line{begin, {"call.completed", map[string]any{"call": "a", "value": map[string]any{"$bytes": 1}}}}, "line 2: engine: event call.completed"},
		{"a result that is not there", []line{begin, {"call.completed", map[string]any{"value_blob": strings.Repeat("0", 64)}}}, "no such file"},
		{"a lease that was never granted", []line{begin, {"call.started", map[string]any{"call": "a", "lease": "l-1"}}}, "line 2: leases: : l-1: no lease"},
		{"a lease that allows nothing", []line{begin, {"lease.granted", map[string]any{"ID": "l-1"}}}, "line 2: leases"},
		{"a task's lease that allows nothing", []line{{"run.started", map[string]any{"leases": []any{map[string]any{}}}}}, "line 1: leases"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStage(t).store
			trace, err := s.Create("r1")
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range test.lines {
				if _, err := trace.Append(l.kind, l.body, noon, false); err != nil {
					t.Fatal(err)
				}
			}
			if err := trace.Close(); err != nil {
				t.Fatal(err)
			}
			c, err := Load(s, "r1")
			if c != nil || err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, %v; want %q", c, err, test.want)
			}
		})
	}
}

func TestOnlyAWholeTraceLoads(t *testing.T) {
	s := newStage(t, block("note(text=\"one\")\nfinal(1)"))
	p := s.play(t)
	if _, err := Load(s.store, "r-none"); !errors.Is(err, store.ErrNoRun) {
		t.Errorf("no run: %v", err)
	}
	if err := os.WriteFile(p.Trace, []byte(strings.Replace(p.raw, "one", "two", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	var damage *store.DamageError
	if c, err := Load(s.store, p.RunID); !errors.As(err, &damage) || c != nil {
		t.Errorf("a changed trace: %v", err)
	}
}

// A trace line is a stranger's text when a trace is handed on.
func FuzzDecodeEvent(f *testing.F) {
	for _, e := range []Event{&RunStarted{Goal: "g"}, &CallDecided{}, &CallCompleted{Data: json.RawMessage(`{"a":[1,2.5,null]}`)}, &ApprovalResolved{Call: "c"}} {
		body, err := json.Marshal(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(e.event(), body)
	}
	f.Add("run.none", []byte("{}"))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		e, err := DecodeEvent(kind, body, func(string) ([]byte, error) { return nil, os.ErrNotExist })
		if (e == nil) != (err != nil) {
			t.Fatalf("event %v, error %v", e, err)
		}
		if e != nil && e.event() != kind {
			t.Errorf("%s was read as %s", kind, e.event())
		}
		if e != nil {
			_ = newConversation("r1", "").apply(e) // must not panic, whatever comes first
		}
	})
}

// Every event can be written and read back.
func TestEveryEventIsKnown(t *testing.T) {
	for _, kind := range []string{"run.started", "step.started", "model.completed", "code.proposed", "call.decided", "approval.requested", "approval.resolved",
		"lease.granted", "call.started", "call.completed", "taint.changed", "limit.warning", "worker.died", "step.completed", "lesson.proposed", "run.paused", "run.completed"} {
		if e, err := DecodeEvent(kind, []byte("{}"), nil); err != nil || e.event() != kind {
			t.Errorf("%s: %v, %v", kind, e, err)
		}
	}
}

// A path is a third party's from the call that wrote it so until one that did not;
// what it held stays known by its digest.
func TestAWrittenFileKeepsItsLabel(t *testing.T) {
	c := newConversation("r1", "")
	write := func(untrusted bool, sum string) {
		o := bridge.Outcome{Call: "r1/1/1", Tool: "fs_write", Wrote: []bridge.Written{{Path: "a.txt", SHA256: sum, Untrusted: untrusted}}}
		if err := c.apply(&CallCompleted{Outcome: o}); err != nil {
			t.Fatal(err)
		}
	}
	write(true, "one")
	if !c.state.Tainted["a.txt"] || !c.state.Tainted["one"] {
		t.Errorf("written while third-party content was held: %v", c.state.Tainted)
	}
	write(false, "two")
	if c.state.Tainted["a.txt"] || c.state.Tainted["two"] || !c.state.Tainted["one"] {
		t.Errorf("written clean: %v", c.state.Tainted)
	}
}

// Arguments are reported as they were, also integers that a float cannot hold.
func TestLargeIntegersSurviveTheTrace(t *testing.T) {
	e, err := DecodeEvent("call.decided", []byte(`{"call":"a","args":{"n":9007199254740993}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := asJSON(t, e.(*CallDecided).Args); !strings.Contains(got, "9007199254740993") {
		t.Errorf("args %s", got)
	}
}

// What a record's title names is known by how the tool declares its results: that
// stands in the trace too.
func TestATraceTellsWhatItsResultsName(t *testing.T) {
	s := newStage(t, block("diary()\npage()\nfinal(1)"))
	s.task.Goal = "Delete the entry 'Budget report' of my diary."
	s.tools["diary"] = func(*bridge.Permit) (bridge.Output, error) {
		return bridge.Output{Value: map[string]any{"ref": "x-77", "title": "Budget report"}, Local: true}, nil
	}
	p := s.play(t)
	loaded, err := Load(s.store, p.RunID)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*Conversation{"live": p.conversation, "loaded": loaded} {
		for ref, want := range map[string]policy.Verdict{"x-77": policy.Allow, "x-78": policy.Ask} {
			d := policy.Named(policy.Request{Held: c.Held(), Seen: c.Seen(), Authority: c.state.Authority, Args: map[string]any{"entry_id": ref},
				Tool:     policy.ToolView{Name: "erase", Caps: policy.Declare(policy.Destructive), Destinations: []string{"entry_id"}, Params: []string{"entry_id"}},
				Security: policy.Security{Named: policy.NamedAsk, SendsAfterPrivate: true}})
			if d.Verdict != want {
				t.Errorf("%s: %s is %v, want %v: %s", name, ref, d.Verdict, want, d.Reason)
			}
		}
	}
}
