// Package bridgetest helps to test tools and gates: it keeps a journal in memory.
//
// Nothing here is durable and nothing forgets: it is for tests only.
package bridgetest

import (
	"time"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/leases"
	"github.com/codeact-dev/codeact/policy"
)

// A Journal is a bridge.Journal in memory, with the state that its events fold to.
// Err, when set, is what every method that appends returns; Fail, when set, is asked
// before each event.
type Journal struct {
	State   bridge.State
	Records map[string]bridge.Record
	Events  []any // what was appended, in order
	Err     error
	Fail    func(event any) error
}

// NewJournal returns an empty journal of a clean conversation.
func NewJournal() *Journal {
	return &Journal{Records: map[string]bridge.Record{}, State: bridge.State{Leases: leases.NewBook(), Begun: map[string][]time.Time{},
		Tainted: map[string]bool{}, SentTo: map[string]int64{}, Unknown: map[bridge.Effect]string{}, Brought: map[bridge.Place]policy.Taint{}, SeenAt: map[int]policy.Taint{}, Authority: policy.NewAuthority(policy.AuthorityConfig{})}}
}

// Run is a run that keeps its events in j.
func (j *Journal) Run(id string) bridge.Run {
	return bridge.Run{ID: id, Journal: j, State: &j.State, Marker: scan.NewMarker(make([]byte, 16)), Key: make([]byte, 32)}
}

func (j *Journal) append(e any) error {
	j.Events = append(j.Events, e)
	return nil
}

// refuse is the error of the event that comes next, nil for none.
func (j *Journal) refuse(e any) error {
	if j.Err == nil && j.Fail != nil {
		return j.Fail(e)
	}
	return j.Err
}

// Recorded implements bridge.Journal.
func (j *Journal) Recorded(call string) bridge.Record { return j.Records[call] }

// Decided implements bridge.Journal.
func (j *Journal) Decided(d bridge.Decided) error {
	if err := j.refuse(d); err != nil {
		return err
	}
	r := j.Records[d.Call]
	r.Tool, r.ArgHash = d.Tool, d.ArgHash
	if d.Decision.Verdict == policy.Deny {
		r.Phase, r.Refusal = bridge.Refused, &d
	}
	j.Records[d.Call] = r
	return j.append(d)
}

// Asked implements bridge.Journal.
func (j *Journal) Asked(q bridge.Question) error {
	if err := j.refuse(q); err != nil {
		return err
	}
	r := j.Records[q.Call]
	r.Phase, r.Question, r.Answer = bridge.Asking, &q, nil
	j.Records[q.Call] = r
	return j.append(q)
}

// Resolved implements bridge.Journal.
func (j *Journal) Resolved(call string, a bridge.Answer) error {
	if err := j.refuse(a); err != nil {
		return err
	}
	r := j.Records[call]
	r.Answer = &a
	if r.Phase == bridge.Unseen {
		r.Phase = bridge.Asking // refused without a question, which is an answer too
	}
	j.Records[call] = r
	j.State.Waited += a.Waited
	return j.append(a)
}

// Granted implements bridge.Journal.
func (j *Journal) Granted(l leases.Lease) error {
	if err := j.refuse(l); err != nil {
		return err
	}
	if err := j.State.Leases.Grant(l); err != nil {
		return err
	}
	return j.append(l)
}

// Begin implements bridge.Journal.
func (j *Journal) Begin(b bridge.Begun) error {
	if err := j.refuse(b); err != nil {
		return err
	}
	r := j.Records[b.Call]
	r.Phase, r.Attempts = bridge.Running, b.Attempt
	j.Records[b.Call] = r
	j.State.Calls++
	j.State.BytesSent += int64(b.Sends)
	for _, to := range b.To {
		j.State.SentTo[to] += int64(b.Sends)
	}
	j.State.Begun[b.Tool] = append(j.State.Begun[b.Tool], b.At)
	if b.Lease != "" {
		if err := j.State.Leases.Spend(b.Lease, j.State.Active(b.At)); err != nil {
			return err
		}
	}
	return j.append(b)
}

// End implements bridge.Journal.
func (j *Journal) End(o bridge.Outcome) error {
	if err := j.refuse(o); err != nil {
		return err
	}
	r := j.Records[o.Call]
	r.Phase, r.Outcome = bridge.Ended, &o
	j.Records[o.Call] = r
	effect := bridge.Effect{Tool: o.Tool, ArgHash: r.ArgHash}
	if delete(j.State.Unknown, effect); o.Unknown {
		j.State.Unknown[effect] = o.Call
	}
	j.State.Held = j.State.Held.Join(o.Taint)
	for _, w := range o.Wrote {
		j.State.Wrote(w)
	}
	return j.append(o)
}
