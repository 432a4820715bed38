package tools_test

import (
	"testing"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/bridgetest"
	"github.com/codeact-dev/codeact/bridge/tools"
)

func builtins(t *testing.T) []bridge.Tool {
	t.Helper()
	all, err := tools.Builtin(tools.Names()...)
	must(t, err)
	return all
}

// swapping changes the files when a call begins: after everything was judged, and
// before the tool runs.
type swapping struct {
	*bridgetest.Journal
	swap func()
}

func (s swapping) Begin(b bridge.Begun) error { s.swap(); return s.Journal.Begin(b) }
