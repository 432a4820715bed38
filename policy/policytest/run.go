package policytest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/codeact-dev/codeact/policy"
	"github.com/codeact-dev/codeact/policy/rules"
)

// An Outcome is what became of a case.
type Outcome string

// The outcomes of a case.
const (
	Pass    Outcome = "pass"
	Fail    Outcome = "fail"
	Unknown Outcome = "unknown" // a recorded call does not hold what the rules go by
)

// A Result is the outcome of a case, and why.
type Result struct {
	Name    string   `json:"name"`
	File    string   `json:"file"`
	Line    int      `json:"line"`
	Outcome Outcome  `json:"outcome"`
	Why     []string `json:"why,omitempty"`
	Calls   int      `json:"calls"` // how many were judged

	Explanations []rules.Explanation `json:"-"` // of each that was judged
}

// Judge runs a case with a call.
func (c Case) Judge(p *rules.Policy) Result {
	x := p.Explain(c.req)
	r := Result{Name: c.Name, File: c.File, Line: c.Line, Outcome: Pass, Calls: 1, Explanations: []rules.Explanation{x}}
	miss := func(format string, args ...any) {
		r.Outcome, r.Why = Fail, append(r.Why, fmt.Sprintf(format, args...))
	}
	deciding := slices.DeleteFunc(slices.Clone(x.Rules), func(e rules.RuleExplanation) bool {
		return x.Decision.Verdict == policy.Allow || e.Verdict != x.Decision.Verdict
	})
	if x.Decision.Verdict != c.want.decision {
		miss("want %s, got %s", c.want.decision, describe(x.Decision))
		return r
	}
	is := func(of func(rules.RuleExplanation) bool) bool { return slices.ContainsFunc(deciding, of) }
	if c.want.policy != "" && !is(func(e rules.RuleExplanation) bool { return e.Policy == c.want.policy }) {
		miss("want %s by %s, got %s", c.want.decision, c.want.policy, describe(x.Decision))
	}
	if !strings.Contains(x.Decision.Reason, c.want.reason) {
		miss("want a reason with %q, got %q", c.want.reason, x.Decision.Reason)
	}
	if failed := is(func(e rules.RuleExplanation) bool { return e.Outcome == "error" }); c.want.failed != nil && failed != *c.want.failed {
		miss("want error: %v, got %s", *c.want.failed, describe(x.Decision))
	}
	return r
}

func describe(d policy.Decision) string {
	s := d.Verdict.String()
	if d.Rule != "" {
		s += " by " + d.Rule
	}
	if d.Reason != "" {
		s += ": " + d.Reason
	}
	return s
}

// A Recorded is a call of a trace, with what is known of it.
type Recorded struct {
	Call    string
	Request policy.Request
	Since   time.Time      // Request.Now is the end of when it was judged, and this its beginning
	Verdict policy.Verdict // of the rules, at that time
	Known   func(fact string) bool
}

// Replay runs a case with a trace. A call is the same only if all that the rules go
// by is known; and a trace without a call proves nothing.
func (c Case) Replay(p *rules.Policy, calls []Recorded) Result {
	r := Result{Name: c.Name, File: c.File, Line: c.Line, Outcome: Pass, Calls: len(calls)}
	unknown := 0
	for _, k := range calls {
		x := p.Explain(k.Request)
		missing := p.Unknown(k.Request, k.Known)
		early := k.Request
		early.Now = k.Since
		if v := x.Decision.Verdict; !k.Since.IsZero() && p.Judge(early).Verdict != v {
			missing = append(missing, "now")
		}
		switch {
		case len(missing) > 0:
			unknown++
			r.Why = append(r.Why, fmt.Sprintf("%s %s: unknown, since the trace does not hold %s", k.Call, k.Request.Tool.Name, strings.Join(missing, ", ")))
			continue
		case x.Decision.Verdict != k.Verdict:
			r.Outcome = Fail
			r.Why = append(r.Why, fmt.Sprintf("%s %s: was %s, is now %s", k.Call, k.Request.Tool.Name, k.Verdict, describe(x.Decision)))
		}
		r.Explanations = append(r.Explanations, x)
	}
	if len(calls) == 0 {
		r.Outcome, r.Why = Fail, append(r.Why, "the trace holds no call that the rules judged")
	}
	if unknown > 0 && r.Outcome == Pass {
		r.Outcome = Unknown
	}
	return r
}

// A Count is how often a rule came to speak in the tests.
type Count struct {
	rules.Place
	Evaluated int `json:"evaluated"` // the call was the rule's business
	Decided   int `json:"decided"`   // its verdict was the strictest
}

// A Coverage counts what the tests made the rules do. The zero value is ready.
type Coverage struct{ counts []Count }

// Add counts what was judged by p.
func (c *Coverage) Add(p *rules.Policy, xs ...rules.Explanation) {
	at := map[string]int{}
	for _, place := range p.Places() {
		i := slices.IndexFunc(c.counts, func(k Count) bool { return k.Place == place })
		if i < 0 {
			i = len(c.counts)
			c.counts = append(c.counts, Count{Place: place})
		}
		at[place.Policy] = i
	}
	for _, x := range xs {
		evaluated, decided := map[string]bool{}, map[string]bool{}
		for _, e := range x.Rules {
			evaluated[e.Policy] = evaluated[e.Policy] || e.Outcome != "n/a"
			decided[e.Policy] = decided[e.Policy] || e.Verdict != policy.Allow && e.Verdict == x.Decision.Verdict
		}
		for name, i := range at {
			c.counts[i].Evaluated += count(evaluated[name])
			c.counts[i].Decided += count(decided[name])
		}
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Rules are the counts, by file and line.
func (c *Coverage) Rules() []Count {
	out := slices.Clone(c.counts)
	slices.SortFunc(out, func(a, b Count) int { return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)) })
	return out
}

// Percent is the share of the rules that decided something: a rule that was only
// evaluated may be one that never refuses. Without a rule it is 0.
func (c *Coverage) Percent() float64 {
	decided := 0
	for _, k := range c.counts {
		decided += count(k.Decided > 0)
	}
	if len(c.counts) == 0 {
		return 0
	}
	return 100 * float64(decided) / float64(len(c.counts))
}
