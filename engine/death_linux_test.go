package engine

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/interp"
)

// real makes the stage run its blocks in a worker process.
func (s *stage) real(l interp.Limits) *stage {
	s.interp = interp.Config{Worker: []string{worker}, Limits: l}
	return s
}

// died returns the one death of the run.
func (p played) died(t *testing.T) *WorkerDied {
	t.Helper()
	var found *WorkerDied
	for _, e := range p.events {
		if d, ok := e.(*WorkerDied); ok {
			if found != nil {
				t.Error("the worker died twice")
			}
			found = d
		}
	}
	if found == nil {
		t.Fatalf("no worker died: %s", p.observations())
	}
	return found
}

// forever is a block that only a clock ends.
const forever = "def f():\n    for i in range(1000000):\n        for j in range(1000000):\n            pass\nf()"

// A dead worker takes its block with it and nothing else: the earlier blocks are
// run again, and each of their calls returns what is recorded.
func TestADeadWorkerIsRebuiltAndEveryEffectIsOnce(t *testing.T) {
	for _, test := range []struct {
		cause  string
		limits interp.Limits
		code   string
	}{
		{"memory", interp.Limits{Memory: 64 << 20}, `x = ["0123456789" * 1000000 for i in range(100)]`},
		{"wall", interp.Limits{Wall: 300 * time.Millisecond, Steps: 1 << 60}, forever},
		{"cpu", interp.Limits{CPU: time.Second, Steps: 1 << 60}, forever},
	} {
		t.Run(test.cause, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, block("a = note(text=\"one\")\nr = attempt(fails)\nq = attempt(post, to=\"mallory\", text=diary(text=page(text=\"x\")))"),
				block("b = a + \"!\"\nfail(\"half-way\")"), block("note(text=\"lost\")\n"+test.code), block("final([a, b, r.error, q.ok])"))
			p := s.real(test.limits).play(t)
			p.ended(t, CompletedWithRefusals, "")
			if d := p.died(t); d.Cause != test.cause || d.Security || d.Step != 3 {
				t.Errorf("died: %+v", d)
			}
			if want := []string{"note one", "page x", "diary x", "note lost"}; !slices.Equal(s.effects, want) {
				t.Errorf("effects %q, want %q", s.effects, want)
			}
			if want := `["one","one!","fails: out of order",false]`; string(p.Output) != want {
				t.Errorf("output %s, want %s", p.Output, want)
			}
			if !strings.Contains(p.observations(), "its variables are lost, those of earlier blocks are kept") || p.BlockedSends != 1 {
				t.Errorf("blocked %d, observations: %s", p.BlockedSends, p.observations())
			}
		})
	}
}

// What nobody could be asked is refused once, also when its block runs again.
func TestARefusalForWantOfAPersonIsRecorded(t *testing.T) {
	s := newStage(t, block("r = attempt(always)"), block(forever), block("final(r.ok)"))
	p := s.real(interp.Limits{Wall: 300 * time.Millisecond, Steps: 1 << 60}).play(t)
	p.ended(t, CompletedWithRefusals, "")
	if len(p.Denied) != 1 || !strings.Contains(p.Denied[0].Reason, "nobody can be asked") || string(p.Output) != "false" {
		t.Errorf("denied %v, output %s", p.Denied, p.Output)
	}
}

// An earlier block that would now do something else ends the run: to go on without
// its variables, or with other effects, would be worse.
func TestABlockThatDivergesEndsTheRun(t *testing.T) {
	s := newStage(t, block("note(text=\"one\")"), block(forever), block("final(1)")).real(interp.Limits{Wall: 300 * time.Millisecond, Steps: 1 << 60})
	var p played
	e, end := s.engine(t, &p)
	defer end()
	r, err := e.start(t.Context(), s.task, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	if err := r.take(); err != nil {
		t.Fatal(err)
	}
	for _, record := range r.records {
		record.ArgHash = "of other arguments"
	}
	if err := r.take(); err != nil || r.ended == nil || r.ended.Status != Failed || !strings.Contains(r.ended.Reason, "the block of step 1 could not be run again") {
		t.Errorf("ended %+v, %v", r.ended, err)
	}
	if len(s.effects) != 1 || p.kinds()[len(p.kinds())-1] != "run.completed" {
		t.Errorf("effects %q, events %q", s.effects, p.kinds())
	}
}

// A worker that cannot be had again ends the run, and the trace says so.
func TestAnInterpreterThatIsGoneEndsTheRun(t *testing.T) {
	s := newStage(t, block("note()"), block("final(1)")).real(interp.Limits{})
	var in *interp.Interp
	s.config = func(c *Config) { in = c.Interp }
	s.tools["note"] = func(*bridge.Permit) (bridge.Output, error) {
		return bridge.Output{Local: true}, errors.Join(in.Close(), killWorker())
	}
	s.play(t).ended(t, Failed, "the interpreter could not be started again")
}

// What an honest worker never does is a matter of security, not of a bad block.
func TestABreachIsMarked(t *testing.T) {
	for err, want := range map[error]bool{
		interp.ErrSandboxViolation: true, interp.ErrProtocol: true,
		interp.ErrMemory: false, interp.ErrCPU: false, interp.ErrWall: false, interp.ErrWorkerCrash: false, nil: false,
	} {
		if got := breach(&interp.BlockError{Err: errors.Join(err)}); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}

func TestAWorkerThatDiesForNoReasonIsNoMatterOfSecurity(t *testing.T) {
	s := newStage(t, block("note()"), block("final(1)"))
	s.tools["note"] = func(*bridge.Permit) (bridge.Output, error) {
		return bridge.Output{Local: true}, killWorker()
	}
	p := s.real(interp.Limits{}).play(t)
	p.ended(t, Completed, "")
	if d := p.died(t); d.Security {
		t.Errorf("died: %+v", d)
	}
}

// killWorker kills the process that runs the block: the oldest of this test's worker
// program, since a spare one is started later.
func killWorker() error {
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	oldest := 0
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		exe, _ := os.Readlink("/proc/" + d.Name() + "/exe")
		if err == nil && exe == worker && (oldest == 0 || pid < oldest) {
			oldest = pid
		}
	}
	if oldest == 0 {
		return fmt.Errorf("no process runs %s", worker)
	}
	return syscall.Kill(oldest, syscall.SIGKILL)
}

func TestKindsOfBlockErrors(t *testing.T) {
	for _, k := range blockErrors {
		if got := errorKind(fmt.Errorf("wrapped: %w", k.err)); got != k.kind {
			t.Errorf("%v is %q, want %q", k.err, got, k.kind)
		}
	}
	if errorKind(nil) != "" || errorKind(os.ErrClosed) != "other" {
		t.Error("no error has a kind, or an unknown one has none")
	}
}
