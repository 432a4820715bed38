package rules

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/codeact-dev/codeact/policy"
)

// String prints one line a rule, and below it the values that it went by.
func (x Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "call %s %s", printable(x.Call), clip(printable(x.Tool), 100)) // a script may have made up names, too
	for _, a := range x.Args {
		fmt.Fprintf(&b, " %s=%s", clip(printable(a.Name), 60), clip(a.Value, 60))
	}
	fmt.Fprintf(&b, "      taint: %s\n", x.Taint)
	width := 0
	for _, r := range x.Rules {
		width = max(width, len(r.Policy))
	}
	for i, r := range x.Rules {
		outcome := r.Outcome
		if outcome == "ask" || outcome == "deny" || outcome == "error" {
			outcome = strings.ToUpper(outcome)
		}
		fmt.Fprintf(&b, "%-2d %-*s %-6s %s\n", i+1, width, r.Policy, outcome, printable(strings.TrimSpace(r.Why+"  "+r.At)))
		for _, v := range r.Values {
			fmt.Fprintf(&b, "     %s = %s\n", printable(v.Name), printable(v.Value))
		}
		for _, s := range r.Steps {
			fmt.Fprintf(&b, "     %s  =>  %s\n", printable(s.Name), printable(s.Value))
		}
	}
	for _, n := range x.Notes {
		fmt.Fprintf(&b, "%s %s %s: %s\n", n.Kind, n.Policy, n.Key, printable(n.Text))
	}
	fmt.Fprintf(&b, "decision %s (strictest of %d)", x.Decision.Verdict, len(x.Rules))
	if x.Decision.Verdict == policy.Ask {
		b.WriteString("   would be: paused when unattended, denied with --on-ask deny")
	}
	b.WriteByte('\n')
	return b.String()
}

// printable keeps text from an argument from steering the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}
