package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/engine"
	"github.com/codeact-dev/codeact/engine/assembly"
	"github.com/codeact-dev/codeact/engine/store"
	"github.com/codeact-dev/codeact/policy"
)

// A scenario is one run of a scripted model with mock tools and real files,
// through the real bridge, and what must and must not come of it.
//
// The archive's head says what it claims; its line "controls: a b" names the gates
// and steps without which it must fail. The files are the run's: task.yaml is the
// task, those under home/ the operator's, "answers" what the person who is asked says, one word a question: yes,
// lease, no or pause. Without it nobody is there. Want holds one expectation a
// line, each kind a method of result; "!" before it turns it round.
type scenario struct {
	name     string
	head     string
	controls []string
	files    map[string]string
	answers  []string
	want     []string
}

func scenarios(t *testing.T) []scenario {
	t.Helper()
	paths, err := filepath.Glob("testdata/scenarios/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	var list []scenario
	for _, p := range paths {
		a, err := txtar.ParseFile(p)
		if err != nil {
			t.Fatal(err)
		}
		s := scenario{name: strings.TrimSuffix(filepath.Base(p), ".txtar"), head: string(a.Comment), files: map[string]string{}}
		for line := range strings.Lines(s.head) {
			if names, ok := strings.CutPrefix(strings.TrimSpace(line), "controls:"); ok {
				s.controls = strings.Fields(names)
			}
		}
		for _, f := range a.Files {
			switch f.Name {
			case "want":
				s.want = lines(string(f.Data))
			case "answers":
				s.answers = strings.Fields(string(f.Data))
			default:
				s.files[f.Name] = string(f.Data)
			}
		}
		list = append(list, s)
	}
	return list
}

func lines(text string) []string {
	var ls []string
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "#") {
			ls = append(ls, l)
		}
	}
	return ls
}

// A person answers from a list.
type person struct{ words []string }

func (p *person) Approve(_ context.Context, q bridge.Question) (bridge.Answer, error) {
	if len(p.words) == 0 {
		return bridge.Answer{}, fmt.Errorf("nobody expected the question %s", q.ID)
	}
	word := p.words[0]
	p.words = p.words[1:]
	switch word {
	case "yes":
		return bridge.Answer{Yes: true, By: "alice"}, nil
	case "lease":
		return bridge.Answer{Yes: true, Scope: bridge.ForLease, By: "alice"}, nil
	case "pause":
		return bridge.Answer{}, bridge.ErrPaused
	}
	return bridge.Answer{By: "alice"}, nil
}

// A result is what a run left behind.
type result struct {
	outcome engine.Outcome
	err     error
	events  []string // one line each, see render
	seen    string   // every observation
	trace   string
	dir     string // the workspace
}

// run plays the scenario with one control taken out, "" for none.
func (s scenario) run(t *testing.T, without string) result {
	t.Helper()
	root := t.TempDir()
	res := result{dir: filepath.Join(root, "ws")}
	for name, text := range s.files {
		path := filepath.Join(res.dir, name)
		if inHome, ok := strings.CutPrefix(name, "home/"); ok {
			path = filepath.Join(root, "home", inHome)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	opt := assembly.Options{Home: filepath.Join(root, "home"), UserHome: filepath.Join(root, "user"), Worker: []string{worker}, Principal: "tester",
		Observe: func(e engine.Event, _ store.Line) { res.observe(e) }}
	if s.answers != nil {
		opt.Approver = &person{slices.Clone(s.answers)}
	}
	opt.Trust = s.trust(t, res.dir, opt)
	r, err := assembly.Open(t.Context(), filepath.Join(res.dir, "task.yaml"), opt)
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	defer r.Close()
	bridge.Without(r.Bridge, without)
	res.outcome, res.err = r.Do(t.Context())
	if data, err := os.ReadFile(res.outcome.Trace); err == nil {
		res.trace = string(data)
	}
	return res
}

// trust vouches for the task where its head says "trusted".
func (s scenario) trust(t *testing.T, dir string, opt assembly.Options) string {
	t.Helper()
	if !strings.Contains(s.head, "\ntrusted") {
		return ""
	}
	_, err := assembly.Open(t.Context(), filepath.Join(dir, "task.yaml"), opt)
	if err == nil {
		t.Fatalf("%s: it needs no trust", s.name)
	}
	if !errors.Is(err, assembly.ErrPrecondition) {
		t.Fatal(err)
	}
	_, digest, _ := strings.Cut(err.Error(), "--trust ")
	digest, _, _ = strings.Cut(digest, " ")
	return digest
}

// render writes an event as scenarios expect it.
func (r *result) observe(e engine.Event) {
	line := ""
	switch e := e.(type) {
	case *engine.CallDecided:
		line = fmt.Sprintf("decided %s %s %s", e.Tool, e.Decision.Verdict, e.Decision.Gate)
		if e.Decision.Rule != "" {
			line += "/" + e.Decision.Rule
		}
	case *engine.ApprovalRequested:
		line = fmt.Sprintf("asked %s: %s", e.Tool, e.Decision.Reason)
		for _, a := range e.Args {
			line += fmt.Sprintf(" [%s=%s %s]", a.Name, a.Value, strings.Join(append(label(a.Taint), a.Seen...), "; "))
		}
		line += " lease:" + e.Lease + " diff:" + strings.ReplaceAll(e.Diff, "\n", "|")
	case *engine.ApprovalResolved:
		line = fmt.Sprintf("answered %v", e.Yes)
	case *engine.LeaseGranted:
		line = fmt.Sprintf("granted %s", e.Tool)
	case *engine.CallStarted:
		line = "started " + e.Tool
	case *engine.CallCompleted:
		where := "local"
		if e.External {
			where = "external"
		}
		line = fmt.Sprintf("completed %s %s %s", e.Tool, where, e.Taint)
	case *engine.StepCompleted:
		r.seen += e.Observation + "\n"
		line = "step " + e.Error
	case *engine.WorkerDied:
		line = "died " + e.Cause
	case *engine.RunPaused:
		line = "paused"
	case *engine.RunCompleted:
		line = fmt.Sprintf("ended %s", e.Status)
	default:
		return
	}
	r.events = append(r.events, strings.TrimSpace(line))
}

// label is what a person is told of an argument's origin: nothing of a clean one.
func label(t policy.Taint) []string {
	if t.Clean() {
		return nil
	}
	return []string{t.String()}
}

// check returns the expectations that do not hold.
func (s scenario) check(r result) []string {
	var wrong []string
	at := 0 // events are expected in order
	for _, w := range s.want {
		want, not := strings.CutPrefix(w, "!")
		kind, text, _ := strings.Cut(want, " ")
		holds := false
		switch kind {
		case "event":
			start := at
			if not {
				start = 0
			}
			i := slices.IndexFunc(r.events[start:], func(e string) bool { return strings.Contains(e, text) })
			if holds = i >= 0; holds && !not {
				at += i + 1
			}
		case "sees":
			holds = strings.Contains(r.seen, text)
		case "trace":
			holds = strings.Contains(r.trace, text)
		case "output":
			holds = strings.Contains(string(r.outcome.Output), text)
		case "exit":
			holds = fmt.Sprint(r.outcome.ExitCode) == text
		case "blocked":
			holds = fmt.Sprint(r.outcome.BlockedSends) == text
		case "effects":
			data, _ := os.ReadFile(filepath.Join(r.dir, "effects.jsonl"))
			holds = fmt.Sprint(strings.Count(string(data), "\n")) == text
		case "file":
			name, content, _ := strings.Cut(text, " ")
			data, err := os.ReadFile(filepath.Join(r.dir, name))
			holds = err == nil && strings.Contains(string(data), content)
		default:
			wrong = append(wrong, "unknown expectation: "+w)
			continue
		}
		if holds == not {
			wrong = append(wrong, w)
		}
	}
	return wrong
}

func TestScenarios(t *testing.T) {
	for _, s := range scenarios(t) {
		t.Run(s.name, func(t *testing.T) {
			r := s.run(t, "")
			if r.err != nil {
				t.Fatal(r.err)
			}
			if wrong := s.check(r); wrong != nil {
				t.Errorf("%s\nnot as wanted:\n  %s\nevents:\n  %s\nexit %d %s\nseen:\n%s", s.head, strings.Join(wrong, "\n  "),
					strings.Join(r.events, "\n  "), r.outcome.ExitCode, r.outcome.Reason, r.seen)
			}
		})
	}
}

// Every gate and every step is taken out in turn: a scenario that names it must
// fail then, and each must be named by one.
func TestEveryControlIsWired(t *testing.T) {
	list := scenarios(t)
	for _, control := range bridge.Controls() {
		t.Run(control, func(t *testing.T) {
			named := control == "registry"
			if named && holds(func() error { return unknownTool(t, control) }) {
				t.Errorf("an unknown tool is a bad call without %s too", control)
			}
			for _, s := range list {
				if !slices.Contains(s.controls, control) {
					continue
				}
				named = true
				if holds(func() error {
					r := s.run(t, control)
					if wrong := s.check(r); wrong != nil {
						return errors.New(wrong[0])
					}
					return r.err
				}) {
					t.Errorf("the scenario %s holds without %s", s.name, control)
				}
			}
			if !named {
				t.Errorf("no scenario would fail without %s", control)
			}
		})
	}
}

// holds reports whether a claim still stands. A panic is no way to hold.
func holds(claim func() error) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return claim() == nil
}
