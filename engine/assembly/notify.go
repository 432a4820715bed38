package assembly

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/hooks"
	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/engine"
)

// turns runs the commands of the home, of the task and of approvals.notify at the
// turns of a run. All run, and the strictest of them counts.
type turns []*hooks.Set

func (ts turns) At(ctx context.Context, t engine.Turn) engine.TurnVerdict {
	in, tool, err := turnInput(t)
	if err != nil {
		return engine.TurnVerdict{Reason: "the turn could not be given to the hooks: " + err.Error()}
	}
	v := engine.TurnVerdict{Proceed: true}
	var reasons, prompts, contexts []string
	for _, set := range ts {
		got := set.Run(ctx, t.Event, tool, in)
		v.Proceed = v.Proceed && got.Decision == hooks.None
		v.Notes = append(v.Notes, got.Warnings...)
		for _, x := range got.Runs {
			v.Ran = append(v.Ran, engine.HookRun{Name: x.Name, Exit: x.Exit, Millis: x.Ms, Outcome: x.Outcome, Reason: x.Reason})
		}
		reasons, prompts, contexts = given(reasons, got.Reason), given(prompts, got.Prompt), given(contexts, got.Context)
	}
	if prompts = slices.Compact(prompts); len(prompts) > 1 {
		v.Proceed, reasons = false, append(reasons, "hook_failed:conflict: the home's hooks and the task's changed the prompt in different ways")
	}
	v.Reason, v.Context = strings.Join(reasons, "; "), strings.Join(contexts, "\n")
	if len(prompts) == 1 {
		v.Prompt = prompts[0]
	}
	return v
}

// given is the list with a text that is not empty.
func given(list []string, text string) []string {
	if text == "" {
		return list
	}
	return append(list, text)
}

// turnInput says what the hooks of a turn read: Claude Code's names where it has
// one, ours under codeact.
func turnInput(t engine.Turn) (in hooks.Input, tool string, err error) {
	ours := map[string]any{"v": 1, "run_id": t.Run}
	if t.Questions != nil {
		ours["approvals"] = t.Questions
		// What waits is in the trace, and a run goes on from there.
		ours["next"] = "codeact trace show --content " + t.Run
	}
	if t.Lesson != nil {
		ours["lesson"] = t.Lesson
	}
	if t.Outcome != nil {
		ours["outcome"] = t.Outcome
	}
	in = hooks.Input{SessionID: t.Run, TranscriptPath: t.Trace, PermissionMode: t.Mode, Message: t.Message, Prompt: t.Prompt}
	if t.Event == engine.TurnQuestion && len(t.Questions) == 1 {
		q := t.Questions[0]
		tool, in.ToolUseID, in.ToolInput, in.Message = q.Tool, q.Call, asked(q), q.Decision.Reason
	}
	in.Codeact, err = json.Marshal(ours)
	return in, tool, err
}

// asked is the arguments of a question as PreToolUse shows arguments. They are
// redacted and visible already, so one that is no JSON any more is a text.
func asked(q bridge.Question) map[string]any {
	args := make(map[string]any, len(q.Args))
	for _, a := range q.Args {
		if args[a.Name] = json.RawMessage(a.Value); !json.Valid([]byte(a.Value)) {
			args[a.Name] = a.Value
		}
	}
	return args
}

// notify is the commands of approvals.notify. They are told of the turn
// Notification, and like all who observe can say neither yes nor no.
func (r *Run) notify() ([]hooks.Hook, error) {
	var list []hooks.Hook
	for i, c := range r.File.Approvals.Notify {
		h, err := command(hooks.Notification, "", c, r.File.Dir)
		if err != nil {
			return nil, fmt.Errorf("%s: approvals.notify[%d]: %w", scan.Line(r.File.Path, 200), i, err)
		}
		list = append(list, h)
	}
	return list, nil
}
