package egress

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

const maxURL = 8 << 10 // bytes

// URL is an address that ParseURL has read; a Client takes no other. The exported fields are for rules, questions and traces:
// changing them changes nothing.
type URL struct {
	Raw      string // as given
	Scheme   string // http or https
	Host     string // lower case ASCII without trailing dot; an IPv6 address without brackets
	Port     string // decimal, the scheme's default filled in
	Path     string // escaped; "/" for none; without dot segments
	Userinfo bool   // there was one: only beside an error

	parsed *url.URL // nil unless ParseURL accepted it
}

// String is the URL without query and fragment, which may hold secrets.
func (u URL) String() string {
	if u.parsed == nil {
		return ""
	}
	return u.Scheme + "://" + u.parsed.Host + u.Path
}

// ParseURL reads an absolute http or https URL, or one of the given schemes among these. Whatever two parsers could read
// differently is refused (a *Refused), never repaired: no userinfo, no backslash, white space or control character, no number
// as a host except an IPv4 address in four decimal parts, no percent sign in a host, no zone.
//
// On error the fields that could be read are filled in, for the trace.
func ParseURL(raw string, schemes ...string) (URL, error) {
	scheme, authority, err := split(raw)
	if err != nil {
		return URL{}, err
	}
	u := URL{Scheme: scheme, Userinfo: strings.Contains(authority, "@")}
	if !slices.Contains([]string{"http", "https"}, scheme) || len(schemes) > 0 && !slices.Contains(schemes, scheme) {
		return u, refuse("", "the scheme "+strconv.Quote(scheme)+" is not allowed; use https")
	}
	if u.Userinfo {
		return u, refuse("", userinfo)
	}
	if u.Host, u.Port, err = hostPort(authority, scheme); err != nil {
		return u, err
	}
	parsed, err := url.Parse(raw)
	if err != nil || parsed.Host != authority { // two parsers have to agree on the host
		return u, refuse("", "the URL cannot be read in one way only; check its escapes")
	}
	if dotSegments(parsed.Path) || dotSegments(parsed.EscapedPath()) {
		return u, refuse(u.Host, "the path holds . or .. segments; write the path that you mean")
	}
	parsed.Scheme, parsed.Host, parsed.Fragment, parsed.RawFragment = scheme, u.authority(), "", ""
	u.Raw, u.Path = raw, parsed.EscapedPath()
	if u.Path == "" {
		u.Path = "/"
	}
	u.parsed = parsed
	return u, nil
}

// authority is host and port as they stand in a URL, the scheme's default port left out.
func (u URL) authority() string {
	host := u.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if u.Port == defaultPort(u.Scheme) {
		return host
	}
	return host + ":" + u.Port
}

func defaultPort(scheme string) string {
	if scheme == "http" {
		return "80"
	}
	return "443"
}

const userinfo = "a user name or password in a URL is not allowed; leave out what stands before the @"

// readable refuses a text, a URL or a part of one, that cannot be read in one way only.
func readable(raw string) error {
	switch {
	case len(raw) > maxURL:
		return refuse("", "the URL is longer than 8 KiB")
	case !utf8.ValidString(raw):
		return refuse("", "the URL is not valid UTF-8")
	case strings.ContainsFunc(raw, confusing):
		return refuse("", "the URL holds a backslash, white space, a control or an invisible character; escape it, as in %20")
	}
	return nil
}

// split checks the characters of a URL and cuts out its scheme and authority.
func split(raw string) (scheme, authority string, err error) {
	if err := readable(raw); err != nil {
		return "", "", err
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok || scheme == "" || strings.ContainsAny(scheme, "/?#@:") {
		return "", "", refuse("", "want an absolute URL such as https://example.com/path")
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	return strings.ToLower(scheme), rest, nil
}

// confusing names the characters that browsers, servers and libraries drop, or read as another one.
func confusing(r rune) bool {
	return r == '\\' || unicode.IsSpace(r) || unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zs, unicode.Zl, unicode.Zp)
}

func hostPort(authority, scheme string) (host, port string, err error) {
	name, port, hasPort := cutPort(authority)
	if !hasPort {
		port = defaultPort(scheme)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
		return "", "", refuse("", "the port must be a number from 1 to 65535")
	}
	if literal, ok := strings.CutPrefix(name, "["); ok {
		literal, closed := strings.CutSuffix(literal, "]")
		if host, err = parseIPv6(literal); err == nil && !closed {
			err = refuse("", "an IPv6 address needs both brackets")
		}
	} else if strings.Contains(name, ":") {
		err = refuse("", "an IPv6 address needs brackets")
	} else {
		host, err = parseHost(name)
	}
	return host, port, err
}

func cutPort(authority string) (name, port string, ok bool) {
	if strings.HasSuffix(authority, "]") {
		return authority, "", false
	}
	i := strings.LastIndexByte(authority, ':')
	if i < 0 {
		return authority, "", false
	}
	return authority[:i], authority[i+1:], true
}

func parseIPv6(literal string) (string, error) {
	addr, err := netip.ParseAddr(literal)
	switch {
	case err != nil || !addr.Is6():
		return "", refuse("", "what stands in brackets is not an IPv6 address")
	case addr.Zone() != "":
		return "", refuse("", "an IPv6 zone names an interface of this machine; leave it out")
	case addr.Is4In6():
		return "", refuse("", "an IPv4 address must not be written as IPv6")
	}
	return addr.String(), nil
}

// parseHost folds a host name or IPv4 address to the one form that is compared, resolved and sent. A bare IPv6 address, as in a
// list of hosts, is folded too.
func parseHost(name string) (string, error) {
	if strings.Contains(name, ":") {
		return parseIPv6(name)
	}
	if strings.Contains(name, "%") {
		return "", refuse("", "a host must not hold percent escapes")
	}
	host, err := idna.Lookup.ToASCII(name)
	if err != nil {
		return "", refuse("", "the host is not a valid domain name")
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if addr, err := netip.ParseAddr(host); err == nil && strings.TrimSuffix(name, ".") == host {
		return addr.String(), nil
	}
	labels := strings.Split(host, ".")
	if len(host) > 253 || slices.ContainsFunc(labels, func(l string) bool { return l == "" || len(l) > 63 }) {
		return "", refuse("", "the host is not a valid domain name")
	}
	if numeric(labels[len(labels)-1]) {
		return "", refuse("", "the host is a number; write an IPv4 address as four decimal numbers, as in 192.0.2.1")
	}
	return host, nil
}

// numeric says whether a last label makes parsers that follow inet_aton or the WHATWG standard read the whole host as an IPv4
// address: decimal, octal or hexadecimal, in one to four parts.
func numeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// dotSegments says whether a path changes when it is resolved, which some servers do and some do not.
func dotSegments(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		plain := strings.ReplaceAll(strings.ToLower(segment), "%2e", ".")
		if plain == "." || plain == ".." {
			return true
		}
	}
	return false
}
