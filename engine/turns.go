package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/policy"
)

// The turns of a run, as the events of hooks are called.
const (
	TurnStart    = "RunStart"
	TurnPrompt   = "UserPromptSubmit"
	TurnQuestion = "ApprovalRequest"
	TurnNotice   = "Notification"
	TurnLesson   = "LessonProposed"
	TurnEnd      = "RunEnd"
)

// Hooks are the operator's commands at the turns of a run that are no calls: the
// bridge has those of the calls. They may narrow what a run does. At the turns
// ApprovalRequest, Notification and RunEnd nothing that they say counts.
type Hooks interface {
	// At returns when every hook of the turn has answered, or ctx ended.
	At(ctx context.Context, t Turn) TurnVerdict
}

// A Turn is what hooks are told. Its texts are redacted.
type Turn struct {
	Event     string // one of the turns above
	Run       string
	Trace     string            // path of the run's trace
	Mode      string            // interactive or unattended
	Prompt    string            // UserPromptSubmit: the goal
	Message   string            // Notification: what happened, in a sentence
	Questions []bridge.Question // ApprovalRequest and Notification: what waits for an answer
	Lesson    *LessonProposed   // LessonProposed
	Outcome   *Outcome          // RunEnd
}

// A TurnVerdict is what all hooks of a turn said together. The zero TurnVerdict
// says no.
type TurnVerdict struct {
	Proceed bool
	Reason  string
	Prompt  string // UserPromptSubmit: what the model reads instead of the goal
	Context string // UserPromptSubmit: what it reads besides
	Ran     []HookRun
	Notes   []string // warnings
}

// A HookRun is one hook that ran.
type HookRun struct {
	Name    string `json:"name"`
	Exit    int    `json:"exit"` // -1 without an exit code: killed, or not started
	Millis  int64  `json:"ms"`
	Outcome string `json:"outcome"`
	Reason  string `json:"reason,omitempty"`
}

// maxAdded bounds what hooks may add to a prompt, in bytes: as much as a block may
// print.
const maxAdded = 64 << 10

// tell runs the hooks of a turn, and records what they said. What they write is a
// program's output: it is redacted and made visible before anyone reads it.
func (r *run) tell(ctx context.Context, t Turn) (TurnVerdict, error) {
	if r.e.cfg.Hooks == nil {
		return TurnVerdict{Proceed: true}, nil
	}
	t.Run, t.Trace, t.Mode = r.id, r.path, mode(r.task.Attended)
	v := r.e.cfg.Hooks.At(ctx, t)
	v.Reason, v.Prompt, v.Context = r.clean(v.Reason), r.clean(v.Prompt), r.clean(v.Context)
	for i := range v.Ran {
		v.Ran[i].Name, v.Ran[i].Reason = r.clean(v.Ran[i].Name), r.clean(v.Ran[i].Reason)
	}
	for i := range v.Notes {
		v.Notes[i] = r.clean(v.Notes[i])
	}
	if len(v.Ran) == 0 && v.Proceed {
		return v, nil
	}
	e := &HookRan{Turn: t.Event, Ran: v.Ran, Refused: !v.Proceed, Reason: v.Reason, Notes: v.Notes}
	if t.Event == TurnPrompt && v.Proceed {
		e.Prompt, e.Context = v.Prompt, v.Context
		e.Injection = suspicion(v.Prompt + "\n" + v.Context)
	}
	before := r.state.Held
	if err := r.add(e, false); err != nil || before.Covers(r.state.Held) {
		return v, err
	}
	return v, r.add(&TaintChanged{Held: r.state.Held, By: e.by()}, false)
}

// clean is a hook's text as people and the model may read it.
func (r *run) clean(text string) string {
	text, _ = scan.HeadTail(scan.Visible(r.e.cfg.Bridge.CleanText(text)), maxAdded)
	return text
}

// suspicion is how much a text that the model reads looks like another's orders;
// nil for not at all.
func suspicion(text string) *bridge.Suspicion {
	report := scan.Injection(text)
	if report.Score < scan.Suspicious {
		return nil
	}
	s := &bridge.Suspicion{Score: report.Score}
	for _, h := range report.Hits {
		s.Rules = append(s.Rules, h.Rule)
	}
	return s
}

// greet tells the hooks of the start and of the prompt, which a run that sends a
// draft has not. A no ends the run before the model is asked for anything.
func (r *run) greet() error {
	turns := []Turn{{Event: TurnStart}, {Event: TurnPrompt, Prompt: r.clean(r.task.Goal)}}
	if r.draft != nil {
		turns = turns[:1]
	}
	for _, t := range turns {
		v, err := r.tell(r.ctx, t)
		switch {
		case err != nil:
			return err
		case r.ctx.Err() != nil:
			return r.interrupted()
		case !v.Proceed:
			return r.end(RefusedToStart, fmt.Sprintf("a hook at %s refused it, and nothing was done: %s", t.Event, v.Reason), nil)
		}
	}
	r.instruct()
	return nil
}

// asking tells the hooks of a question that is put to a person. Where nobody is
// there they are told once more when the run pauses, with all that waits.
func (r *run) asking(q bridge.Question) error {
	qs := []bridge.Question{q}
	if _, err := r.tell(r.ctx, Turn{Event: TurnQuestion, Questions: qs}); err != nil || !r.task.Attended {
		return err
	}
	_, err := r.tell(r.ctx, Turn{Event: TurnNotice, Questions: qs, Message: fmt.Sprintf("%s asks to run: %s", q.Tool, q.Decision.Reason)})
	return err
}

// pausing tells the hooks what a run waits for.
func (r *run) pausing() error {
	var qs []bridge.Question
	var names []string
	for _, a := range r.approvals {
		if rec := r.records[a.Call]; a.State == "pending" && rec != nil && rec.Question != nil {
			qs, names = append(qs, *rec.Question), append(names, a.Tool)
		}
	}
	_, err := r.tell(r.ctx, Turn{Event: TurnNotice, Questions: qs, Message: "the run is paused until a person answers: " + strings.Join(names, ", ")})
	return err
}

// closing tells the hooks how the run ends. It ends all the same, also when it was
// cancelled: then it is the hooks' last chance to clean up.
func (r *run) closing(e *RunCompleted) error {
	o := r.Outcome()
	o.Status, o.ExitCode, o.Reason = e.Status, e.ExitCode, e.Reason
	if len(e.Output) > 0 {
		o.Output = e.Output
	}
	_, err := r.tell(context.WithoutCancel(r.ctx), Turn{Event: TurnEnd, Outcome: &o})
	return err
}

// HookRan says which hooks ran at a turn. Those of a call stand with its decision
// and its end.
type HookRan struct {
	Turn    string    `json:"turn"`
	Ran     []HookRun `json:"ran"`
	Refused bool      `json:"refused,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Notes   []string  `json:"notes,omitempty"`

	Prompt    string            `json:"prompt,omitempty"`  // what the model reads instead of the goal
	Context   string            `json:"context,omitempty"` // what it reads besides
	Injection *bridge.Suspicion `json:"injection,omitempty"`
}

func (*HookRan) event() string { return "hook.ran" }

// by names the hooks where a call would be named.
func (e *HookRan) by() string { return "hook:" + e.Turn }

// applyHook folds what hooks made of the prompt. The goal stays the user's words;
// what a hook wrote names nothing: nobody vouches for what a program printed.
func (c *Conversation) applyHook(e *HookRan) {
	if e.Prompt == "" && e.Context == "" {
		return
	}
	c.prompted, c.added = e.Prompt, e.Context
	t := policy.Tainted(policy.Unvouched, e.by())
	c.state.Held, c.state.Seen = c.state.Held.Join(t), c.state.Seen.Join(t)
}

// goal is what the model is asked to do.
func (c *Conversation) goal() string {
	goal := c.started.Goal
	if c.prompted != "" {
		goal = c.prompted
	}
	if c.added != "" {
		goal = strings.TrimSpace(goal) + "\n\nAdded by a hook of the operator:\n" + c.added
	}
	return goal
}
