package bridge

import (
	"context"
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/bridge/scan/redact"
	"github.com/codeact-dev/codeact/policy"
)

// What leaves the machine holds no secret, however it is written.
func TestNoArgumentSendsASecret(t *testing.T) {
	const secret, pin = "hunter-22-hunter", "48151623"
	redactor, err := redact.New(redact.Config{Secrets: map[string]string{"PW": secret, "PIN": pin}})
	if err != nil {
		t.Fatal(err)
	}
	send := policy.Declare(policy.ExternalSend)
	token := "ghp_" + "x7Kd92mQpLwZ4vRt8sYb3nHj6gFc1aUe5iOk"
	for _, test := range []struct {
		name string
		caps policy.Capabilities
		args map[string]any
		rule string // "" allows
		says string
	}{
		{"ordinary words", send, map[string]any{"body": "hello hunter", "n": int64(4815)}, "", ""},
		{"a secret", send, map[string]any{"body": "it is " + secret}, "known-secret", "body would send the value of the secret PW"},
		{"in a list of a dict", send, map[string]any{"body": map[string]any{"a": []any{"x", secret}}}, "known-secret", "secret PW"},
		{"as a key", send, map[string]any{"body": map[string]any{secret: nil}}, "known-secret", "secret PW"},
		{"as the name of an argument", send, map[string]any{secret: "x"}, "known-secret", "an argument would send the value of the secret PW"},
		{"in base64", send, map[string]any{"body": base64.StdEncoding.EncodeToString([]byte("xx" + secret + "yy"))}, "known-secret", "secret PW"},
		{"in a URL", send, map[string]any{"body": "https://e.test/?q=" + url.QueryEscape("<"+secret+">")}, "known-secret", "secret PW"},
		{"with every byte escaped", send, map[string]any{"body": "https://e.test/?q=%68%75%6e%74%65%72%2d%32%32%2d%68%75%6e%74%65%72"}, "known-secret", "secret PW"},
		{"escaped twice", send, map[string]any{"body": "https://e.test/?q=%2568%2575%256e%2574%2565%2572%252d22%252dhunter"}, "known-secret", "secret PW"},
		{"in hex with colons", send, map[string]any{"body": "68:75:6E:74:65:72:2D:32:32:2D:68:75:6E:74:65:72"}, "known-secret", "secret PW"},
		{"with spaces between", send, map[string]any{"body": "h u n t e r - 2 2 - h u n t e r"}, "known-secret", "secret PW"},
		{"with soft hyphens within", send, map[string]any{"body": "hun\u00adter-22\u00ad-hunter"}, "known-secret", "secret PW"},
		{"as a number", send, map[string]any{"n": int64(48151623)}, "known-secret", "an argument would send the value of the secret PIN"},
		{"as bytes", send, map[string]any{"body": []byte(secret)}, "known-secret", "secret PW"},
		{"a shape", send, map[string]any{"body": "key: " + token}, "github-pat", "body would send what looks like a secret (github-pat)"},
		{"a shape in base64", send, map[string]any{"body": base64.StdEncoding.EncodeToString([]byte(token))}, "github-pat", "(github-pat)"},
		{"a shape with an escape", send, map[string]any{"body": strings.Replace(token, "_", "%5F", 1)}, "github-pat", "(github-pat)"},
		{"a shape with a zero width", send, map[string]any{"body": strings.Replace(token, "ghp", "gh\u200bp", 1)}, "github-pat", "(github-pat)"},
		{"the first of two is named", send, map[string]any{"body": []any{token, secret}}, "github-pat", "github-pat"},
		{"a tool that declares nothing", policy.Capabilities{}, map[string]any{"body": secret}, "known-secret", ""},
		{"a tool that sends nothing", policy.Declare(policy.Destructive), map[string]any{"body": secret + token}, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			tool := &Tool{Name: "post", Caps: test.caps, Params: MustSchema(`{"type": "object", "properties": {"body": {}, "n": {"type": "integer"}}}`),
				Run: func(context.Context, *Permit) (Output, error) { return Output{}, nil }}
			b, err := New(Config{Tools: []Tool{*tool}, Redactor: redactor})
			if err != nil {
				t.Fatal(err)
			}
			p := &passage{b: b, tool: tool, d: &Door{b: b, run: Run{State: &State{}, Key: make([]byte, 32)}}}
			if err := p.take(test.args); err != nil {
				t.Fatal(err)
			}
			d := p.secrets(t.Context())
			if d.Gate != "secrets" || d.Rule != test.rule || (d.Verdict == policy.Allow) != (test.rule == "") || !strings.Contains(d.Reason, test.says) {
				t.Errorf("%+v, want the rule %q that says %q", d, test.rule, test.says)
			}
			if strings.Contains(d.Reason, secret) || strings.Contains(d.Reason, token) {
				t.Errorf("the reason holds the secret: %s", d.Reason)
			}
		})
	}
}
