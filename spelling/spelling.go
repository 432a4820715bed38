// Package spelling guesses which word a misspelt one was meant to be, for the hint behind an error.
//
// It knows letters and no meaning: a guess is shown to a person or a model, and never acted on.
//
// All functions are pure, and safe for concurrent use. What they do is bounded, whatever comes in: see maxWord and maxCandidates.
package spelling

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxWord       = 64     // characters; a longer word is no slip of anything
	maxCandidates = 10_000 // more are not looked at: the dearest that there can be cost some 50 ms (BenchmarkNearest)
)

// Nearest returns the candidate that word is most likely a slip of, or "". Case does not count. One edit is allowed, two from five
// characters on, three from nine on, and some character must be left of it; an edit inserts, removes or replaces one, or swaps two
// neighbours. Of several that are as near it is the first by alphabet, in which case does not count either.
func Nearest(word string, candidates []string) string {
	w, ok := letters(word)
	if !ok {
		return ""
	}
	best, limit := "", allowed(len(w))
	var bestLetters []rune
	for _, c := range candidates[:min(len(candidates), maxCandidates)] {
		l, ok := letters(c)
		if !ok {
			continue
		}
		reach := limit
		if best != "" && cmp.Or(slices.Compare(bestLetters, l), strings.Compare(best, c)) <= 0 {
			reach-- // only a nearer one will do
		}
		if len(l)-len(w) > reach || len(w)-len(l) > reach {
			continue
		}
		if n, _ := edits(w, l, reach); n <= reach && n < max(len(w), len(l)) {
			best, bestLetters, limit = c, l, n
		}
	}
	return best
}

// DidYouMean returns ` (did you mean "x"?)` for the nearest candidate, or "".
func DidYouMean(word string, candidates []string) string {
	if c := Nearest(word, candidates); c != "" {
		return fmt.Sprintf(" (did you mean %q?)", c)
	}
	return ""
}

// Beginnings returns the candidates whose beginning word may be a slip of, the nearest first: at most a third of its characters are
// wrong.
func Beginnings(word string, candidates []string) []string {
	w, ok := letters(word)
	if !ok {
		return nil
	}
	type scored struct {
		text  string
		edits int
	}
	var found []scored
	limit := len(w) / 3
	for _, c := range candidates[:min(len(candidates), maxCandidates)] {
		l, ok := letters(c)
		if !ok {
			continue
		}
		if _, n := edits(w, l[:min(len(l), len(w)+limit)], limit); n <= limit {
			found = append(found, scored{c, n})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(a.edits, b.edits) })
	list := make([]string, len(found))
	for i, f := range found {
		list[i] = f.text
	}
	return list
}

func allowed(length int) int {
	switch {
	case length < 5:
		return 1
	case length < 9:
		return 2
	}
	return 3
}

// letters are the characters of a word, in lower case; false for what is empty or no word.
func letters(word string) ([]rune, bool) {
	if word == "" || len(word) > maxWord*utf8.UTFMax || utf8.RuneCountInString(word) > maxWord {
		return nil, false
	}
	return []rune(strings.ToLower(word)), true
}

// edits counts how many edits make a of b, and how many at the least make a of a beginning of b; more than limit are limit+1.
//
// It is the optimal string alignment distance, computed on the diagonals that limit can reach: len(a) times 2*limit+1 steps.
//
// Preconditions: b is from letters.
func edits(a, b []rune, limit int) (whole, beginning int) {
	far := limit + 1
	var rows [3][maxWord + 1]int // on the stack: this is called for every candidate
	before, prev, row := rows[0][:len(b)+1], rows[1][:len(b)+1], rows[2][:len(b)+1]
	for j := range prev {
		before[j], prev[j], row[j] = far, min(j, far), far
	}
	lo, hi := 1, min(len(b), limit)
	for i := 1; i <= len(a); i++ {
		lo, hi = max(1, i-limit), min(len(b), i+limit)
		if row[lo-1] = far; lo == 1 {
			row[0] = min(i, far)
		}
		for j := lo; j <= hi; j++ {
			n := prev[j-1]
			if a[i-1] != b[j-1] {
				n++
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				n = min(n, before[j-2]+1)
			}
			row[j] = min(n, prev[j]+1, row[j-1]+1, far)
		}
		if slices.Min(row[lo-1:hi+1]) == far {
			return far, far
		}
		before, prev, row = prev, row, before
	}
	if whole = far; hi == len(b) {
		whole = prev[hi]
	}
	return whole, slices.Min(prev[lo-1 : hi+1])
}
