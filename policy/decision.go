package policy

import (
	"fmt"
	"strings"
)

// A Verdict is what to do with a call. The lower is the stricter.
type Verdict uint8

// The verdicts, strictest first.
const (
	Deny Verdict = iota // the zero value
	Ask                 // a person must agree
	Allow
)

var verdictNames = [...]string{"deny", "ask", "allow"}

func (v Verdict) String() string { return verdictNames[min(v, Allow)] }

// MarshalText writes the name of v.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads a name. Anything else is Deny, and an error.
func (v *Verdict) UnmarshalText(b []byte) error {
	for i, n := range verdictNames {
		if string(b) == n {
			*v = Verdict(i)
			return nil
		}
	}
	*v = Deny
	return fmt.Errorf("policy: verdict %q: want deny, ask or allow", b)
}

// A Value is one fact that a decision was made on, written for people.
type Value struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// A Decision is a verdict and why. The zero Decision denies.
type Decision struct {
	Verdict Verdict `json:"verdict"`
	Gate    string  `json:"gate,omitempty"` // who decided, as "interlock" or "policy"
	Rule    string  `json:"rule,omitempty"` // which rule of that gate, as "egress-allowlist"
	Reason  string  `json:"reason,omitempty"`
	Values  []Value `json:"values,omitempty"` // what the decision rests on
}

// Allowed is the decision of a gate that has no objection.
func Allowed(gate string) Decision { return Decision{Verdict: Allow, Gate: gate} }

// Narrow returns the stricter of d and e, d on a tie. The reason of the other is
// kept behind the winner's where both refuse alike, so that nothing that a person
// should know is lost.
func (d Decision) Narrow(e Decision) Decision {
	switch {
	case e.Verdict < d.Verdict:
		return e
	case e.Verdict > d.Verdict || d.Verdict == Allow || e.Reason == "" || strings.Contains(d.Reason, e.Reason):
		return d
	case d.Reason == "":
		d.Reason = e.Reason
		return d
	}
	d.Reason += "; " + e.Reason
	return d
}

// Narrow folds ds to the strictest verdict, with the reasons of all that share it
// in the given order. Without any decision it denies.
func Narrow(ds ...Decision) Decision {
	if len(ds) == 0 {
		return Decision{Reason: "no gate was asked"}
	}
	d := ds[0]
	for _, e := range ds[1:] {
		d = d.Narrow(e)
	}
	return d
}
