package redact

import (
	"encoding/base32"
	"html"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxRounds is how often escapes are undone: a URL in a URL in a page has two layers, and one more costs little.
const maxRounds = 3

// minBare is the shortest secret that is looked for in text without its white space, in bytes: a shorter one stands by chance in a
// table of figures.
const minBare = 8

// readings are what s may stand for: s, and each text that undoing its escapes once more gives.
func readings(s string) []string {
	list := []string{s}
	for range maxRounds {
		next := unescape(s)
		if next == s {
			break
		}
		list, s = append(list, next), next
	}
	return list
}

// unescape undoes one layer of HTML entities, percent signs and backslashes, and takes out what nobody sees.
func unescape(s string) string {
	if strings.Contains(s, "&") {
		s = html.UnescapeString(s)
	}
	if strings.ContainsAny(s, `%\`) {
		s = undo(s)
	}
	return norm.NFKC.String(dropped(s, invisible))
}

// invisible reports a character that takes no place in what a reader sees.
func invisible(r rune) bool {
	if r < utf8.RuneSelf {
		return r == 0
	}
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// undo reads %41, \x41, \u0041, \u{41}, \U00000041 and the backslashes of JSON.
func undo(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		if r, n := escape(s[i:]); n > 0 {
			if n > 4 { // a code point; else a byte
				b = utf8.AppendRune(b, r)
			} else {
				b = append(b, byte(r))
			}
			i += n
			continue
		}
		b = append(b, s[i])
		i++
	}
	return string(b)
}

// plainEscapes are what a letter behind a backslash stands for.
var plainEscapes = map[byte]rune{'n': '\n', 'r': '\r', 't': '\t', '"': '"', '\'': '\'', '/': '/', '\\': '\\'}

// escape reads the escape that s begins with: how long it is, or 0. One of more than four bytes stands for a code point.
func escape(s string) (r rune, n int) {
	switch {
	case s[0] == '%':
		return digitsOf(s, 1, 2)
	case s[0] != '\\' || len(s) < 2:
		return 0, 0
	}
	switch s[1] {
	case 'x':
		return digitsOf(s, 2, 2)
	case 'U':
		return digitsOf(s, 2, 8)
	case 'u':
		if end := strings.IndexByte(s[:min(len(s), len(`\u{10ffff}`))], '}'); end > 3 && s[2] == '{' {
			if r, n = digitsOf(s[:end], 3, end-3); n > 0 {
				n++
			}
			return r, n
		}
		if r, n = digitsOf(s, 2, 4); n > 0 && utf16.IsSurrogate(r) && strings.HasPrefix(s[n:], `\u`) {
			if low, m := digitsOf(s[n:], 2, 4); m > 0 {
				return utf16.DecodeRune(r, low), n + m
			}
		}
		return r, n
	}
	if r, ok := plainEscapes[s[1]]; ok {
		return r, 2
	}
	return 0, 0
}

// digitsOf reads so many hexadecimal digits from s[at:], and gives where they end, or 0.
func digitsOf(s string, at, digits int) (rune, int) {
	if len(s) < at+digits {
		return 0, 0
	}
	v, err := strconv.ParseUint(s[at:at+digits], 16, 32)
	if err != nil {
		return 0, 0
	}
	return rune(v), at + digits
}

// bare is s without its white space and what nobody sees, in the one form of compatible characters.
func bare(s string) string {
	return dropped(norm.NFKC.String(dropped(s, invisible)), unicode.IsSpace)
}

// dropped is s without some of its characters. Bytes that are no UTF-8 stay as they are.
func dropped(s string, drop func(rune) bool) string {
	var b []byte
	kept := 0
	for i, r := range s {
		if r == utf8.RuneError || !drop(r) {
			continue
		}
		b = append(b, s[kept:i]...)
		kept = i + utf8.RuneLen(r)
	}
	if kept == 0 {
		return s
	}
	return string(append(b, s[kept:]...))
}

// base32Forms are base32 at each of the five places where the secret may begin in a longer text, without the characters that also depend
// on what stands around it.
func base32Forms(value string) (list []string) {
	for skip := range 5 {
		text := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(append(make([]byte, skip), value...))
		list = append(list, text[(skip*8+4)/5:(skip+len(value))*8/5])
	}
	return list
}

// decoded are the texts in base64 and hex that stand in s, one below the other: at each place of four where base64 may begin, and of two
// where hex may.
func decoded(s string) []string {
	list := make([]string, 0, 6)
	for skip := range 4 {
		list = append(list, fromBase64(s, skip))
	}
	digits := hexDigits(s)
	for skip := range 2 {
		list = append(list, fromHex(digits, skip))
	}
	return slices.DeleteFunc(list, func(t string) bool { return len(t) < minSecret })
}

// base64Values are the six bits of each character in both alphabets, 0xff of any other.
var base64Values = func() (t [256]byte) {
	for i := range t {
		t[i] = 0xff
	}
	for i, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		t[c] = byte(i)
	}
	t['-'], t['_'] = t['+'], t['/']
	return t
}()

// fromBase64 decodes each run of base64 but for its first characters.
func fromBase64(s string, skip int) string {
	out := make([]byte, 0, len(s)*3/4+1)
	bits, n, left := uint32(0), 0, skip
	for i := range len(s) + 1 {
		v := byte(0xff) // at the end
		if i < len(s) {
			v = base64Values[s[i]]
		}
		switch {
		case v == 0xff:
			if n > 1 { // a last group of two or three
				bits <<= 24 - 6*n
				out = append(out, byte(bits>>16), byte(bits>>8))[:len(out)+n-1]
			}
			if len(out) > 0 && out[len(out)-1] != '\n' {
				out = append(out, '\n')
			}
			bits, n, left = 0, 0, skip
		case left > 0:
			left--
		default:
			bits, n = bits<<6|uint32(v), n+1
			if n == 4 {
				out = append(out, byte(bits>>16), byte(bits>>8), byte(bits))
				bits, n = 0, 0
			}
		}
	}
	return string(out)
}

// between stand in hex between its bytes: a dump has spaces, a fingerprint colons.
const between = " \t\r\n:-,."

// hexDigits are the hexadecimal digits of s, without what may stand between bytes and the 0x in front of each; a line end where anything
// else stands.
func hexDigits(s string) []byte {
	out := make([]byte, 0, len(s)+1)
	for i := range len(s) {
		c := s[i]
		switch {
		case hexValue(c) < 16:
			out = append(out, c)
		case c|0x20 == 'x' && len(out) > 0 && out[len(out)-1] == '0':
			out = out[:len(out)-1]
		case strings.IndexByte(between, c) < 0 && len(out) > 0 && out[len(out)-1] != '\n':
			out = append(out, '\n')
		}
	}
	return out
}

func fromHex(digits []byte, skip int) string {
	out := make([]byte, 0, len(digits)/2+1)
	high, n, left := byte(0), 0, skip
	for _, c := range digits {
		v := hexValue(c)
		switch {
		case v > 15:
			out = append(out, '\n')
			n, left = 0, skip
		case left > 0:
			left--
		case n == 0:
			high, n = v, 1
		default:
			out, n = append(out, high<<4|v), 0
		}
	}
	return string(out)
}

// hexValue is what a digit stands for; 16 for what is none.
func hexValue(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 16
}
