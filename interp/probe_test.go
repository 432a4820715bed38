package interp

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/interp/wire"
	"github.com/codeact-dev/codeact/interp/worker"
)

func TestEveryCanaryIsStopped(t *testing.T) {
	canaries, err := Probe(t.Context(), Config{Worker: []string{workerPath}})
	if err != nil || len(canaries) != 5 {
		t.Fatalf("got %v, %v", canaries, err)
	}
	for _, c := range canaries {
		want := ErrSandboxViolation
		if c.Action == "memory" {
			want = ErrMemory
		}
		if !c.Stopped || c.By != want.Error() {
			t.Errorf("got %+v, want stopped by %v", c, want)
		}
	}
}

func TestWhatAWorkerSaysOfItsCanary(t *testing.T) {
	fault := func(k wire.FaultKind) wire.Done {
		return wire.Done{Fault: &wire.Fault{Kind: k, Msg: "permission denied"}}
	}
	for name, tt := range map[string]struct {
		answer  wire.Message // nil: it goes away
		stopped bool
		want    error
	}{
		"done":             {wire.Done{}, false, nil},
		"refused":          {fault(wire.FaultRuntime), true, nil},
		"unknown":          {fault(wire.FaultSource), false, ErrProtocol},
		"another message":  {wire.Call{}, false, wire.ErrMalformed},
		"a crash is no no": {nil, false, ErrWorkerCrash},
	} {
		l := newLiar()
		go func() {
			l.worker.Send(wire.Hello{Version: wire.Version})
			l.receive(&wire.Open{})
			if tt.answer != nil {
				l.worker.Send(tt.answer)
			}
			l.raw.Close()
		}()
		c, err := try(t.Context(), newSession(l, defaults(t), nil), Config{Limits: defaults(t)}, "open")
		if !errors.Is(err, tt.want) || c.Stopped != tt.stopped || tt.stopped && c.By != "permission denied" {
			t.Errorf("%s: got %+v, %v", name, c, err)
		}
	}
}

func TestAProbeThatCannotStartIsAnError(t *testing.T) {
	if _, err := Probe(t.Context(), Config{Limits: Limits{Wall: -1}}); err == nil || !strings.Contains(err.Error(), "Wall") {
		t.Errorf("got %v", err)
	}
	if _, err := Probe(t.Context(), Config{Worker: []string{"/no/such/program"}}); err == nil || !strings.Contains(err.Error(), "open: ") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Probe(ctx, Config{Worker: []string{workerPath}}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if len(worker.Canaries()) == 0 {
		t.Error("nothing is tried")
	}
}
