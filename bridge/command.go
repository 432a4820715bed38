package bridge

import (
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/codeact-dev/codeact/bridge/shellrisk"
	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/policy"
)

// maxOperand bounds the scripts that a yes is bound to, in bytes: of a longer one it
// is bound to the name alone.
const maxOperand = 8 << 20

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
		p.req.Shell, p.scripts = fact, append(p.scripts, r.Reads...)
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
			if f, _, err := p.d.run.Space.OpenFile(t); err == nil {
				data, err := io.ReadAll(io.LimitReader(f, maxOperand+1))
				if f.Close(); err == nil && len(data) <= maxOperand {
					o.SHA256 = digest(data)
				}
			}
		}
		list = append(list, o)
	}
	return list
}
