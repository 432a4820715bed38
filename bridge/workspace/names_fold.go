//go:build darwin || windows || ios

package workspace

import (
	"runtime"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// fold brings names together that the file system takes for one: neither case nor composition counts there.
func fold(s string) string { return strings.ToLower(norm.NFC.String(s)) }

// alias says whether the file system may read a component as another name: streams, short names, dropped dots and spaces.
func alias(name string) bool {
	if runtime.GOOS != "windows" {
		return false
	}
	return strings.ContainsAny(name, `:\~`) || strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ")
}
