package bridge_test

import (
	"testing"

	"github.com/codeact-dev/codeact/bridge"
)

// A server's schema is a stranger's text: it is read, or refused, and never more.
func FuzzParseSchema(f *testing.F) {
	f.Add(`{"type":"object","required":["a"],"properties":{"a":{"type":"string","default":"x"},"b":{"type":"array","items":{"type":"integer"}}}}`)
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}`)
	f.Add(`{"type":"object","properties":[]}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := bridge.ParseSchema([]byte(text))
		if err != nil {
			return
		}
		tool := bridge.Tool{Name: "x", Params: s}
		if got := len(tool.Signature().Params); got > len(text) {
			t.Errorf("%d parameters out of %d bytes", got, len(text))
		}
		if s.JSON() != text {
			t.Errorf("the schema was changed: %s", s.JSON())
		}
	})
}
