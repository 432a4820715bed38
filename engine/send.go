package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/interp"
)

// ErrDraft is wrapped by the error of a draft that cannot be sent as it is. Nothing
// was sent.
var ErrDraft = errors.New("the draft cannot be sent")

// Send performs the one call of a draft, in a conversation of its own that holds
// what the run held which staged it. Every gate judges the call as it is now, and
// the adapter's Approver is asked: the tool must neither be staged nor free.
func (e *Engine) Send(ctx context.Context, t Task, d bridge.Draft) (Outcome, error) {
	switch pin := e.cfg.Bridge.Pin(d.Tool); {
	case pin == "":
		return Outcome{}, fmt.Errorf("engine: %w: the task has no tool %s any more", ErrDraft, d.Tool)
	case pin != d.Pin:
		return Outcome{}, fmt.Errorf("engine: %w: the definition of %s is not what it was when the draft was made; drop it and run the task again", ErrDraft, d.Tool)
	}
	if err := t.check(); err != nil {
		return Outcome{}, err
	}
	r, err := e.start(ctx, t, &d)
	if err != nil {
		return Outcome{}, err
	}
	defer r.close()
	err = r.send()
	return r.Outcome(), err
}

// send carries the call through the door, as the only one of the run.
func (r *run) send() error {
	if err := r.add(&DraftOpened{Draft: r.draft.ID, Call: r.draft.Call, Held: r.draft.Held}, true); err != nil {
		return err
	}
	if err := r.greet(); err != nil || r.ended != nil {
		return err
	}
	if err := r.add(&StepStarted{Step: 1}, false); err != nil {
		return err
	}
	door, err := r.e.cfg.Bridge.Open(r.doors, 1, bridge.Preflight{})
	if err != nil {
		return err
	}
	_, failed := door.Call(r.ctx, interp.Call{Tool: r.draft.Tool, Args: r.draft.Args})
	if err := r.unwound(failed); err != nil || r.ended != nil || r.paused != nil {
		return err
	}
	switch {
	case failed == nil:
		return r.end(Completed, "", nil)
	case len(r.denied) > 0:
		return r.end(CompletedWithRefusals, r.detail(failed), nil)
	}
	return r.fail(failed.Error())
}
