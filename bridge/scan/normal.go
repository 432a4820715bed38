package scan

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/codeact-dev/codeact/bridge/scan/words"
)

// tidy gives the form that the rules are written for: NFKC, lower case, nothing invisible, plain quotes, one space between words.
func tidy(s string) string {
	t := tidier{out: make([]byte, 0, len(s))}
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf && (i+1 == len(s) || s[i+1] < utf8.RuneSelf || !markFirst(s[i+1:])) {
			if c := tidyASCII[s[i]]; c > ' ' && t.gap == 0 {
				t.out = append(t.out, c)
			} else {
				t.ascii(c)
			}
			i++
			continue
		}
		n := untilPlain(s[i:])
		if n == 0 { // an ideograph
			_, n = utf8.DecodeRuneInString(s[i:])
			t.flush()
			t.out = append(t.out, s[i:i+n]...)
		} else {
			t.runes(s[i : i+n])
		}
		i += n
	}
	return string(t.out)
}

func markFirst(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.Is(unicode.Mn, r)
}

// untilPlain is how much of s may change when it is composed: a first ASCII character with its marks, and what follows, up to the next
// one or an ideograph.
func untilPlain(s string) int {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if i > 0 && n == 1 && r < utf8.RuneSelf || ideograph(r) {
			return i
		}
		i += n
	}
	return len(s)
}

// A tidier writes the tidy form of a text.
type tidier struct {
	out []byte
	gap byte // what stands before the next character, if any: a space or a newline
}

func (t *tidier) flush() {
	if t.gap != 0 {
		t.out = append(t.out, t.gap)
		t.gap = 0
	}
}

// ascii writes the tidy form of an ASCII character.
func (t *tidier) ascii(c byte) {
	switch c {
	case 0:
	case '\n':
		t.gap = c
	case ' ':
		if t.gap == 0 {
			t.gap = c
		}
	default:
		t.flush()
		t.out = append(t.out, c)
	}
}

// runes writes what has to be composed first.
func (t *tidier) runes(s string) {
	for _, r := range norm.NFKC.String(untag(s)) {
		if r >= utf8.RuneSelf {
			r = tidyRune(r)
		} else {
			r = rune(tidyASCII[r])
		}
		if r < utf8.RuneSelf {
			t.ascii(byte(r))
			continue
		}
		t.flush()
		t.out = utf8.AppendRune(t.out, r)
	}
}

// tidyASCII is the tidy form of each ASCII character: 0 is left out, a space or newline is a gap.
var tidyASCII = func() (t [256]byte) {
	for c := byte(' '); c < utf8.RuneSelf; c++ {
		t[c] = words.Lower(c)
	}
	t['\n'], t['\t'], t['\r'], t[0x7f] = '\n', ' ', ' ', 0
	return t
}()

// tabled is where the tables of runes end: Chinese begins there.
const tabled = 0x3400

// tidyRune is the tidy form of a character that is not ASCII: 0 is left out, a space is a gap.
func tidyRune(r rune) rune {
	if r < tabled {
		return runeTables().tidy[r]
	}
	return slowTidy(r)
}

// ideograph reports Chinese, Yi and Korean characters, which have no case, no marks and one form.
func ideograph(r rune) bool { return tabled <= r && r < 0xa4d0 || 0xac00 <= r && r < 0xd7a4 }

func slowTidy(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case unicode.Is(invisible, r):
		return 0
	}
	return simpleQuote(unicode.ToLower(r))
}

// tables hold what a look into Unicode's would cost for each character of a text.
type tables struct{ tidy, fold [tabled]rune }

var runeTables = sync.OnceValue(func() *tables {
	t := new(tables)
	for r := range rune(tabled) {
		t.tidy[r], t.fold[r] = slowTidy(r), slowFold(r)
	}
	return t
})

func simpleQuote(r rune) rune {
	switch r {
	case '’', '‘', 'ʼ', '´':
		return '\''
	case '“', '”', '„', '«', '»':
		return '"'
	}
	return r
}

// untag reads Unicode's tag characters as the ASCII that they stand for.
func untag(s string) string {
	if !strings.Contains(s, "\xf3\xa0") { // how each of them begins
		return s
	}
	return strings.Map(func(r rune) rune {
		if isTag(r) {
			return r - 0xe0000
		}
		return r
	}, s)
}

// fold replaces look-alikes and takes marks off letters; it is a second reading, since the first one is right for Russian and Greek.
func fold(s string) string {
	var b []byte
	done := 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if to := foldRune(r); to != r {
			b = append(b, s[done:i]...)
			if to >= 0 { // a mark is left out
				b = utf8.AppendRune(b, to)
			}
			done = i + n
		}
		i += n
	}
	if done == 0 {
		return s
	}
	return string(b) + s[done:]
}

// foldRune is what a character that is not ASCII reads as in a Latin word, or -1.
func foldRune(r rune) rune {
	switch {
	case r < tabled:
		return runeTables().fold[r]
	case ideograph(r):
		return r
	}
	return slowFold(r)
}

func slowFold(r rune) rune {
	base := rune(-1)
	for _, d := range norm.NFKD.String(string(r)) {
		if unicode.In(d, unicode.Mn, unicode.Me) {
			continue
		}
		if base >= 0 { // several letters in one
			return r
		}
		base = d
	}
	if to, ok := lookalikes[base]; ok {
		return to
	}
	return base
}

// minTags is how many tag characters in a row are text: the flags of regions have at most six.
const minTags = 8

// hiddenText finds text in tag characters, or a Latin word that characters of no width split in two places.
func hiddenText(s string) string {
	for i := 0; i < len(s); i++ {
		switch s[i] { // how the characters looked for begin in UTF-8
		case 0xf3:
			n := leading(s[i:], isTag)
			if n >= 4*minTags {
				return s[i : i+n]
			}
			i += max(n, 1) - 1
		case 0xc2, 0xe2, 0xef:
			if hi := splitWord(s, i); hi > 0 {
				return s[i-1 : hi]
			}
		}
	}
	return ""
}

// splitWord returns where the second split of a word ends whose first is at i, or 0.
func splitWord(s string, i int) int {
	if i == 0 || !words.Letter(rune(s[i-1])) {
		return 0
	}
	for _, in := range []func(rune) bool{hasNoWidth, words.Letter, hasNoWidth} {
		n := leading(s[i:], in)
		if n == 0 {
			return 0
		}
		i += n
	}
	if i == len(s) || !words.Letter(rune(s[i])) {
		return 0
	}
	return i + 1
}

// leading is the length of the characters with which s begins that are in, in bytes.
func leading(s string, in func(rune) bool) int {
	for i, r := range s {
		if !in(r) {
			return i
		}
	}
	return len(s)
}

func isTag(r rune) bool { return 0xe0020 <= r && r <= 0xe007e }

func hasNoWidth(r rune) bool {
	return 0x200b <= r && r <= 0x200f || 0x2060 <= r && r <= 0x2064 || r == 0xfeff || r == 0xad
}
