package match

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Fold returns s in the form in which words are compared: NFKC, lower case, and
// one space for any white space. It does not map look-alikes of other scripts:
// a Cyrillic letter stays what it is, and so never matches.
func Fold(s string) string {
	return strings.Join(strings.Fields(strings.Map(lower, norm.NFKC.String(s))), " ")
}

// lower is the lower case of r. A letter outside ASCII stays outside: U+0130 would
// become an i, and name another domain.
func lower(r rune) rune {
	if l := unicode.ToLower(r); r < utf8.RuneSelf || l >= utf8.RuneSelf {
		return l
	}
	return r
}

// hidden reports whether s holds something that a person cannot see: zero-width
// and bidirectional controls, fillers, control characters or broken UTF-8. Such
// a value is never named, since nobody could have meant to type it.
func hidden(s string) bool {
	for i, r := range s {
		switch {
		case r == utf8.RuneError:
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return true
			}
		case r < utf8.RuneSelf:
			if unicode.IsControl(r) && !unicode.IsSpace(r) {
				return true
			}
		case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Co, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
			return true
		}
	}
	return false
}

// word reports whether r continues a word. Invisible characters do, so that they
// cannot serve as a border.
func word(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == utf8.RuneError || unicode.Is(unicode.Cf, r)
}

// joiners bind two words into one token: an address, a host, a path, a number, a
// compound.
const joiners = ".-/\\@:+&=%~*#'’?|!$^`{};"

// holdsToken reports whether text holds v on token borders, so not inside a longer
// word, address, host, path or number. Both must be folded.
func holdsToken(text, v string) bool {
	_, ok := Find(text, v, 0)
	return ok
}

// Find returns the first place at or after from where text holds v on token
// borders. Text and v must be in the same form, as [Fold] gives them.
func Find(text, v string, from int) (int, bool) {
	if v == "" {
		return 0, false
	}
	for {
		i := strings.Index(text[from:], v)
		if i < 0 {
			return 0, false
		}
		i += from
		if leftBorder(text, i) && rightBorder(text, i+len(v)) {
			return i, true
		}
		_, n := utf8.DecodeRuneInString(text[i:])
		from = i + n
	}
}

// leftBorder reports whether a token may start at text[i:].
func leftBorder(text string, i int) bool {
	if i == 0 {
		return true
	}
	r, n := utf8.DecodeLastRuneInString(text[:i])
	before, _ := utf8.DecodeLastRuneInString(text[:i-n])
	alone := i == n || !word(before)
	first, _ := utf8.DecodeRuneInString(text[i:])
	switch {
	case !word(first) && !unicode.IsSpace(r) && !opening(r):
		return false // "#x" in "a#x", "/x" in "../x"
	case word(r):
		return false
	case r == '/' || r == '\\' || r == '.':
		return false // "etc" is not named by "/etc", nor "env" by ".env"
	case r == ',':
		return alone || !unicode.IsDigit(first)
	}
	return alone || !strings.ContainsRune(joiners, r)
}

// rightBorder reports whether a token may end before text[j:].
func rightBorder(text string, j int) bool {
	if j == len(text) {
		return true
	}
	r, n := utf8.DecodeRuneInString(text[j:])
	rest := text[j+n:]
	after, _ := utf8.DecodeRuneInString(rest)
	alone := rest == "" || !word(after)
	switch {
	case word(r):
		return false
	case r == '\'' || r == '’':
		return alone || possessive(rest)
	case r == ',':
		return alone || !unicode.IsDigit(after)
	}
	return alone && r != '\\' || !alone && !strings.ContainsRune(joiners, r)
}

func opening(r rune) bool { return strings.ContainsRune("'\"`‘“„«([{<", r) }

// possessive reports whether s goes on with the "s" of "Alice's".
func possessive(s string) bool {
	after, ok := strings.CutPrefix(s, "s")
	r, _ := utf8.DecodeRuneInString(after)
	return ok && (after == "" || !word(r))
}
