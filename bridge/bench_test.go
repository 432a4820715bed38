package bridge_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/bridgetest"
	"github.com/codeact-dev/codeact/interp"
	"github.com/codeact-dev/codeact/policy"
	"github.com/codeact-dev/codeact/policy/rules"
)

// One allowed call: all gates, a result of 1 KB through all cleaning steps, and a
// journal in memory. The targets are 20 µs and 60 allocations without rules, 60 µs
// and 190 allocations with eight.
func BenchmarkCall(b *testing.B) {
	b.Run("rules=0", func(b *testing.B) { benchmarkCall(b, nil) })
	b.Run("rules=8", func(b *testing.B) { benchmarkCall(b, eightRules(b)) })
}

// eightParams are the parameters of policy/rules/testdata/eight.yaml; a run sends more bytes
// here than its tests let it.
var eightParams = map[string]any{"allowedDomains": []any{"api.github.com", "example.org"}, "hardCap": 5000, "askAbove": 100,
	"maxSendBytes": 1000, "maxRunBytes": 1 << 40, "tz": "Europe/Berlin"}

func eightRules(tb testing.TB) *rules.Policy {
	tb.Helper()
	text, err := os.ReadFile("../policy/rules/testdata/eight.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	p, err := rules.Compile(eightParams, rules.File{Name: "eight.yaml", Data: text})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func benchmarkCall(b *testing.B, compiled *rules.Policy) {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 1024/45+1)[:1024]
	monday := time.Date(2026, 5, 25, 10, 0, 0, 0, time.UTC) // in the change window of the rules
	adapter, err := bridge.New(bridge.Config{Policy: compiled, MaxCalls: 1 << 40, Now: func() time.Time { return monday }, Tools: []bridge.Tool{{
		Name: "page", Tier: policy.Free, Caps: policy.Declare(policy.ExternalSend, policy.Destructive), URLs: []string{"url"}, Destinations: []string{"url"},
		Params: bridge.MustSchema(`{"type": "object", "properties": {"url": {"type": "string"}, "limit": {"type": "integer", "default": 5}}, "required": ["url"]}`),
		Run: func(context.Context, *bridge.Permit) (bridge.Output, error) {
			return bridge.Output{Value: text, Local: true}, nil
		}}}})
	if err != nil {
		b.Fatal(err)
	}
	args := map[string]any{"url": "https://api.github.com/x"}
	b.ReportAllocs()
	d, j := openDoor(b, adapter)
	for n := 0; b.Loop(); n++ {
		if n%1000 == 0 { // a step is not that long, and the journal keeps everything
			b.StopTimer()
			d, j = openDoor(b, adapter)
			b.StartTimer()
		}
		got, err := d.Call(b.Context(), interp.Call{Tool: "page", Args: args, Position: "b1:1:1"})
		if err != nil || got != any(text) {
			b.Fatal(got, err)
		}
	}
	if len(j.Events) == 0 {
		b.Fatal("nothing was recorded")
	}
}

func openDoor(tb testing.TB, adapter *bridge.EffectBridgeAdapter) (*bridge.Door, *bridgetest.Journal) {
	tb.Helper()
	j := bridgetest.NewJournal()
	d, err := adapter.Open(j.Run("r1"), 1, bridge.Preflight{})
	if err != nil {
		tb.Fatal(err)
	}
	return d, j
}
