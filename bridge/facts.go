package bridge

import (
	"context"
	"fmt"
	"slices"

	"github.com/codeact-dev/codeact/bridge/egress"
	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/policy"
)

// facts turns the arguments that the tool declares as paths and URLs into what
// they really name, before any rule sees them. What cannot be resolved is
// refused.
func (p *passage) facts(context.Context) policy.Decision {
	d := policy.Allowed("")
	p.req.Paths, p.req.URLs = nil, nil
	p.targets = make(map[string]workspace.Target)
	for _, param := range p.tool.Paths {
		for _, text := range texts(p.args[param]) {
			t, err := p.resolve(text)
			if err != nil {
				d = d.Narrow(policy.Decision{Gate: "facts", Rule: "path", Reason: p.misread(param, err)})
				continue
			}
			if slices.Contains(p.tool.Writes, param) && !t.Writable {
				d = d.Narrow(policy.Decision{Gate: "facts", Rule: "path", Reason: p.misread(param, fmt.Errorf("%s: not writable; write below a directory that the task lists as writable", t.Rel))})
			}
			p.targets[text] = t
			p.req.Paths = append(p.req.Paths, policy.PathFact{Param: param, Rel: t.Rel, Abs: t.Abs, Writable: t.Writable, Made: p.d.run.State.Made[t.Rel]})
		}
	}
	for _, param := range p.tool.URLs {
		for _, text := range texts(p.args[param]) {
			u, err := egress.ParseURL(text)
			fact := policy.URLFact{Param: param, Raw: text, Scheme: u.Scheme, Host: u.Host, Port: u.Port, Path: u.Path, Userinfo: u.Userinfo}
			if err != nil {
				fact.Err = err.Error()
				d = d.Narrow(policy.Decision{Gate: "facts", Rule: "url", Reason: p.misread(param, err)})
			}
			p.req.URLs = append(p.req.URLs, fact)
		}
	}
	return d.Narrow(p.command())
}

// misread says why an argument names nothing. Of one that is never shown it says
// only which: the cause quotes parts of it.
func (p *passage) misread(param string, cause error) string {
	if p.covers(param) {
		return param + ": it cannot be resolved"
	}
	return fmt.Sprintf("%s: %v", param, cause)
}

func (p *passage) resolve(path string) (workspace.Target, error) {
	if p.d.run.Space == nil {
		return workspace.Target{}, errNoFiles
	}
	return p.d.run.Space.Resolve(path)
}

// texts are the strings of an argument: itself, or the elements of a list.
func texts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, e := range v {
			if s, ok := e.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// hookCall is the call as hooks see it: what is sensitive is replaced.
func (p *passage) hookCall() HookCall {
	r := p.req
	r.Args = p.shown()
	r.Paths, r.URLs = p.shownFacts()
	r.Shell = p.shownShell()
	return HookCall{Run: p.d.run.ID, Step: p.d.step, Request: r, Secret: p.args, Gates: p.decisions, ArgHash: p.hash}
}
