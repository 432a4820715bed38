package egress

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/codeact-dev/codeact/bridge/egress/egresstest"
)

// clock is a time that a test moves.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newClock() *clock { return &clock{time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)} }

func TestAHostIsAskedSoOftenAndNoOftener(t *testing.T) {
	for _, w := range ways {
		s, clock := serve(t, func(http.ResponseWriter, *http.Request) {}), newClock()
		cfg := Config{Resolver: &egresstest.Resolver{Answers: []string{"127.0.0.1"}}, HostRate: Rate{N: 3, Per: time.Minute}, Now: clock.now,
			Allow: []string{"site.test:" + s.port, "other.test:" + s.port}}
		c, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		try := func(host string) error { return w.try(t, c, "http://"+host+":"+s.port) }
		spellings := []string{"site.test", "SITE.test", "site.test."}
		for i := range 3 {
			if err := try(spellings[i]); err != nil {
				t.Fatalf("%s, request %d: %v", w.name, i, err)
			}
			clock.at = clock.at.Add(10 * time.Second)
		}
		for _, host := range spellings { // refused ones do not count, and all spellings are one host
			err := try(host)
			var refused *Refused
			if !errors.Is(err, ErrRefused) || !errors.As(err, &refused) || refused.RetryAfter != 30*time.Second || refused.Host != "site.test" ||
				!strings.Contains(err.Error(), "3 requests in 1m0s are the limit for one host; try again in 30s") {
				t.Errorf("%s, too many to %s: %v", w.name, host, err)
			}
		}
		if err := try("other.test"); err != nil {
			t.Errorf("%s, another host: %v", w.name, err)
		}
		clock.at = clock.at.Add(30*time.Second - time.Nanosecond)
		if err := try("site.test"); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "again in 1s") {
			t.Errorf("%s, just before: %v", w.name, err)
		}
		clock.at = clock.at.Add(time.Nanosecond)
		if err := try("site.test"); err != nil {
			t.Errorf("%s, when it said: %v", w.name, err)
		}
		if s.hits.Load() != 5 {
			t.Errorf("%s: %d requests arrived", w.name, s.hits.Load())
		}
	}
}

func TestRatesOfAConfig(t *testing.T) {
	for _, tt := range []struct {
		rate Rate
		ok   bool
	}{
		{Rate{}, true}, {Rate{1, 1}, true}, {Rate{maxRate, time.Hour}, true}, {Rate{maxRate + 1, time.Hour}, false},
		{Rate{N: 1}, false}, {Rate{Per: 1}, false}, {Rate{-1, 1}, false}, {Rate{1, -1}, false},
	} {
		c, err := New(Config{HostRate: tt.rate})
		if (err == nil) != tt.ok || err != nil && !strings.Contains(err.Error(), "host rate") {
			t.Errorf("%v: %v", tt.rate, err)
		}
		if tt.rate == (Rate{}) && c.meter.rate != (Rate{60, time.Minute}) {
			t.Errorf("the default is %v", c.meter.rate)
		}
	}
}

// TestNoWindowHoldsMoreThanTheRate, wherever it begins, and what is refused would have been too many.
func TestNoWindowHoldsMoreThanTheRate(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rate := Rate{N: rapid.IntRange(1, 4).Draw(rt, "n"), Per: time.Duration(rapid.IntRange(1, 10).Draw(rt, "per"))}
		clock := newClock()
		m := newMeter(rate, clock.now)
		var passed []time.Time
		for i, gap := range rapid.SliceOfN(rapid.IntRange(0, 12), 1, 40).Draw(rt, "gaps") {
			clock.at = clock.at.Add(time.Duration(gap))
			within := 0
			for _, at := range passed {
				if clock.at.Sub(at) < rate.Per {
					within++
				}
			}
			err := m.take("h")
			if (err == nil) != (within < rate.N) {
				rt.Fatalf("request %d, after %d in the window of %v: %v", i, within, rate, err)
			}
			if err == nil {
				passed = append(passed, clock.at)
				continue
			}
			var refused *Refused
			errors.As(err, &refused)
			for early, ok := range map[time.Duration]bool{0: true, 1: false} { // what it says holds, and no less would do
				then := func() time.Time { return clock.at.Add(refused.RetryAfter - early) }
				if err := (&meter{rate: rate, now: then, begun: copyOf(m.begun), sweep: minSweep}).take("h"); (err == nil) != ok {
					rt.Fatalf("it says %v, and %v earlier: %v", refused.RetryAfter, early, err)
				}
			}
		}
	})
}

func copyOf(begun map[string][]time.Time) map[string][]time.Time {
	out := map[string][]time.Time{}
	for h, times := range begun {
		out[h] = append([]time.Time(nil), times...)
	}
	return out
}

// TestManyHostsAreForgotten: who names ever new hosts does not fill the memory.
func TestManyHostsAreForgotten(t *testing.T) {
	clock := newClock()
	m := newMeter(Rate{N: 2, Per: time.Minute}, clock.now)
	for i := range 50 * minSweep {
		if i%10 == 0 {
			clock.at = clock.at.Add(time.Second) // 600 hosts in a window
		}
		if err := m.take(fmt.Sprint("h", i)); err != nil {
			t.Fatal(err)
		}
		if len(m.begun) > 1201+1 { // twice what a window holds
			t.Fatalf("%d hosts are remembered", len(m.begun))
		}
	}
	if err := m.take(fmt.Sprint("h", 50*minSweep-1)); err != nil || m.take(fmt.Sprint("h", 50*minSweep-1)) == nil {
		t.Errorf("the latest is forgotten: %v", err)
	}
}
