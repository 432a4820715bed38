// Package scantest holds texts that try to deceive who reads them: with characters that steer a terminal, reorder a line, hide in it or
// fill it. Every place that shows text to a person runs the whole table.
//
// The table is no list of all such characters: it has some of each kind.
package scantest

import (
	"strings"
	"unicode/utf8"
)

// An Escape is a text, and what of it must not reach a reader.
type Escape struct {
	Name string
	Text string
	Bad  []string // none of these may stand in what is shown
	Line bool     // only where one line of at most MaxLine bytes is shown
}

// MaxLine is the longest line, in bytes, that a place for one line may show of an Escape with Line.
const MaxLine = 2 << 10

// Left names the first thing that must not stand in shown but does, or the empty text. What is not UTF-8 may never stand there.
func (e Escape) Left(shown string) string {
	for _, bad := range e.Bad {
		if strings.Contains(shown, bad) {
			return bad
		}
	}
	if !utf8.ValidString(shown) {
		return "bytes that are not UTF-8"
	}
	return ""
}

// MaxMarks is how many combining marks in a row a reader may get to see: no script needs more.
const MaxMarks = 8

// Escapes returns the table.
func Escapes() []Escape {
	list := []Escape{
		{Name: "escape sequence CSI", Text: "a\x1b[31;5mred\x1b[0m", Bad: []string{"\x1b"}},
		{Name: "escape sequence that clears the screen", Text: "\x1b[2J\x1b[H$ ", Bad: []string{"\x1b"}},
		{Name: "OSC title", Text: "\x1b]0;root@host\x07", Bad: []string{"\x1b", "\x07"}},
		{Name: "OSC link", Text: "\x1b]8;;http://evil.test\x1b\\click\x1b]8;;\x1b\\", Bad: []string{"\x1b"}},
		{Name: "OSC 52 clipboard", Text: "\x1b]52;c;cm0gLXJmIH4K\x07", Bad: []string{"\x1b", "\x07"}},
		{Name: "DCS and APC", Text: "\x1bP+q544e\x1b\\\x1b_x\x1b\\", Bad: []string{"\x1b"}},
		{Name: "C1 CSI as a character", Text: "a\u009b31mred", Bad: []string{"\u009b"}},
		{Name: "C1 OSC as a character", Text: "\u009d0;title\u009c", Bad: []string{"\u009d", "\u009c"}},
		{Name: "C1 CSI as a byte", Text: "a\x9b31mred", Bad: []string{"\x9b31"}},
		{Name: "next line", Text: "a\u0085b", Bad: []string{"\u0085"}},
		{Name: "carriage return", Text: "rm -rf /\rls      ", Bad: []string{"\r"}},
		{Name: "carriage return at the end", Text: "a\r", Bad: []string{"\r"}},
		{Name: "backspace", Text: "rm\b\bls", Bad: []string{"\b"}},
		{Name: "bell", Text: "\a\a", Bad: []string{"\a"}},
		{Name: "NUL", Text: "a\x00b", Bad: []string{"\x00"}},
		{Name: "delete", Text: "a\x7fb", Bad: []string{"\x7f"}},
		{Name: "vertical tab and form feed", Text: "a\vb\fc", Bad: []string{"\v", "\f"}},
		{Name: "shift out", Text: "\x0elqqk\x0f", Bad: []string{"\x0e", "\x0f"}},
		{Name: "a selector behind a letter", Text: "a\ufe0fb", Bad: []string{"\ufe0f"}},
		{Name: "a second selector behind an emoji", Text: "\u2764\ufe0f\ufe0f\ufe0e", Bad: []string{"\ufe0f\ufe0f", "\ufe0e"}},
		{Name: "joiners", Text: "a\u200d\u200d\u200db \U0001f469\u200d\U0001f469", Bad: []string{"\u200d"}},
		{Name: "tags that spell a word", Text: "hi\U000e0069\U000e0067\U000e006e\U000e006f\U000e0072\U000e0065\U000e007f", Bad: []string{"\U000e0069", "\U000e007f"}},
		{Name: "flood of marks", Text: "e" + strings.Repeat("\u0301", 500) + "x", Bad: []string{strings.Repeat("\u0301", MaxMarks+1)}},
		{Name: "flood of enclosing marks", Text: "e" + strings.Repeat("\u20dd", 500) + "x", Bad: []string{strings.Repeat("\u20dd", MaxMarks+1)}},
		{Name: "a very long line", Text: strings.Repeat("a", 1<<20) + "END", Bad: []string{strings.Repeat("a", MaxLine), "END"}, Line: true},
		{Name: "many lines", Text: "a" + strings.Repeat("\n", 1000) + "b", Bad: []string{"\n"}, Line: true},
		{Name: "tabs", Text: "a\t\tb", Bad: []string{"\t"}, Line: true},
		{Name: "lone surrogates", Text: "a\xed\xa0\x80\xed\xb0\x80b", Bad: []string{"\xed\xa0\x80", "\xed\xb0\x80"}},
		{Name: "overlong slash of two bytes", Text: "..\xc0\xaf", Bad: []string{"\xc0\xaf"}},
		{Name: "overlong slash of three bytes", Text: "..\xe0\x80\xaf", Bad: []string{"\xe0\x80\xaf"}},
		{Name: "overlong slash of four bytes", Text: "..\xf0\x80\x80\xaf", Bad: []string{"\xf0\x80\x80\xaf"}},
		{Name: "behind the last character", Text: "\xf4\x90\x80\x80", Bad: []string{"\xf4\x90"}},
		{Name: "half a character", Text: "a\xe4\xb8", Bad: []string{"\xe4\xb8"}},
	}
	for _, r := range hidden {
		list = append(list, Escape{Name: r.name, Text: "a" + string(r.r) + "b", Bad: []string{string(r.r)}})
	}
	return list
}

// hidden are characters that show nothing, or change how others show.
var hidden = []struct {
	name string
	r    rune
}{
	{"soft hyphen", 0xad}, {"grapheme joiner", 0x34f}, {"Arabic letter mark", 0x61c}, {"Hangul choseong filler", 0x115f}, {"Hangul jungseong filler", 0x1160},
	{"Khmer inherent vowel", 0x17b4}, {"Mongolian vowel separator", 0x180e}, {"Mongolian variation selector", 0x180b},
	{"zero-width space", 0x200b}, {"zero-width non-joiner", 0x200c}, {"zero-width joiner", 0x200d}, {"left-to-right mark", 0x200e}, {"right-to-left mark", 0x200f},
	{"line separator", 0x2028}, {"paragraph separator", 0x2029},
	{"left-to-right embedding", 0x202a}, {"right-to-left embedding", 0x202b}, {"pop directional formatting", 0x202c}, {"left-to-right override", 0x202d}, {"right-to-left override", 0x202e},
	{"word joiner", 0x2060}, {"function application", 0x2061}, {"invisible times", 0x2062}, {"invisible separator", 0x2063}, {"invisible plus", 0x2064}, {"unassigned invisible", 0x2065},
	{"left-to-right isolate", 0x2066}, {"right-to-left isolate", 0x2067}, {"first strong isolate", 0x2068}, {"pop directional isolate", 0x2069},
	{"inhibit symmetric swapping", 0x206a}, {"activate symmetric swapping", 0x206b}, {"inhibit Arabic form shaping", 0x206c}, {"activate Arabic form shaping", 0x206d}, {"national digit shapes", 0x206e}, {"nominal digit shapes", 0x206f},
	{"braille blank", 0x2800}, {"Hangul filler", 0x3164}, {"halfwidth Hangul filler", 0xffa0}, {"byte order mark", 0xfeff},
	{"variation selector 1", 0xfe00}, {"variation selector 15", 0xfe0e}, {"variation selector 17", 0xe0100}, {"variation selector 256", 0xe01ef},
	{"interlinear annotation anchor", 0xfff9}, {"interlinear annotation separator", 0xfffa}, {"interlinear annotation terminator", 0xfffb}, {"object replacement", 0xfffc},
	{"language tag", 0xe0001}, {"tag space", 0xe0020}, {"tag letter", 0xe0041}, {"tag end", 0xe007f}, {"block of tags, the first", 0xe0000},
	{"private use", 0xe000}, {"private use, the last of the plane", 0xf8ff}, {"private use, plane 15", 0xf0000}, {"private use, plane 16", 0x10fffd}, {"not a character", 0xfffe},
	{"shorthand format control", 0x1bca0}, {"musical format control", 0x1d173},
}
