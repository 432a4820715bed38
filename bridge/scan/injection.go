package scan

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/codeact-dev/codeact/bridge/scan/words"
)

// Suspicious is the score from which a warning is worth showing: one plain rule, or two weak ones. TestInjectionFalsePositives measures it.
const Suspicious = 0.5

// A Report says how much a text reads like orders to the model. It is a warning: text that scores nothing may still be an attack.
type Report struct {
	Score float64 // 0 to 1
	Hits  []Hit   // one a rule, the weightiest first
}

// A Hit is the first place where a rule matched.
type Hit struct {
	Rule    string
	Excerpt string // visible, on one line, at most 80 characters
	weight  float64
}

// Injection looks for orders to the model, in the text and in what it hides.
func Injection(s string) Report {
	m := marksOf(s)
	clean := m == 0 && !strings.Contains(s, "  ") && !ruleKeys().Any(s)
	if clean && !hasRun(s) {
		return Report{}
	}
	hits := map[string]Hit{}
	if !clean {
		for _, r := range readings(s, m) {
			r.scan(hits)
		}
	}
	for _, part := range decodedRuns(s) {
		for _, r := range ways(nil, part, true) {
			r.scan(hits)
		}
	}
	if m&markHigh != 0 {
		if x := hiddenText(s); x != "" {
			note(hits, "hidden-characters", 0.6, tidy(x))
		}
	}
	return report(hits)
}

// scan notes every rule that matches, once. It is one pass: an expression runs where both a key of its rule and a word that must follow
// were seen, so that a text full of keys alone costs little more than any other.
func (r reading) scan(hits map[string]Hit) {
	if !ruleKeys().Any(r.text) {
		return
	}
	index, waiting := ruleWords(), make([][]int, len(rules)) // by rule: where it may begin, as long as no word that must follow was seen
	index.Each(r.text, func(t *words.Term, lo int) bool {
		switch i := t.Owner; {
		case seen(hits, rules[i].id) && (!r.hidden || seen(hits, "encoded")):
		case t.Second:
			for _, begin := range waiting[i] {
				if lo < begin+ruleWindow {
					r.match(i, begin, hits)
				}
			}
			waiting[i] = waiting[i][:0]
		case index.needs[i]:
			waiting[i] = append(waiting[i], lo) // a word that begins here too comes later, as terms do
		default:
			r.match(i, lo, hits)
		}
		return true
	})
}

// testOnlyMatch, if set, is told of every expression that runs.
var testOnlyMatch func()

// match notes the rule if its expression matches at lo.
func (r reading) match(i, lo int, hits map[string]Hit) {
	if testOnlyMatch != nil {
		testOnlyMatch()
	}
	at := ruleTexts()[i]().FindStringIndex(r.text[lo:runeFloor(r.text, lo+ruleWindow)])
	if at == nil {
		return
	}
	excerpt := r.text[lo : lo+at[1]]
	note(hits, rules[i].id, rules[i].weight, excerpt)
	if r.hidden {
		note(hits, "encoded", 0.5, excerpt)
	}
}

// ruleWindow is what a rule sees from its key on, in bytes.
const ruleWindow = 240

func seen(hits map[string]Hit, rule string) bool { _, ok := hits[rule]; return ok }

func note(hits map[string]Hit, rule string, weight float64, excerpt string) {
	if !seen(hits, rule) {
		hits[rule] = Hit{rule, clip(excerpt, 80), weight}
	}
}

// clip shortens s to n characters, and makes it visible.
func clip(s string, n int) string {
	line := Line(s, 4*n)
	if utf8.RuneCountInString(line) <= n {
		return line
	}
	return string([]rune(line)[:n-1]) + "…"
}

// report adds the weights up as independent chances, so that the score stays under 1 and several weak hints make a strong one.
func report(hits map[string]Hit) Report {
	var r Report
	rest := 1.0
	for _, h := range hits {
		r.Hits = append(r.Hits, h)
	}
	slices.SortFunc(r.Hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.Rule, b.Rule))
	})
	for _, h := range r.Hits {
		rest *= 1 - h.weight
	}
	r.Score = 1 - rest
	return r
}
