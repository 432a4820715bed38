package policy

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// A wording is everything that the user wrote, indexed once. It grows by add and
// is only read otherwise.
type wording struct {
	texts     []string // folded
	emails    map[string]bool
	addresses map[string]bool
	numbers   map[string]bool
	calendar  calendar
	tokens    [][]spoken // of each text, with its dates taken out
}

func newWording() *wording {
	return &wording{
		emails:    make(map[string]bool),
		addresses: make(map[string]bool),
		numbers:   make(map[string]bool),
		calendar:  calendar{dates: make(map[date]bool), times: make(map[string]bool)},
	}
}

func (w *wording) add(s string) {
	f := fold(s)
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

// names reports whether the user's text holds the value, by rule 1 of the
// destination rule. Ids have their own test, namesID.
func (w *wording) names(t term) bool {
	switch t.kind {
	case emailKind:
		return w.emails[t.key]
	case addressKind:
		return w.addresses[t.key]
	case accountKind:
		return slices.ContainsFunc(w.texts, func(s string) bool { return containsAccount(s, t.key) })
	case numberKind:
		return w.numbers[t.key]
	case momentKind:
		return w.holds(t.key) || w.calendar.names(t.key)
	case plainKind:
		return sound(t.key) && w.holds(t.key)
	}
	return false
}

// holds reports whether a folded phrase is in the user's text as whole words.
func (w *wording) holds(phrase string) bool {
	return slices.ContainsFunc(w.texts, func(s string) bool { return holdsToken(s, phrase) })
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

// A spoken is one word of a text, without the punctuation around it.
type spoken struct {
	text string
	ends bool // a sentence or a clause ends after it
}

func tokensOf(s string) []spoken {
	var out []spoken
	for _, f := range strings.Fields(s) {
		t := strings.TrimRight(f, "'\"’”»)]}.,;:!?")
		out = append(out, spoken{strings.TrimLeft(t, "'\"‘“„«([{"), strings.ContainsAny(f[len(t):], ".;!?")})
	}
	return out
}

// namesID reports whether the text names an id that has no letter: as "#13", or
// as one of nouns followed by it ("file 13", "files 12 and 13", "the file with ID
// '13'"). The digits alone may be anything.
func (w *wording) namesID(id string, nouns []string) bool {
	for _, ts := range w.tokens {
		for i, t := range ts {
			switch t.text {
			case "#" + id:
				return true
			case id:
				if (i+1 == len(ts) || t.ends || !slices.Contains(units, ts[i+1].text)) && introduced(ts[:i], nouns) {
					return true
				}
			}
		}
	}
	return false
}

// units after a number make it a quantity or a time, not an id.
var units = strings.Fields("am pm o'clock times hour hours minute minutes min day days week weeks month months year years percent % x euro euros eur dollar dollars usd")

// introduced reports whether ts ends with a noun, perhaps followed by "number" or
// "with id" and by other members of a list.
func introduced(ts []spoken, nouns []string) bool {
	id := false
	for i := len(ts) - 1; i >= 0; i-- {
		t := ts[i]
		switch {
		case t.ends && t.text != "no": // "no." ends no sentence here
			return id
		case t.text == "id" || t.text == "ids":
			id = true
		case t.text == "with" && id, slices.Contains(fillers, t.text):
		case slices.Contains(conjunctions, t.text) && i > 0 && digits(ts[i-1].text):
		case digits(t.text):
		case slices.Contains(nouns, singular(t.text)):
			return true
		default:
			return id && !slices.Contains(allNouns, singular(t.text))
		}
	}
	return id
}

var (
	fillers      = []string{"no", "nr", "number", "numbers", "#", ""}
	conjunctions = []string{"and", "or", "&"}
)

// digits reports whether s is another member of a list of ids.
func digits(s string) bool { return s != "" && strings.Trim(s, "#0123456789") == "" }

func singular(s string) string {
	if len(s) > 3 {
		return strings.TrimSuffix(s, "s")
	}
	return s
}

// kin lists the words by which people call the things that an id stands for.
var kin = [][]string{
	{"file", "document", "doc"},
	{"event", "appointment", "meeting"},
	{"mail", "email", "e-mail", "message"},
	{"issue", "ticket", "bug"},
	{"transaction", "payment", "transfer"},
	{"invoice", "bill"},
	{"pull", "pr", "mr"},
	{"user", "member", "account", "customer", "client"},
	{"order", "purchase"},
	{"task", "todo"},
	{"note"}, {"record"}, {"row"}, {"item"}, {"post"}, {"comment"}, {"project"}, {"job"}, {"channel"}, {"folder"}, {"booking", "reservation"},
}

var allNouns = slices.Concat(kin...)

// nounsFor returns the nouns that may stand before the id in parameter param of a
// tool: those of the parameter's name, else those of the tool's.
func nounsFor(tool, param string) []string {
	for _, name := range []string{param, tool} {
		var out []string
		for w := range strings.SplitSeq(snake(name), "_") {
			w = singular(w)
			if w == "" || w == "id" {
				continue
			}
			group := slices.IndexFunc(kin, func(g []string) bool { return slices.Contains(g, w) })
			switch {
			case group >= 0:
				out = append(out, kin[group]...)
			case name == param:
				out = append(out, w)
			}
		}
		if out != nil {
			return out
		}
	}
	return allNouns
}

// snake writes a name in lower case with underscores: "fileId" and "reply-to"
// become "file_id" and "reply_to".
func snake(s string) string {
	var b strings.Builder
	lower := false
	for _, r := range s {
		switch {
		case unicode.IsUpper(r) && lower:
			b.WriteByte('_')
		case r == '-' || r == ' ' || r == '.':
			r = '_'
		}
		lower = unicode.IsLower(r) || unicode.IsDigit(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// IsIDParam reports whether a parameter holds an id, an opaque number or key that
// a coincidence of digits must not name: its schema marks it with x-id, or its
// name is id, *_id or id_.
func IsIDParam(name string, marked bool) bool {
	n := snake(name)
	return marked || n == "id" || n == "id_" || strings.HasSuffix(n, "_id")
}
