package engine

import (
	"sync"
	"time"

	"github.com/codeact-dev/codeact/engine/store"
)

// begun is what one trace tells of the calls that its run began.
type begun struct {
	size      int64 // of the trace when it was read
	principal string
	tools     map[string][]time.Time
}

// elsewhere returns what State.Elsewhere is: the calls of the principal's other
// runs, folded from the traces of the store, so that they are counted also across
// processes. A trace that has not grown is not read again.
func (e *Engine) elsewhere(self, principal string) func(string, time.Time) ([]time.Time, error) {
	var mu sync.Mutex
	known := make(map[string]begun) // by run; guarded by mu
	return func(tool string, since time.Time) ([]time.Time, error) {
		mu.Lock()
		defer mu.Unlock()
		files, err := e.cfg.Store.Since(since)
		if err != nil {
			return nil, err
		}
		var times []time.Time
		for _, f := range files {
			if f.RunID == self || f.Size == 0 { // one that begins just now has begun no call
				continue
			}
			b, ok := known[f.RunID]
			if !ok || b.size != f.Size {
				if b, err = readBegun(f); err != nil {
					return nil, err
				}
				known[f.RunID] = b
			}
			if b.principal == principal {
				times = append(times, b.tools[tool]...)
			}
		}
		return times, nil
	}
}

// readBegun reads one trace. One that is damaged is an error: what cannot be
// counted must not look like nothing.
func readBegun(f store.File) (begun, error) {
	b := begun{size: f.Size, tools: make(map[string][]time.Time)}
	for line, err := range store.ReadFile(f.Path) {
		if err != nil {
			return b, err
		}
		if line.Type != (*RunStarted)(nil).event() && line.Type != (*CallStarted)(nil).event() {
			continue
		}
		e, err := DecodeEvent(line.Type, line.Body, nil)
		if err != nil {
			return b, err
		}
		switch e := e.(type) {
		case *RunStarted:
			b.principal = e.Principal
		case *CallStarted:
			b.tools[e.Tool] = append(b.tools[e.Tool], e.At)
		}
	}
	return b, nil
}
