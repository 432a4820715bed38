package interp

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/codeact-dev/codeact/interp/worker"
)

func TestEveryDeathHasItsError(t *testing.T) {
	for _, tt := range []struct {
		death worker.Death
		want  error
	}{
		{worker.Death{Signal: 24}, ErrCPU},
		{worker.Death{Code: 2, Stderr: "fatal error: runtime: out of memory"}, ErrMemory},
		{worker.Death{Signal: 31, BadCall: true}, ErrSandboxViolation},
		{worker.Death{Code: 3}, ErrWorkerCrash},
	} {
		if err := deathError(tt.death, defaults(t)); !errors.Is(err, tt.want) || err.Msg == "" {
			t.Errorf("%+v: got %v, want %v", tt.death, err, tt.want)
		}
	}
}

func TestUnwindKeepsTheErrorAndItsText(t *testing.T) {
	err := Unwind(errPaused)
	if !errors.Is(err, errPaused) || err.Error() != errPaused.Error() {
		t.Errorf("got %v", err)
	}
	if !Unwinds(fmt.Errorf("tool: %w", err)) || Unwinds(errPaused) || Unwind(nil) != nil {
		t.Error("only an error that was marked unwinds")
	}
}

func TestBlockErrorTextIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		noise := rapid.SampledFrom([]string{"é", "\xff", "x", "\n"})
		e := &BlockError{Err: ErrRuntime, Line: rapid.IntRange(0, 9).Draw(t, "line"),
			Msg:  strings.Repeat(noise.Draw(t, "msg"), rapid.IntRange(0, 6000).Draw(t, "length")),
			Hint: strings.Repeat(noise.Draw(t, "hint"), rapid.IntRange(0, 6000).Draw(t, "hint length"))}
		text := e.Error()
		if len(text) > maxErrorText || !utf8.ValidString(text) || !strings.HasPrefix(text, "script error") {
			t.Fatalf("%d bytes: %.60q", len(text), text)
		}
	})
}

func TestAFunctionDefinedAgainDoesNotWarn(t *testing.T) {
	s := open(t, Config{Unsafe: true})
	mustExec(t, s, "x = 1\ndef f():\n  return x")
	if r := mustExec(t, s, "x = 2\ndef f():\n  return x\nf()"); r.Warnings != nil || r.Value != int64(2) {
		t.Errorf("got %v with %q", r.Value, r.Warnings)
	}
}
