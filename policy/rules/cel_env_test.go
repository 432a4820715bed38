package rules

import (
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/policy"
)

func TestOneURLIsReadByCallURLAndAllByCallURLs(t *testing.T) {
	one := with(send(nil), func(r *policy.Request) { r.URLs = []policy.URLFact{{Param: "u", Host: "a.org"}} })
	two := with(one, func(r *policy.Request) { r.URLs = append(r.URLs, policy.URLFact{Param: "v", Host: "b.org"}) })
	bad := with(one, func(r *policy.Request) {
		r.URLs = []policy.URLFact{{Param: "u", Host: "a.org"}, {Param: "v", Err: "no"}}
	})
	for _, c := range []struct {
		expr string
		r    policy.Request
		want bool
		says string
	}{
		{"call.url.host == 'a.org'", one, true, ""},
		{"call.url.host == 'a.org'", two, false, "has 2 URLs"},
		{"call.urls.all(u, u.host.inDomains(['a.org', 'b.org']))", two, true, ""},
		{"call.urls.all(u, u.host.inDomains(['a.org', 'b.org']))", bad, false, "v is not a URL"},
		{"call.url.host == ''", send(nil), false, "has(call.url)"},
	} {
		e, err := CompileExpr(c.expr, "e")
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.Holds(c.r)
		if got != c.want || (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, %v", c.expr, got, err)
		}
	}
}

func TestAnActivationKnowsItsNamesOnly(t *testing.T) {
	r := policy.Request{}
	if v, ok := newActivation(&r, nil).ResolveName("params.x"); ok {
		t.Error(v)
	}
	if v, ok := newActivation(&r, &rule{}).ResolveName("variables.x"); ok {
		t.Error(v)
	}
	if newActivation(&r, nil).Parent() != nil {
		t.Error("it has a parent")
	}
}

func TestAPlaceBehindTheLinesIsTheEnd(t *testing.T) {
	if got := codePoint("ab\nc", 9, 9); got != 4 {
		t.Error(got)
	}
}
