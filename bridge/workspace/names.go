package workspace

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// longFolds is the letters whose case folding is longer than they are (CaseFolding.txt, status F) and that do not decompose.
var longFolds = strings.NewReplacer("ß", "SS", "ﬀ", "FF", "ﬁ", "FI", "ﬂ", "FL", "ﬃ", "FFI", "ﬄ", "FFL", "ﬅ", "ST", "ﬆ", "ST", "ŉ", "ʼN")

// foldName brings names together that a file system may take for one: some ignore case, some composition, and HFS+ leaves out
// what it calls ignorable. It brings more together than any one of them does, so use it only to refuse.
func foldName(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Variation_Selector) {
			return -1
		}
		least := r
		for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
			least = min(least, o)
		}
		return least
	}, norm.NFD.String(s))
	return norm.NFD.String(longFolds.Replace(s)) // a folded iota is a mark, and marks have an order
}

// dosDevice is the names that mean a device in every directory, whatever follows the first dot.
var dosDevice = regexp.MustCompile(`(?i)^(con|prn|aux|nul|clock\$|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\..*)?$`)

// dosAlias says whether Windows may read a component as another name, or as no file: streams, short names, other separators,
// devices, and dots and spaces that it drops.
func dosAlias(name string) bool {
	switch {
	case name == "." || name == "..":
		return false
	case strings.ContainsAny(name, `:\~*?"<>|`), dosDevice.MatchString(name):
		return true
	}
	return strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ")
}
