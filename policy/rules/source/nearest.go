package source

import (
	"strings"

	"github.com/codeact-dev/codeact/spelling"
)

// NearestOr returns ` (did you mean "x"?)` for the name of known that name is most
// likely a slip of, or the list of what is known.
func NearestOr(name string, known []string) string {
	if hint := spelling.DidYouMean(name, known); hint != "" {
		return hint
	}
	return ": want one of " + strings.Join(known, ", ")
}
