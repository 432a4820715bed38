package workspace

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/hashicorp/go-multierror"
)

// globs are clean doublestar patterns, relative and with "/".
type globs []string

// compile checks every pattern and expands it. A trailing slash means the directory, as people write it; it must not turn a rule off.
func compile(kind string, patterns []string, expand func(string) []string) (globs, error) {
	var faults *multierror.Error
	var out globs
	for _, p := range patterns {
		clean := strings.TrimPrefix(p, "./")
		dir := strings.HasSuffix(clean, "/")
		clean = strings.TrimRight(clean, "/")
		switch {
		case clean == "" || strings.HasPrefix(clean, "/"):
			faults = multierror.Append(faults, fmt.Errorf("workspace: %s: %q: want a glob relative to the workspace", kind, p))
		case clean != path.Clean(clean) || clean == ".." || strings.HasPrefix(clean, "../"):
			faults = multierror.Append(faults, fmt.Errorf("workspace: %s: %q: write it without . and .. elements", kind, p))
		case !doublestar.ValidatePattern(clean):
			faults = multierror.Append(faults, fmt.Errorf("workspace: %s: %q: not a valid glob", kind, p))
		case dir:
			out = append(out, expand(clean+"/**")...)
		default:
			out = append(out, expand(clean)...)
		}
	}
	return out, faults.ErrorOrNil()
}

func asWritten(p string) []string { return []string{p} }

// anyDepth makes "*.pem" match in every directory: who denies a kind of file means all of them.
func anyDepth(p string) []string {
	if strings.Contains(p, "/") {
		return []string{p}
	}
	return []string{p, "**/" + p}
}

// belowOnly keeps "drafts/**" from matching drafts itself, which may not be moved or removed.
func belowOnly(p string) []string {
	if p == "**" || strings.HasSuffix(p, "/**") {
		return []string{p + "/*"}
	}
	return []string{p}
}

// match says whether the file system may take rel for a name that matches.
func (g globs) match(rel string) bool {
	return slices.ContainsFunc(g, func(p string) bool { return doublestar.MatchUnvalidated(fold(p), fold(rel)) })
}

// grants says whether rel matches as it is written. What it allows must not grow with what fold brings together.
func (g globs) grants(rel string) bool {
	return slices.ContainsFunc(g, func(p string) bool { return doublestar.MatchUnvalidated(p, rel) })
}

// covers says whether rel or a directory above it matches.
func (g globs) covers(rel string) bool {
	for ; ; rel = path.Dir(rel) {
		if g.match(rel) {
			return true
		}
		if !strings.Contains(rel, "/") {
			return false
		}
	}
}
