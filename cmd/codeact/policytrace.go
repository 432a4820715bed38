package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/plain"
	"github.com/codeact-dev/codeact/bridge/tools"
	"github.com/codeact-dev/codeact/engine"
	"github.com/codeact-dev/codeact/engine/store"
	"github.com/codeact-dev/codeact/policy"
	"github.com/codeact-dev/codeact/policy/policytest"
)

// A pastCall is one decision of a trace.
type pastCall struct {
	policytest.Recorded
	seq     int64
	decided bridge.Decided
	judged  bool // by the rules: a call that could not be read never came to them
}

// judgedCalls are the calls of a trace that the rules judged.
func judgedCalls(path string) ([]policytest.Recorded, error) {
	calls, err := pastCalls(path)
	var out []policytest.Recorded
	for _, c := range calls {
		if c.judged {
			out = append(out, c.Recorded)
		}
	}
	return out, err
}

// A past is what the events of a run have come to, as far as rules look at it.
type past struct {
	started engine.RunStarted
	pins    map[string]engine.ToolPin
	run     policy.RunView
	resumed bool // somebody may have come or gone
	before  time.Time
}

// pastCalls puts the requests of a trace together again. What stands nowhere in it is
// left out, and Known says so.
func pastCalls(path string) ([]pastCall, error) {
	p := past{pins: map[string]engine.ToolPin{}}
	var calls []pastCall
	for line, err := range store.ReadFile(path) {
		if err != nil {
			return nil, err
		}
		if line.Type == "call.completed" {
			continue // rules see what it left in the next call's taint
		}
		e, err := engine.DecodeEvent(line.Type, line.Body, nil)
		if err != nil {
			return nil, err
		}
		if d, ok := e.(*engine.CallDecided); ok {
			calls = append(calls, p.call(line, d.Decided))
		}
		p.apply(line.RunID, e)
		p.before = line.TS
	}
	if p.run.ID == "" {
		return nil, errors.New("the trace holds no run")
	}
	return calls, nil
}

func (p *past) apply(id string, e engine.Event) {
	switch e := e.(type) {
	case *engine.RunStarted:
		p.started = *e
		p.run.ID, p.run.Mode = id, e.Mode
		for _, t := range e.Tools {
			p.pins[t.Name] = t
		}
	case *engine.ModelCompleted:
		p.run.CostUSD += e.Usage.CostUSD
	case *engine.CallStarted:
		p.run.ToolCalls++
		p.run.BytesSent += int64(e.Sends)
	case *engine.RunPaused:
		p.resumed = true
	}
}

func (p *past) call(line store.Line, d bridge.Decided) pastCall {
	pin, pinned := p.pins[d.Tool]
	r := policy.Request{Call: d.Call, Held: d.Held, Control: d.Control, Paths: d.Paths, URLs: d.URLs, Shell: d.Shell, Run: p.run,
		Tool: policy.ToolView{Name: d.Tool, Tier: pin.Tier, Caps: pin.Capabilities}, Labels: p.started.Labels, Now: line.TS,
		Lease: policy.LeaseView{ID: d.Lease}, Session: policy.SessionView{ID: p.run.ID, User: p.started.Principal}}
	r.Run.CallsThisStep, _ = strconv.Atoi(d.Call[strings.LastIndexByte(d.Call, '/')+1:])
	args, text, whole := recordedArgs(d)
	r.Args, r.ArgsBytes = args, len(text)
	c := pastCall{seq: line.Seq, decided: d, Recorded: policytest.Recorded{Call: d.Call, Request: r, Since: p.before}}
	resumed := p.resumed
	c.Known = func(fact string) bool {
		switch root, field, _ := strings.Cut(fact, "."); root {
		case "args":
			return whole && !hasMask(d.Args[field]) && (field != "" || !hasMask(args))
		case "call":
			return knownOfCall(field, d, whole && !hasMask(args))
		case "tool":
			return field == "name" || pinned && (field == "capabilities" || field == "tier" && !variable(d.Tool))
		case "taint":
			return slices.Contains([]string{"private", "untrusted", "unvouched", "control"}, field)
		case "lease":
			return field == "id" || field != "" && d.Lease == ""
		case "run":
			return field != "" && (field != "mode" || !resumed)
		case "session", "labels", "now":
			return true
		}
		return false
	}
	for _, g := range d.Gates {
		if g.Gate == "policy" {
			c.judged, c.Verdict = true, g.Verdict
		}
	}
	return c
}

// knownOfCall says what is known of a call whose arguments are recorded as they were,
// or not.
func knownOfCall(field string, d bridge.Decided, whole bool) bool {
	switch field {
	case "id", "name", "step":
		return true
	case "argsBytes", "paths", "urls", "url":
		return whole
	case "shell":
		return whole && (d.Shell != nil || d.Tool != "shell")
	}
	return false
}

// recordedArgs are the arguments of a call, and their canonical text. They are whole
// only if they have the hash of what was judged: what a hook changed, and a secret
// that was taken out, show in it.
func recordedArgs(d bridge.Decided) (args map[string]any, text []byte, whole bool) {
	text, err := json.Marshal(d.Args)
	if err != nil {
		return d.Args, nil, false
	}
	v, err := plain.Decode(text)
	args, ok := v.(map[string]any)
	if err != nil || !ok {
		return d.Args, text, false
	}
	text, err = plain.Append(nil, args)
	sum := sha256.Sum256(text)
	return args, text, err == nil && hex.EncodeToString(sum[:]) == d.ArgHash
}

// hasMask reports whether a value, or a part of it, could stand for a sensitive one.
func hasMask(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, "[sensitive ")
	case []any:
		return slices.ContainsFunc(v, hasMask)
	case map[string]any:
		for _, x := range v {
			if hasMask(x) {
				return true
			}
		}
	}
	return false
}

// variable reports whether the tier of a tool depends on the arguments, so that the
// pin does not tell it. Only built-in tools have such a tier.
func variable(tool string) bool {
	ts, err := tools.Builtin(tool)
	return err == nil && slices.ContainsFunc(ts, func(t bridge.Tool) bool { return t.Approval != nil })
}

// pastCallAt is the decision at an event of a trace.
func pastCallAt(path string, seq int64) (pastCall, error) {
	calls, err := pastCalls(path)
	if err != nil {
		return pastCall{}, err
	}
	var at []string
	for _, c := range calls {
		if c.seq == seq {
			return c, nil
		}
		at = append(at, strconv.FormatInt(c.seq, 10))
	}
	return pastCall{}, fmt.Errorf("event %d is no decision about a call; there are some at %s", seq, strings.Join(at, ", "))
}
