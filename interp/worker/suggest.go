package worker

import "fmt"

// Bounds of a search for a similar name: 20 undefined names then cost some milliseconds at most.
const (
	maxCandidates = 500
	maxNameLen    = 40 // bytes
)

// didYouMean returns " (did you mean X?)" for the nearest name, or nothing when none is near.
func didYouMean(name string, candidates []string) string {
	if len(name) > maxNameLen {
		return ""
	}
	best, bestDistance := "", 1+min((len(name)+2)/3, 3) // one edit in three bytes, at most three
	for _, c := range candidates[:min(len(candidates), maxCandidates)] {
		if len(c) > maxNameLen {
			continue
		}
		if d := distance(name, c); d < bestDistance || d == bestDistance && best != "" && c < best {
			best, bestDistance = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}

// distance is the Levenshtein distance of a and b in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
