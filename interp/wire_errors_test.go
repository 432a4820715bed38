package interp

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/codeact-dev/codeact/interp/wire"
)

// TestErrorsAreFoundAcrossTheWire has a row for each error that a real worker ends with when its block asks for it.
// The others are found by tests of their own: TestEveryLieKillsTheWorker, TestAWorkerMayDieAtEveryFrame,
// TestAMissingFeatureFailsClosed and the one below.
func TestErrorsAreFoundAcrossTheWire(t *testing.T) {
	errAsked := errors.New("the host asked")
	long := Limits{CPU: time.Minute, Wall: time.Minute}
	tests := []struct {
		name, block string
		limits      Limits
		unguarded   bool
		want        error
		dead        bool
	}{
		{"source over its bytes", strings.Repeat("#", 64<<10+1), Limits{}, false, ErrSource, false},
		{"source over its nesting", "[[[[1]]]]", Limits{Nesting: 3}, false, ErrSource, false},
		{"syntax", "x = = 1", Limits{}, false, ErrSyntax, false},
		{"an undefined name", "nothing", Limits{}, false, ErrSyntax, false},
		{"runtime", "fail('no')", Limits{}, false, ErrRuntime, false},
		{"a tool's error", "broken()", Limits{}, false, ErrRuntime, false},
		{"steps", "while True:\n  pass", Limits{Steps: 100}, false, ErrSteps, false},
		{"final", "final([1, 2, 3])", Limits{FinalBytes: 9}, false, ErrOutput, false},
		{"argument", "echo([1, 2, 3])", Limits{ArgBytes: 9}, false, ErrOutput, false},
		{"last expression", "[1, 2, 3]", Limits{FinalBytes: 9}, false, ErrOutput, false},
		{"memory that Go refuses", "list(range(1 << 62))", Limits{}, true, ErrMemory, false},
		{"memory that the kernel refuses", "[0] * ((1 << 30) - 1)", long, false, ErrMemory, true},
		{"processor time", endless, Limits{CPU: time.Second, Wall: time.Minute}, false, ErrCPU, true},
		{"time", endless, Limits{Wall: 100 * time.Millisecond}, false, ErrWall, true},
		{"pause", "[attempt(pause) for x in [1]]", Limits{}, false, errPaused, false},
		{"end of the context", "cancel()", Limits{}, false, errAsked, true},
		{"closed", "close()", Limits{}, false, ErrClosed, true},
	}
	tools := append([]Signature{{Name: "cancel"}, {Name: "close"}}, testTools...)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in, err := New(Config{Worker: []string{workerPath}, NoSpare: true, Limits: tt.limits, testOnlyUnguarded: tt.unguarded})
			if err != nil {
				t.Fatal(err)
			}
			s, err := in.Session(t.Context(), tools)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			_, err = s.Exec(ctx, tt.block, callerFunc(func(ctx context.Context, c Call) (any, error) {
				switch c.Tool {
				case "cancel":
					cancel(errAsked)
				case "close":
					s.Close()
				}
				return testCaller(ctx, c)
			}))
			var be *BlockError
			if !errors.Is(err, tt.want) || !errors.As(err, &be) || s.Dead() != tt.dead {
				t.Errorf("got %v, dead %v, want %v, dead %v", err, s.Dead(), tt.want, tt.dead)
			}
			for _, other := range append(ends, ErrSandboxViolation, ErrWorkerCrash, ErrProtocol, ErrSandbox, ErrClosed) {
				if other != tt.want && errors.Is(err, other) {
					t.Errorf("got %v, which is %v too", err, other)
				}
			}
		})
	}
}

// A worker does what its confinement forbids only when it is asked to by name, so that the block comes after its death.
func TestAForbiddenCallIsFoundAcrossTheWire(t *testing.T) {
	in, err := New(Config{Worker: []string{workerPath}, NoSpare: true})
	if err != nil {
		t.Fatal(err)
	}
	p, err := in.start()
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(p, in.cfg.Limits, testTools)
	defer s.Close()
	if err := s.open(t.Context(), in.cfg, wire.Open{Canary: "connect"}); err != nil {
		t.Fatal(err)
	}
	if _, err := exec(t, s, "1"); !errors.Is(err, ErrSandboxViolation) || !s.Dead() {
		t.Errorf("got %v, dead %v", err, s.Dead())
	}
}
