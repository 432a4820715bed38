package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/hashicorp/go-multierror"
	"pgregory.net/rapid"

	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/engine"
	"github.com/codeact-dev/codeact/engine/assembly"
	"github.com/codeact-dev/codeact/engine/store"
	"github.com/codeact-dev/codeact/engine/taskfile"
	"github.com/codeact-dev/codeact/policy"
	"github.com/codeact-dev/codeact/policy/rules"
)

func TestFolded(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"short", []string{"short"}},
		{"exactly twenty chars", []string{"exactly twenty chars"}},
		{"twenty-one characters", []string{"twenty-one character", "  ↳ s"}},
		{"a\n\nb\n", []string{"a", "", "b"}},
		{strings.Repeat("界", 11), []string{strings.Repeat("界", 10), "  ↳ 界"}},
		{strings.Repeat("x", 40), []string{strings.Repeat("x", 20), "  ↳ " + strings.Repeat("x", 16), "  ↳ xxxx"}},
	} {
		if got := folded(c.text, 20); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q is folded to %q, want %q", c.text, got, c.want)
		}
	}
}

// No line is wider than the screen, and nothing is lost or added but the marks.
func TestFoldedKeepsAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := untabbed(rapid.String().Draw(t, "text"))
		columns := rapid.IntRange(20, 60).Draw(t, "columns")
		var back strings.Builder
		for i, l := range folded(text, columns) {
			if n := utf8.RuneCountInString(l); n > columns {
				t.Fatalf("%d characters on %d columns: %q", n, columns, l)
			}
			rest, folded := strings.CutPrefix(l, continued)
			if i > 0 && !folded {
				back.WriteByte('\n')
			}
			back.WriteString(rest)
		}
		if got, want := back.String(), strings.TrimRight(text, "\n"); got != want && !strings.Contains(text, continued) {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}

// A document means what it meant, and a terminal shows all of it.
func FuzzASCIISafe(f *testing.F) {
	for _, s := range []string{"plain", "\x1b[2J", "\u009b\u202e\u3164", "\U000e0041 tag", "❤\ufe0f", "\ufe0f", "<b>&\u2028"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "")
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		safe := asciiSafe(string(raw))
		if scan.Visible(safe) != safe {
			t.Errorf("%q is not fit to be seen", safe)
		}
		var back string
		if err := json.Unmarshal([]byte(safe), &back); err != nil || back != text {
			t.Errorf("%q is read as %q, %v", text, back, err)
		}
	})
}

func TestReadable(t *testing.T) {
	for in, want := range map[string]string{
		`"a text"`:                    "a text",
		`12345678901234567890`:        "12345678901234567890",
		`{"b":1,"a":[1.0]}`:           "{\n  \"b\": 1,\n  \"a\": [\n    1.0\n  ]\n}",
		`"<b>"`:                       "<b>",
		`not JSON, which cannot come`: "not JSON, which cannot come",
	} {
		if got := readable(json.RawMessage(in)); got != want {
			t.Errorf("%s is shown as %q, want %q", in, got, want)
		}
	}
}

func TestMessage(t *testing.T) {
	fault := &taskfile.Fault{File: "a.yaml", Line: 3, Col: 1, Path: "$.goal", Msg: "is empty"}
	rule := &rules.FileError{File: "p.yaml", Line: 7, Col: 9, Msg: "no such field"}
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("something"), "codeact: something"},
		{usage(errors.New("--x: no")), "codeact: --x: no"},
		{usage(fault), "a.yaml:3:1: goal: is empty"},
		{usage(multierror.Append(nil, fault, rule)), "a.yaml:3:1: goal: is empty\np.yaml:7:9: no such field"},
		{multierror.Append(nil, errors.New("one"), errors.New("two")), "codeact: one\ncodeact: two"},
	} {
		if got := message(c.err); got != c.want {
			t.Errorf("%v is shown as %q, want %q", c.err, got, c.want)
		}
	}
}

func TestCodeOf(t *testing.T) {
	stopped := func(s os.Signal) context.Context {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(signalError{s})
		return ctx
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		ctx  context.Context
		err  error
		want int
	}{
		{context.Background(), nil, 0},
		{context.Background(), errors.New("x"), 1},
		{context.Background(), usage(errors.New("x")), 2},
		{context.Background(), exitCode(3), 3},
		{context.Background(), fmt.Errorf("%w: x", assembly.ErrCredential), 4},
		{context.Background(), fmt.Errorf("%w: x", assembly.ErrPrecondition), 6},
		{context.Background(), usage(fmt.Errorf("%w: x", assembly.ErrPrecondition)), 6},
		{stopped(syscall.SIGINT), exitCode(130), 130},
		{stopped(syscall.SIGTERM), exitCode(130), 143},
		{stopped(syscall.SIGHUP), errors.New("the interpreter did not start"), 129},
		{stopped(syscall.SIGTERM), exitCode(3), 3}, // it came too late
		{ended, exitCode(130), 130},
	} {
		if got := codeOf(c.ctx, c.err); got != c.want {
			t.Errorf("%v ended by %v: %d, want %d", c.err, context.Cause(c.ctx), got, c.want)
		}
	}
}

// Without --content nothing is shown but what is known to be ours: neither a key
// that nobody thought of nor an event of a later version.
func TestSummaryHidesWhatIsWritten(t *testing.T) {
	kinds := []string{"event.of.tomorrow"}
	for k := range metadata {
		kinds = append(kinds, k)
	}
	for _, kind := range kinds {
		body := map[string]any{"type": kind, "seq": 1, "run_id": "r1", "decision": map[string]any{"verdict": "ask", "gate": "named", "reason": "MANGO"}}
		for _, k := range []string{"args", "code", "text", "observation", "value", "output", "goal", "user", "reason", "diff", "failed", "gates", "paths",
			"urls", "notes", "denied", "bind", "when", "findings", "injection", "hidden", "wrote", "stop", "position", "destinations", "labels", "new"} {
			body[k] = []string{"MANGO " + k}
		}
		if _, shown := map[string]bool{"run.started": true, "call.started": true, "call.decided": true}[kind]; !shown {
			body["lease"] = "post with to=MANGO" // a text in a question
		}
		if kind != "run.started" {
			body["model"] = "MANGO"
		}
		body["tool"] = "MANGO is no name"
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		l := store.Line{Seq: 1, RunID: "r1", Type: kind, Body: raw}
		if got, err := summary(l, false); err != nil || strings.Contains(got, "MANGO") || strings.Contains(got, "\n") {
			t.Errorf("%s, %v", got, err)
		}
		got, err := summary(l, true)
		if err != nil || !strings.Contains(got, "\n       | [\"MANGO code\"]") {
			t.Errorf("with content: %s, %v", got, err)
		}
	}
	if _, err := summary(store.Line{Seq: 7, Body: []byte("{")}, false); err == nil || !strings.HasPrefix(err.Error(), "line 7: ") {
		t.Errorf("a line that is no JSON: %v", err)
	}
}

// Content cannot look like an event, whatever is in it.
func TestSummaryContentStaysBehindItsBar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.Marshal(map[string]string{"text": rapid.String().Draw(t, "text"), "code": "a\n   2 12:00:00 run.completed status=completed\x1b[2J"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := summary(store.Line{Seq: 1, Type: "model.completed", Body: raw}, true)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(got, "\n") {
			if i > 0 && !strings.HasPrefix(line, "       ") {
				t.Fatalf("%q stands by itself", line)
			}
			if scan.Visible(line) != line {
				t.Fatalf("%q is not fit to be seen", line)
			}
		}
	})
}

// What events bring to the screen is escaped, also names that a script made up.
func TestProgressEscapes(t *testing.T) {
	const evil = "x\x1b[2J\n\u009b\u202e"
	events := []engine.Event{&engine.StepStarted{Step: 1}, &engine.ModelCompleted{Text: evil + "```starlark\n```"}, &engine.WorkerDied{Cause: evil},
		&engine.StepCompleted{Error: evil}, &engine.LessonProposed{Text: evil}, &engine.LimitWarning{Limit: "steps", Used: "8", Of: "10"}}
	decided := &engine.CallDecided{}
	decided.Tool, decided.Args, decided.Decision = evil, map[string]any{evil: evil}, policy.Decision{Gate: "registry", Reason: evil}
	bad := *decided
	bad.Bad = true
	done := &engine.CallCompleted{}
	done.Tool, done.Failed = evil, evil
	events = append(events, decided, &bad, done)
	var b strings.Builder
	p := newProgress(&sys{stderr: &b, errTTY: true, env: noColor}, "auto")
	p.text("some")
	for _, e := range events {
		p.event(e)
	}
	o := engine.Outcome{Status: engine.CompletedWithRefusals, ExitCode: 3, Reason: evil, Trace: evil, BlockedSends: 1,
		Denied: []engine.Denial{{Tool: evil, Gate: "interlock"}}, Approvals: []engine.ApprovalReport{{Tool: evil, State: "pending"}}}
	p.end(o)
	shown := strings.ReplaceAll(b.String(), "\r\x1b[K", "")
	if scan.Visible(shown) != shown || strings.Count(shown, "\n") < len(events) {
		t.Errorf("%q", shown)
	}
	for _, want := range []string{"the model writes… 4 bytes", "limit steps: 8 of 10 used", "bad call ", "refused ", "blocked sends: 1", "lesson proposed: "} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in\n%s", want, shown)
		}
	}
}

func noColor(name string) (string, bool) {
	if name == "NO_COLOR" {
		return "1", true
	}
	return "", false
}

func TestSize(t *testing.T) {
	for n, want := range map[int]string{0: "0B", 1023: "1023B", 1536: "1.5KiB", 3 << 20: "3.0MiB"} {
		if got := size(n); got != want {
			t.Errorf("%d bytes are shown as %s, want %s", n, got, want)
		}
	}
}

func TestPolicyParams(t *testing.T) {
	for _, c := range []struct {
		text string
		want any // nil is an error
	}{
		{"5", int64(5)},
		{"5.0", 5.0},
		{"-1e3", -1000.0},
		{`"x"`, "x"},
		{`["a", 1, {"b": 2}]`, []any{"a", int64(1), map[string]any{"b": int64(2)}}},
		{"true", true},
		{"", nil},
		{"x", nil},
		{"1 2", nil},
		{"1e999", nil},
		{"[1e999]", nil},
		{`{"a": 1e999}`, nil},
	} {
		got, err := policyParams([]string{"p=" + c.text})
		if (err == nil) != (c.want != nil) || err == nil && !reflect.DeepEqual(got["p"], c.want) {
			t.Errorf("%s is %#v, %v; want %#v", c.text, got["p"], err, c.want)
		}
	}
	for _, bad := range []string{"", "p", "=5"} {
		if _, err := policyParams([]string{bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
