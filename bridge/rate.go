package bridge

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/codeact-dev/codeact/policy"
)

// rate counts the begun calls in the window that ends now, so that an edge gives
// no second burst and a refused call costs nothing.
func (p *passage) rate(context.Context) policy.Decision { return p.rateAt(p.req.Now) }

// rateAt judges all three rates: of the run, of the tool, and of who runs it.
func (p *passage) rateAt(now time.Time) policy.Decision {
	s := p.d.run.State
	d := policy.Allowed("")
	if r := p.b.cfg.Rate; r.N > 0 {
		var begun []time.Time
		for _, times := range s.Begun {
			begun = append(begun, times...)
		}
		d = d.Narrow(r.judge("rate-run", "this run", begun, now))
	}
	if r := p.tool.Rate; r.N > 0 {
		d = d.Narrow(r.judge("rate", p.tool.Name, s.Begun[p.tool.Name], now))
	}
	r := p.tool.UserRate
	if r.N == 0 {
		return d
	}
	begun := s.Begun[p.tool.Name]
	if s.Elsewhere != nil {
		others, err := s.Elsewhere(p.tool.Name, now.Add(-r.Per))
		if err != nil {
			return d.Narrow(policy.Decision{Rule: "rate-user", Reason: fmt.Sprintf("the calls of other runs cannot be counted: %v", err)})
		}
		begun = slices.Concat(begun, others)
	}
	return d.Narrow(r.judge("rate-user", p.tool.Name+" for "+p.req.Session.User, begun, now))
}

// judge allows one call more, or says when.
func (r Rate) judge(rule, whose string, begun []time.Time, now time.Time) policy.Decision {
	since := now.Add(-r.Per)
	begun = slices.DeleteFunc(slices.Clone(begun), func(t time.Time) bool { return !t.After(since) })
	if len(begun) < r.N {
		return policy.Allowed("")
	}
	slices.SortFunc(begun, time.Time.Compare)
	wait := begun[len(begun)-r.N].Add(r.Per).Sub(now)
	return policy.Decision{Rule: rule, Values: []policy.Value{{Name: "retry-after", Value: wait.String()}}, Reason: fmt.Sprintf(
		"%s may begin %d times in %v; retry after %v", whose, r.N, r.Per, wait.Round(time.Millisecond))}
}
