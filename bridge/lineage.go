package bridge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/interp/flow"
	"github.com/codeact-dev/codeact/policy"
)

// A Place is where a call stands in the code: a step, and the position that the
// interpreter gives it.
type Place struct {
	Step int
	Pos  string
}

// A Lineage follows the blocks of one interpreter session and knows what their
// calls and arguments can come from. A new session has a new one, which reads the
// blocks that the session runs again. It is not safe for concurrent use.
type Lineage struct {
	analyzer *flow.Analyzer
	steps    []int // of the blocks, from the first; the analyzer counts from 1
	tools    map[string]*Tool
}

// NewLineage returns the lineage of a new session, or nil where the task does not
// want labels to be proven.
func (b *EffectBridgeAdapter) NewLineage() *Lineage {
	if b.cfg.Security.Floor {
		return nil
	}
	var ts []flow.Tool
	for i := range b.cfg.Tools {
		t := flow.Tool{Name: b.cfg.Tools[i].Name}
		for _, p := range b.cfg.Tools[i].Params.params {
			t.Params = append(t.Params, p.Name)
		}
		ts = append(ts, t)
	}
	return &Lineage{analyzer: flow.New(ts, flow.Limits{}), tools: b.tools}
}

// A Preflight is what is known of a block before it runs. The zero Preflight
// knows nothing and proves nothing; the block is then not narrowed.
type Preflight struct {
	Tools   []string    // no other tool can be called; the door of the step is narrowed to them
	unknown []flow.Name // names that nothing defines: the block cannot run
	known   bool
	sites   map[Place]map[string]flow.Site // by position and tool; the step is not used
	steps   []int
}

// Read analyses the block of a step, before it runs. A block that does not parse
// is bounded by the names in it; the interpreter will say what is wrong.
func (l *Lineage) Read(step int, code string) Preflight {
	if l == nil {
		return Preflight{}
	}
	r, _ := l.analyzer.Block(code)
	l.steps = append(l.steps, step)
	f := Preflight{Tools: r.Tools, unknown: r.Unknown, known: true, sites: make(map[Place]map[string]flow.Site), steps: slices.Clone(l.steps)}
	for _, s := range r.Sites {
		at := Place{Pos: s.Pos}
		if f.sites[at] == nil {
			f.sites[at] = make(map[string]flow.Site)
		}
		f.sites[at][s.Tool] = s
	}
	return f
}

// Undefined says which names of the block nothing defines, and "" when there are
// none. Such a block must not run: a misspelt tool must not cost the calls before
// it.
func (f Preflight) Undefined() string {
	if len(f.unknown) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("The block was not run; it uses names that nothing defines:")
	for _, x := range f.unknown {
		fmt.Fprintf(&b, "\n%s at line %d, column %d", scan.Line(x.Name, maxName), x.Line, x.Col)
		if x.Near != "" {
			fmt.Fprintf(&b, " (did you mean %s?)", scan.Line(x.Near, maxName))
		}
	}
	return b.String()
}

// Failed says that the last block ended early.
func (l *Lineage) Failed() {
	if l != nil {
		l.analyzer.Failed()
	}
}

// Refused says that the last block did not run. numbered says that the interpreter
// had it, and so counted it.
func (l *Lineage) Refused(numbered bool) {
	if l == nil {
		return
	}
	l.analyzer.Refused(numbered)
	if !numbered {
		l.steps = l.steps[:len(l.steps)-1]
	}
}

// Trifecta warns of a block that itself calls a tool that sends, while what is held
// and what its tools can bring in would close the trifecta. It is advice for the
// model; the interlock judges each call.
func (l *Lineage) Trifecta(f Preflight, held policy.Taint) string {
	if l == nil {
		return ""
	}
	for _, name := range f.Tools {
		held = held.Join(policy.TaintOf(l.tools[name].Caps, true, name))
	}
	if !held.Lethal() {
		return ""
	}
	for _, at := range f.sites {
		for name := range at {
			if l.tools[name].Caps.Has(policy.ExternalSend) {
				return "this block calls " + name + ", which sends, while private data and third-party content may both be held; such a call is refused"
			}
		}
	}
	return ""
}

// grants reports whether the block can call the tool at all.
func (f Preflight) grants(tool string) bool { return !f.known || slices.Contains(f.Tools, tool) }

// A claim is where a worker says that a call stands. The members of one parallel
// share their position.
type claim struct{ pos, tool string }

// trace fills in where the arguments and the control flow of the call can come
// from, as far as it is proven. The position is the worker's claim: it counts only
// for the tool that stands there, and no more often than the code passes it.
func (p *passage) trace() {
	site, proven := p.d.flight.sites[Place{Pos: p.call.Position}][p.call.Tool]
	if !proven || p.rewritten || !site.InLoop && p.d.passed[claim{p.call.Position, p.call.Tool}] > 1 {
		return
	}
	p.req.Control = p.known(site.Control)
	for name, flows := range site.Args {
		if _, given := p.args[name]; !given { // it was None, and that it is missing says so
			p.req.Control = p.req.Control.Join(p.known(flows))
		}
	}
	p.req.ArgTaint = make(map[string]policy.ArgTaint, len(p.args))
	for name, value := range p.args {
		flows, written := site.Args[name]
		if !written { // nothing is in it only where it is the schema's own default
			flows.Proven = p.tool.Params.isDefault(name, value)
		}
		if flows.Proven {
			p.req.ArgTaint[name] = policy.ArgTaint{Taint: p.label(flows), Origin: origin(flows)}
		}
	}
}

// known is the label of a flow, what is held where none is proven.
func (p *passage) known(f flow.Flow) policy.Taint {
	if !f.Proven {
		return p.d.run.State.Held
	}
	return p.label(f)
}

// label is what the calls and the literals of a flow hold.
func (p *passage) label(f flow.Flow) policy.Taint {
	s, steps := p.d.run.State, p.d.flight.steps
	var t policy.Taint
	for _, c := range f.Calls {
		t = t.Join(s.Brought[Place{steps[c.Block-1], c.Pos}])
	}
	for _, b := range f.Blocks {
		t = t.Join(s.SeenAt[steps[b-1]])
	}
	return t
}

func origin(f flow.Flow) string {
	if len(f.Calls) > 0 {
		return "tool"
	}
	return "model"
}

// carries is what the result of the call can hold besides what it brings in: a
// tool may give back what it was given.
func (p *passage) carries() policy.Taint {
	t := p.req.Control
	for name := range p.args {
		a, proven := p.req.ArgTaint[name]
		if !proven {
			return p.req.Held
		}
		t = t.Join(a.Taint)
	}
	return t
}
