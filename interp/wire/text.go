package wire

import (
	"strings"
	"unicode/utf8"
)

// cutMark ends a text that Clip has shortened.
const cutMark = "…[cut]"

// PrintMark ends a printed text that was truncated.
const PrintMark = "\n[print output cut here: print less, or summarise before printing]\n"

// Clip returns s as valid UTF-8 of at most limit bytes, never cut inside a rune. limit must be at least 16.
func Clip(s string, limit int) string {
	if len(s) > limit {
		s = Cut(s, limit-len(cutMark)) + cutMark
	}
	if utf8.ValidString(s) {
		return s
	}
	// The replacement character has three bytes: cut once more, without a mark.
	return Cut(strings.ToValidUTF8(s, "\uFFFD"), limit)
}

// Cut returns the longest prefix of s that has at most n bytes and ends between runes.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
