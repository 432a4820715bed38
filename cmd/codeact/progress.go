package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/engine"
	"github.com/codeact-dev/codeact/engine/assembly"
	"github.com/codeact-dev/codeact/policy"
)

// A progress shows a run to a person, on standard error: plain lines, in colour on
// a terminal. Everything that a file, a model or a tool wrote is escaped.
type progress struct {
	out    io.Writer
	color  bool
	tty    bool
	step   int
	limits engine.Limits
	usage  engine.Usage
	held   policy.Taint
	calls  int
	every  bool                      // show each call; otherwise the first few of a step
	shown  int                       // calls of this step that got a line
	folded map[string]int            // calls of this step that got none, by tool
	args   map[string]map[string]any // of the calls that were decided, by id
	typing int                       // bytes of the reply shown so far, on a terminal
}

func newProgress(s *sys, color string) *progress {
	kind, _ := s.env("TERM")
	p := &progress{out: s.stderr, tty: s.errTTY && kind != "dumb", args: map[string]map[string]any{}, folded: map[string]int{}}
	noColor, set := s.env("NO_COLOR")
	force, _ := s.env("CLICOLOR_FORCE")
	switch {
	case color == "always" || color == "auto" && force != "" && force != "0":
		p.color = true
	case color == "auto" && p.tty && (!set || noColor == ""):
		p.color = true
	}
	return p
}

// The colours of ANSI terminals.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	dim    = "2"
)

func (p *progress) paint(color, text string) string {
	if !p.color {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

func (p *progress) line(format string, args ...any) { fmt.Fprintf(p.out, format+"\n", args...) }

// start says what the run begins with, and what about it is looser than usual.
func (p *progress) start(r *assembly.Run) {
	p.limits = r.Task.Limits
	model := scan.Line(r.Model.Name(), 80)
	if r.Server != "" {
		model += " at " + scan.Line(r.Server, 120)
	}
	p.line("task %s · model %s · workspace %s", scan.Line(r.File.Metadata.Name, 100), model, scan.Line(r.Dir(), 200))
	if r.Policy.Files() > 0 {
		p.line("policies: %d files, %d rules active", r.Policy.Files(), r.Policy.Rules())
	}
	for _, l := range r.Loosened {
		p.line("%s", p.paint(yellow, "loosened: "+scan.Line(l, 200)))
	}
	for _, w := range r.Warnings {
		p.line("%s", p.paint(yellow, "warning: "+scan.Line(w, 300)))
	}
}

// text shows that the model writes, on a terminal only.
func (p *progress) text(delta string) {
	if !p.tty {
		return
	}
	p.typing += len(delta)
	fmt.Fprintf(p.out, "\r\x1b[K%s", p.paint(dim, fmt.Sprintf("the model writes… %d bytes", p.typing)))
}

func (p *progress) settle() {
	if p.typing > 0 {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.typing = 0
	}
}

// event shows one event in a line, if it is for people.
func (p *progress) event(e engine.Event) {
	p.settle()
	switch e := e.(type) {
	case *engine.RunStarted:
		p.limits = e.Limits
	case *engine.StepStarted:
		p.step = e.Step
		p.header()
	case *engine.ModelCompleted:
		p.usage.Input += e.Usage.Input
		p.usage.Output += e.Usage.Output
		p.usage.CostUSD += e.Usage.CostUSD
		p.thought(e.Text)
	case *engine.CallDecided:
		p.decided(e)
	case *engine.CallCompleted:
		p.completed(e)
	case *engine.TaintChanged:
		p.held = e.Held
	case *engine.LimitWarning:
		p.line("  %s", p.paint(yellow, fmt.Sprintf("limit %s: %s of %s used", e.Limit, e.Used, e.Of)))
	case *engine.WorkerDied:
		p.line("  %s", p.paint(red, "the interpreter was stopped: "+scan.Line(e.Cause, 200)))
	case *engine.StepCompleted:
		p.unfold()
		if e.Error != "" {
			p.line("  %s", p.paint(yellow, "the block failed: "+scan.Line(cmp.Or(e.Detail, e.Observation, e.Error), 400)))
		}
	case *engine.HookRan:
		for _, n := range e.Notes {
			p.line("  %s", p.paint(yellow, "hook at "+e.Turn+": "+scan.Line(n, 300)))
		}
	case *engine.LessonProposed:
		p.unfold()
		p.line("  %s", p.paint(dim, "lesson proposed: "+scan.Line(e.Text, 200)))
	}
}

func (p *progress) header() {
	cost := ""
	if p.usage.CostUSD > 0 {
		cost = fmt.Sprintf(" · $%.4f", p.usage.CostUSD)
		if p.limits.CostUSD > 0 {
			cost += fmt.Sprintf("/$%.2f", p.limits.CostUSD)
		}
	}
	p.line("%s", p.paint(dim, fmt.Sprintf("step %d/%d · %d calls · %d tokens%s · taint %s", p.step, p.limits.Steps, p.calls,
		p.usage.Input+p.usage.Output, cost, p.held)))
}

// thought is the first line of what the model wrote outside its block.
func (p *progress) thought(reply string) {
	text, _, _ := strings.Cut(reply, "```")
	if text = strings.TrimSpace(text); text != "" {
		p.line("  %s", p.paint(dim, "“"+scan.Line(strings.Join(strings.Fields(text), " "), 160)+"”"))
	}
}

func (p *progress) decided(e *engine.CallDecided) {
	p.args[e.Call] = e.Args
	if e.Decision.Verdict != policy.Deny {
		return
	}
	word := "refused"
	if e.Bad {
		word = "bad call"
	}
	p.line("  %s %s — %s: %s", p.paint(red, word), called(e.Tool, e.Args), e.Decision.Gate, scan.Line(e.Decision.Reason, 300))
}

func (p *progress) completed(e *engine.CallCompleted) {
	p.calls++
	what := called(e.Tool, p.args[e.Call]) + " → " + size(e.Bytes)
	delete(p.args, e.Call)
	if !e.Taint.Clean() {
		what += " [" + e.Taint.String() + "]"
	}
	if e.Failed != "" {
		p.line("  %s %s: %s", p.paint(yellow, "error"), what, scan.Line(e.Failed, 200))
		return
	}
	if p.shown++; p.shown > maxShownCalls && !p.every && e.Injection == nil && e.Draft == "" {
		p.folded[e.Tool]++
		return
	}
	if e.Draft != "" {
		p.line("  %s %s", p.paint(yellow, "draft"), what)
		return
	}
	p.line("  %s %s", p.paint(green, "ok"), what)
	if e.Injection != nil {
		p.line("    %s", p.paint(yellow, fmt.Sprintf("it reads like orders to the model (score %.2f)", e.Injection.Score)))
	}
}

// maxShownCalls is how many successful calls of a step get a line of their own. A
// step may make 50, and what a person must see are the others: refusals, errors
// and warnings always get one.
const maxShownCalls = 4

// unfold says in one line which calls got none.
func (p *progress) unfold() {
	var parts []string
	for _, tool := range slices.Sorted(maps.Keys(p.folded)) {
		parts = append(parts, fmt.Sprintf("%s ×%d", tool, p.folded[tool]))
	}
	if parts != nil {
		p.line("  %s … %s", p.paint(green, "ok"), strings.Join(parts, ", "))
	}
	clear(p.folded)
	p.shown = 0
}

// called is a call on one line, each argument cut.
func called(tool string, args map[string]any) string {
	parts := []string{scan.Line(tool, 100)}
	for _, k := range slices.Sorted(maps.Keys(args)) {
		parts = append(parts, scan.Line(fmt.Sprintf("%s=%v", k, args[k]), 60))
	}
	return scan.Line(strings.Join(parts, " "), 240)
}

func size(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1fMiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1fKiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%dB", n)
}

// end says how the run ended, and what to do next.
func (p *progress) end(o engine.Outcome) {
	p.settle()
	p.unfold()
	color := map[engine.Status]string{engine.Completed: green, engine.CompletedWithRefusals: yellow, engine.Paused: yellow}[o.Status]
	if color == "" {
		color = red
	}
	p.line("%s (exit %d) after %d steps, %d calls, %d tokens", p.paint(color, string(o.Status)), o.ExitCode, o.Steps, p.calls, o.Usage.Input+o.Usage.Output)
	if o.Reason != "" {
		p.line("  %s", scan.Line(o.Reason, 600))
	}
	for _, d := range o.Denied {
		p.line("  refused: %s (call %s) by %s", scan.Line(d.Tool, 100), d.Call, d.Gate)
	}
	for _, a := range o.Approvals {
		p.line("  approval %s: %s %s", a.ID, scan.Line(a.Tool, 100), a.State)
	}
	drafts := 0
	for _, c := range o.Calls {
		if c.Draft != "" {
			drafts++
			p.line("  draft %s: %s was not sent", c.Draft, scan.Line(c.Tool, 100))
		}
		if c.Unknown {
			p.line("  unknown: %s (call %s) may have happened or not", scan.Line(c.Tool, 100), c.ID)
		}
	}
	if o.BlockedSends > 0 {
		p.line("  blocked sends: %d", o.BlockedSends)
	}
	p.line("trace: %s", scan.Line(o.Trace, 4096))
	if o.Status == engine.Paused {
		p.line("next:  run it at a terminal to be asked there (answering from elsewhere is not there yet)")
	}
	if drafts > 0 {
		p.line("next:  codeact outbox list")
	}
	p.line("next:  codeact trace show %s", o.RunID)
}
