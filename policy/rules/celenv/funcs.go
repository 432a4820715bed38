package celenv

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"github.com/bmatcuk/doublestar/v4"

	"github.com/codeact-dev/codeact/policy/rules/urls"
)

// maxPattern bounds a glob in bytes: matching costs text times pattern, and a
// pattern can come from an argument.
const maxPattern = 1024

// matchesGlob matches with ** across directories. A path that could be written
// shorter is an error, since it could slip past a pattern that it means.
func matchesGlob(s, pattern string) (bool, error) {
	if len(pattern) > maxPattern {
		return false, fmt.Errorf("the pattern has %d bytes, more than %d", len(pattern), maxPattern)
	}
	if s != "" && path.Clean(s) != s || s == ".." || strings.HasPrefix(s, "../") {
		return false, fmt.Errorf("%q is not a canonical path; use the rel or abs of call.paths", s)
	}
	ok, err := doublestar.Match(pattern, s)
	if err != nil {
		return false, fmt.Errorf("%q is not a pattern", pattern)
	}
	return ok, nil
}

// functions are what rules can call beside CEL's own. None reads anything but its
// arguments.
func functions() []cel.EnvOption {
	return []cel.EnvOption{
		cel.Function("url", cel.Overload("string_to_codeact_url", []*cel.Type{cel.StringType}, urlType.typ,
			cel.UnaryBinding(func(s ref.Val) ref.Val {
				u, err := urls.Parse(string(s.(types.String)))
				if err != nil {
					return types.WrapErr(err)
				}
				return object{urlType, u}
			}))),
		cel.Function("inDomains", cel.MemberOverload("string_in_domains", []*cel.Type{cel.StringType, stringList}, cel.BoolType,
			cel.BinaryBinding(func(h, l ref.Val) ref.Val {
				domains, err := stringsOf(l.(traits.Lister))
				if err != nil {
					return types.WrapErr(err)
				}
				return boolOr(urls.InDomains(string(h.(types.String)), domains))
			}))),
		cel.Function("matchesGlob", cel.MemberOverload("string_matches_glob", []*cel.Type{cel.StringType, cel.StringType}, cel.BoolType,
			cel.BinaryBinding(func(s, p ref.Val) ref.Val {
				return boolOr(matchesGlob(string(s.(types.String)), string(p.(types.String))))
			}))),
	}
}

func boolOr(b bool, err error) ref.Val {
	if err != nil {
		return types.WrapErr(err)
	}
	return types.Bool(b)
}

func stringsOf(l traits.Lister) ([]string, error) {
	if s, ok := l.Value().([]string); ok {
		return s, nil
	}
	var out []string
	for it := l.Iterator(); it.HasNext() == types.True; {
		s, ok := it.Next().(types.String)
		if !ok {
			return nil, errors.New("the list of domains holds a value that is not a string")
		}
		out = append(out, string(s))
	}
	return out, nil
}

// Costs prices our functions by the bytes that they read, so that the cost limit
// bounds their time as it does that of CEL's own.
type Costs struct{}

func (Costs) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	if !slices.Contains([]string{"url", "inDomains", "matchesGlob"}, function) {
		return nil
	}
	cost := uint64(1)
	for _, a := range args {
		if s, ok := a.(traits.Sizer); ok {
			cost += uint64(s.Size().(types.Int))
		}
	}
	if function == "matchesGlob" {
		cost = 1 + sizeOf(args[0])*sizeOf(args[1])/16 // backtracking: text times pattern, 16 steps a unit
	}
	return &cost
}

func sizeOf(v ref.Val) uint64 {
	s, _ := v.(types.String)
	return uint64(len(s))
}
