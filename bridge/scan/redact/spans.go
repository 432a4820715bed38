package redact

import "slices"

// A span is a part of a text that something stands for.
type span struct {
	lo, hi     int
	rule, name string
}

// disjoint sorts spans and merges those that overlap: what was found first, and longest, gives the name.
func disjoint(spans []span) []span {
	slices.SortStableFunc(spans, func(a, b span) int {
		if a.lo != b.lo {
			return a.lo - b.lo
		}
		return b.hi - a.hi
	})
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s.lo < out[n-1].hi {
			out[n-1].hi = max(out[n-1].hi, s.hi)
			continue
		}
		out = append(out, s)
	}
	return out
}
