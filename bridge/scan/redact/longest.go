package redact

import (
	"regexp/syntax"
	"unicode/utf8"
)

// longest is the length of the longest text that the expression matches, in bytes, or -1 if there is none or it is not known.
func longest(text string) int {
	re, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return -1 // so that MustCompile, later, says why
	}
	return longestOf(re)
}

func longestOf(re *syntax.Regexp) int {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 {
			return utf8.UTFMax * len(re.Rune)
		}
		return len(string(re.Rune))
	case syntax.OpCharClass:
		return utf8.RuneLen(re.Rune[len(re.Rune)-1]) // the last one is the longest
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return utf8.UTFMax
	case syntax.OpStar, syntax.OpPlus:
		return -1
	}
	times, sum, most := 1, 0, 0
	if re.Op == syntax.OpRepeat {
		times = re.Max // -1 without a bound
	}
	for _, sub := range re.Sub {
		n := longestOf(sub)
		if n < 0 || times < 0 {
			return -1
		}
		sum, most = sum+times*n, max(most, n)
	}
	if re.Op == syntax.OpAlternate {
		return most
	}
	return sum
}
