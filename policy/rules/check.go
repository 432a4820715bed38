package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codeact-dev/codeact/policy"
	"github.com/codeact-dev/codeact/spelling"
)

// A Warning is what is legal in a policy and rarely meant.
type Warning struct {
	File   string `json:"file,omitempty"` // "" where no line of a file is at fault
	Line   int    `json:"line,omitempty"`
	Policy string `json:"policy,omitempty"`
	Text   string `json:"text"`

	// Idle says that the rule can never fire: the run has one control less than
	// its author thinks.
	Idle bool `json:"idle,omitempty"`
}

func (w Warning) String() string {
	switch {
	case w.File == "":
		return w.Text
	case w.Policy == "":
		return fmt.Sprintf("%s:%d: %s", w.File, w.Line, w.Text)
	}
	return fmt.Sprintf("%s:%d: %s: %s", w.File, w.Line, w.Policy, w.Text)
}

// Check reports which of the tools no rule covers, and what in the rules is a known
// trap. Without tools it judges the rules alone.
func (p *Policy) Check(tools []policy.ToolView) []Warning {
	var ws []Warning
	for i := range tools {
		t := &tools[i]
		covers := func(u *rule) bool { return u.objects() && u.about(t) == "" }
		if len(t.Caps.Names()) > 0 && !slices.ContainsFunc(p.all(), covers) {
			ws = append(ws, Warning{Text: fmt.Sprintf("uncovered: %s [%s]", t.Name, describeCaps(t.Caps))})
		}
	}
	ws = append(ws, p.unusedParams()...)
	for _, u := range p.all() {
		ws = append(ws, u.lint(tools)...)
	}
	return ws
}

func describeCaps(c policy.Capabilities) string {
	if !c.Declared() {
		return c.String()
	}
	return strings.Join(c.Names(), ", ")
}

// objects reports whether the rule can deny or ask at all.
func (u *rule) objects() bool {
	return slices.ContainsFunc(u.validations, func(v validation) bool { return v.action.verdict() < policy.Allow })
}

// about says why no call of the tool is ever the rule's business, "" if one can be:
// a constraint, a condition that the tool alone decides, or one that asks for a
// parameter that the tool does not have.
func (u *rule) about(t *policy.ToolView) string {
	if why := u.match.mismatch(t); why != "" {
		return why
	}
	for _, c := range u.conditions {
		if v, ok := u.always(c, t); ok && !v {
			return c.unmet()
		}
		e := c.ast.NativeRep().Expr()
		fact, tested, ok := factOf(e)
		if param, arg := strings.CutPrefix(fact, "args."); ok && tested && arg && t.Params != nil && !slices.Contains(t.Params, param) {
			return c.unmet()
		}
	}
	return ""
}

// unusedParams warns about parameters that the task gives and no policy declares: a
// limit that was meant and is not there.
func (p *Policy) unusedParams() []Warning {
	if p == nil {
		return nil
	}
	var known []string
	for _, u := range p.rules {
		for _, decl := range u.declared {
			known = append(known, decl.name.S)
		}
	}
	var ws []Warning
	for _, name := range p.given {
		if !slices.Contains(known, name) {
			ws = append(ws, Warning{Text: fmt.Sprintf("params.%s is given and no policy declares it%s", name, spelling.DidYouMean(name, known))})
		}
	}
	return ws
}

// fires warns about a rule that has no say, whatever the call.
func (l *linter) fires(tools []policy.ToolView) {
	u := l.rule
	about := func(t policy.ToolView) bool { return u.about(&t) == "" }
	if len(tools) > 0 && !u.standing && !slices.ContainsFunc(tools, about) {
		l.idle(u.line, "this rule can never fire: it is about none of the tools of this task")
	}
	for _, c := range u.conditions {
		if v, ok := u.always(c, nil); ok && !v {
			l.idle(c.line(), "this rule can never fire: condition %q is always false", c.name)
		}
	}
	for _, v := range u.validations {
		if holds, ok := u.always(v.clause, nil); ok && holds {
			l.idle(v.line(), "%s can never fire: it is always true", v.label)
		}
	}
}

// unread warns about what is declared and never read, and so limits nothing.
func (l *linter) unread() {
	read := map[string]bool{}
	for _, c := range l.rule.every() {
		for _, use := range c.uses() {
			read[use.fact] = true
		}
	}
	for _, decl := range l.rule.declared {
		if !read["params."+decl.name.S] {
			l.warn(decl.name.Line(), "params.%s is declared and never read", decl.name.S)
		}
	}
	for _, v := range l.rule.variables {
		if !read["variables."+v.name] {
			l.warn(v.line(), "variables.%s is never read", v.name)
		}
	}
}

// clauses are the expressions that a verdict depends on.
func (u *rule) clauses() []*clause {
	out := slices.Concat(u.conditions, u.variables)
	for _, v := range u.validations {
		out = append(out, v.clause)
	}
	return out
}

// every is all expressions of the rule, also those that only say something.
func (u *rule) every() []*clause {
	out := append(u.clauses(), u.annotations...)
	for _, v := range u.validations {
		if v.messageExpr != nil {
			out = append(out, v.messageExpr)
		}
	}
	return out
}
