package scan

import (
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Bounds on decoding, so that a text full of encoded parts costs no more than a few times its length.
const (
	maxEncoded = 32       // parts that are decoded
	maxPart    = 64 << 10 // bytes of one of them
)

// tidy gives the form that the rules are written for: NFKC, lower case, nothing invisible, plain quotes, one space between words.
func tidy(s string) string {
	if !ascii(s) {
		s = norm.NFKC.String(untag(s))
	}
	var b strings.Builder
	b.Grow(len(s))
	gap := byte(0)
	for _, r := range s {
		switch {
		case r == '\n':
			gap = '\n'
			continue
		case r == ' ' || r == '\t' || r == '\r' || r > utf8.RuneSelf && unicode.IsSpace(r):
			if gap == 0 {
				gap = ' '
			}
			continue
		case r < ' ' || r >= 0x7f && unicode.Is(invisible, r):
			continue
		}
		if gap != 0 {
			b.WriteByte(gap)
			gap = 0
		}
		if r < utf8.RuneSelf {
			b.WriteByte(lower(byte(r)))
			continue
		}
		b.WriteRune(simpleQuote(unicode.ToLower(r)))
	}
	return b.String()
}

func simpleQuote(r rune) rune {
	switch r {
	case '’', '‘', 'ʼ', '´':
		return '\''
	case '“', '”', '„', '«', '»':
		return '"'
	}
	return r
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// untag reads Unicode's tag characters as the ASCII that they stand for.
func untag(s string) string {
	return strings.Map(func(r rune) rune {
		if 0xe0020 <= r && r <= 0xe007e {
			return r - 0xe0000
		}
		return r
	}, s)
}

// fold replaces look-alikes in words that also hold Latin letters, or that read as Latin altogether; it is a second reading, since
// the first one is right for Russian and Greek.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf {
			return r
		}
		if to, ok := lookalikes[r]; ok {
			return to
		}
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFKD.String(s))
}

// escapedText is one percent escape.
var (
	escapedText = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)
	tagText     = regexp.MustCompile(`<[/!a-zA-Z][^<>]{0,300}>`)
)

// decoded lists what is hidden in s under base64, hex or URL escapes, once.
func decoded(s string) (parts []string) {
	for _, m := range longRuns(s) {
		for _, decode := range []func(string) ([]byte, error){hex.DecodeString, base64Any} {
			if b, err := decode(m); err == nil && readable(b) {
				parts = append(parts, string(b))
				break
			}
		}
	}
	if len(escapedText.FindAllStringIndex(s, 3)) == 3 {
		parts = append(parts, escapedText.ReplaceAllStringFunc(s, func(e string) string {
			b, _ := hex.DecodeString(e[1:]) // two digits, by the pattern
			return string(b)
		}))
	}
	return parts
}

// minRun is the shortest run of base64 or hex that is decoded, in characters: fifteen bytes of base64.
const minRun = 20

// longRuns lists the runs of characters that may be base64 or hex. It is a loop since a regular expression took most of a scan's time.
func longRuns(s string) (runs []string) {
	lo := 0
	for i := 0; i <= len(s) && len(runs) < maxEncoded; i++ {
		if i < len(s) && codeByte[s[i]] == 1 {
			continue
		}
		if i-lo >= minRun {
			runs = append(runs, s[lo:min(i, lo+maxPart/12*12)])
		}
		lo = i + 1
	}
	return runs
}

// base64Any decodes either alphabet, with or without padding.
func base64Any(s string) ([]byte, error) {
	s = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s, "="))
	return base64.RawStdEncoding.DecodeString(s[:len(s)/4*4])
}

// readable reports text: what decodes by chance is neither UTF-8 nor free of controls.
func readable(b []byte) bool {
	if len(b) < 8 || !utf8.Valid(b) {
		return false
	}
	for _, r := range string(b) {
		if r < ' ' && r != '\n' && r != '\t' && r != '\r' {
			return false
		}
	}
	return true
}

// longRun reports whether s holds enough characters of base64 in a row, or percent escapes, to be worth decoding.
func longRun(s string) bool {
	run, percent := 0, 0
	for i := range len(s) {
		switch codeByte[s[i]] {
		case 1:
			if run++; run >= minRun {
				return true
			}
		case 2:
			if percent++; percent >= 3 {
				return true
			}
			run = 0
		default:
			run = 0
		}
	}
	return false
}

// codeByte is 1 for the characters of base64 and 2 for the percent sign.
var codeByte = func() (t [256]byte) {
	for c := range t {
		if wordByte(byte(c)) || strings.ContainsRune("+/-", rune(c)) {
			t[c] = 1
		}
	}
	t['%'] = 2
	return t
}()
