package bridge

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/codeact-dev/codeact/bridge/shellrisk"
	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/policy"
)

// command classifies the commands of a call, for policies and for the person who is
// asked. What is known to be written is judged as a path: a redirect is a write.
func (p *passage) command() policy.Decision {
	d := policy.Allowed("")
	p.req.Shell, p.scripts = nil, nil
	for _, param := range p.tool.Commands {
		v, given := p.args[param]
		if !given {
			continue
		}
		r := classify(v)
		fact := &policy.ShellFact{Parsed: r.Parsed, Risk: r.Level, Reason: r.Reason, Writes: r.Writes, Network: r.Network}
		if p.covers(param) {
			fact.Reason, fact.Writes = "", nil
		}
		if p.req.Shell == nil || worse(fact, p.req.Shell) {
			p.req.Shell = fact
		}
		p.scripts = append(p.scripts, r.Reads...)
		moved := slices.ContainsFunc(r.Commands, func(c string) bool { return c == "cd" || c == "pushd" })
		for _, path := range r.Writes {
			if !moved || strings.HasPrefix(path, "/") { // else nobody knows from where it counts
				d = d.Narrow(p.written(param, path))
			}
		}
	}
	return d
}

// classify reads a command: a line for the shell, or a list of words.
func classify(v any) shellrisk.Risk {
	if line, ok := v.(string); ok {
		return shellrisk.Classify(line)
	}
	return shellrisk.ClassifyArgv(texts(v))
}

// worse reports whether a is the command that rules should see of two.
func worse(a, b *policy.ShellFact) bool {
	order := []string{shellrisk.Blocked, shellrisk.Unparsed, shellrisk.High, shellrisk.Medium, shellrisk.Low}
	return slices.Index(order, a.Risk) < slices.Index(order, b.Risk)
}

// written judges a file that a command writes. A pattern is only known when it runs,
// and /tmp, which is the home of a command too, and devices are the box's own.
func (p *passage) written(param, path string) policy.Decision {
	if strings.ContainsAny(path, "*?[{") || strings.HasPrefix(path, "~") && p.tool.Sandboxed {
		return policy.Allowed("")
	}
	t, err := p.resolve(path)
	if strings.HasPrefix(path, "~") {
		err = workspace.ErrOutside
	}
	clean := filepath.ToSlash(filepath.Clean(path))
	switch {
	case err != nil && (strings.HasPrefix(clean, "/tmp/") || strings.HasPrefix(clean, "/dev/")):
		return policy.Allowed("")
	case err != nil:
		return policy.Decision{Gate: "facts", Rule: "path", Reason: "the command writes a file: " + p.misread(param, err)}
	}
	p.req.Paths = append(p.req.Paths, policy.PathFact{Param: param, Rel: t.Rel, Abs: t.Abs, Writable: t.Writable, Made: p.d.run.State.Made[t.Rel]})
	if below, err := p.resolve(path + "/x"); !t.Writable && (err != nil || !below.Writable) { // mkdir -p out, where out/** is writable
		return policy.Decision{Gate: "facts", Rule: "path", Reason: p.quote("the command writes " + t.Rel + ", which is not within workspace.writable")}
	}
	return policy.Allowed("")
}

// operands is the scripts that the commands run, as they are now. A person says yes
// to what stands in them, too.
func (p *passage) operands() []Operand {
	var list []Operand
	for _, path := range p.scripts {
		o := Operand{Path: p.quote(path)}
		if t, err := p.resolve(path); err == nil {
			o.Path = p.quote(t.Rel)
			root := p.root()
			_, o.SHA256, _ = root.sum(t) // one that cannot be read is bound to its name alone
		}
		list = append(list, o)
	}
	return list
}
