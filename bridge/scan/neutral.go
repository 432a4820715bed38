package scan

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/codeact-dev/codeact/bridge/scan/words"
)

// markerWord is what every marker's name begins with.
const markerWord = "untrusted"

// removed stands where a marker stood. It holds neither a bracket that opens a tag nor the marker's word.
const removed = "[marker in the text removed]"

// neutral takes out what reads as a marker: a bracket, perhaps a slash, and the marker's word; and this marker's id wherever it
// stands; in any case, width or escape, and with characters between that show nothing.
func (m Marker) neutral(s string) string {
	var b strings.Builder
	done := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf && c != '<' && c != '&' && c != '%' && c != '\\' && words.Lower(c) != m.id[0] {
			i++
			continue
		}
		text, next := unit(s, i)
		to := -1
		if strings.HasPrefix(text, "<") {
			to = follow(s, next, markerWord)
		} else if text == m.id[:1] {
			to = follow(s, next, m.id[1:])
		}
		if to < 0 { // what follows an escape's first character may itself begin one: `&&lt;`
			_, n := utf8.DecodeRuneInString(s[i:])
			i += n
			continue
		}
		b.WriteString(s[done:i] + removed)
		done, i = to, to
	}
	if done == 0 {
		return s
	}
	return b.String() + s[done:]
}

// follow reads word from s[i:] on and returns where it ends, or -1.
func follow(s string, i int, word string) int {
	for i < len(s) && word != "" {
		text, next := unit(s, i)
		for _, r := range text {
			switch {
			case word != "" && r == rune(word[0]):
				word = word[1:]
			case word != "" && !isJunk(r):
				return -1
			}
		}
		i = next
	}
	if word != "" {
		return -1
	}
	return i
}

// escapeText is what stands for one character in HTML, URLs, JSON and source text.
var escapeText = regexp.MustCompile(`^(?:&(?:amp;?)*(?:(lt);?|#0*([0-9]{1,7});?|#x0*([0-9a-f]{1,6});?)|%(?:25)*([0-9a-f]{2})|\\+(?:u\{([0-9a-f]{1,6})\}|u([0-9a-f]{4})|x([0-9a-f]{2})))`)

// escapeBase is the base of the number in each group of escapeText; 0 for the name.
var escapeBase = []int{0, 10, 16, 16, 16, 16, 16}

// unit reads one character of s, however it is written, folded by plain; next is where it ends.
func unit(s string, i int) (text string, next int) {
	c, n := utf8.DecodeRuneInString(s[i:])
	text = plain(c)
	if text != "&" && text != "%" && text != `\` {
		return text, i + n
	}
	ahead, ends := visibleAhead(s, i)
	m := escapeText.FindStringSubmatchIndex(ahead)
	if m == nil {
		return text, i + n
	}
	g := 0
	for m[2*g+2] < 0 { // one group matched, or the whole would not have
		g++
	}
	next = ends[m[1]-1]
	if escapeBase[g] == 0 {
		return "<", next
	}
	v, _ := strconv.ParseUint(ahead[m[2*g+2]:m[2*g+3]], escapeBase[g], 32) // at most seven digits, by the pattern
	return plain(rune(v)), next
}

// escapeLen is the longest escape that unit reads, in characters.
const escapeLen = 24

// visibleAhead gives the next characters without those that show nothing, and where each ends. It looks at no more than ten times
// as many.
func visibleAhead(s string, i int) (string, []int) {
	b, ends := make([]byte, 0, escapeLen), make([]int, 0, escapeLen)
	for n := 0; i < len(s) && len(b) < escapeLen && n < 10*escapeLen; n++ {
		c, size := utf8.DecodeRuneInString(s[i:])
		i += size
		text := plain(c)
		switch {
		case len(text) == 1 && (!isJunk(rune(text[0])) || strings.Contains(`&#;%\{}`, text)):
			b, ends = append(b, text[0]), append(ends, i)
		case text != "" && !isJunk([]rune(text)[0]):
			return string(b), ends
		}
	}
	return string(b), ends
}

// asciiText holds each ASCII character as a text, in lower case.
var asciiText = func() (t [utf8.RuneSelf]string) {
	for c := range t {
		t[c] = string(rune(words.Lower(byte(c))))
	}
	return t
}()

// plain folds case, width, marks and look-alikes of a character; what shows nothing becomes the empty text.
func plain(r rune) string {
	if 0 <= r && r < utf8.RuneSelf {
		return asciiText[r]
	}
	if unicode.Is(opening, r) {
		return "<"
	}
	if unicode.Is(invisible, r) {
		return ""
	}
	var b strings.Builder
	for _, d := range norm.NFKD.String(string(r)) {
		d = unicode.ToLower(d)
		if to, ok := lookalikes[d]; ok {
			d = to
		}
		if !unicode.Is(unicode.Mn, d) {
			b.WriteRune(d)
		}
	}
	return b.String()
}

// opening are the characters that read as an opening angle bracket.
var opening = func() *unicode.RangeTable {
	t := &unicode.RangeTable{}
	for _, r := range []uint16{0x00ab, 0x02c2, 0x1438, 0x2039, 0x2329, 0x276c, 0x276e, 0x2770, 0x27e8, 0x27ea, 0x29fc, 0x3008, 0x300a, 0xfe64, 0xff1c} {
		t.R16 = append(t.R16, unicode.Range16{Lo: r, Hi: r, Stride: 1})
	}
	return t
}()

// isJunk reports a character that may stand inside a marker without changing how it reads.
func isJunk(r rune) bool { return r != '<' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }
