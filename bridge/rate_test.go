package bridge_test

import (
	"testing"
	"time"

	"github.com/codeact-dev/codeact/bridge"
)

func TestRatesOfTheRunTheToolAndItsUser(t *testing.T) {
	limit := bridge.Rate{N: 2, Per: time.Hour}
	at := func(minutes ...int) (times []time.Time) {
		for _, m := range minutes {
			times = append(times, noon.Add(-time.Duration(m)*time.Minute))
		}
		return times
	}
	tests := []struct {
		name      string
		run       bridge.Rate
		mod       func(*bridge.Tool)
		begun     map[string][]time.Time
		elsewhere []time.Time
		fails     error
		want      string // of the refusal; "" allows
	}{
		{name: "below all", run: limit, begun: map[string][]time.Time{"post": at(30)}},
		{name: "other tools count for the run", run: limit, begun: map[string][]time.Time{"a": at(30), "b": at(10)}, want: "rate (rate-run): this run may begin 2 times in 1h0m0s; retry after 30m0s"},
		{name: "what is out of the window does not", run: limit, begun: map[string][]time.Time{"a": at(61, 60), "b": at(10)}},
		{name: "the tool", mod: func(t *bridge.Tool) { t.Rate = limit }, begun: map[string][]time.Time{"post": at(59, 30)}, want: "rate (rate): post may begin 2 times in 1h0m0s; retry after 1m0s"},
		{name: "other tools do not count for it", mod: func(t *bridge.Tool) { t.Rate = limit }, begun: map[string][]time.Time{"a": at(59, 30)}},
		{name: "its user", mod: func(t *bridge.Tool) { t.UserRate = limit }, begun: map[string][]time.Time{"post": at(5)}, elsewhere: at(50), want: "rate (rate-user): post for alice may begin 2 times in 1h0m0s; retry after 10m0s"},
		{name: "its user, without other runs", mod: func(t *bridge.Tool) { t.UserRate = limit }, begun: map[string][]time.Time{"post": at(5)}},
		{name: "other runs that cannot be counted", mod: func(t *bridge.Tool) { t.UserRate = limit }, fails: errDisk, want: "the calls of other runs cannot be counted: no space left"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p probe
			mods := []func(*bridge.Tool){}
			if tt.mod != nil {
				mods = append(mods, tt.mod)
			}
			r := newRig(t, bridge.Config{Rate: tt.run, Tools: []bridge.Tool{p.tool("post", mods...)}}, func(run *bridge.Run) {
				run.Session.User = "alice"
				for tool, times := range tt.begun {
					run.State.Begun[tool] = times
				}
				run.State.Elsewhere = func(tool string, since time.Time) ([]time.Time, error) {
					if tool != "post" || since != noon.Add(-time.Hour) {
						t.Errorf("asked for %s since %v", tool, since)
					}
					return tt.elsewhere, tt.fails
				}
			})
			_, err := r.call(t, "post", nil)
			if tt.want == "" {
				if err != nil || p.ran != 1 {
					t.Errorf("it ran %d times: %v", p.ran, err)
				}
				return
			}
			wantErr(t, err, bridge.ErrDenied, tt.want)
		})
	}
}

func TestARateNeedsACountAndATime(t *testing.T) {
	var p probe
	for _, cfg := range []bridge.Config{{Rate: bridge.Rate{N: 1}}, {Rate: bridge.Rate{N: -1, Per: 1}},
		{Tools: []bridge.Tool{p.tool("a", func(t *bridge.Tool) { t.UserRate = bridge.Rate{N: 1} })}}} {
		if _, err := bridge.New(cfg); err == nil {
			t.Errorf("%+v is taken", cfg.Rate)
		}
	}
}
