package worker

import (
	"fmt"

	"go.starlark.net/starlark"

	"github.com/codeact-dev/codeact/interp/wire"
)

const parallelUsage = "usage: parallel([(tool, {\"name\": value}), ...])"

// member is one call of a batch. A member that cannot be sent has its error already.
type member struct {
	call wire.Call
	err  error
}

// parallel is parallel([(tool, {name: value}), ...]): one frame with all calls, and a list of outcomes in their order.
// What cannot be a call at all fails the whole; a call with wrong arguments is an outcome, as with attempt.
func (s *session) parallel(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var list starlark.Sequence
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &list); err != nil {
		return nil, fmt.Errorf("%w; %s", err, parallelUsage)
	}
	r := runOf(thread)
	if r.ended != nil {
		return nil, r.ended
	}
	if n := list.Len(); n > wire.MaxBatch {
		return nil, fmt.Errorf("parallel: %d calls, at most %d: make several batches", n, wire.MaxBatch)
	}
	members, err := s.members(list, r.position(thread))
	if err != nil {
		return nil, err
	}
	replies, err := r.askAll(members)
	if err != nil {
		return nil, err
	}
	return s.outcomes(members, replies), nil
}

// members reads the batch. All arguments share one budget, since they share a frame.
func (s *session) members(list starlark.Sequence, position string) ([]member, error) {
	c := &converter{budget: wire.Budget{Bytes: s.limits.ArgBytes}}
	var members []member
	for v := range starlark.Elements(list) {
		t, kwargs, err := s.pair(v)
		if err != nil {
			return nil, fmt.Errorf("parallel: member %d: %w; %s", len(members), err, parallelUsage)
		}
		plain, err := t.plain(nil, kwargs, c)
		members = append(members, member{wire.Call{Tool: t.Name, Args: plain, Position: position}, err})
	}
	return members, nil
}

// pair reads (tool, {name: value}), where the arguments may be left out.
func (s *session) pair(v starlark.Value) (t tool, kwargs []starlark.Tuple, err error) {
	pair, ok := v.(starlark.Tuple)
	if !ok || len(pair) < 1 || len(pair) > 2 {
		return t, nil, fmt.Errorf("a %s, want a tuple of a tool and its arguments", v.Type())
	}
	b, _ := pair[0].(*starlark.Builtin)
	if t, ok = s.tools[b]; !ok {
		return t, nil, fmt.Errorf("a %s, want a tool", pair[0].Type())
	}
	if len(pair) == 1 {
		return t, nil, nil
	}
	d, ok := pair[1].(*starlark.Dict)
	if !ok {
		return t, nil, fmt.Errorf("the arguments are a %s, want a dict", pair[1].Type())
	}
	for name := range starlark.Elements(d) {
		if _, ok := name.(starlark.String); !ok {
			return t, nil, fmt.Errorf("an argument name is %s, want string", name.Type())
		}
	}
	return t, d.Items(), nil
}

// askAll numbers and sends the members that can be sent, and waits for all replies.
func (r *run) askAll(members []member) ([]wire.Reply, error) {
	var batch wire.Batch
	for _, m := range members {
		if m.err == nil {
			r.number(&m.call)
			batch.Calls = append(batch.Calls, m.call)
		}
	}
	if batch.Calls == nil {
		return nil, nil
	}
	var answer wire.Replies
	if err := r.exchange(batch, &answer); err != nil {
		return nil, err
	}
	if len(answer.Replies) != len(batch.Calls) {
		return nil, r.end(fmt.Errorf("worker: %d replies to %d calls", len(answer.Replies), len(batch.Calls)))
	}
	for i, reply := range answer.Replies {
		if err := r.accept(batch.Calls[i], reply); err != nil {
			return nil, err
		}
	}
	return answer.Replies, nil
}

// outcomes pairs the members with their replies, of which those that were not sent have none.
func (s *session) outcomes(members []member, replies []wire.Reply) starlark.Value {
	out := make([]starlark.Value, len(members))
	for i, m := range members {
		if m.err != nil {
			out[i] = s.failure(m.err.Error())
			continue
		}
		reply := replies[0]
		replies = replies[1:]
		if reply.Failed {
			out[i] = s.failure(reply.Error)
		} else {
			out[i] = outcome(true, toStarlark(reply.Value), starlark.None)
		}
	}
	return starlark.NewList(out)
}
