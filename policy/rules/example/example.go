// Package example reads calls that people write down: in the examples of a policy,
// the cases of a policy test, a file that is to be explained. Such a call becomes the
// request that the bridge would make of it.
//
// What is not written is not there, and a tool of which nothing is written declares
// nothing: it is treated as able to do everything. A path is taken as if it had been
// resolved, so that only a run proves that a rule sees the path it is meant to see.
package example

import (
	"encoding/json"
	"maps"

	"github.com/codeact-dev/codeact/policy"
	"github.com/codeact-dev/codeact/policy/rules/source"
	"github.com/codeact-dev/codeact/policy/rules/urls"
)

// Keys reads the parts of a call into r, by the keys under which they stand beside
// each other: call, taint, lease, run, session, labels and now. What r holds already
// is the default.
func Keys(d *source.Reader, r *policy.Request) map[string]func(source.Node) {
	x := writing{d, r}
	return map[string]func(source.Node){
		"call":    x.call,
		"taint":   x.taint,
		"lease":   x.lease,
		"run":     x.run,
		"session": x.session,
		"labels":  x.labels,
		"now":     func(n source.Node) { r.Now = d.Time(n, "now") },
	}
}

// A writing is a request while it is read.
type writing struct {
	*source.Reader
	r *policy.Request
}

type keys = map[string]func(source.Node)

func (x writing) call(n source.Node) {
	r := x.r
	sized := false
	x.Mapping(n, "the call", keys{
		"id":           func(n source.Node) { r.Call = x.Text(n, "id").S },
		"tool":         func(n source.Node) { r.Tool.Name = x.Text(n, "tool").S },
		"server":       func(n source.Node) { r.Tool.Server = x.Text(n, "server").S },
		"tier":         func(n source.Node) { r.Tool.Tier = Tier(x.Reader, n) },
		"capabilities": func(n source.Node) { r.Tool.Caps = policy.Declare(Capabilities(x.Reader, n)...) },
		"labels":       func(n source.Node) { r.Tool.Labels = x.Strings(n, "labels") },
		"sandboxed":    func(n source.Node) { r.Tool.Sandboxed = x.Boolean(n, "sandboxed") },
		"pinned":       func(n source.Node) { r.Tool.Pinned = x.Boolean(n, "pinned") },
		"args": func(n source.Node) {
			r.Args = map[string]any{}
			x.Pairs(n, "args", func(key string, _, v source.Node) { r.Args[key] = x.Value(v) })
		},
		"argsBytes": func(n source.Node) { sized, r.ArgsBytes = true, int(x.Integer(n, "argsBytes")) },
		"paths":     x.paths,
		"url":       func(n source.Node) { r.URLs = []policy.URLFact{urls.Fact("url", x.Text(n, "url").S)} },
		"shell":     x.shell,
	})
	if b, err := json.Marshal(r.Args); !sized && err == nil {
		r.ArgsBytes = len(b)
	}
	if r.Tool.Name == "" {
		x.Fail(n, "the call has no tool")
	}
}

// paths reads paths as texts, or as mappings where more than the path is known.
func (x writing) paths(n source.Node) {
	x.r.Paths = nil
	x.List(n, "paths", func(_ int, n source.Node) {
		var p policy.PathFact
		if !source.IsMapping(n) {
			p.Rel = x.Text(n, "a path").S
		} else {
			x.Mapping(n, "a path", keys{
				"param":    func(n source.Node) { p.Param = x.Text(n, "param").S },
				"rel":      func(n source.Node) { p.Rel = x.Text(n, "rel").S },
				"writable": func(n source.Node) { p.Writable = x.Boolean(n, "writable") },
				"made":     func(n source.Node) { p.Made = x.Boolean(n, "made") },
			})
			if p.Rel == "" {
				x.Fail(n, "the path has no rel")
			}
		}
		p.Abs = "/workspace/" + p.Rel
		x.r.Paths = append(x.r.Paths, p)
	})
}

func (x writing) shell(n source.Node) {
	s := &policy.ShellFact{}
	x.r.Shell = s
	x.Mapping(n, "shell", keys{
		"parsed":  func(n source.Node) { s.Parsed = x.Boolean(n, "parsed") },
		"risk":    func(n source.Node) { s.Risk = x.Text(n, "risk").S },
		"reason":  func(n source.Node) { s.Reason = x.Text(n, "reason").S },
		"writes":  func(n source.Node) { s.Writes = x.Strings(n, "writes") },
		"network": func(n source.Node) { s.Network = x.Boolean(n, "network") },
	})
}

// flags reads the three labels into t. One that is false there takes away what was
// the default.
func (x writing) flags(t *policy.Taint) keys {
	m := keys{}
	for _, l := range policy.Labels() {
		m[l.String()] = func(n source.Node) {
			*t = without(*t, l)
			if x.Boolean(n, l.String()) {
				*t = t.Join(policy.Tainted(l))
			}
		}
	}
	return m
}

// without is for taints that a person wrote down: one of a run is never lowered.
func without(t policy.Taint, label policy.Label) policy.Taint {
	var rest policy.Taint
	for _, l := range policy.Labels() {
		if l != label && t.Has(l) {
			rest = rest.Join(policy.Tainted(l, t.Sources(l)...))
		}
	}
	return rest
}

func (x writing) taint(n source.Node) {
	m := x.flags(&x.r.Held)
	m["turn"] = func(n source.Node) { x.Mapping(n, "taint.turn", x.flags(&x.r.Turn)) }
	m["control"] = func(n source.Node) { x.Mapping(n, "taint.control", x.flags(&x.r.Control)) }
	m["args"] = func(n source.Node) {
		x.r.ArgTaint = map[string]policy.ArgTaint{}
		x.Pairs(n, "taint.args", func(key string, _, v source.Node) {
			var a policy.ArgTaint
			m := x.flags(&a.Taint)
			m["origin"] = func(n source.Node) { a.Origin = x.Enum(n, "origin", "user", "model", "tool") }
			x.Mapping(v, "the label of an argument", m)
			x.r.ArgTaint[key] = a
		})
	}
	x.Mapping(n, "taint", m)
}

func (x writing) lease(n source.Node) {
	l := &x.r.Lease
	x.Mapping(n, "lease", keys{
		"id":         func(n source.Node) { l.ID = x.Text(n, "id").S },
		"usesLeft":   func(n source.Node) { l.UsesLeft = int(x.Integer(n, "usesLeft")) },
		"expires":    func(n source.Node) { l.Expires = x.Time(n, "expires") },
		"approvedBy": func(n source.Node) { l.ApprovedBy = x.Text(n, "approvedBy").S },
	})
}

func (x writing) run(n source.Node) {
	r := &x.r.Run
	x.Mapping(n, "run", keys{
		"id":            func(n source.Node) { r.ID = x.Text(n, "id").S },
		"mode":          func(n source.Node) { r.Mode = x.Enum(n, "mode", "interactive", "unattended") },
		"bytesSent":     func(n source.Node) { r.BytesSent = x.Integer(n, "bytesSent") },
		"callsThisStep": func(n source.Node) { r.CallsThisStep = int(x.Integer(n, "callsThisStep")) },
		"toolCalls":     func(n source.Node) { r.ToolCalls = int(x.Integer(n, "toolCalls")) },
		"costUsd":       func(n source.Node) { r.CostUSD = x.Number(n, "costUsd") },
	})
}

func (x writing) session(n source.Node) {
	s := &x.r.Session
	x.Mapping(n, "session", keys{
		"id":   func(n source.Node) { s.ID = x.Text(n, "id").S },
		"user": func(n source.Node) { s.User = x.Text(n, "user").S },
	})
}

// labels adds to the labels that are the default.
func (x writing) labels(n source.Node) {
	m := maps.Clone(x.r.Labels)
	if m == nil {
		m = map[string]string{}
	}
	x.Pairs(n, "labels", func(key string, _, v source.Node) { m[key] = x.Text(v, "labels").S })
	x.r.Labels = m
}

// capabilityNames are all of them, which a tool has that declares none.
var capabilityNames = policy.Capabilities{}.Names()

// Capabilities reads a list of capabilities.
func Capabilities(d *source.Reader, n source.Node) []policy.Flag {
	var out []policy.Flag
	for _, t := range d.Texts(n, "capabilities") {
		f, err := policy.ParseFlag(t.S)
		if err != nil && !t.Empty() {
			d.Fail(t.Node, "capability %q is not known%s", t.S, source.NearestOr(t.S, capabilityNames))
			continue
		}
		out = append(out, f)
	}
	return out
}

// Tier reads a tier by its name or its number.
func Tier(d *source.Reader, n source.Node) policy.Tier {
	var t policy.Tier
	if err := t.UnmarshalText([]byte(source.Word(n))); err != nil {
		d.Fail(n, "a tier is free, ask_once or always_ask, or the number 0, 1 or 2")
	}
	return t
}
