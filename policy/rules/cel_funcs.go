package rules

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/net/idna"

	"github.com/codeact-dev/codeact/policy"
)

// maxPattern bounds a glob in bytes: matching costs text times pattern, and a
// pattern can come from an argument.
const maxPattern = 1024

// A urlView is a parsed URL as a rule sees it.
type urlView struct{ scheme, host, port, path, query, userinfo string }

// parseURL reads a URL the way that clients do, and refuses what clients read in
// different ways.
func parseURL(s string) (*urlView, error) {
	if strings.ContainsAny(s, "\\ \t\r\n") {
		return nil, errors.New("a URL with a backslash or white space is read differently by different clients")
	}
	u, err := url.Parse(s)
	if err != nil {
		return nil, fmt.Errorf("not a URL: %w", errors.Unwrap(err))
	}
	host, err := hostName(u.Hostname())
	if err != nil {
		return nil, err
	}
	return &urlView{
		scheme:   strings.ToLower(u.Scheme),
		host:     host,
		port:     u.Port(),
		path:     u.Path,
		query:    u.RawQuery,
		userinfo: u.User.String(),
	}, nil
}

// hostName returns the one spelling of a host: lower case, IDNA form, without the
// dot of a rooted name.
func hostName(host string) (string, error) {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "" || isPlain(host) || isIP(host) {
		return host, nil
	}
	h, err := idna.Lookup.ToASCII(host)
	if err != nil && isASCII(host) {
		return host, nil // "my_host" is no IDNA name but a name in use
	}
	if err != nil {
		return "", fmt.Errorf("host %q: %w", host, err)
	}
	return h, nil
}

// isPlain reports whether a host is as IDNA would leave it: the common case.
func isPlain(host string) bool {
	return !strings.Contains(host, "xn--") && !strings.ContainsFunc(host, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.' && r != '-'
	})
}

// isIP looks for what every address has first, since a failed parse allocates.
func isIP(host string) bool {
	if !strings.Contains(host, ":") && !strings.ContainsAny(host[len(host)-1:], "0123456789") {
		return false
	}
	_, err := netip.ParseAddr(host)
	return err == nil
}

func isASCII(s string) bool { return !strings.ContainsFunc(s, func(r rune) bool { return r > 0x7f }) }

// viewOfFact takes the host from the bridge, which will dial it, and the rest from
// the text.
func viewOfFact(f *policy.URLFact) (*urlView, error) {
	if f.Err != "" {
		return nil, fmt.Errorf("%s is not a URL: %s", f.Param, f.Err)
	}
	v := &urlView{scheme: f.Scheme, host: f.Host, port: f.Port, path: f.Path}
	if u, err := url.Parse(f.Raw); err == nil {
		v.query, v.userinfo = u.RawQuery, u.User.String()
	}
	if f.Userinfo && v.userinfo == "" {
		v.userinfo = "?"
	}
	return v, nil
}

// inDomains reports whether host is one of domains or below one. A suffix that
// does not begin at a dot does not count, and an IP address has no sub-domains.
func inDomains(host string, domains []string) (bool, error) {
	h, err := hostName(host)
	if err != nil {
		return false, err
	}
	found := false
	for _, d := range domains {
		n, err := hostName(d)
		if err != nil {
			return false, err
		}
		if n == "" || strings.ContainsAny(n, "*/@") || strings.HasPrefix(n, ".") {
			return false, fmt.Errorf("%q is not a domain: list host names, their sub-domains are included", d)
		}
		found = found || h == n || below(h, n)
	}
	return found && h != "", nil
}

// below reports whether host is a sub-domain of domain. It is not empty.
func below(host, domain string) bool {
	return len(host) > len(domain) && strings.HasSuffix(host, domain) && host[len(host)-len(domain)-1] == '.' && !isIP(host)
}

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
				u, err := parseURL(string(s.(types.String)))
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
				return boolOr(inDomains(string(h.(types.String)), domains))
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

// costs prices our functions by the bytes that they read, so that the cost limit
// bounds their time as it does that of CEL's own.
type costs struct{}

func (costs) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
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
