package scan

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
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

// A reading is one way to read a text.
type reading struct {
	text   string
	hidden bool // it has to be decoded first, which no honest author asks of a reader
}

// Injection looks for orders to the model, in the text and in what it hides.
func Injection(s string) Report {
	encoded := longRun(s)
	plainASCII := ascii(s)
	if plainASCII && !encoded && !ruleIndex().any(s) {
		return Report{}
	}
	hits := map[string]Hit{}
	for _, r := range readings(s, plainASCII, encoded) {
		r.scan(hits)
	}
	if !plainASCII && strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf && unicode.Is(invisible, r) }) >= 0 {
		if x := hiddenText.FindString(s); x != "" {
			note(hits, "hidden-characters", 0.6, tidy(x))
		}
	}
	return report(hits)
}

// hiddenText is text in tag characters, or a Latin word split by characters of no width.
var hiddenText = regexp.MustCompile(`[\x{e0020}-\x{e007e}]{8,}|[a-zA-Z][\x{200b}-\x{200f}\x{2060}-\x{2064}\x{feff}\x{00ad}]+[a-zA-Z]+[\x{200b}-\x{200f}\x{2060}-\x{2064}\x{feff}\x{00ad}]+[a-zA-Z]`)

func readings(s string, plainASCII, encoded bool) []reading {
	first := tidy(s)
	list := []reading{{text: first}}
	if !plainASCII {
		if f := fold(first); f != first {
			list = append(list, reading{text: f})
		}
	}
	if strings.Contains(first, "<") {
		if t := tagText.ReplaceAllString(first, ""); t != first {
			list = append(list, reading{text: t})
		}
	}
	if encoded {
		for _, part := range decoded(s) {
			list = append(list, reading{text: tidy(part), hidden: true})
		}
	}
	return list
}

// scan notes every rule that matches, once.
func (r reading) scan(hits map[string]Hit) {
	keys, texts := ruleIndex(), ruleTexts()
	keys.each(r.text, func(word, end int) {
		rule := &rules[keys.owner[word]]
		lo := end - len(keys.keys[word])
		if _, found := hits[rule.id]; found && !r.hidden || !wordStart(r.text, lo) {
			return
		}
		m := texts[keys.owner[word]]().FindStringIndex(r.text[lo:runeFloor(r.text, lo+ruleWindow)])
		if m == nil {
			return
		}
		excerpt := r.text[lo : lo+m[1]]
		note(hits, rule.id, rule.weight, excerpt)
		if r.hidden {
			note(hits, "encoded", 0.5, excerpt)
		}
	})
}

// ruleWindow is what a rule sees from its key on, in bytes.
const ruleWindow = 240

// wordStart reports that no Latin word runs across i.
func wordStart(s string, i int) bool { return i == 0 || !wordByte(s[i-1]) || !wordByte(s[i]) }

func note(hits map[string]Hit, rule string, weight float64, excerpt string) {
	if _, ok := hits[rule]; !ok {
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
