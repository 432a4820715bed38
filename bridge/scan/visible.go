package scan

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/codeact-dev/codeact/bridge/scan/rewrite"
)

// invisible are the characters that show nothing, or change the order in which others show.
var invisible = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x0080, Hi: 0x009f, Stride: 1}, // C1 controls: 0x9b begins an escape sequence
		{Lo: 0x00ad, Hi: 0x00ad, Stride: 1}, // soft hyphen
		{Lo: 0x034f, Hi: 0x034f, Stride: 1}, // combining grapheme joiner
		{Lo: 0x061c, Hi: 0x061c, Stride: 1}, // Arabic letter mark (bidi)
		{Lo: 0x115f, Hi: 0x1160, Stride: 1}, // Hangul fillers
		{Lo: 0x17b4, Hi: 0x17b5, Stride: 1}, // Khmer inherent vowels
		{Lo: 0x180b, Hi: 0x180f, Stride: 1}, // Mongolian variation selectors, vowel separator
		{Lo: 0x200b, Hi: 0x200f, Stride: 1}, // zero-width, left-to-right and right-to-left marks
		{Lo: 0x2028, Hi: 0x202e, Stride: 1}, // line and paragraph separators, bidi embeddings
		{Lo: 0x2060, Hi: 0x206f, Stride: 1}, // word joiner, invisible operators, bidi isolates
		{Lo: 0x2800, Hi: 0x2800, Stride: 1}, // braille blank
		{Lo: 0x3164, Hi: 0x3164, Stride: 1}, // Hangul filler
		{Lo: 0xe000, Hi: 0xf8ff, Stride: 1}, // private use: whatever the reader's font has there
		{Lo: 0xfe00, Hi: 0xfe0f, Stride: 1}, // variation selectors
		{Lo: 0xfeff, Hi: 0xfeff, Stride: 1}, // byte order mark
		{Lo: 0xffa0, Hi: 0xffa0, Stride: 1}, // halfwidth Hangul filler
		{Lo: 0xfff0, Hi: 0xfffc, Stride: 1}, // unassigned, annotation and object characters
		{Lo: 0xfffe, Hi: 0xffff, Stride: 1}, // not characters
	},
	R32: []unicode.Range32{
		{Lo: 0x1bca0, Hi: 0x1bca3, Stride: 1},         // shorthand format controls
		{Lo: 0x1d173, Hi: 0x1d17a, Stride: 1},         // musical format controls
		{Lo: 0xe0000, Hi: 0xe0fff, Stride: 1},         // tags, more variation selectors
		{Lo: 0xf0000, Hi: unicode.MaxRune, Stride: 1}, // private use
	},
}

// Visible writes what cannot be seen as an escape: `\x1b` for controls and for bytes that are not UTF-8, `\u{202e}` for the rest, and for
// combining marks beyond the eighth. Tab and newline stay, CR LF becomes newline, and one variation selector 16 stays after an emoji.
// Text without any of them is returned as it is, without an allocation.
//
// A backslash is not escaped, so Visible text cannot be read back: it is for showing.
func Visible(s string) string {
	var b strings.Builder
	done, marks := 0, 0
	for i := 0; i < len(s); {
		if c := s[i]; ' ' <= c && c < 0x7f || c == '\n' || c == '\t' {
			i++
			marks = 0
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if marks++; !isMark(r) {
			marks = 0
		}
		if marks <= maxMarks && shows(r) && (r != utf8.RuneError || n > 1) || r == 0xfe0f && emojiBase(prevRune(s, i)) {
			i += n
			continue
		}
		if done == 0 {
			b.Grow(len(s) + 16)
		}
		b.WriteString(s[done:i])
		b.WriteString(escaped(s[i:i+n], strings.HasPrefix(s[i:], "\r\n")))
		i += n
		done = i
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// escaped is how a character is written that cannot be seen; the carriage return of a line break is left out.
func escaped(char string, lineBreak bool) string {
	r, _ := utf8.DecodeRuneInString(char)
	switch {
	case lineBreak:
		return ""
	case r < utf8.RuneSelf || r == utf8.RuneError:
		return fmt.Sprintf(`\x%02x`, char[0])
	}
	return fmt.Sprintf(`\u{%x}`, r)
}

// shows reports a character that can be seen, or a blank.
func shows(r rune) bool {
	return r >= ' ' && r != 0x7f && (ideograph(r) || !mayHide[r>>8] || !unicode.Is(invisible, r))
}

// mayHide tells of each 256 characters whether an invisible one is among them: a look into invisible is ten times as slow.
var mayHide = func() (t [unicode.MaxRune>>8 + 1]bool) {
	for _, x := range invisible.R16 {
		for page := x.Lo >> 8; page <= x.Hi>>8; page++ {
			t[page] = true
		}
	}
	for _, x := range invisible.R32 {
		for page := x.Lo >> 8; page <= x.Hi>>8; page++ {
			t[page] = true
		}
	}
	return t
}()

// maxMarks is how many combining marks in a row are shown: more of them cover the lines around, and no script needs as many.
const maxMarks = 8

func isMark(r rune) bool { return r >= 0x300 && !ideograph(r) && unicode.In(r, unicode.Mn, unicode.Me) }

func prevRune(s string, i int) rune {
	r, _ := utf8.DecodeLastRuneInString(s[:i])
	return r
}

// emojiBase reports a character that variation selector 16 turns into its coloured form.
func emojiBase(r rune) bool {
	return 0x203c <= r && r <= 0x3299 || 0x1f000 <= r && r <= 0x1faff || strings.ContainsRune("#*0123456789©®", r)
}

// VisibleValue applies Visible to every text in plain data, keys too; bytes stay. Parts deeper than 64 levels, or that are not plain
// data, are replaced by a note that says so. Data that needs no change is returned as it is.
func VisibleValue(v any) any {
	w := rewrite.Leaves{Text: Visible, KeepBytes: true, Refuse: func(rule string) any { return "[not shown: " + rule + "]" }}
	return w.In(v)
}

var oneLine = strings.NewReplacer("\n", `\n`, "\t", `\t`)

// Line shows s on one line of at most max bytes and a note of what was cut: newlines and tabs are escaped too.
func Line(s string, max int) string {
	whole := len(s)
	if max < 0 {
		max = 0
	}
	kept := s[:runeFloor(s, max)]
	for {
		line := oneLine.Replace(Visible(kept))
		if len(line) <= max || kept == "" {
			if len(kept) < whole {
				line += fmt.Sprintf("…(+%d bytes)", whole-len(kept))
			}
			return line
		}
		// An escape is at most ten bytes for one, so a tenth of what is too much can go at once.
		kept = kept[:runeFloor(kept, len(kept)-1-(len(line)-max)/10)]
	}
}

// runeFloor is the last rune border at or before n; a byte that is not UTF-8 is a rune of its own.
func runeFloor(s string, n int) int {
	if n >= len(s) {
		return len(s)
	}
	for at := n; at >= 0 && n-at < utf8.UTFMax; at-- {
		if utf8.RuneStart(s[at]) {
			if _, size := utf8.DecodeRuneInString(s[at:]); at+size > n {
				return at
			}
			return n
		}
	}
	return max(n, 0)
}

// HeadTail keeps the beginning and the end of s, max bytes together, cut on rune borders, with a line between them that says how
// many bytes were left out. That line comes on top of max.
func HeadTail(s string, max int) (out string, cut int) {
	if len(s) <= max {
		return s, 0
	}
	if max < 0 {
		max = 0
	}
	head := runeFloor(s, (max+1)/2)
	from := len(s) - max/2
	if low := runeFloor(s, from); low < from { // inside a rune: leave all of it out
		_, n := utf8.DecodeRuneInString(s[low:])
		from = low + n
	}
	cut = from - head
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", s[:head], cut, s[from:]), cut
}
