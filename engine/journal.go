package engine

import (
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/engine/store"
	"github.com/codeact-dev/codeact/leases"
)

// A journal is a conversation with its trace: what the bridge writes to. Every
// event is appended first and folded then, so that what the conversation holds
// stands in the trace.
type journal struct {
	*Conversation
	trace   *store.Trace
	now     func() time.Time
	observe func(Event, store.Line) // nil shows nobody
	log     zerolog.Logger
	warned  map[string]bool // limits of which 80 % was said
	clock   *stopwatch
	alive   func() error // why the run may begin nothing more; nil while it may
	spent   *LimitError  // the limit that a call would have broken; nil while none would
	fatal   error        // the trace cannot be written

	asked func(bridge.Question) error // what a question sets off before anyone is asked; nil nothing

	// mark remembers, for later runs, that content with this hex SHA-256 is
	// third-party content.
	mark func(sha256 string) error
}

// add appends an event and folds it. durable asks for it to be on disk before add
// returns.
func (j *journal) add(e Event, durable bool) error {
	if c, ok := e.(*CallCompleted); ok {
		if err := c.pack(j.trace); err != nil {
			return j.lost(err)
		}
	}
	line, err := j.trace.Append(e.event(), e, j.now(), durable)
	if err != nil {
		return j.lost(err)
	}
	if err := j.apply(e); err != nil {
		return err
	}
	j.log.Debug().Str("run", j.id).Int64("seq", line.Seq).Msg(e.event())
	if j.observe != nil {
		j.observe(e, line)
	}
	return nil
}

// lost remembers that the trace cannot be written: the run may not go on, and its
// end cannot be recorded either.
func (j *journal) lost(err error) error {
	j.fatal = fmt.Errorf("engine: %w: %w", ErrTrace, err)
	return j.fatal
}

func (j *journal) Recorded(call string) bridge.Record {
	if r := j.records[call]; r != nil {
		return *r
	}
	return bridge.Record{}
}

// Decided appends what the gates said. A call that made the run hit its limit of
// identical failures is the last one.
func (j *journal) Decided(d bridge.Decided) error {
	if err := j.limited(); err != nil {
		return err
	}
	if err := j.add(&CallDecided{d}, false); err != nil {
		return err
	}
	return j.limited()
}

// limited returns the limit that the run has reached, nil for none.
func (j *journal) limited() error {
	switch {
	case j.over != nil:
		return j.over
	case j.spent != nil:
		return j.spent
	}
	return nil
}

func (j *journal) Asked(q bridge.Question) error {
	if err := j.add(&ApprovalRequested{q}, true); err != nil {
		return err
	}
	if j.asked != nil {
		if err := j.asked(q); err != nil {
			return err
		}
	}
	j.clock.stop()
	return nil
}

func (j *journal) Resolved(call string, a bridge.Answer) error {
	j.clock.start()
	return j.add(&ApprovalResolved{call, a}, true)
}

func (j *journal) Granted(l leases.Lease) error { return j.add(&LeaseGranted{l}, true) }

// Begin is the spend of what the run may do at all.
func (j *journal) Begin(b bridge.Begun) error {
	// The interpreter of a run that was cancelled may be quicker than its end.
	if err := j.alive(); err != nil {
		return err
	}
	l := j.limits()
	switch {
	case j.state.Calls >= l.ToolCalls:
		return j.reached("toolCalls", fmt.Sprint(l.ToolCalls), "the run may not begin another call")
	case l.BytesSent > 0 && j.state.BytesSent+int64(b.Sends) > l.BytesSent:
		return j.reached("bytesSent", fmt.Sprint(l.BytesSent), fmt.Sprintf("%s would send %d bytes after %d", b.Tool, b.Sends, j.state.BytesSent))
	}
	for _, to := range b.To {
		if sent := j.state.SentTo[to]; l.BytesPerDestination > 0 && sent+int64(b.Sends) > l.BytesPerDestination {
			return j.reached("bytesPerDestination", fmt.Sprint(l.BytesPerDestination), fmt.Sprintf("%s would send %d bytes to %s after %d", b.Tool, b.Sends, to, sent))
		}
	}
	if err := j.add(&CallStarted{b}, b.Durable); err != nil {
		return err
	}
	if err := j.warn("toolCalls", float64(j.state.Calls), float64(l.ToolCalls)); err != nil {
		return err
	}
	return j.warn("bytesSent", float64(j.state.BytesSent), float64(l.BytesSent))
}

// End marks what was written from third-party content before it appends the event
// that says so: a crash between the two may leave a mark too many, never one too
// few. Only live runs come here, so folding a trace marks nothing.
func (j *journal) End(o bridge.Outcome) error {
	for _, w := range o.Wrote {
		if !w.Untrusted || w.SHA256 == "" { // a name alone
			continue
		}
		if err := j.mark(w.SHA256); err != nil {
			return j.lost(err)
		}
	}
	before := j.state.Held
	if err := j.add(&CallCompleted{Outcome: o}, false); err != nil {
		return err
	}
	if err := j.overspent(o); err != nil {
		return err
	}
	if before.Covers(j.state.Held) {
		return nil
	}
	return j.add(&TaintChanged{Held: j.state.Held, By: o.Call}, false)
}

// overspent ends the run where a command sent more than the run may: it is known
// only when it has ended.
func (j *journal) overspent(o bridge.Outcome) error {
	l := j.limits()
	if l.BytesSent > 0 && len(o.Sent) > 0 && j.state.BytesSent > l.BytesSent {
		return j.reached("bytesSent", fmt.Sprint(l.BytesSent), fmt.Sprintf("with what %s sent it is %d bytes", o.Tool, j.state.BytesSent))
	}
	for host := range o.Sent {
		if sent := j.state.SentTo[host]; l.BytesPerDestination > 0 && sent > l.BytesPerDestination {
			return j.reached("bytesPerDestination", fmt.Sprint(l.BytesPerDestination), fmt.Sprintf("with what %s sent it is %d bytes to %s", o.Tool, sent, host))
		}
	}
	return nil
}

// reached ends the run at a limit: the first one is the reason.
func (j *journal) reached(limit, of, why string) error {
	if j.spent == nil {
		j.spent = &LimitError{Limit: limit, Of: of, Why: why}
	}
	return j.spent
}

// warn says once that 80 % of a limit is used.
func (j *journal) warn(limit string, used, of float64) error {
	if of == 0 || used < 0.8*of || j.warned[limit] {
		return nil
	}
	j.warned[limit] = true
	return j.add(&LimitWarning{Limit: limit, Used: fmt.Sprintf("%.6g", used), Of: fmt.Sprintf("%.6g", of)}, false)
}

// A stopwatch ends a run after so much active time. It stands still while a
// person is waited for. It is used by one goroutine.
type stopwatch struct {
	left    time.Duration
	since   time.Time
	running bool
	timer   *time.Timer
	expire  func()
}

func (s *stopwatch) start() {
	if s == nil || s.running {
		return
	}
	s.running, s.since = true, time.Now()
	s.timer = time.AfterFunc(s.left, s.expire)
}

// used is how much of a whole has run by now.
func (s *stopwatch) used(whole time.Duration) time.Duration {
	used := whole - s.left
	if s.running {
		used += time.Since(s.since)
	}
	return used
}

func (s *stopwatch) stop() {
	if s == nil || !s.running {
		return
	}
	s.running = false
	s.timer.Stop()
	s.left -= time.Since(s.since)
}
