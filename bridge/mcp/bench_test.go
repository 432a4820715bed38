package mcp_test

import (
	"testing"

	"github.com/codeact-dev/codeact/bridge"
)

// BenchmarkCall is one call over standard input and output, through the whole
// bridge, to a server that answers at once and to one that is built with the SDK.
// The aim is 300 µs.
func BenchmarkCall(b *testing.B) {
	for name, start := range map[string]string{"bare": "plain", "sdk": "sdk"} {
		b.Run(name, func(b *testing.B) {
			tools := newLab(b, server(b, "s", start, list(`{"name":"greet","inputSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`))).connect(b).Tools()
			const most = 1000 // calls of a step
			many := func(c *bridge.Config) { c.MaxCalls = most }
			r := newRun(b, tools, many)
			for n := 1; b.Loop(); n++ {
				if n%most == 0 {
					b.StopTimer()
					r = newRun(b, tools, many)
					b.StartTimer()
				}
				r.value(b, "s_greet", args{"name": "Ada"})
			}
		})
	}
}
