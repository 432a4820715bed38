package engine

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/codeact-dev/codeact/engine/store"
)

// smallDisk is a store on a disk of 128 KiB.
func smallDisk(t *testing.T) *store.Store {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=128k"); err != nil {
		t.Skipf("mounting a tmpfs needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	s, err := store.Open(filepath.Join(dir, "traces"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// On a full disk the run ends before the first effect that its trace could not
// hold: there is never an effect without its intent.
func TestAFullDiskEndsTheRunBeforeTheNextEffect(t *testing.T) {
	s := newStage(t, block("for i in range(400):\n    attempt(note, text=str(i) + \"x\" * 1000)\nfinal(1)"))
	s.store = smallDisk(t)
	s.bridge.MaxCalls = 1000
	p := s.perform(t, t.Context())
	if !errors.Is(p.err, ErrTrace) || !errors.Is(p.err, syscall.ENOSPC) || !strings.Contains(p.err.Error(), "the trace cannot be written") {
		t.Fatalf("the run ended with %v", p.err)
	}
	if p.Status == Completed || p.has("run.completed") {
		t.Errorf("status %q", p.Status)
	}
	begun := strings.Count(p.raw, `"type":"call.started"`)
	if len(s.effects) == 0 || len(s.effects) != begun {
		t.Errorf("%d effects, %d intents in the trace", len(s.effects), begun)
	}
	if r, err := store.Verify(p.Trace); err != nil || r.Torn {
		t.Errorf("the trace is not sound: %v", err)
	}
	c, err := Load(s.store, p.RunID)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Outcome(); got.Status != "" || len(got.Calls) < begun {
		t.Errorf("the trace tells of %d calls, status %q", len(got.Calls), got.Status)
	}
}

// A large result goes beside the trace, and there is no room for it.
func TestAFullDiskHidesTheResultThatItCannotKeep(t *testing.T) {
	s := newStage(t, block("note()\nnote(text=\"late\")\nfinal(1)")).large()
	s.store = smallDisk(t)
	p := s.perform(t, t.Context())
	if !errors.Is(p.err, ErrTrace) || len(s.effects) != 1 {
		t.Errorf("%d effects, then %v", len(s.effects), p.err)
	}
}

// A run whose first event cannot be written does not start.
func TestARunThatCannotBeRecordedDoesNotStart(t *testing.T) {
	s := newStage(t, block("note()\nfinal(1)"))
	s.store = smallDisk(t)
	s.task.Instructions = nil
	s.task.Says = []string{strings.Repeat("x", 200<<10)}
	p := s.perform(t, t.Context())
	if !errors.Is(p.err, ErrTrace) || p.conversation != nil || len(s.effects) != 0 {
		t.Errorf("got %v, %d effects", p.err, len(s.effects))
	}
	if fmt.Sprint(p.kinds()) != "[]" {
		t.Errorf("events %v", p.kinds())
	}
}
