package bridge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/codeact-dev/codeact/interp"
	"github.com/codeact-dev/codeact/policy"
)

// pose makes the question where a gate asks, and records it. An answer that was
// given while the run did not run is taken from the journal.
func (p *passage) pose(ctx context.Context) error {
	if p.verdict.Verdict != policy.Ask || p.tool.Staged {
		return nil // who sends a draft is asked then
	}
	if p.b.cfg.Approver == nil && p.record.Answer == nil {
		return p.decline("", p.verdict.Reason+"; nobody can be asked in this run")
	}
	q, err := p.question(ctx)
	if err != nil {
		return p.decline("question", "nobody could see what it would do: "+err.Error())
	}
	p.asked = &q
	old, a := p.record.Question, p.record.Answer
	open := p.record.Phase == Asking && old != nil
	switch {
	case open && a != nil:
		given, err := p.recorded(q, *old, *a)
		p.answer = &given
		return err
	case open && old.Digest == q.Digest:
		q.Asked, q.Expires = old.Asked, old.Expires // it is still that question
		return nil
	}
	if err := p.d.run.Journal.Asked(q); err != nil {
		return interp.Unwind(err)
	}
	return nil
}

// waiting reports whether a person is to be asked now.
func (p *passage) waiting() bool { return p.err == nil && p.asked != nil && p.answer == nil }

// ask puts the question to a person.
func (p *passage) ask(ctx context.Context) error {
	if !p.waiting() {
		return nil
	}
	asked := p.b.cfg.Now()
	var a Answer
	var err error
	if asked.Before(p.asked.Expires) {
		a, err = p.b.approve(ctx, *p.asked)
	}
	return p.hears(ctx, a, err, asked)
}

// together puts the questions of a batch to a person at once, where the approver
// can. It counts the time of waiting once, or leases would outlive their time.
func together(ctx context.Context, ps []*passage) {
	var open []*passage
	var qs []Question
	for _, p := range ps {
		if p.waiting() {
			open, qs = append(open, p), append(qs, *p.asked)
		}
	}
	if len(open) == 0 {
		return
	}
	b := open[0].b
	all, ok := b.cfg.Approver.(BatchApprover)
	if !ok || len(open) == 1 {
		for _, p := range open {
			p.err = p.ask(ctx)
		}
		return
	}
	asked := b.cfg.Now()
	as, err := b.approveAll(ctx, all, qs)
	for i, p := range open {
		var a Answer
		if err == nil {
			a = as[i]
		}
		p.err = p.hears(ctx, a, err, asked)
		asked = b.cfg.Now()
	}
}

// hears records what the person said.
func (p *passage) hears(ctx context.Context, a Answer, err error, asked time.Time) error {
	q := *p.asked
	if errors.Is(err, ErrPaused) || ctx.Err() != nil {
		return interp.Unwind(fmt.Errorf("%s: %w: approval %s: %s", p.tool.Name, errors.Join(ErrPaused, ctx.Err()), q.ID, p.verdict.Reason))
	}
	if err != nil {
		a = Answer{Reason: "the approver gave an error: " + err.Error()}
	}
	a.At = p.b.cfg.Now()
	if !a.At.Before(q.Expires) {
		a = expired(q, a.At)
	}
	a.Reason, a.Digest, a.Waited = p.quote(a.Reason), q.Digest, a.At.Sub(asked)
	if err := p.d.run.Journal.Resolved(p.id, a); err != nil {
		return interp.Unwind(err)
	}
	p.answer = &a
	return nil
}

// heed acts on the answer.
func (p *passage) heed(ctx context.Context) error {
	if p.asked == nil {
		return nil
	}
	q, a := *p.asked, Answer{}
	if p.answer != nil {
		a = *p.answer
	}
	if !a.Yes {
		return p.refused(declined(a))
	}
	// The world may have moved on while the person thought.
	if diff, err := p.preview(ctx); err != nil || diff != q.Diff || !slices.Equal(p.operands(), q.Files) {
		return p.decline("stale", "what it would do is not what was shown any more; call it again")
	}
	if a.Scope == ForLease {
		return p.grant(q, a)
	}
	return nil
}

// recorded is the answer that was given while the run did not run. It is good for
// the question that was asked, in its time, and for nothing more.
func (p *passage) recorded(q, old Question, a Answer) (Answer, error) {
	switch {
	case a.Digest != q.Digest:
		return Answer{}, p.decline("stale", "what was approved has changed since: the arguments, the files, the tool, the policy or the reasons to ask are others now")
	case !a.At.Before(old.Expires):
		return Answer{}, p.decline("expired", expired(old, a.At).Reason)
	case q.Lease != old.Lease:
		a.Scope = ForCall
	}
	return a, nil
}

func expired(q Question, at time.Time) Answer {
	return Answer{Rule: "expired", At: at, Reason: "nobody answered by " + q.Expires.UTC().Format(time.RFC3339)}
}

// approve asks. An approver that panics has not said yes.
func (b *EffectBridgeAdapter) approve(ctx context.Context, q Question) (a Answer, err error) {
	defer func() {
		if v := recover(); v != nil {
			a, err = Answer{}, fmt.Errorf("it panicked: %v", v)
		}
	}()
	return b.cfg.Approver.Approve(ctx, q)
}

// approveAll asks several questions at once. Answers that are not one a question
// are none.
func (b *EffectBridgeAdapter) approveAll(ctx context.Context, by BatchApprover, qs []Question) (as []Answer, err error) {
	defer func() {
		if v := recover(); v != nil {
			as, err = nil, fmt.Errorf("it panicked: %v", v)
		}
	}()
	as, err = by.ApproveAll(ctx, qs)
	if err == nil && len(as) != len(qs) {
		err = fmt.Errorf("it gave %d answers to %d questions", len(as), len(qs))
	}
	return as, err
}

// decline refuses a call that the gates let through. It is recorded as an answer,
// so that the run's report counts the refusal and a resumed run repeats it.
func (p *passage) decline(rule, why string) error {
	a := Answer{Rule: rule, Reason: p.quote(why), At: p.b.cfg.Now()}
	if err := p.d.run.Journal.Resolved(p.id, a); err != nil {
		return interp.Unwind(err)
	}
	return p.refused(declined(a))
}

func declined(a Answer) policy.Decision {
	d := policy.Decision{Gate: "approver", Rule: a.Rule, Reason: "a person said no"}
	if a.Reason != "" {
		d.Reason = a.Reason
	}
	return d
}
