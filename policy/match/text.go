package match

import (
	"iter"
	"regexp"
	"slices"
	"strings"
)

// A Wording is everything that one person wrote, indexed once. It grows by
// [Wording.Add] and is only read otherwise; Add must not run at the same time as any
// other method.
type Wording struct {
	texts     []string // folded
	emails    map[string]bool
	addresses map[string]bool
	numbers   map[string]bool
	calendar  calendar
	tokens    [][]spoken // of each text, with its dates taken out
}

// NewWording returns a wording without any text.
func NewWording() *Wording {
	return &Wording{
		emails:    make(map[string]bool),
		addresses: make(map[string]bool),
		numbers:   make(map[string]bool),
		calendar:  calendar{dates: make(map[date]bool), times: make(map[string]bool)},
	}
}

// Add takes one more text.
func (w *Wording) Add(s string) {
	f := Fold(s)
	w.texts = append(w.texts, f)
	for _, m := range emailsIn(f) {
		w.emails[m] = true
	}
	for _, k := range addressesIn(s) {
		w.addresses[k] = true
	}
	ds := datesIn(f)
	w.calendar.add(f, ds)
	bare := withoutDates(f, ds)
	for _, n := range numbersIn(bare) {
		w.numbers[n] = true
	}
	w.tokens = append(w.tokens, tokensOf(bare))
}

// Names reports whether the user's text holds the value, by rule 1 of the
// destination rule. Ids have their own test, [Wording.NamesID].
func (w *Wording) Names(t Term) bool {
	switch t.kind {
	case Email:
		return w.emails[t.key]
	case Address:
		return w.addresses[t.key]
	case Account:
		return slices.ContainsFunc(w.texts, func(s string) bool { return containsAccount(s, t.key) })
	case Number:
		return w.numbers[t.key]
	case Moment:
		return w.holds(t.key) || w.calendar.names(t.key)
	case Plain:
		return sound(t.key) && w.holds(t.key)
	}
	return false
}

// holds reports whether a folded phrase is in the user's text as whole words.
func (w *Wording) holds(phrase string) bool {
	return slices.ContainsFunc(w.texts, func(s string) bool { return holdsToken(s, phrase) })
}

// Places yields every place where the person wrote a folded phrase on token
// borders: the folded text, and where in it the phrase begins.
func (w *Wording) Places(phrase string) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for _, text := range w.texts {
			for from := 0; ; {
				i, ok := Find(text, phrase, from)
				if !ok {
					break
				}
				if !yield(text, i) {
					return
				}
				from = i + len(phrase)
			}
		}
	}
}

// sound reports whether a phrase is fit to be named: two characters or more, and
// no punctuation at its ends that a sentence could have brought in.
func sound(phrase string) bool {
	rs := []rune(phrase)
	return len(rs) > 1 && (word(rs[0]) || strings.ContainsRune("#@/.~", rs[0])) && (word(rs[len(rs)-1]) || strings.ContainsRune("/+", rs[len(rs)-1]))
}

var numberText = regexp.MustCompile(`[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?`)

// numbersIn returns the numbers in a folded text, by value.
func numbersIn(s string) []string {
	var out []string
	for _, m := range numberText.FindAllStringIndex(s, -1) {
		start, sign := m[0], ""
		if start > 0 && s[start-1] == '-' {
			start, sign = start-1, "-"
		}
		if (start == 0 || leftBorder(s, start) || sign == "" && strings.HasSuffix(s[:start], "+")) && rightBorder(s, m[1]) {
			out = append(out, canonNumber(sign+s[m[0]:m[1]]))
		}
	}
	return out
}

// containsAccount reports whether a folded text holds an IBAN, whose characters
// may stand in groups with one space between them.
func containsAccount(s, iban string) bool {
	for i := range s {
		if s[i] != iban[0] || !leftBorder(s, i) {
			continue
		}
		j, n, grouped := i, 0, false
		for j < len(s) && n < len(iban) {
			switch {
			case s[j] == iban[n]:
				n++
			case s[j] == ' ' && n > 0 && s[j-1] != ' ':
				grouped = true
			default:
				n = len(iban) + 1
			}
			j++
		}
		if n == len(iban) && rightBorder(s, j) && !(grouped && groupFollows(s[j:])) {
			return true
		}
	}
	return false
}

// groupFollows reports whether another group of an account number follows: a
// word with a digit in it.
func groupFollows(s string) bool {
	next, _, _ := strings.Cut(strings.TrimPrefix(s, " "), " ")
	return strings.HasPrefix(s, " ") && strings.ContainsAny(next, "0123456789")
}

// withoutDates blanks the dates of a text, so that "June 13" does not name a 13.
func withoutDates(s string, ds []dating) string {
	b := []byte(s)
	for _, d := range ds {
		for i := d.start; i < d.end; i++ {
			b[i] = '_'
		}
	}
	return string(b)
}
