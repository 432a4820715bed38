package bridge_test

import (
	"os"
	"testing"

	"github.com/codeact-dev/codeact/bridge/sandbox"
	"github.com/codeact-dev/codeact/interp/interptest"
)

// worker is the interpreter's program, built without the race detector.
var worker string

func TestMain(m *testing.M) {
	sandbox.MaybeChild()
	path, remove := interptest.Worker()
	worker = path
	code := m.Run()
	remove()
	os.Exit(code)
}
