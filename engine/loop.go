package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/plain"
	"github.com/codeact-dev/codeact/interp"
)

// maxNudges is how often in a row a reply without a block is sent back before the
// run fails: once can be a slip, and a model that misses it twice does not know how.
const maxNudges = 2

// loop takes steps until one ends the run.
func (r *run) loop() error {
	for r.ended == nil && r.paused == nil {
		if err := r.take(); err != nil {
			return err
		}
	}
	return nil
}

// take is one step: a reply, its block, and what the model reads of it.
func (r *run) take() error {
	l := r.limits()
	switch n := len(r.steps); {
	case r.ctx.Err() != nil:
		return r.interrupted()
	case n >= l.Steps:
		return r.limit(&LimitError{Limit: "steps", Of: fmt.Sprint(l.Steps), Why: "the model did not finish in time"})
	case r.usage.Input+r.usage.Output >= l.Tokens:
		return r.limit(l.tokens(r.usage))
	case l.CostUSD > 0 && r.usage.CostUSD >= l.CostUSD:
		return r.limit(l.cost(r.usage))
	}
	if r.e.cfg.Check != nil {
		if err := r.e.cfg.Check(r.ctx); err != nil {
			return r.unsafe(err)
		}
	}
	code, ok, err := r.reply(len(r.steps) + 1)
	if err != nil || r.ended != nil {
		return err
	}
	// A reply that went over a limit is not acted on.
	switch {
	case r.usage.Input+r.usage.Output > l.Tokens:
		return r.limit(l.tokens(r.usage))
	case l.CostUSD > 0 && (r.usage.CostUSD > l.CostUSD || r.usage.Unknown):
		return r.limit(l.cost(r.usage))
	}
	if !ok {
		return r.nudge()
	}
	r.nudges = 0
	return r.block(code)
}

// reply asks the model and records what it said.
func (r *run) reply(n int) (code string, ok bool, err error) {
	p := r.prompt(r.system, r.advice)
	p.MaxOutputTokens, p.Temperature, p.OnText = r.e.cfg.MaxOutputTokens, r.e.cfg.Temperature, r.e.cfg.OnText
	if err := r.add(&StepStarted{Step: n}, false); err != nil {
		return "", false, err
	}
	reply, err := r.e.cfg.Model.Complete(r.ctx, p)
	switch {
	case r.ctx.Err() != nil:
		return "", false, r.interrupted()
	case err != nil:
		return "", false, r.fail(fmt.Sprintf("the model gave no reply: %v", err))
	}
	u := Usage{Input: reply.Usage.Input, Output: reply.Usage.Output, CostUSD: reply.Usage.CostUSD, Unknown: !reply.Usage.CostKnown}
	if err := r.add(&ModelCompleted{Step: n, Text: r.e.cfg.Bridge.CleanText(reply.Text), Model: reply.Model, Usage: u, Stop: reply.StopReason}, false); err != nil {
		return "", false, err
	}
	l := r.limits()
	if err := errors.Join(r.warn("steps", float64(n), float64(l.Steps)), r.warn("costUsd", r.usage.CostUSD, l.CostUSD),
		r.warn("tokens", float64(r.usage.Input+r.usage.Output), float64(l.Tokens)),
		r.warn("wallTime", r.clock.used(l.WallTime).Seconds(), l.WallTime.Seconds())); err != nil {
		return "", false, err
	}
	code, _, ok = parseReply(reply.Text)
	return code, ok, nil
}

// nudge answers a reply without a block, and gives up at the third.
func (r *run) nudge() error {
	if r.nudges++; r.nudges > maxNudges {
		return r.fail("no_code: the model wrote no block to run, also after it was told to")
	}
	return r.observed(&StepCompleted{Step: len(r.steps), Observation: "Your reply held no block to run. " +
		"Write one fenced block tagged starlark; when you are done, call final(value) in it."})
}

// block runs the code of the newest step.
func (r *run) block(code string) error {
	n := len(r.steps)
	if err := r.e.cfg.Bridge.CheckBlock(code); err != nil {
		return r.observed(&StepCompleted{Step: n, Observation: err.Error(), Error: secretInBlock})
	}
	flight := r.lineage.Read(n, code)
	if err := r.add(&CodeProposed{Step: n, Code: code, Tools: flight.Tools}, false); err != nil {
		return err
	}
	if text := flight.Undefined(); text != "" {
		r.lineage.Refused(false)
		return r.observed(&StepCompleted{Step: n, Observation: text, Error: "undefined"})
	}
	warning := r.lineage.Trifecta(flight, r.state.Held)
	door, err := r.e.cfg.Bridge.Open(r.doors, n, flight)
	if err != nil {
		return err
	}
	denied := len(r.denied)
	res, failed := r.execute(code, door)
	if err := r.unwound(failed); err != nil || r.ended != nil || r.paused != nil {
		return err
	}
	if res.HasFinal && failed == nil {
		if failed = r.final(res.Final); failed == nil {
			return nil
		}
		if r.fatal != nil || r.ended != nil {
			return r.fatal
		}
	}
	lost, err := r.rebuild(failed)
	if err != nil || r.ended != nil {
		return err
	}
	content := door.Observe(res, failed)
	s := &StepCompleted{Step: n, Error: errorKind(failed), Detail: r.detail(failed), Ran: true, Lost: lost, Observation: r.observation(content, warning, n, denied, lost)}
	if content.String() != "" {
		s.Seen = r.state.Held
	} else {
		s.Seen = r.counted // the model reads how many calls were made, and which were refused
	}
	return r.observed(s)
}

// execute runs a block in the session and keeps the lineage in step with it.
func (r *run) execute(code string, door *bridge.Door) (interp.Result, error) {
	before := r.session.Blocks()
	res, err := r.session.Exec(r.ctx, code, door)
	switch {
	case errors.Is(err, interp.ErrSyntax), errors.Is(err, interp.ErrSource):
		r.lineage.Refused(r.session.Blocks() > before)
	case err != nil, res.HasFinal: // final ends a block early too, and a value that does not match lets the run go on
		r.lineage.Failed()
	}
	return res, err
}

// detail is a block's error as a person reads it.
func (r *run) detail(failed error) string {
	if failed == nil {
		return ""
	}
	text, _ := r.e.cfg.Bridge.Clean(failed.Error()).(string)
	return text
}

func (r *run) observed(s *StepCompleted) error { return r.add(s, false) }

// unwound ends the run where the block's error says so.
func (r *run) unwound(err error) error {
	var limit *LimitError
	switch {
	case r.fatal != nil:
		return r.fatal
	case errors.As(r.limited(), &limit):
		return r.limit(limit)
	case r.ctx.Err() != nil:
		return r.interrupted()
	case errors.Is(err, bridge.ErrPaused):
		return r.pause()
	case errors.Is(err, bridge.ErrStopped):
		return r.end(CompletedWithRefusals, err.Error(), nil)
	case errors.Is(err, bridge.ErrDiverged), errors.Is(err, interp.ErrSandbox):
		return r.fail(err.Error())
	}
	return nil
}

// pause ends the events of a run that waits for a person.
func (r *run) pause() error {
	if err := r.pausing(); err != nil {
		return err
	}
	for i := len(r.approvals) - 1; i >= 0; i-- {
		if a := r.approvals[i]; a.State == "pending" {
			return r.add(&RunPaused{Approval: a.ID, Call: a.Call, Reason: r.waits(a)}, true)
		}
	}
	return r.fail("a call waits for an answer that was never asked for")
}

// waits says what a run waits for, and why it asks.
func (r *run) waits(a *ApprovalReport) string {
	text := a.Tool + " waits for a person's answer"
	if q := r.record(a.Call).Question; q != nil {
		text += ": " + q.Decision.Reason
	}
	return text
}

// interrupted ends a run whose context ended: by its own clock, or from outside.
func (r *run) interrupted() error {
	cause := context.Cause(r.ctx)
	var limit *LimitError
	if errors.As(cause, &limit) {
		return r.limit(limit)
	}
	return r.end(Cancelled, fmt.Sprintf("cancelled: %v", cause), nil)
}

func (r *run) limit(err *LimitError) error { return r.end(LimitReached, err.Error(), nil) }

func (r *run) fail(reason string) error {
	return r.end(Failed, r.e.cfg.Bridge.CleanText(reason), nil)
}

// preconditionLost is the exit code of a run that a security precondition ended.
const preconditionLost = 6

// unsafe ends a run that must not go on: what it was allowed to use has changed.
func (r *run) unsafe(cause error) error {
	return r.finish(&RunCompleted{Status: Failed, ExitCode: preconditionLost, Reason: r.e.cfg.Bridge.CleanText(cause.Error())})
}

// final ends the run with the value, or says what is wrong with it. The run may have
// ended with an error too: see r.ended and r.fatal.
func (r *run) final(v any) error {
	if err := r.validate(v); err != nil {
		if r.retries == 0 {
			_ = r.fail(fmt.Sprintf("final: the value does not match the output schema: %v", err)) // kept in r.fatal
			return err
		}
		r.retries--
		return fmt.Errorf("final: the value does not match the output schema, so the run goes on: %w", err)
	}
	text, err := plain.JSON(r.e.cfg.Bridge.Clean(v))
	if err != nil {
		return fmt.Errorf("final: %w", err)
	}
	status := Completed
	if len(r.denied) > 0 {
		status = CompletedWithRefusals
	}
	if left, ok := r.e.cfg.Model.(interface{ Left() int }); ok && left.Left() > 0 {
		return r.fail(fmt.Sprintf("the script has %d steps left over after final", left.Left()))
	}
	return r.end(status, "", json.RawMessage(text))
}

// end writes the last event. The exit code is the status's own.
func (r *run) end(s Status, reason string, output json.RawMessage) error {
	return r.finish(&RunCompleted{Status: s, ExitCode: s.ExitCode(), Reason: reason, Output: output})
}

// finish writes the last event, with what the run used and what was refused.
func (r *run) finish(e *RunCompleted) error {
	if err := r.propose(); err != nil {
		return err
	}
	e.Usage, e.BlockedSends, e.Denied = r.usage, r.blockedSends, append([]Denial{}, r.denied...)
	if err := r.closing(e); err != nil {
		return err
	}
	return r.add(e, true)
}

// propose writes what the run's refusals would teach, for a person to look at. Its
// text names gates and tools only: nothing that the run read can be in it.
func (r *run) propose() error {
	if len(r.denied) == 0 {
		return nil
	}
	calls, text := r.deniedCalls()
	l := &LessonProposed{ID: "p-" + r.id + "-1", Kind: "lesson", Text: text, Calls: calls, Taint: r.state.Held}
	if v, err := r.tell(context.WithoutCancel(r.ctx), Turn{Event: TurnLesson, Lesson: l}); err != nil || !v.Proceed {
		return err
	}
	return r.add(l, false)
}

// rebuild starts a new worker when the block cost the old one, and runs the earlier
// blocks again against the journal: every call returns what is recorded.
func (r *run) rebuild(failed error) (lost bool, err error) {
	if !r.session.Dead() {
		return false, nil
	}
	n := len(r.steps)
	if err := r.add(&WorkerDied{Step: n, Cause: errorKind(failed), Security: breach(failed)}, false); err != nil {
		return true, err
	}
	r.session.Close()
	r.session, err = r.e.cfg.Interp.Session(r.ctx, r.e.cfg.Bridge.Signatures())
	switch {
	case r.ctx.Err() != nil:
		return true, r.interrupted()
	case err != nil:
		return true, r.fail(fmt.Sprintf("the interpreter could not be started again: %v", err))
	}
	r.lineage = r.e.cfg.Bridge.NewLineage()
	for _, s := range r.steps[:n-1] {
		if !s.ran || s.lost {
			continue
		}
		if err := r.again(s); err != nil || r.ended != nil {
			return true, err
		}
	}
	return true, nil
}

// again runs an earlier block in a new worker. What its calls did is recorded; a
// block that now does something else ends the run.
func (r *run) again(s stepRecord) error {
	door, err := r.e.cfg.Bridge.Open(r.doors, s.n, r.lineage.Read(s.n, s.code))
	if err != nil {
		return err
	}
	_, err = r.execute(s.code, door)
	switch {
	case r.fatal != nil:
		return r.fatal
	case r.ctx.Err() != nil:
		return r.interrupted()
	case errors.Is(err, bridge.ErrDiverged) || r.session.Dead():
		return r.fail(fmt.Sprintf("the block of step %d could not be run again: %v", s.n, err))
	}
	return nil
}

// breach reports whether a worker did what an honest one never does.
func breach(err error) bool {
	return errors.Is(err, interp.ErrSandboxViolation) || errors.Is(err, interp.ErrProtocol)
}

// observation is what the model reads of a step: its content, what was refused
// and by whom, and what is left.
func (r *run) observation(c bridge.Content, warning string, n, denied int, lost bool) string {
	var b strings.Builder
	b.WriteString(c.String())
	if c.String() == "" {
		b.WriteString("(the block printed nothing)")
	}
	if warning != "" {
		b.WriteString("\nnote: " + warning)
	}
	if lost {
		b.WriteString("\nThe interpreter was stopped with this block: its variables are lost, those of earlier blocks are kept.")
	}
	for _, d := range r.denied[denied:] {
		fmt.Fprintf(&b, "\nrefused: %s by %s", d.Tool, d.Gate)
	}
	l := r.limits()
	fmt.Fprintf(&b, "\n[step %d of %d; %d of %d calls made]", n, l.Steps, r.state.Calls, l.ToolCalls)
	return b.String()
}

// blockErrors are the kinds of a block's failure, for the trace.
var blockErrors = []struct {
	err  error
	kind string
}{
	{interp.ErrSource, "source"}, {interp.ErrSyntax, "syntax"}, {interp.ErrSteps, "steps"}, {interp.ErrOutput, "output"}, {interp.ErrCPU, "cpu"},
	{interp.ErrMemory, "memory"}, {interp.ErrWall, "wall"}, {interp.ErrSandboxViolation, "sandbox_violation"},
	{interp.ErrProtocol, "protocol"}, {interp.ErrWorkerCrash, "worker_crash"}, {bridge.ErrStepCalls, "step_calls"}, {interp.ErrRuntime, "runtime"},
}

func errorKind(err error) string {
	if err == nil {
		return ""
	}
	for _, k := range blockErrors {
		if errors.Is(err, k.err) {
			return k.kind
		}
	}
	return "other"
}
