package store

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A full disk dropped trace records silently. Here is a disk of 64 KiB.
func TestAFullDiskEndsTheTraceAndLeavesItValid(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=64k"); err != nil {
		t.Skipf("mounting a tmpfs needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	s := must[*Store](t)(Open(dir + "/traces"))
	tr := must[*Trace](t)(s.Create("r1"))
	var failed error
	written := 0
	for failed == nil && written < 100 {
		if _, failed = tr.Append("call.completed", body{"text": strings.Repeat("x", 3000)}, noon, true); failed == nil {
			written++
		}
	}
	if !errors.Is(failed, syscall.ENOSPC) || written == 0 {
		t.Fatalf("%d lines, then %v", written, failed)
	}
	if _, err := tr.Append("run.completed", body{}, noon, false); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a line that would fit, after the failure: %v", err)
	}
	if err := tr.Close(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Close: %v", err)
	}
	checkByHand(t, tr.Path(), written)
}
