//go:build unix && !linux

package tools_test

import (
	"os"
	"testing"
)

func asNobody(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("run it as another user than root")
	}
}
