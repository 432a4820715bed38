package egress

import (
	"fmt"
	"sync"
	"time"
)

// A Rate bounds the requests to one host, in any window of the length Per.
type Rate struct {
	N   int
	Per time.Duration
}

// defaultRate is one request a second, which is what polite crawlers keep to. All of it may be used at once, so that the 50 calls
// that one step may make pass together.
var defaultRate = Rate{N: 60, Per: time.Minute}

// maxRate bounds Rate.N: a time is kept for each request in the window.
const maxRate = 10_000

// meter counts requests by host, in memory: a new Client, as that of a run which is resumed, counts from nothing. It spares hosts
// from a loop that went wrong. It is no control of what leaves: who owns a domain owns as many hosts as he likes.
type meter struct {
	rate Rate
	now  func() time.Time

	mu    sync.Mutex
	begun map[string][]time.Time // guarded by mu; of each host the requests in the window, oldest first
	sweep int                    // guarded by mu; the number of hosts at which old ones are dropped
}

func newMeter(rate Rate, now func() time.Time) *meter {
	return &meter{rate: rate, now: now, begun: make(map[string][]time.Time), sweep: minSweep}
}

// minSweep is a number of hosts that is not worth looking through.
const minSweep = 256

// take notes a request to host, or refuses it. A refused one does not count: it would keep the window full.
func (m *meter) take(host string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if len(m.begun) >= m.sweep {
		for h := range m.begun {
			m.expire(h, now)
		}
		m.sweep = max(minSweep, 2*len(m.begun))
	}
	m.expire(host, now)
	times := m.begun[host]
	if len(times) < m.rate.N {
		m.begun[host] = append(times, now)
		return nil
	}
	wait := m.rate.Per - now.Sub(times[0])
	return &Refused{Host: host, RetryAfter: wait,
		Reason: fmt.Sprintf("%d requests in %v are the limit for one host; try again in %v", m.rate.N, m.rate.Per, roundUp(wait))}
}

// expire forgets what has left the window.
func (m *meter) expire(host string, now time.Time) {
	times := m.begun[host]
	old := 0
	for old < len(times) && now.Sub(times[old]) >= m.rate.Per {
		old++
	}
	if old == len(times) {
		delete(m.begun, host)
		return
	}
	m.begun[host] = times[old:]
}

// roundUp is d in whole seconds, at least one: who waits that long gets through.
func roundUp(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}
