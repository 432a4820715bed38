package rules

import (
	"encoding/json"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/codeact-dev/codeact/policy"
)

// An example is a call with the verdict that its policy must give. A policy whose
// example fails does not load.
type example struct {
	name   text
	node   ast.Node
	req    policy.Request
	params map[string]any // instead of the task's, so that an example stands alone
	places map[string]ast.Node
	expect policy.Verdict
}

func (d *reader) example(n ast.Node) example {
	e := example{node: n, params: map[string]any{}, places: map[string]ast.Node{}}
	expected, called := false, false
	ok := d.mapping(n, "an example", map[string]func(ast.Node){
		"name":    func(n ast.Node) { e.name = d.text(n, "name") },
		"call":    func(n ast.Node) { called = true; d.exampleCall(n, &e.req) },
		"taint":   func(n ast.Node) { d.exampleTaint(n, &e.req) },
		"lease":   func(n ast.Node) { d.exampleLease(n, &e.req.Lease) },
		"run":     func(n ast.Node) { d.exampleRun(n, &e.req.Run) },
		"session": func(n ast.Node) { d.exampleSession(n, &e.req.Session) },
		"labels":  func(n ast.Node) { e.req.Labels = d.stringMap(n, "labels") },
		"now":     func(n ast.Node) { e.req.Now = d.time(n, "now") },
		"params": func(n ast.Node) {
			d.pairs(n, "params", func(key string, k, v ast.Node) { e.params[key], e.places[key] = d.value(v), k })
		},
		"expect": func(n ast.Node) {
			expected = true
			if err := e.expect.UnmarshalText([]byte(d.text(n, "expect").s)); err != nil {
				d.fail(n, "expect must be deny, ask or allow")
			}
		},
	})
	if ok && !called {
		d.fail(n, "the example has no call")
	}
	if ok && !expected {
		d.fail(n, "the example has no expect: want deny, ask or allow")
	}
	return e
}

func (d *reader) exampleCall(n ast.Node, r *policy.Request) {
	sized := false
	d.mapping(n, "the call of an example", map[string]func(ast.Node){
		"id":           func(n ast.Node) { r.Call = d.text(n, "id").s },
		"tool":         func(n ast.Node) { r.Tool.Name = d.text(n, "tool").s },
		"server":       func(n ast.Node) { r.Tool.Server = d.text(n, "server").s },
		"tier":         func(n ast.Node) { r.Tool.Tier = d.tier(n) },
		"capabilities": func(n ast.Node) { r.Tool.Caps = policy.Declare(d.flags(n)...) },
		"labels":       func(n ast.Node) { r.Tool.Labels = d.strings(n, "labels") },
		"sandboxed":    func(n ast.Node) { r.Tool.Sandboxed = d.boolean(n, "sandboxed") },
		"pinned":       func(n ast.Node) { r.Tool.Pinned = d.boolean(n, "pinned") },
		"args": func(n ast.Node) {
			r.Args = map[string]any{}
			d.pairs(n, "args", func(key string, _, v ast.Node) { r.Args[key] = d.value(v) })
		},
		"argsBytes": func(n ast.Node) { sized, r.ArgsBytes = true, int(d.integer(n, "argsBytes")) },
		"paths": func(n ast.Node) {
			for _, p := range d.strings(n, "paths") {
				r.Paths = append(r.Paths, policy.PathFact{Rel: p, Abs: "/workspace/" + p})
			}
		},
		"url":   func(n ast.Node) { r.URLs = []policy.URLFact{d.exampleURL(n)} },
		"shell": func(n ast.Node) { r.Shell = d.exampleShell(n) },
	})
	if b, err := json.Marshal(r.Args); !sized && err == nil {
		r.ArgsBytes = len(b)
	}
	if r.Tool.Name == "" {
		d.fail(n, "the call of an example has no tool")
	}
}

// exampleURL makes the fact that the bridge would make.
func (d *reader) exampleURL(n ast.Node) policy.URLFact {
	t := d.text(n, "url")
	u, err := parseURL(t.s)
	if err != nil {
		return policy.URLFact{Param: "url", Raw: t.s, Err: err.Error()}
	}
	return policy.URLFact{Param: "url", Raw: t.s, Scheme: u.scheme, Host: u.host, Port: u.port, Path: u.path, Userinfo: u.userinfo != ""}
}

func (d *reader) exampleShell(n ast.Node) *policy.ShellFact {
	s := &policy.ShellFact{}
	d.mapping(n, "shell", map[string]func(ast.Node){
		"parsed":  func(n ast.Node) { s.Parsed = d.boolean(n, "parsed") },
		"risk":    func(n ast.Node) { s.Risk = d.text(n, "risk").s },
		"reason":  func(n ast.Node) { s.Reason = d.text(n, "reason").s },
		"writes":  func(n ast.Node) { s.Writes = d.strings(n, "writes") },
		"network": func(n ast.Node) { s.Network = d.boolean(n, "network") },
	})
	return s
}

// labelKeys reads the three labels into t.
func (d *reader) labelKeys(t *policy.Taint) map[string]func(ast.Node) {
	keys := map[string]func(ast.Node){}
	for _, l := range policy.Labels() {
		keys[l.String()] = func(n ast.Node) {
			if d.boolean(n, l.String()) {
				*t = t.Join(policy.Tainted(l))
			}
		}
	}
	return keys
}

func (d *reader) exampleTaint(n ast.Node, r *policy.Request) {
	keys := d.labelKeys(&r.Held)
	keys["turn"] = func(n ast.Node) { d.mapping(n, "taint.turn", d.labelKeys(&r.Turn)) }
	keys["control"] = func(n ast.Node) { d.mapping(n, "taint.control", d.labelKeys(&r.Control)) }
	keys["args"] = func(n ast.Node) {
		r.ArgTaint = map[string]policy.ArgTaint{}
		d.pairs(n, "taint.args", func(key string, _, v ast.Node) {
			var a policy.ArgTaint
			keys := d.labelKeys(&a.Taint)
			keys["origin"] = func(n ast.Node) { a.Origin = d.text(n, "origin").s }
			d.mapping(v, "the label of an argument", keys)
			r.ArgTaint[key] = a
		})
	}
	d.mapping(n, "taint", keys)
}

func (d *reader) exampleLease(n ast.Node, l *policy.LeaseView) {
	d.mapping(n, "lease", map[string]func(ast.Node){
		"id":         func(n ast.Node) { l.ID = d.text(n, "id").s },
		"usesLeft":   func(n ast.Node) { l.UsesLeft = int(d.integer(n, "usesLeft")) },
		"expires":    func(n ast.Node) { l.Expires = d.time(n, "expires") },
		"approvedBy": func(n ast.Node) { l.ApprovedBy = d.text(n, "approvedBy").s },
	})
}

func (d *reader) exampleRun(n ast.Node, r *policy.RunView) {
	d.mapping(n, "run", map[string]func(ast.Node){
		"id":            func(n ast.Node) { r.ID = d.text(n, "id").s },
		"mode":          func(n ast.Node) { r.Mode = d.text(n, "mode").s },
		"bytesSent":     func(n ast.Node) { r.BytesSent = d.integer(n, "bytesSent") },
		"callsThisStep": func(n ast.Node) { r.CallsThisStep = int(d.integer(n, "callsThisStep")) },
		"toolCalls":     func(n ast.Node) { r.ToolCalls = int(d.integer(n, "toolCalls")) },
		"costUsd":       func(n ast.Node) { r.CostUSD = d.number(n, "costUsd") },
	})
}

func (d *reader) exampleSession(n ast.Node, s *policy.SessionView) {
	d.mapping(n, "session", map[string]func(ast.Node){
		"id":   func(n ast.Node) { s.ID = d.text(n, "id").s },
		"user": func(n ast.Node) { s.User = d.text(n, "user").s },
	})
}

func (d *reader) stringMap(n ast.Node, what string) map[string]string {
	m := map[string]string{}
	d.pairs(n, what, func(key string, _, v ast.Node) { m[key] = d.text(v, what).s })
	return m
}

func (d *reader) number(n ast.Node, what string) float64 {
	switch x := d.value(n).(type) {
	case float64:
		return x
	case int64:
		return float64(x)
	}
	d.fail(n, "%s must be a number%s", what, kindOf(n))
	return 0
}

func (d *reader) time(n ast.Node, what string) time.Time {
	s := d.text(n, what)
	t, err := time.Parse(time.RFC3339, s.s)
	if err != nil && !s.empty() {
		d.fail(n, "%s must be a time such as 2026-11-30T10:00:00Z", what)
	}
	return t
}
