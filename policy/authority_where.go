package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/codeact-dev/codeact/policy/match"
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

// Where says in which results value stands, latest first, at most five of them. It
// knows what was kept: the first 64 KiB of a result, and the last 4 MiB of all.
func (a *Authority) Where(value any) []Sighting {
	raw := match.TermOf(value).Raw()
	if a == nil || raw == "" || len(raw) > match.MaxTerm {
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
	if i, ok := match.Find(text, raw, 0); ok {
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
