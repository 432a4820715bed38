package source

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Nearest returns ` (did you mean "x"?)` for the name of known that name is most
// likely a slip of, "" if none is near.
func Nearest(name string, known []string) string {
	best, least := "", 1+max(1, utf8.RuneCountInString(name)/3)
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < least || d == least && best != "" && k < best {
			best, least = k, d
		}
	}
	if best == "" || name == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// distance counts the insertions, deletions, replacements and swaps of neighbours
// between a and b.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > 64 || len(y) > 64 {
		return max(len(x), len(y)) // no name is that long
	}
	d := make([][]int, len(x)+1)
	for i := range d {
		d[i] = make([]int, len(y)+1)
		d[i][0] = i
	}
	for j := range y {
		d[0][j+1] = j + 1
	}
	for i := range x {
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			d[i+1][j+1] = min(d[i][j+1]+1, d[i+1][j]+1, d[i][j]+cost)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				d[i+1][j+1] = min(d[i+1][j+1], d[i-1][j-1]+1)
			}
		}
	}
	return d[len(x)][len(y)]
}

// NearestOr is Nearest, or the list of what is known.
func NearestOr(name string, known []string) string {
	if hint := Nearest(name, known); hint != "" {
		return hint
	}
	return ": want one of " + strings.Join(known, ", ")
}
