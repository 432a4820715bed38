package match

import "unicode/utf8"

// Nearest returns the word of the user's text that is closest to a value nobody
// named, or "" where none is close: at most a third of its characters differ.
func (w *Wording) Nearest(t Term) string {
	best, least := "", utf8.RuneCountInString(t.key)/3+1
	if least > maxNear/3 {
		return ""
	}
	for _, ts := range w.tokens {
		for _, tok := range ts {
			if n := utf8.RuneCountInString(tok.text); n > 2 && n <= maxNear {
				if d := editDistance(tok.text, t.key); d < least {
					best, least = tok.text, d
				}
			}
		}
	}
	return best
}

// maxNear bounds the words that Nearest compares, in characters.
const maxNear = 96

// editDistance is the edit distance of two words.
func editDistance(a, b string) int {
	s, t := []rune(a), []rune(b)
	row := make([]int, len(t)+1)
	for j := range row {
		row[j] = j
	}
	for i, r := range s {
		diagonal := row[0]
		row[0] = i + 1
		for j, q := range t {
			cost := diagonal
			if r != q {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(t)]
}
