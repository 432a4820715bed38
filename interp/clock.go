package interp

import (
	"sync"
	"time"
)

// stopwatch measures the time of a block without that of its calls, and acts when it is used up. One goroutine uses it.
type stopwatch struct {
	left   time.Duration
	expire func()
	timer  *time.Timer
	since  time.Time
}

func (w *stopwatch) start() {
	w.since = time.Now()
	w.timer = time.AfterFunc(w.left, w.expire)
}

func (w *stopwatch) stop() {
	if w.timer.Stop() {
		w.left -= time.Since(w.since)
	}
}

// minWatch is the shortest time between two looks at a worker's processor time.
const minWatch = 20 * time.Millisecond

// watchCPU kills the worker when the kernel has counted more processor time than the block may take. The worker has a
// limit of its own, in whole seconds; this one it cannot move. The goroutine ends with the block, by stop.
func (e *execution) watchCPU() (stop func()) {
	start, ok := e.proc.CPU()
	if !ok {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		for left := e.limits.CPU; ; {
			timer := time.NewTimer(max(left/2, minWatch)) // two threads of the worker can use it up in half the time
			select {
			case <-done:
				timer.Stop()
				return
			case <-timer.C:
			}
			now, ok := e.proc.CPU()
			if left = e.limits.CPU - (now - start); left <= 0 && ok {
				e.kill(cpuError(e.limits))
			}
			if left <= 0 || !ok {
				return
			}
		}
	}()
	return sync.OnceFunc(func() { close(done) })
}
