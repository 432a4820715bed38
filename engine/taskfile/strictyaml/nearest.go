package strictyaml

import (
	"fmt"
	"strings"
)

// Nearest returns the candidate that name most likely meant, or "". It allows
// two edits, and one in a name of less than five letters.
func Nearest(name string, candidates []string) string {
	best, limit := "", 2
	if len(name) < 5 {
		limit = 1
	}
	for _, c := range candidates {
		if strings.EqualFold(name, c) {
			return c
		}
		if d := distance(strings.ToLower(name), strings.ToLower(c), limit); d <= limit {
			best, limit = c, d-1
		}
	}
	return best
}

// DidYouMean returns ` (did you mean "x"?)` for the nearest candidate, or "".
func DidYouMean(name string, candidates []string) string {
	if c := Nearest(name, candidates); c != "" {
		return fmt.Sprintf(" (did you mean %q?)", c)
	}
	return ""
}

// distance counts inserted, removed, replaced and swapped neighbouring bytes.
// It gives up at limit+1, so that a long key costs nothing.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	before, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(b)]
}
