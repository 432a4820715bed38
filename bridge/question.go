package bridge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
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
	paths, urls := p.shownFacts()
	q := Question{ID: "a-" + strings.ReplaceAll(p.id, "/", "-"), Call: p.id, Tool: p.tool.Name, Server: p.tool.Server, Pinned: p.tool.Pinned,
		Capabilities: p.tool.Caps.Names(), Decision: p.verdict, Paths: paths, URLs: urls, Held: p.req.Held,
		Shell: p.shownShell(), Files: p.operands(), Unknown: p.doubtful(), Asked: now, Expires: now.Add(p.b.cfg.ApprovalTTL)}
	for _, d := range p.decisions {
		if d.Verdict == policy.Ask {
			q.Gates = append(q.Gates, d)
		}
	}
	for _, name := range p.order() {
		a, err := p.arg(name)
		if err != nil {
			return Question{}, err
		}
		q.Args = append(q.Args, a)
	}
	if l, ok := p.offer(); ok {
		q.Lease = describe(l)
	}
	q.Unnamed = p.unnamed()
	var err error
	q.Diff, err = p.preview(ctx)
	q.Digest = p.digest(q)
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

// arg shows one argument. A name that the schema does not have is whatever the
// script made of it. Redaction must not hide what a yes is about: where the effect
// goes is shown whole, or not asked.
func (p *passage) arg(name string) (Arg, error) {
	value, found := p.b.cfg.Redactor.Value(p.masked[name])
	aims := slices.Concat(p.tool.Destinations, p.tool.Paths, p.tool.URLs)
	if len(found) > 0 && slices.Contains(aims, name) {
		return Arg{}, fmt.Errorf("%s says where it goes and holds what looks like a secret (%s); leave that out", name, found[0].Rule)
	}
	text, _ := plain.JSON(value) // it was canonical when it was taken
	a := Arg{Name: p.d.text(name), Value: scan.Visible(text), Sensitive: p.covers(name),
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
	return a, nil
}

// unnamed is what the destination rule objects to. A sensitive value stays out of
// it.
func (p *passage) unnamed() []policy.UnnamedLeaf {
	leaves := p.req.Authority.Unnamed(p.req)
	for i := range leaves {
		l := &leaves[i]
		l.Param, l.Value, l.Near = p.quote(l.Param), p.quote(l.Value), p.quote(l.Near)
		l.Seen = nil // it stands with the argument
	}
	return leaves
}

// preview is what the call would change. A tool that cannot say is refused: a
// person must not approve a change unseen.
func (p *passage) preview(ctx context.Context) (diff string, err error) {
	if p.tool.Preview == nil {
		return "", nil
	}
	defer func() {
		if v := recover(); v != nil {
			diff, err = "", fmt.Errorf("its preview panicked: %v", v)
		}
	}()
	permit := &Permit{id: p.id, args: p.args, now: p.req.Now, root: p.root()}
	if diff, err = p.tool.Preview(ctx, permit); err != nil {
		return "", err
	}
	for _, v := range p.quoted {
		diff = strings.ReplaceAll(diff, v, "[sensitive]")
	}
	return p.d.text(diff), nil
}

// digest binds an answer to what was asked: a yes to other arguments, to a path
// that leads elsewhere now, to another change, or for other reasons is none.
func (p *passage) digest(q Question) string {
	var asks []string
	for _, g := range q.Gates {
		asks = append(asks, g.Gate, g.Rule)
	}
	text, _ := json.Marshal([]any{p.call.Tool, p.hash, p.b.pins[p.tool.Name], p.b.cfg.Policy.Digest(), p.req.Paths, asks, q.Diff, q.Files, p.record.Attempts}) // texts and numbers only
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// offer is the lease that a yes can become. There is one only where the tier
// alone asked: a lease satisfies no other gate, and one that did not help would
// be asked for again for ever.
func (p *passage) offer() (leases.Lease, bool) {
	if p.level != policy.AskOnce || p.doubtful() {
		return leases.Lease{}, false
	}
	for _, d := range p.decisions {
		if d.Verdict == policy.Ask && (d.Gate != "lease" || d.Rule != "tier-1") {
			return leases.Lease{}, false
		}
	}
	l := leases.New("l-"+strings.ReplaceAll(p.id, "/", "-"), p.tool.Name, policy.AskOnce, p.d.run.State.Active(p.b.cfg.Now()))
	l.Bind = make(map[string]string)
	for _, name := range slices.Concat(p.tool.Destinations, p.tool.Paths, p.tool.URLs, p.tool.Commands) {
		l.Bind[name] = p.canonical(name) // "" too: one that is not given must not be given later
	}
	return l, true
}

// describe says in words what a lease would cover.
func describe(l leases.Lease) string {
	var bound []string
	for _, name := range slices.Sorted(maps.Keys(l.Bind)) {
		v := l.Bind[name]
		if v == "" {
			bound = append(bound, "no "+name)
			continue
		}
		bound = append(bound, name+"="+scan.Line(v, 200))
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
