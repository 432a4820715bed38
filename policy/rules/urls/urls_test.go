package urls

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/codeact-dev/codeact/policy"
)

func TestURLsAreReadOneWay(t *testing.T) {
	for in, want := range map[string]*URL{
		"https://API.github.com:8443/a/b?q=1#f": {Scheme: "https", Host: "api.github.com", Port: "8443", Path: "/a/b", Query: "q=1"},
		"https://api.github.com@evil.com/":      {Scheme: "https", Host: "evil.com", Path: "/", Userinfo: "api.github.com"},
		"https://evil.com./":                    {Scheme: "https", Host: "evil.com", Path: "/"},
		"https://bücher.example/":               {Scheme: "https", Host: "xn--bcher-kva.example", Path: "/"},
		"http://[::1]:80/":                      {Scheme: "http", Host: "::1", Port: "80", Path: "/"},
		"http://my_host/":                       {Scheme: "http", Host: "my_host", Path: "/"},
		"/only/a/path":                          {Path: "/only/a/path"},
		`https://evil.com\@api.github.com`:      nil,
		"https://a.com/ b":                      nil,
		"http://[::1":                           nil,
		"https://a\u200d/":                      nil,
	} {
		got, err := Parse(in)
		if (err != nil) != (want == nil) || want != nil && *got != *want {
			t.Errorf("%s: %+v, %v", in, got, err)
		}
	}
}

func TestASubDomainBeginsAtADot(t *testing.T) {
	for _, c := range []struct {
		host    string
		domains []string
		want    bool
	}{
		{"example.com", []string{"example.com"}, true},
		{"a.b.example.com", []string{"x.org", "example.com"}, true},
		{"evilexample.com", []string{"example.com"}, false},
		{"example.com.evil.org", []string{"example.com"}, false},
		{"EXAMPLE.com.", []string{"Example.COM"}, true},
		{"example.com", []string{"example.com."}, true},
		{"bücher.example", []string{"xn--bcher-kva.example"}, true},
		{"1.2.3.4", []string{"3.4"}, false},
		{"1.2.3.4", []string{"1.2.3.4"}, true},
		{"::1", []string{"::1"}, true},
		{"com", []string{"example.com"}, false},
		{"", []string{"example.com"}, false},
		{"example.com", nil, false},
	} {
		if got, err := InDomains(c.host, c.domains); got != c.want || err != nil {
			t.Errorf("%s in %v: %v, %v", c.host, c.domains, got, err)
		}
	}
	for _, d := range []string{"", "*.example.com", ".example.com", "https://example.com", "me@example.com", "a\u200d"} {
		if ok, err := InDomains("a.example.com", []string{d}); ok || err == nil {
			t.Errorf("the domain %q is accepted", d)
		}
	}
	if ok, err := InDomains("a\u200d", []string{"example.com"}); ok || err == nil {
		t.Error("a host that is no name is accepted")
	}
}

func TestOnlyADotExtendsADomain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		domain := rapid.StringMatching(`[a-z]{1,8}\.[a-z]{2,4}`).Draw(t, "domain")
		prefix := rapid.StringMatching(`([a-z0-9]{1,5}\.)?[a-z0-9]{1,5}`).Draw(t, "prefix")
		glued, _ := InDomains(prefix+domain, []string{domain})
		below, _ := InDomains(prefix+"."+domain, []string{domain})
		if glued || !below {
			t.Fatalf("%s%s: %v; %s.%s: %v", prefix, domain, glued, prefix, domain, below)
		}
	})
}

func TestFactsComeFromTheBridge(t *testing.T) {
	for _, c := range []struct {
		fact policy.URLFact
		want *URL
	}{
		{policy.URLFact{Raw: "HTTPS://X.org?q=1", Scheme: "https", Host: "x.org", Port: "443", Path: "/"}, &URL{"https", "x.org", "443", "/", "q=1", ""}},
		{policy.URLFact{Raw: "https://me:pw@x.org", Host: "x.org", Userinfo: true}, &URL{Host: "x.org", Userinfo: "me:pw"}},
		{policy.URLFact{Raw: "://", Host: "x.org", Userinfo: true}, &URL{Host: "x.org", Userinfo: "?"}},
		{policy.URLFact{Param: "u", Err: "no host"}, nil},
	} {
		got, err := OfFact(&c.fact)
		if (err != nil) != (c.want == nil) || c.want != nil && *got != *c.want {
			t.Errorf("%+v: %+v, %v", c.fact, got, err)
		}
	}
}
