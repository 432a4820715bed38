package assembly_test

import (
	"os"
	"testing"

	"github.com/codeact-dev/codeact/bridge/sandbox"
)

// This program is its boxes' first process, too.
func TestMain(m *testing.M) {
	sandbox.MaybeChild()
	os.Exit(m.Run())
}
