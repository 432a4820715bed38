package worker

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/codeact-dev/codeact/interp/interptest"
)

// workerPath is a program that calls Main when it is given Marker.
var workerPath string

func TestMain(m *testing.M) {
	path, cleanup := interptest.Worker()
	workerPath = path
	code := m.Run()
	cleanup()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			println(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}
