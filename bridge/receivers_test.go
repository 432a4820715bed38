package bridge

import (
	"slices"
	"testing"

	"github.com/codeact-dev/codeact/policy"
)

// A budget of a receiver is not refilled by another spelling.
func TestAReceiverHasOneSpelling(t *testing.T) {
	for want, texts := range map[string][]string{
		"bob@x.com": {"bob@x.com", "BOB@x.com", " bob@x.com", "bob@X.COM\n", "mailto:bob@x.com", "MAILTO:bob@x.com?subject=hello", "mailto:bob%40x.com", "Bob <bob@x.com>",
			`"Doe, Bob" <Bob@x.com>`, "<bob@x.com>", "Bob <bob@x.com.>", "bob@x.com., bob@x.com", "bob@x.com.", "bob@x.com,", "bob@x.com (at work)", "bob@x.com, BOB@x.com"},
		"x.com": {"https://x.com/a?q=1", "HTTPS://X.com:443/", "http://x.com:8080/b", "x.com", "X.com."},
		"c042":  {"C042", "c042 ", "C042."},
		"post":  {""},
	} {
		for _, text := range texts {
			args := map[string]any{"to": text}
			if text == "" {
				args = nil
			}
			p := &passage{tool: &Tool{Name: "post", Destinations: []string{"to"}}, masked: args}
			if got := p.to(); !slices.Equal(got, []string{want}) {
				t.Errorf("%q is sent to %q, want %s", text, got, want)
			}
		}
	}
}

func TestEveryReceiverOfACallCounts(t *testing.T) {
	p := &passage{tool: &Tool{Name: "post", Destinations: []string{"to", "cc", "url"}, URLs: []string{"url"}},
		masked: map[string]any{"to": []any{"Ann <ann@x.com>", "bob@x.com"}, "cc": "bob@X.com, Eve <eve@y.com>", "url": "https://z.com"},
		req:    policy.Request{URLs: []policy.URLFact{{Host: "z.com"}}}}
	if got, want := p.to(), []string{"ann@x.com", "bob@x.com", "eve@y.com", "z.com"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
