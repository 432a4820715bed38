package match

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

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

// NamesID reports whether the text names t as an id that has no letter, where t is
// the value of parameter param of a tool. Digits alone may be anything, so that a
// word must say what they stand for.
func (w *Wording) NamesID(t Term, tool, param string) bool {
	id := t.Loose()
	return id != "" && w.namesID(id, nounsFor(tool, param))
}

// namesID reports whether the text names an id that has no letter: as "#13", or
// as one of nouns followed by it ("file 13", "files 12 and 13", "the file with ID
// '13'").
func (w *Wording) namesID(id string, nouns []string) bool {
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
		for w := range strings.SplitSeq(Snake(name), "_") {
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

// Snake writes a name in lower case with underscores: "fileId" and "reply-to"
// become "file_id" and "reply_to".
func Snake(s string) string {
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

// PointedAt reports whether text[i:j] reads as the title of something, and is not
// just a word of the sentence: it is more than one word, in quotes, introduced
// ("the mail about the invoice"), or followed by what it is ("the standup
// meeting"). Else a mail with the subject "please" would name its sender.
func PointedAt(text string, i, j int) bool {
	if strings.ContainsFunc(text[i:j], func(r rune) bool { return !unicode.IsLetter(r) }) {
		return true
	}
	if r, _ := utf8.DecodeLastRuneInString(text[:i]); opening(r) {
		return true
	}
	if next := strings.Fields(text[j:]); len(next) > 0 && text[j] == ' ' && slices.Contains(allNouns, singular(strings.Trim(next[0], ".,;:!?"))) {
		return true
	}
	before := strings.Fields(text[:i])
	for k := len(before) - 1; k >= 0; k-- {
		switch before[k] {
		case "the", "a", "an", "my", "our", "your", "this", "that":
			continue
		case "about", "titled", "called", "named", "subject", "title", "subject:", "title:", "re:":
			return true
		}
		return slices.Contains(allNouns, singular(before[k]))
	}
	return false
}
