package tools_test

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/tools"
	"github.com/codeact-dev/codeact/policy"
)

// mail is a mock tool that takes anything.
func mail(responses []tools.MockResponse, effect func([]byte) error) bridge.Tool {
	return tools.Mock(bridge.Tool{Name: "mail", Caps: policy.Declare(policy.UntrustedInput), Params: bridge.MustSchema(`{"type":"object","additionalProperties":true,"properties":{}}`)}, responses, effect)
}

func TestAMockAnswersWhatItsConditionIsContainedIn(t *testing.T) {
	huge, _ := new(big.Int).SetString("9007199254740993", 10) // 2^53 + 1: no float64 is it
	for _, c := range []struct {
		name       string
		when, args args
		fits       bool
	}{
		{"no condition", nil, args{"a": int64(1)}, true},
		{"an empty condition", args{}, args{}, true},
		{"a text", args{"to": "bob"}, args{"to": "bob", "cc": "eve"}, true},
		{"another text", args{"to": "bob"}, args{"to": "bobby"}, false},
		{"a missing argument", args{"to": "bob"}, args{}, false},
		{"null", args{"to": nil}, args{"to": nil}, true},
		{"null is not missing", args{"to": nil}, args{}, false},
		{"null is not a value", args{"to": nil}, args{"to": ""}, false},
		{"a boolean", args{"all": true}, args{"all": true}, true},
		{"a boolean is no number", args{"all": true}, args{"all": int64(1)}, false},
		{"a number by value", args{"n": int64(1)}, args{"n": 1.0}, true},
		{"the other way", args{"n": 1.0}, args{"n": int64(1)}, true},
		{"as Go's int", args{"n": 1}, args{"n": int64(1)}, true},
		{"another number", args{"n": int64(1)}, args{"n": 1.5}, false},
		{"a number is no text", args{"n": int64(1)}, args{"n": "1"}, false},
		{"a big number exactly", args{"n": huge}, args{"n": huge}, true},
		{"a big number, not its neighbour", args{"n": huge}, args{"n": 9007199254740992.0}, false},
		{"not a number", args{"n": math.NaN()}, args{"n": 1.0}, false},
		{"an infinity", args{"n": math.Inf(1)}, args{"n": 1.0}, false},
		{"bytes", args{"b": []byte("x")}, args{"b": []byte("x")}, true},
		{"other bytes", args{"b": []byte("x")}, args{"b": []byte("y")}, false},
		{"bytes are no text", args{"b": []byte("x")}, args{"b": "x"}, false},
		{"some of a list", args{"l": []any{"b", int64(1)}}, args{"l": []any{"a", 1.0, "b"}}, true},
		{"more than a list", args{"l": []any{"a", "c"}}, args{"l": []any{"a", "b"}}, false},
		{"an empty list", args{"l": []any{}}, args{"l": []any{"a"}}, true},
		{"a list is no text", args{"l": []any{}}, args{"l": "a"}, false},
		{"part of a map", args{"m": args{"x": int64(1)}}, args{"m": args{"x": int64(1), "y": int64(2)}}, true},
		{"a map is no list", args{"m": args{}}, args{"m": []any{}}, false},
		{"maps in a list", args{"l": []any{args{"id": int64(2)}}}, args{"l": []any{args{"id": int64(1)}, args{"id": int64(2), "n": "x"}}}, true},
		{"a map where a text is", args{"to": "bob"}, args{"to": args{"name": "bob"}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, setup{tools: []bridge.Tool{mail([]tools.MockResponse{{When: c.when, Value: "fits"}}, nil)}})
			if c.fits {
				if got := r.value(t, "mail", c.args); got != "fits" {
					t.Errorf("%v", got)
				}
				return
			}
			r.fails(t, "mail", c.args, "the mock has no response for these arguments; it answers to ")
		})
	}
}

func TestAMockSaysWhatItAnswersTo(t *testing.T) {
	r := newRig(t, setup{tools: []bridge.Tool{mail([]tools.MockResponse{{When: args{"b": int64(2), "a": "x"}}, {When: args{"c": nil}}}, nil)}})
	rep := r.fails(t, "mail", args{"a": "y"}, `it answers to {"a":"x","b":2}, {"c":null}`)
	if rep.outcome.External {
		t.Error("our own text is told to come from outside")
	}
	r = newRig(t, setup{tools: []bridge.Tool{mail(nil, nil)}})
	r.fails(t, "mail", nil, "it answers to nothing")
}

func TestAMockTakesTheFirstResponseThatIsNotUsedUp(t *testing.T) {
	responses := []tools.MockResponse{{Value: "one", Times: 1}, {When: args{"x": int64(1)}, Value: "two", Times: 2}, {When: args{"x": int64(1)}, Error: "none left"}}
	tool := mail(responses, nil)
	responses[0].Value = "changed" // by a caller that still has the slice
	r := newRig(t, setup{tools: []bridge.Tool{tool}})
	for i, want := range []string{"one", "two", "two"} {
		if got := r.value(t, "mail", args{"x": int64(1)}); got != want {
			t.Errorf("call %d: %v, want %s", i+1, got, want)
		}
	}
	r.fails(t, "mail", args{"x": int64(1)}, "mail: none left")
	r.fails(t, "mail", args{"x": int64(2)}, "the mock has no response")
}

func TestAMockIsExternalUnlessItSaysOtherwise(t *testing.T) {
	for _, c := range []struct {
		response tools.MockResponse
		want     string
	}{
		{tools.MockResponse{Value: "v"}, "untrusted"},
		{tools.MockResponse{Error: "e"}, "untrusted"}, // the text may be anyone's
		{tools.MockResponse{Value: "v", Local: true}, ""},
		{tools.MockResponse{Error: "e", Local: true}, ""},
	} {
		r := newRig(t, setup{tools: []bridge.Tool{mail([]tools.MockResponse{c.response}, nil)}})
		rep := r.call(t, "mail", nil)
		if rep.outcome.External == c.response.Local || rep.outcome.Taint.Untrusted() != (c.want != "") {
			t.Errorf("%+v: external %v, %v", c.response, rep.outcome.External, rep.outcome.Taint)
		}
	}
}

func TestAMocksMediaTypeIsHonoured(t *testing.T) {
	const html = "<p>seen</p><p style='display:none'>hidden</p>"
	for media, want := range map[string]string{"text/html": "seen", "": "seen", "text/plain": html} {
		r := newRig(t, setup{tools: []bridge.Tool{mail([]tools.MockResponse{{Value: html, MediaType: media}}, nil)}})
		if got := r.value(t, "mail", nil); got != want {
			t.Errorf("%q: %q", media, got)
		}
	}
}

func TestEveryEffectOfAMockIsOneLine(t *testing.T) {
	var lines []string
	fault := error(nil)
	effect := func(line []byte) error { lines = append(lines, string(line)); return fault }
	responses := []tools.MockResponse{{When: args{"to": "nobody"}, Error: "unknown"}, {Value: "sent"}}
	r := newRig(t, setup{tools: []bridge.Tool{mail(responses, effect)}})
	r.value(t, "mail", args{"to": "bob\n", "n": int64(1)})
	r.fails(t, "mail", args{"to": "nobody"}, "unknown")
	r.open(t) // the run is resumed: what is recorded is not done again
	r.value(t, "mail", args{"to": "bob\n", "n": int64(1)})
	if len(lines) != 1 || !strings.HasPrefix(lines[0], `{"args":{"n":1,"to":"bob\n"},"call":"r1/1/1","key":"`) || !strings.HasSuffix(lines[0], `","tool":"mail"}`+"\n") {
		t.Errorf("lines: %q", lines)
	}
	r.fails(t, "mail", args{"to": "nobody"}, "unknown")
	fault = errors.New("disk full")
	r.fails(t, "mail", args{"to": "eve"}, "disk full")
}

func TestTheClockStandsInTheJournal(t *testing.T) {
	r := newRig(t, setup{})
	first := r.value(t, "time_now", nil)
	if first != "2026-02-03T03:05:06Z" {
		t.Errorf("time_now() = %v, want the clock's time in UTC", first)
	}
	r.now = r.now.AddDate(1, 0, 0)
	r.open(t)
	if again := r.value(t, "time_now", nil); again != first {
		t.Errorf("run again, it says %v", again)
	}
	if later := r.value(t, "time_now", nil); later != "2027-02-03T03:05:06Z" {
		t.Errorf("a call that is not recorded says %v", later)
	}
	if taint := r.journal.State.Held; !taint.Clean() {
		t.Errorf("the time brings in %v", taint)
	}
	r.fails(t, "time_now", args{"zone": "UTC"}, "it takes no parameters")
}
