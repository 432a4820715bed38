package bridge_test

import (
	"context"
	"errors"
	"testing"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/bridgetest"
	"github.com/codeact-dev/codeact/interp"
	"github.com/codeact-dev/codeact/policy"
)

// A worker that lies, or a library that calls a door itself, can ask for a tool
// that is not there: interp refuses the name before the bridge sees it.
func unknownTool(t *testing.T, without string) error {
	ran := false
	b, err := bridge.New(bridge.Config{Tools: []bridge.Tool{{Name: "known", Caps: policy.Declare(), Tier: policy.Free,
		Run: func(context.Context, *bridge.Permit) (bridge.Output, error) { ran = true; return bridge.Output{}, nil }}}})
	if err != nil {
		t.Fatal(err)
	}
	bridge.Without(b, without)
	j := bridgetest.NewJournal()
	d, err := b.Open(j.Run("r1"), 1, bridge.Preflight{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Call(t.Context(), interp.Call{Tool: "nope", N: 1})
	if ran {
		t.Error("another tool ran")
	}
	if !errors.Is(err, bridge.ErrBadCall) {
		return errors.Join(errors.New("not refused as a bad call"), err)
	}
	return nil
}

func TestAnUnknownToolIsABadCall(t *testing.T) {
	if err := unknownTool(t, ""); err != nil {
		t.Error(err)
	}
}
