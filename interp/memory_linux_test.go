package interp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// peak is the most memory that a process has held at any time, in bytes, as the kernel counts it. It is 0 for one that is
// gone.
func peak(t *testing.T, pid string) (bytes int64) {
	t.Helper()
	text, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if n, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			if _, err := fmt.Sscanf(n, "%d kB", &bytes); err != nil {
				t.Fatal(err)
			}
		}
	}
	return bytes << 10
}

// child is the one process that this one has started and not yet reaped.
func child(t *testing.T) (pid string) {
	t.Helper()
	var pids []string
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	for _, task := range tasks {
		if text, err := os.ReadFile(task); err == nil {
			pids = append(pids, strings.Fields(string(text))...)
		}
	}
	if len(pids) != 1 {
		t.Skipf("children %q: this kernel does not list them", pids)
	}
	return pids[0]
}

// A worker is looked at each time that it has grown by one mebibyte, until it dies.
func TestAWorkerNeverHoldsAQuarterMoreThanItsLimit(t *testing.T) {
	for _, limit := range []int64{64 << 20, 256 << 20} {
		for name, grow := range map[string]string{
			"strings":  "held.append('a' * (1 << 20))",
			"integers": "held.append([n << 40] * (1 << 16))",
			"dicts":    "held.append({i: None for i in range(n << 16, n << 16 | 1 << 13)})",
			"doubling": "held = held + held if held else [0] * (1 << 16)",
		} {
			t.Run(fmt.Sprintf("%s to %d MiB", name, limit>>20), func(t *testing.T) {
				s := open(t, Config{Worker: []string{workerPath}, NoSpare: true, Limits: Limits{Memory: limit, CPU: time.Minute, Wall: time.Minute}})
				pid, most := child(t), int64(0)
				_, err := s.Exec(t.Context(), "held = []\nn = 0\nwhile True:\n  n += 1\n  "+grow+"\n  echo(n)",
					callerFunc(func(context.Context, Call) (any, error) {
						most = max(most, peak(t, pid))
						return nil, nil
					}))
				if !errors.Is(err, ErrMemory) || !s.Dead() {
					t.Errorf("got %v, dead %v", err, s.Dead())
				}
				t.Logf("%d MiB of %d", most>>20, limit>>20)
				if most > limit/4*5 || most < limit/4 {
					t.Errorf("it held %d MiB, want at most a quarter more than %d, and at least a quarter of it", most>>20, limit>>20)
				}
			})
		}
	}
}
