package egress

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseURLAccepts(t *testing.T) {
	for _, c := range []struct{ raw, scheme, host, port, path, text string }{
		{"https://example.com", "https", "example.com", "443", "/", "https://example.com/"},
		{"http://example.com/", "http", "example.com", "80", "/", "http://example.com/"},
		{"HTTPS://EXAMPLE.com/A", "https", "example.com", "443", "/A", "https://example.com/A"},
		{"https://example.com./a", "https", "example.com", "443", "/a", "https://example.com/a"},
		{"https://example.com:443/a?q=1#f", "https", "example.com", "443", "/a", "https://example.com/a"},
		{"https://example.com:8443?q=@x", "https", "example.com", "8443", "/", "https://example.com:8443/"},
		{"http://example.com:443/", "http", "example.com", "443", "/", "http://example.com:443/"},
		{"https://example.com/@user", "https", "example.com", "443", "/@user", "https://example.com/@user"},
		{"https://example.com/a%2Fb%20c", "https", "example.com", "443", "/a%2Fb%20c", "https://example.com/a%2Fb%20c"},
		{"https://example.com/a//b/...", "https", "example.com", "443", "/a//b/...", "https://example.com/a//b/..."},
		{"https://bücher.example/ü", "https", "xn--bcher-kva.example", "443", "/%C3%BC", "https://xn--bcher-kva.example/%C3%BC"},
		{"https://BÜCHER.example", "https", "xn--bcher-kva.example", "443", "/", "https://xn--bcher-kva.example/"},
		{"https://1.1.1.1/", "https", "1.1.1.1", "443", "/", "https://1.1.1.1/"},
		{"https://1.1.1.1./", "https", "1.1.1.1", "443", "/", "https://1.1.1.1/"},
		{"https://127.0.0.1/", "https", "127.0.0.1", "443", "/", "https://127.0.0.1/"}, // parsed here, refused by the client
		{"https://[2606:4700::1111]/", "https", "2606:4700::1111", "443", "/", "https://[2606:4700::1111]/"},
		{"https://[2606:4700:0:0:0:0:0:1111]:8443/", "https", "2606:4700::1111", "8443", "/", "https://[2606:4700::1111]:8443/"},
		{"https://127.0.0.1.nip.io/", "https", "127.0.0.1.nip.io", "443", "/", "https://127.0.0.1.nip.io/"},
		{"https://7f000001.nip.io", "https", "7f000001.nip.io", "443", "/", "https://7f000001.nip.io/"},
		{"https://2130706433.example/", "https", "2130706433.example", "443", "/", "https://2130706433.example/"},
		{"https://localhost/", "https", "localhost", "443", "/", "https://localhost/"},
		{"https://0xdeadbeef.com/", "https", "0xdeadbeef.com", "443", "/", "https://0xdeadbeef.com/"},
	} {
		u, err := ParseURL(c.raw)
		if err != nil {
			t.Errorf("%s: %v", c.raw, err)
			continue
		}
		if u.Raw != c.raw || u.Scheme != c.scheme || u.Host != c.host || u.Port != c.port || u.Path != c.path || u.Userinfo || u.String() != c.text {
			t.Errorf("%s: %+v, %s", c.raw, u, u)
		}
	}
}

// refusedURLs says of each URL what the text must name.
var refusedURLs = []struct{ raw, reason string }{
	{"", "absolute"},
	{"example.com", "absolute"},
	{"/path", "absolute"},
	{"//example.com/", "absolute"},
	{"://example.com", "absolute"},
	{"http:example.com", "absolute"},
	{"http:/example.com", "absolute"},
	{"javascript:fetch('http://example.com')", "absolute"},
	{"x/http://example.com", "absolute"},
	{"http:///path", "domain name"},
	{"http://", "domain name"},
	{"http://?q", "domain name"},
	{"file:///etc/passwd", "scheme"},
	{"gopher://example.com/", "scheme"},
	{"ftp://example.com/", "scheme"},
	{"ws://example.com/", "scheme"},
	{"unix://run/docker.sock", "scheme"},
	{"http://user@example.com/", "user name"},
	{"http://user:pass@example.com/", "user name"},
	{"http://@example.com/", "user name"},
	{"http://good.example@127.0.0.1/", "user name"},
	{"http://good.example:80@127.0.0.1:80/", "user name"},
	{"http://good.example\\@127.0.0.1/", "backslash"},
	{"http:\\\\127.0.0.1\\", "backslash"},
	{"http://example.com/a\\b", "backslash"},
	{" http://example.com/", "white space"},
	{"http://example.com/ ", "white space"},
	{"http://exam ple.com/", "white space"},
	{"http://example.com/a\tb", "control"},
	{"http://example.com/\r\nHost: x", "control"},
	{"ht\ntp://example.com/", "control"},
	{"http://example.com/\x00", "control"},
	{"http://example.com/\x7f", "control"},
	{"http://exam\u200bple.com/", "invisible"},
	{"http://example.com/\u202emoc", "invisible"},
	{"http://exa\u00admple.com/", "invisible"},
	{"http://example.com/\u00a0", "white space"},
	{"http://example.com/\xff", "UTF-8"},
	{"http://example.com/%zz", "escapes"},
	{"http://exa%6dple.com/", "percent"},
	{"http://127.0.0.1%2f@example.com/", "user name"},
	{"http://%31%32%37.0.0.1/", "percent"},
	{"http://2130706433/", "number"},
	{"http://2130706433./", "number"},
	{"http://017700000001/", "number"},
	{"http://0x7f000001/", "number"},
	{"http://0X7F000001/", "number"},
	{"http://0x7f.0.0.1/", "number"},
	{"http://0177.0.0.1", "number"},
	{"http://127.0.0.01/", "number"},
	{"http://127.1/", "number"},
	{"http://127.0.1/", "number"},
	{"http://0/", "number"},
	{"http://0x/", "number"},
	{"http://256.1.1.1/", "number"},
	{"http://1.2.3.4.5/", "number"},
	{"http://example.1/", "number"},
	{"http://example.0x1/", "number"},
	{"http://１２７.0.0.1/", "number"},
	{"http://127。0。0。1/", "number"},
	{"http://①②⑦.0.0.1/", "number"},
	{"http://[::ffff:127.0.0.1]/", "must not be written as IPv6"},
	{"http://[::ffff:8.8.8.8]/", "must not be written as IPv6"},
	{"http://[fe80::1%eth0]/", "zone"},
	{"http://[fe80::1%25eth0]/", "zone"},
	{"http://[127.0.0.1]/", "not an IPv6"},
	{"http://[::1/", "not an IPv6"},
	{"http://[]/", "not an IPv6"},
	{"http://::1/", "brackets"},
	{"http://[::1]x/", "port"},
	{"http://[::1]x:80/", "not an IPv6"},
	{"http://example.com:/", "port"},
	{"http://example.com:0/", "port"},
	{"http://example.com:65536/", "port"},
	{"http://example.com:080/", "port"},
	{"http://example.com:+80/", "port"},
	{"http://example.com:80a/", "port"},
	{"http://example.com:-1/", "port"},
	{"http://a:80:80/", "brackets"},
	{"http://example..com/", "domain name"},
	{"http://.example.com/", "domain name"},
	{"http://example.com../", "domain name"},
	{"http://-a.example/", "domain name"},
	{"http://a_b.example/", "domain name"},
	{"http://xn--a.example/", "domain name"},
	{"http://a,b.example/", "domain name"},
	{"http://" + strings.Repeat("a", 64) + ".example/", "domain name"},
	{"http://" + strings.Repeat("a.", 130) + "example/", "domain name"},
	{"http://example.com/a/../b", "segments"},
	{"http://example.com/..", "segments"},
	{"http://example.com/./a", "segments"},
	{"http://example.com/%2e%2E/a", "segments"},
	{"http://example.com/.%2e/a", "segments"},
	{"http://example.com/" + strings.Repeat("a", maxURL), "8 KiB"},
}

func TestParseURLRefuses(t *testing.T) {
	for _, c := range refusedURLs {
		u, err := ParseURL(c.raw)
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%.80q: %v, want %q", c.raw, err, c.reason)
		}
		if u.parsed != nil || u.String() != "" {
			t.Errorf("%.80q: usable all the same", c.raw)
		}
	}
}

func TestUserinfoIsAFactAndNotInTheText(t *testing.T) {
	u, err := ParseURL("https://bob:hunter2@example.com/?token=s3cret")
	if err == nil || !u.Userinfo {
		t.Fatalf("%+v %v", u, err)
	}
	for _, secret := range []string{"bob", "hunter2", "s3cret"} {
		if strings.Contains(err.Error(), secret) || strings.Contains(u.Raw, secret) {
			t.Errorf("shows %s: %v", secret, err)
		}
	}
}

func TestParseURLWithinSchemes(t *testing.T) {
	for raw, ok := range map[string]bool{"https://example.com": true, "http://example.com": false} {
		if _, err := ParseURL(raw, "https"); (err == nil) != ok {
			t.Errorf("%s: %v", raw, err)
		}
	}
	if _, err := ParseURL("file:///x", "file"); err == nil {
		t.Error("a scheme that is not HTTP was let in")
	}
}

func TestHostAllowed(t *testing.T) {
	for _, c := range []struct {
		host, domain string
		want         bool
	}{
		{"example.com", "example.com", true},
		{"api.example.com", "example.com", true},
		{"API.Example.com.", "example.COM", true},
		{"api.example.com", ".example.com", true},
		{"api.example.com", "*.example.com", true},
		{"bücher.example", "xn--bcher-kva.example", true},
		{"evilexample.com", "example.com", false},
		{"example.com.evil.test", "example.com", false},
		{"example.com", "api.example.com", false},
		{"com", "example.com", false},
		{"1.1.1.1", "1.1.1.1", true},
		{"::1", "0:0:0:0:0:0:0:1", true},
		{"1.1.1.1", "1.1", false},
		{"10.1.1.1", "1.1.1", false},
		{"example.com", "", false},
		{"example.com", "*", false},
		{"", "", false},
		{"a b", "a b", false},
	} {
		if got := HostAllowed(c.host, []string{"other.example", c.domain}); got != c.want {
			t.Errorf("%s in %s: %v", c.host, c.domain, got)
		}
	}
	if HostAllowed("example.com", nil) {
		t.Error("no domain allowed one")
	}
}

// FuzzParseURL holds that what is accepted means one thing: it is stable, and its host is one name or address.
func FuzzParseURL(f *testing.F) {
	for _, c := range refusedURLs {
		f.Add(c.raw)
	}
	f.Add("https://bücher.example:8443/a%2Fb?q#f")
	f.Add("https://[2606:4700::1111]/")
	f.Fuzz(checkParse)
}

func TestAcceptedURLsAreStable(t *testing.T) {
	part := rapid.SampledFrom([]string{"http", "https", "://", "/", "//", "@", ":", "[", "]", "::1", "127.0.0.1", "0x7f", "1", "a", "example.com", ".", "..", "%2e", "%", "?", "#", "\\", "ü", "。", "８", "\u200b", " "})
	rapid.Check(t, func(rt *rapid.T) {
		raw := "http://" + strings.Join(rapid.SliceOfN(part, 1, 7).Draw(rt, "parts"), "")
		checkParse(t, raw)
	})
}

func checkParse(t *testing.T, raw string) {
	u, err := ParseURL(raw)
	if err != nil {
		if !errors.Is(err, ErrRefused) {
			t.Fatalf("%q: %v is not a refusal", raw, err)
		}
		return
	}
	again, err := ParseURL(u.parsed.String())
	if err != nil || again.Scheme != u.Scheme || again.Host != u.Host || again.Port != u.Port || again.Path != u.Path {
		t.Fatalf("%q became %q, which became %+v: %v", raw, u.parsed, again, err)
	}
	if u.parsed.User != nil || u.parsed.Hostname() != u.Host || strings.ContainsAny(u.Host, "@/\\%?# ") || u.Host == "" {
		t.Fatalf("%q has the host %q", raw, u.Host)
	}
}
