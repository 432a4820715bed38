// Package urls reads URLs and hosts for rules the way that the clients of tools do,
// and refuses what clients read in different ways.
//
// It resolves no name: a host that is allowed here may have any address, which is
// for who dials it to check.
package urls

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/net/idna"

	"github.com/codeact-dev/codeact/policy"
)

// A URL is a parsed URL as a rule sees it.
type URL struct{ Scheme, Host, Port, Path, Query, Userinfo string }

// Parse reads a URL the way that clients do, and refuses what clients read in
// different ways.
func Parse(s string) (*URL, error) {
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
	return &URL{
		Scheme:   strings.ToLower(u.Scheme),
		Host:     host,
		Port:     u.Port(),
		Path:     u.Path,
		Query:    u.RawQuery,
		Userinfo: u.User.String(),
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

// OfFact takes the host from the bridge, which will dial it, and the rest from
// the text.
func OfFact(f *policy.URLFact) (*URL, error) {
	if f.Err != "" {
		return nil, fmt.Errorf("%s is not a URL: %s", f.Param, f.Err)
	}
	v := &URL{Scheme: f.Scheme, Host: f.Host, Port: f.Port, Path: f.Path}
	if u, err := url.Parse(f.Raw); err == nil {
		v.Query, v.Userinfo = u.RawQuery, u.User.String()
	}
	if f.Userinfo && v.Userinfo == "" {
		v.Userinfo = "?"
	}
	return v, nil
}

// InDomains reports whether host is one of domains or below one. A suffix that
// does not begin at a dot does not count, and an IP address has no sub-domains.
func InDomains(host string, domains []string) (bool, error) {
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

// Fact is what the bridge would make of the text of a URL argument.
func Fact(param, text string) policy.URLFact {
	u, err := Parse(text)
	if err != nil {
		return policy.URLFact{Param: param, Raw: text, Err: err.Error()}
	}
	return policy.URLFact{Param: param, Raw: text, Scheme: u.Scheme, Host: u.Host, Port: u.Port, Path: u.Path, Userinfo: u.Userinfo != ""}
}
