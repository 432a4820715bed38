package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Sighting is a place in a result where a value stands.
type Sighting struct {
	Call string `json:"call"`
	Tool string `json:"tool"`
	Line string `json:"line"` // with the value between "»" and "«"
}

// A kept is the text of one result, kept for questions.
type kept struct{ call, tool, text string }

const (
	maxKept      = 4 << 20  // bytes of all results; the oldest go first
	maxResult    = 64 << 10 // bytes of one result
	maxSightings = 5        // more than a dialog needs
	lineContext  = 60       // bytes around the value
)

func (a *Authority) keep(call, tool string, value any) {
	var b strings.Builder
	writeLines(&b, "", value, maxDepth)
	text := b.String()
	if len(text) > maxResult {
		text = strings.ToValidUTF8(text[:maxResult], "")
	}
	a.results = append(a.results, kept{call, tool, text})
	a.bytes += len(text)
	for a.bytes > maxKept {
		a.bytes -= len(a.results[0].text)
		a.results = a.results[1:]
	}
}

// writeLines writes one line a leaf, "field: value", until the text is as long as
// is kept.
func writeLines(b *strings.Builder, name string, v any, depth int) {
	if b.Len() > maxResult || depth < 0 {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			writeLines(b, k, v[k], depth-1)
		}
	case []any:
		for _, e := range v {
			writeLines(b, name, e, depth-1)
		}
	default:
		if name != "" {
			b.WriteString(name + ": ")
		}
		fmt.Fprintf(b, "%v\n", asText(v))
	}
}

func asText(v any) any {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return v
}

// Where says in which results value stands, latest first.
func (a *Authority) Where(value any) []Sighting {
	raw := termOf(value).raw
	if a == nil || raw == "" || len(raw) > maxTerm {
		return nil
	}
	var out []Sighting
	for _, r := range slices.Backward(a.results) {
		if i, ok := place(r.text, raw); ok {
			out = append(out, Sighting{Call: r.call, Tool: r.tool, Line: mark(r.text, i, i+len(raw))})
		}
		if len(out) == maxSightings {
			break
		}
	}
	return out
}

// minInside is how long a value must be, in bytes, to be pointed at inside a
// longer word.
const minInside = 5

// place returns where a value stands in a text, on token borders if it can.
func place(text, raw string) (int, bool) {
	if i, ok := findToken(text, raw, 0); ok {
		return i, true
	}
	i := strings.Index(text, raw)
	return i, i >= 0 && len(raw) >= minInside
}

// mark returns the line around text[i:j], with that part marked.
func mark(text string, i, j int) string {
	start := max(strings.LastIndexByte(text[:i], '\n')+1, i-lineContext)
	end := len(text)
	if n := strings.IndexByte(text[j:], '\n'); n >= 0 {
		end = j + n
	}
	end = min(end, j+lineContext)
	return visible(text[start:i]) + "»" + visible(text[i:j]) + "«" + visible(text[j:end])
}

// visible replaces what a terminal would act on or not show.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '·'
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}

// nearest returns the word of the user's text that is closest to a value nobody
// named, or "" where none is close: at most a third of its characters differ.
func (w *wording) nearest(t term) string {
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

// maxNear bounds the words that nearest compares, in characters.
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
