package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/codeact-dev/codeact/interp"
	"github.com/codeact-dev/codeact/policy"
)

// ask puts the question to a person where a gate asks.
func (p *passage) ask(ctx context.Context) error {
	if p.verdict.Verdict != policy.Ask {
		return nil
	}
	if p.b.cfg.Approver == nil && p.record.Answer == nil {
		return p.decline("", p.verdict.Reason+"; nobody can be asked in this run")
	}
	q, err := p.question(ctx)
	if err != nil {
		return p.decline("question", "nobody could see what it would do: "+err.Error())
	}
	a, err := p.answer(ctx, q)
	switch {
	case err != nil:
		return err
	case !a.Yes:
		return p.refused(declined(a))
	}
	// The world may have moved on while the person thought.
	if diff, err := p.preview(ctx); err != nil || diff != q.Diff {
		return p.decline("stale", "what it would change is not what was shown any more; call it again")
	}
	if a.Scope == ForLease {
		return p.grant(q, a)
	}
	return nil
}

// answer takes the journal's answer to this very question, or asks.
func (p *passage) answer(ctx context.Context, q Question) (Answer, error) {
	old, a := p.record.Question, p.record.Answer
	open := p.record.Phase == Asking && old != nil
	if open && a != nil {
		return p.recorded(q, *old, *a)
	}
	if open && old.Digest == q.Digest {
		q.Asked, q.Expires = old.Asked, old.Expires // it is still that question
	} else if err := p.d.run.Journal.Asked(q); err != nil {
		return Answer{}, interp.Unwind(err)
	}
	asked := p.b.cfg.Now()
	fresh, err := Answer{}, error(nil)
	if asked.Before(q.Expires) {
		fresh, err = p.approve(ctx, q)
	}
	if errors.Is(err, ErrPaused) || ctx.Err() != nil {
		return Answer{}, interp.Unwind(fmt.Errorf("%s: %w: approval %s: %s", p.tool.Name, errors.Join(ErrPaused, ctx.Err()), q.ID, p.verdict.Reason))
	}
	if err != nil {
		fresh = Answer{Reason: "the approver gave an error: " + err.Error()}
	}
	fresh.At = p.b.cfg.Now()
	if !fresh.At.Before(q.Expires) {
		fresh = expired(q, fresh.At)
	}
	fresh.Reason, fresh.Digest, fresh.Waited = p.quote(fresh.Reason), q.Digest, fresh.At.Sub(asked)
	if err := p.d.run.Journal.Resolved(p.id, fresh); err != nil {
		return Answer{}, interp.Unwind(err)
	}
	return fresh, nil
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
func (p *passage) approve(ctx context.Context, q Question) (a Answer, err error) {
	defer func() {
		if v := recover(); v != nil {
			a, err = Answer{}, fmt.Errorf("it panicked: %v", v)
		}
	}()
	return p.b.cfg.Approver.Approve(ctx, q)
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
