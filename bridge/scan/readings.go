package scan

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/codeact-dev/codeact/bridge/scan/words"
)

// A reading is one way to read a text.
type reading struct {
	text   string // tidy
	hidden bool   // it has to be decoded first, which no honest author asks of a reader
}

// Marks tell of a text what ways there may be to read it.
const (
	markHigh    = 1 << iota // a byte that is not ASCII
	markControl             // a control character that is not a newline
	markTag                 // <
	markPercent
	markEntity // &
	markEscape // a backslash
)

// markOf is the mark of each byte.
var markOf = func() (t [256]uint8) {
	for c := range t {
		switch {
		case c >= utf8.RuneSelf:
			t[c] = markHigh
		case c < ' ' && c != '\n' || c == 0x7f:
			t[c] = markControl
		}
	}
	t['<'], t['%'], t['&'], t['\\'] = markTag, markPercent, markEntity, markEscape
	return t
}()

func marksOf(s string) (m uint8) {
	for i := range len(s) {
		m |= markOf[s[i]]
	}
	return m
}

// readings lists the ways to read s, whose marks are m, but for base64 and hex. Each way of decoding is used once, and on s itself, so
// that all of them together are no longer than a few times s.
func readings(s string, m uint8) []reading {
	list := ways(nil, s, false)
	if m&markPercent != 0 {
		if t, n := unescape(s, '%', percentEscape); n >= minEscapes {
			list = ways(list, t, true)
		}
	}
	if m&markEscape != 0 {
		if t, n := unescape(s, '\\', sourceEscape); n >= minEscapes {
			list = ways(list, t, false)
		}
	}
	if m&markEntity != 0 && strings.Contains(s, "&#") {
		list = ways(list, html.UnescapeString(s), false)
	}
	return list
}

// ways adds the readings of one text: as it is, with look-alikes as the letters that they look like, and without tags.
func ways(list []reading, text string, hidden bool) []reading {
	first := tidy(text)
	list = append(list, reading{first, hidden})
	if f := fold(first); f != first {
		list = append(list, reading{f, hidden})
	}
	if t := stripTags(first); t != first {
		list = append(list, reading{t, hidden})
	}
	return list
}

// minEscapes is how many escapes make a text worth decoding: one or two stand in any address.
const minEscapes = 3

// unescape decodes s, once, and counts what it decoded. An escape begins with mark; read gives its character and its length, or 0.
func unescape(s string, mark byte, read func(s string) (rune, int)) (string, int) {
	var b strings.Builder
	done, n := 0, 0
	for i := 0; ; {
		next := strings.IndexByte(s[i:], mark)
		if next < 0 {
			break
		}
		i += next
		r, size := read(s[i:])
		if size == 0 {
			i++
			continue
		}
		b.WriteString(s[done:i])
		if mark == '%' { // one escape is one byte
			b.WriteByte(byte(r))
		} else {
			b.WriteRune(r)
		}
		i += size
		done = i
		n++
	}
	return b.String() + s[done:], n
}

func percentEscape(s string) (rune, int) { return hexRune(s, 1, 2) }

// sourceEscape reads the escapes of JSON and of most languages.
func sourceEscape(s string) (rune, int) {
	switch {
	case strings.HasPrefix(s, `\u`):
		return hexRune(s, 2, 4)
	case strings.HasPrefix(s, `\x`):
		return hexRune(s, 2, 2)
	}
	return 0, 0
}

// hexRune reads so many hexadecimal digits behind a lead of so many bytes.
func hexRune(s string, lead, digits int) (rune, int) {
	if len(s) < lead+digits {
		return 0, 0
	}
	v, err := strconv.ParseUint(s[lead:lead+digits], 16, 32)
	if err != nil {
		return 0, 0
	}
	return rune(v), lead + digits
}

// maxTag is the longest tag that is taken out, in bytes. What is longer is more likely a comparison.
const maxTag = 303

// stripTags takes out what reads as a tag: words that a tag cuts in two are whole again.
func stripTags(s string) string {
	var b strings.Builder
	done := 0
	for i := 0; ; {
		next := strings.IndexByte(s[i:], '<')
		if next < 0 {
			break
		}
		i += next
		size := tagSize(s[i:])
		if size == 0 {
			i++
			continue
		}
		b.WriteString(s[done:i])
		i += size
		done = i
	}
	if done == 0 {
		return s
	}
	return b.String() + s[done:]
}

// tagSize is the length of the tag with which s begins, or 0.
func tagSize(s string) int {
	if len(s) < 2 || s[1] != '/' && s[1] != '!' && (words.Lower(s[1]) < 'a' || 'z' < words.Lower(s[1])) {
		return 0
	}
	for i := 1; i < min(len(s), maxTag); i++ {
		switch s[i] {
		case '<':
			return 0
		case '>':
			return i + 1
		}
	}
	return 0
}

// minRun is the shortest run of base64 or hex that is decoded, in characters: fifteen bytes of base64, ten of hex.
const minRun = 20

// hasRun reports whether s holds enough characters of base64 in a row to be worth decoding. It looks at every byte of a run from its
// end, and so at few of the others.
func hasRun(s string) bool { _, hi := nextRun(s, 0); return hi > 0 }

// nextRun finds the first run of characters of base64 at or after i that is long enough; hi is 0 if there is none.
func nextRun(s string, i int) (lo, hi int) {
	for i+minRun <= len(s) {
		last := i + minRun - 1
		for last >= i && inCode[s[last]] {
			last--
		}
		if last < i {
			for hi = i + minRun; hi < len(s) && inCode[s[hi]]; hi++ {
			}
			return i, hi
		}
		i = last + 1
	}
	return 0, 0
}

// inCode are the characters of both alphabets of base64, which are also those of hex.
var inCode = func() (t [256]bool) {
	for c := range t {
		t[c] = words.In(byte(c)) || strings.ContainsRune("+/-", rune(c))
	}
	return t
}()

// decodedRuns lists what is hidden in s under base64 or hex, once. Runs that only line breaks part are one text.
func decodedRuns(s string) (parts []string) {
	var open []byte // the part that the next run may go on with
	end := 0
	for lo, hi := nextRun(s, 0); hi > 0; lo, hi = nextRun(s, hi) {
		text := decodeRun(s[lo:hi])
		if len(open) > 0 && (len(text) == 0 || strings.Trim(s[end:lo], "\r\n") != "") {
			parts, open = append(parts, string(open)), nil
		}
		open, end = append(open, text...), hi
	}
	if len(open) > 0 {
		parts = append(parts, string(open))
	}
	return parts
}

// glance is how much of a run tells whether it hides text, in characters: most runs are names and paths. It is whole bytes of hex,
// and of base64.
const glance = 24

// minText is how much of a run must decode to text, in bytes. Bytes by chance are text up to here once in ten thousand times.
const minText = 10

// decodeRun gives the text with which a decoded run begins; what follows it may be anything.
func decodeRun(run string) []byte {
	for _, decode := range []func(string) ([]byte, error){hex.DecodeString, base64Any} {
		if b, err := decode(run[:min(len(run), glance)]); err != nil || readable(b) < minText {
			continue
		}
		if b, err := decode(run); err == nil {
			return b[:readable(b)]
		}
	}
	return nil
}

// toStandard turns one alphabet of base64 into the other.
var toStandard = strings.NewReplacer("-", "+", "_", "/")

// base64Any decodes either alphabet, without its padding.
func base64Any(s string) ([]byte, error) {
	s = toStandard.Replace(s)
	return base64.RawStdEncoding.DecodeString(s[:len(s)/4*4])
}

// readable is how much of b is text, in bytes: UTF-8 free of controls.
func readable(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 || r < ' ' && r != '\n' && r != '\t' && r != '\r' {
			return i
		}
		i += n
	}
	return len(b)
}
