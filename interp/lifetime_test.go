package interp

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codeact-dev/codeact/interp/wire"
)

// mortal is a worker that dies before the nth frame that its host sends or receives.
type mortal struct {
	process
	left int
}

func (m *mortal) Conn() *wire.Conn {
	if m.left--; m.left == 0 {
		m.Kill()
	}
	return m.process.Conn()
}

func TestAWorkerMayDieAtEveryFrame(t *testing.T) {
	const block = "print(1)\nx = echo(2)\nparallel([(echo, {'value': 3}), (broken,)])\nprint(x)\nx"
	in, err := New(Config{Worker: []string{workerPath}})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	died := 0
	for n := 1; ; n++ {
		p, err := in.start()
		if err != nil {
			t.Fatal(err)
		}
		m := &mortal{process: p, left: n}
		s := newSession(m, in.cfg.Limits, testTools)
		err = s.open(t.Context(), in.cfg, wire.Open{Tools: testTools})
		if err == nil {
			_, err = exec(t, s, block)
		}
		s.Close()
		if m.left > 0 { // no frame is left at which it could die
			if err != nil || died < 6 {
				t.Errorf("after %d deaths: %v", died, err)
			}
			return
		}
		if err != nil { // what it had sent before its death may be enough
			died++
			if !errors.Is(err, ErrWorkerCrash) || !s.Dead() {
				t.Errorf("frame %d: got %v, dead %v", n, err, s.Dead())
			}
		}
	}
}

// holdings are what this process must have no more of after its sessions than before: descriptors, goroutines, children.
func holdings(t *testing.T) (fds, goroutines, children int) {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("this system does not list descriptors")
	}
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	for _, task := range tasks {
		if text, err := os.ReadFile(task); err == nil {
			children += len(strings.Fields(string(text)))
		}
	}
	return len(list), runtime.NumGoroutine(), children
}

func TestManySessionsLeaveNothing(t *testing.T) {
	sessions := 1000
	if testing.Short() {
		sessions = 50
	}
	in, err := New(Config{Worker: []string{workerPath}})
	if err != nil {
		t.Fatal(err)
	}
	fds, goroutines, children := holdings(t)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for i := range sessions / 2 {
				s, err := in.Session(t.Context(), testTools)
				if err != nil {
					t.Error(err)
					return
				}
				block := []string{"echo(1)", "fail('x')", "pause()", "[0] * ((1 << 30) - 1)"}[i%4]
				if _, err := exec(t, s, block); errors.Is(err, ErrWorkerCrash) {
					t.Errorf("%s: %v", block, err)
				}
				s.Close()
			}
		})
	}
	wg.Wait()
	in.Close()
	for range 100 { // what ended may still be going away
		f, g, c := holdings(t)
		if f <= fds && g <= goroutines && c <= children {
			return
		}
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	f, g, c := holdings(t)
	t.Errorf("after %d sessions: descriptors %d -> %d, goroutines %d -> %d, children %d -> %d", sessions, fds, f, goroutines, g, children, c)
}

// killTime is how long it takes from the end of a context to the error of a block that no step would ever end.
func killTime(t testing.TB) time.Duration {
	s := open(t, Config{Worker: []string{workerPath}})
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var killed time.Time
	stuck := callerFunc(func(context.Context, Call) (any, error) {
		time.AfterFunc(50*time.Millisecond, func() { killed = time.Now(); cancel() })
		return nil, nil
	})
	if _, err := s.Exec(ctx, "echo(1)\n"+endless, stuck); !errors.Is(err, context.Canceled) || !s.Dead() {
		t.Fatalf("got %v, dead %v", err, s.Dead())
	}
	return time.Since(killed)
}

func TestAKilledBlockEndsAtOnce(t *testing.T) {
	var times []time.Duration
	for range 7 {
		times = append(times, killTime(t))
	}
	slices.Sort(times)
	if median := times[len(times)/2]; median > 100*time.Millisecond {
		t.Errorf("median %v of %v, want at most 100ms", median, times)
	}
}

func BenchmarkKill(b *testing.B) {
	var sum time.Duration
	n := 0
	for b.Loop() {
		sum += killTime(b)
		n++
	}
	b.ReportMetric(float64(sum.Microseconds())/float64(n), "µs/kill")
}
