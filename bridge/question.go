package bridge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/codeact-dev/codeact/bridge/plain"
	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/interp"
	"github.com/codeact-dev/codeact/leases"
	"github.com/codeact-dev/codeact/policy"
)

// question says everything that a person must see: nothing that is approved may
// be hidden, so an argument is shown whole, and a sensitive one by its type, its
// length and a keyed hash.
func (p *passage) question(ctx context.Context) (Question, error) {
	now := p.b.cfg.Now()
	q := Question{ID: "a-" + strings.ReplaceAll(p.id, "/", "-"), Call: p.id, Tool: p.tool.Name, Server: p.tool.Server,
		Capabilities: p.tool.Caps.Names(), Decision: p.verdict, Paths: p.req.Paths, URLs: p.req.URLs, Held: p.req.Held,
		Unknown: p.record.Phase == Running, Digest: p.digest(), Asked: now, Expires: now.Add(p.b.cfg.ApprovalTTL)}
	for _, d := range p.decisions {
		if d.Verdict == policy.Ask {
			q.Gates = append(q.Gates, d)
		}
	}
	shown := p.shown()
	for _, name := range p.order() {
		a, err := p.arg(name, shown[name])
		if err != nil {
			return Question{}, fmt.Errorf("bridge: %s: %s: %w", p.tool.Name, name, err)
		}
		q.Args = append(q.Args, a)
	}
	if l, ok := p.offer(); ok {
		q.Lease = describe(l, p)
	}
	var err error
	q.Diff, err = p.preview(ctx)
	return q, err
}

// order is the arguments that were given, in the declared order, then the others
// by name.
func (p *passage) order() []string {
	var names, others []string
	for _, n := range p.tool.Params.names {
		if _, given := p.args[n]; given {
			names = append(names, n)
		}
	}
	for n := range p.args {
		if !p.tool.Params.has(n) {
			others = append(others, n)
		}
	}
	slices.Sort(others)
	return append(names, others...)
}

func (p *passage) arg(name string, shown any) (Arg, error) {
	text, err := plain.JSON(shown)
	a := Arg{Name: name, Value: scan.Visible(text), Sensitive: slices.Contains(p.tool.Sensitive, name),
		Destination: slices.Contains(p.tool.Destinations, name), Taint: p.req.Held}
	if t, proven := p.req.ArgTaint[name]; proven {
		a.Taint = t.Taint
	}
	if a.Destination && !a.Sensitive && p.req.Authority != nil {
		for _, s := range p.req.Authority.Where(p.args[name]) {
			line, _ := p.b.cfg.Redactor.String(s.Line)
			a.Seen = append(a.Seen, fmt.Sprintf("%s (call %s): %s", s.Tool, s.Call, scan.Line(line, 200)))
		}
	}
	return a, err
}

// preview is what the call would change. A tool that cannot say is refused: a
// person must not approve a change unseen.
func (p *passage) preview(ctx context.Context) (string, error) {
	if p.tool.Preview == nil {
		return "", nil
	}
	permit := &Permit{id: p.id, args: p.args, now: p.req.Now, root: p.root()}
	diff, err := p.tool.Preview(ctx, permit)
	if err != nil {
		return "", &ToolError{Call: p.id, Tool: p.tool.Name, Msg: scan.Visible(err.Error()), Err: err}
	}
	return p.d.text(diff), nil
}

// digest binds an answer to what was asked: arguments, tool and policy.
func (p *passage) digest() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{p.call.Tool, p.hash, p.b.pins[p.tool.Name], p.b.cfg.Policy.Digest()}, "\x00")))
	return hex.EncodeToString(sum[:])
}

// offer is the lease that a yes can become. There is one only where the tier
// alone asked: a lease satisfies no other gate, and one that did not help would
// be asked for again for ever.
func (p *passage) offer() (leases.Lease, bool) {
	if p.tier() != policy.AskOnce || p.record.Phase == Running {
		return leases.Lease{}, false
	}
	for _, d := range p.decisions {
		if d.Verdict == policy.Ask && (d.Gate != "lease" || d.Rule != "tier-1") {
			return leases.Lease{}, false
		}
	}
	l := leases.New("l-"+strings.ReplaceAll(p.id, "/", "-"), p.tool.Name, policy.AskOnce, p.d.run.State.Active(p.b.cfg.Now()))
	l.Bind = make(map[string]string)
	for _, name := range append(slices.Clone(p.tool.Destinations), p.tool.Paths...) {
		if v := p.canonical(name); v != "" {
			l.Bind[name] = v
		}
	}
	return l, true
}

// describe says in words what a lease would cover.
func describe(l leases.Lease, p *passage) string {
	var bound []string
	for _, name := range p.order() {
		if v, ok := l.Bind[name]; ok {
			bound = append(bound, name+"="+scan.Line(v, 200))
		}
	}
	with := "with any arguments"
	if bound != nil {
		with = "with " + strings.Join(bound, ", ")
	}
	return fmt.Sprintf("%s %s, in this run, %d times within %v", l.Tool, with, l.Uses, leases.DefaultTTL)
}

// grant turns the yes into the lease that the question described, and spends its
// first use on this call.
func (p *passage) grant(q Question, a Answer) error {
	l, ok := p.offer()
	if !ok || q.Lease == "" {
		return nil // the yes covers this call alone
	}
	l.ApprovedBy = "user:" + a.By
	if err := p.d.run.Journal.Granted(l); err != nil {
		return interp.Unwind(err)
	}
	p.lease = l
	return nil
}
