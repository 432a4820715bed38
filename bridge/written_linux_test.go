package bridge_test

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/workspace"
)

// A file that the system cannot read is an error without the host's path in it. The
// memory of a process, read from address 0, is such a file.
func TestWhatCannotBeReadIsAnErrorWithoutTheHostsPath(t *testing.T) {
	files := space(t, "/proc/self", workspace.Config{})
	for name, f := range map[string]func(*bridge.Root) error{
		"read": func(r *bridge.Root) error { _, _, err := r.ReadFile("mem", 10); return err },
		"sum":  func(r *bridge.Root) error { _, _, err := r.Sum("mem"); return err },
	} {
		_, err := in(t, bridge.Config{}, "mem", func(_ context.Context, p *bridge.Permit) error { return f(p.Root()) }, files)
		if !errors.Is(err, syscall.EIO) || strings.Contains(err.Error(), "proc") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
