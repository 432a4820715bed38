package taskfile

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestAFlagOnlyLowers(t *testing.T) {
	var base Limits
	base.defaults()
	tests := []struct {
		kv   string
		want string // of the error; "" for none
		got  func(l Limits) any
		now  any
	}{
		{"wallTime=5m", "", func(l Limits) any { return l.WallTime }, 5 * time.Minute},
		{"steps=10", "", func(l Limits) any { return l.Steps }, int64(10)},
		{"steps=40", "", func(l Limits) any { return l.Steps }, int64(40)},
		{"toolCalls=1", "", func(l Limits) any { return l.ToolCalls }, int64(1)},
		{"callsPerStep=1", "", func(l Limits) any { return l.CallsPerStep }, int64(1)},
		{"tokens=1.5k", "", func(l Limits) any { return l.Tokens }, int64(1500)},
		{"costUsd=0.5", "", func(l Limits) any { return l.CostUSD }, 0.5},
		{"bytesSent=1GiB", "", func(l Limits) any { return l.BytesSent }, int64(1 << 30)},
		{"bytesPerDestination=1KiB", "", func(l Limits) any { return l.BytesPerDestination }, int64(1024)},
		{"identicalCalls=2", "", func(l Limits) any { return l.IdenticalCalls }, int64(2)},
		{"outputBytesPerCall=1KiB", "", func(l Limits) any { return l.OutputBytesPerCall }, int64(1024)},
		{"steps=41", "taskfile: limit steps: 41 is above the 40 of the task: a flag may only lower it", nil, nil},
		{"wallTime=31m", "taskfile: limit wallTime: 31m0s is above the 30m0s of the task: a flag may only lower it", nil, nil},
		{"steps=0", `taskfile: limit steps: "0": want more than 0`, nil, nil},
		{"steps=many", `taskfile: limit steps: "many": want a whole number`, nil, nil},
		{"costUsd=-1", `taskfile: limit costUsd: "-1": want more than 0`, nil, nil},
		{"costUsd=inf", `taskfile: limit costUsd: "inf": want an amount in USD, as 2.50`, nil, nil},
		{"costUsd=nan", `taskfile: limit costUsd: "nan": want an amount in USD, as 2.50`, nil, nil},
		{"step=1", `taskfile: limit step: no such limit: want one of wallTime, steps,`, nil, nil},
		{"steps", `taskfile: limit "steps": want NAME=VALUE, as steps=10`, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.kv, func(t *testing.T) {
			l := base
			err := l.Lower(tt.kv)
			if tt.want != "" {
				if err == nil || !strings.HasPrefix(err.Error(), tt.want) || l != base {
					t.Errorf("Lower = %v, limits %+v", err, l)
				}
				return
			}
			if err != nil || tt.got(l) != tt.now {
				t.Errorf("Lower = %v, limits %+v", err, l)
			}
		})
	}
}

func TestNoSequenceOfFlagsRaises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l Limits
		l.defaults()
		for range rapid.IntRange(1, 8).Draw(t, "flags") {
			before := l
			name := rapid.SampledFrom(limitNames).Draw(t, "name")
			value := rapid.OneOf(rapid.StringMatching(`[0-9]{1,6}(k|m|s|h|KiB)?`), rapid.String()).Draw(t, "value")
			_ = l.Lower(name + "=" + value) // an error must leave l as it was, which is also no raise
			raised := l.WallTime > before.WallTime || l.Steps > before.Steps || l.ToolCalls > before.ToolCalls ||
				l.CallsPerStep > before.CallsPerStep || l.Tokens > before.Tokens || l.IdenticalCalls > before.IdenticalCalls ||
				l.OutputBytesPerCall > before.OutputBytesPerCall ||
				before.CostUSD > 0 && (l.CostUSD > before.CostUSD || l.CostUSD == 0) ||
				before.BytesSent > 0 && (l.BytesSent > before.BytesSent || l.BytesSent == 0)
			if raised || l.Steps < 1 || l.WallTime <= 0 {
				t.Fatalf("%s=%s made %+v of %+v", name, value, l, before)
			}
		}
	})
}

func TestUnits(t *testing.T) {
	amounts := map[string]int64{"1": 1, "500k": 500_000, "1.001k": 1001, "2m": 2_000_000, "256KiB": 262_144, "1.5MiB": 3 << 19, "1GiB": 1 << 30, "1.9": 1}
	for s, want := range amounts {
		if got, err := ParseAmount(s); err != nil || got != want {
			t.Errorf("ParseAmount(%q) = %d, %v, want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "0", "0.5", "-1", "1K", "1 k", "1e3", "9223372036854775808", strings.Repeat("9", 41), "1.GiB"} {
		if got, err := ParseAmount(s); err == nil {
			t.Errorf("ParseAmount(%q) = %d, want an error", s, got)
		}
	}
	durations := map[string]time.Duration{"90s": 90 * time.Second, "1h30m": 90 * time.Minute, "5ms": 5 * time.Millisecond, "30d": 720 * time.Hour}
	for s, want := range durations {
		if got, err := ParseDuration(s); err != nil || got != want {
			t.Errorf("ParseDuration(%q) = %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "5", "0s", "0h0ms", "1.5h", "-1s", "1w", "99999999999999999999s", "106751d24h"} {
		if got, err := ParseDuration(s); err == nil {
			t.Errorf("ParseDuration(%q) = %v, want an error", s, got)
		}
	}
}

func TestDurationsAddUpAndNeverWrap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, m := rapid.Int64Range(0, math.MaxInt64).Draw(t, "h"), rapid.Int64Range(0, 1<<40).Draw(t, "m")
		d, err := ParseDuration(fmt.Sprintf("%dh%dm", h, m))
		if err == nil && (d < 0 || d/time.Minute != time.Duration(h*60+m)) {
			t.Fatalf("%dh%dm is %v", h, m, d)
		}
		if err != nil && h+m > 0 && h < 1<<20 && m < 1<<20 { // nothing at all is an error: TestUnits
			t.Fatalf("%dh%dm: %v", h, m, err)
		}
	})
}
