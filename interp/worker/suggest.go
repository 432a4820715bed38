package worker

import (
	"fmt"

	"github.com/codeact-dev/codeact/spelling"
)

// maxCandidates bounds a search for a similar name: 20 undefined names then cost some milliseconds.
const maxCandidates = 500

// didYouMean returns " (did you mean X?)" for the nearest name, or nothing when none is near.
func didYouMean(name string, candidates []string) string {
	near := spelling.Nearest(name, candidates[:min(len(candidates), maxCandidates)])
	if near == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", near)
}
