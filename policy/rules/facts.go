package rules

import (
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/codeact-dev/codeact/policy"
	"github.com/codeact-dev/codeact/policy/rules/celenv"
)

// A use is one place where an expression reads a fact.
type use struct {
	fact   string // "args.to", "lease.usesLeft", "params.tz", or "args" where it is read as a whole
	expr   ast.Expr
	tested bool // it is only asked whether it is there, or what stands for it if not
}

// usesOf are the facts that e reads, in the order of the text. Only a variable of a
// request, a parameter or a variable of the rule is a fact: what a loop runs over
// has no name outside of it.
func usesOf(e ast.Expr) []use {
	if fact, tested, ok := factOf(e); ok {
		return []use{{fact, e, tested}}
	}
	var out []use
	for _, x := range children(e) {
		out = append(out, usesOf(x)...)
	}
	return out
}

// factOf is the fact at the head of a chain of fields and literal keys, cut to what
// has a value of its own: args.a.b is about args.a. tested says that the chain does
// not fail where the fact is missing; has(args.a.b) does, without args.a.
func factOf(e ast.Expr) (fact string, tested, ok bool) {
	switch e.Kind() {
	case ast.IdentKind:
		name := e.AsIdent()
		root, _, _ := strings.Cut(name, ".")
		return name, false, slices.Contains(celenv.Variables(), root) || root == "params" || root == "variables"
	case ast.SelectKind:
		return field(e.AsSelect().Operand(), e.AsSelect().FieldName(), e.AsSelect().IsTestOnly())
	case ast.CallKind:
		c := e.AsCall()
		fn := c.FunctionName()
		if fn != operators.Index && fn != operators.OptIndex && fn != operators.OptSelect || c.Args()[1].Kind() != ast.LiteralKind {
			return "", false, false
		}
		key, _ := c.Args()[1].AsLiteral().(types.String)
		return field(c.Args()[0], string(key), fn != operators.Index)
	}
	return "", false, false
}

func field(of ast.Expr, name string, test bool) (fact string, tested, ok bool) {
	fact, tested, ok = factOf(of)
	if ok && !strings.Contains(fact, ".") && name != "" {
		return fact + "." + name, test, true
	}
	return fact, tested, ok
}

// children are the parts of e in the order of the text. The step and the result of a
// loop are parts like any other.
func children(e ast.Expr) []ast.Expr {
	switch e.Kind() {
	case ast.SelectKind:
		return []ast.Expr{e.AsSelect().Operand()}
	case ast.CallKind:
		c := e.AsCall()
		if c.IsMemberFunction() {
			return append([]ast.Expr{c.Target()}, c.Args()...)
		}
		return c.Args()
	case ast.ListKind:
		return e.AsList().Elements()
	case ast.MapKind:
		var out []ast.Expr
		for _, entry := range e.AsMap().Entries() {
			out = append(out, entry.AsMapEntry().Key(), entry.AsMapEntry().Value())
		}
		return out
	case ast.StructKind:
		var out []ast.Expr
		for _, f := range e.AsStruct().Fields() {
			out = append(out, f.AsStructField().Value())
		}
		return out
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		return []ast.Expr{c.IterRange(), c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result()}
	}
	return nil
}

func (c *clause) uses() []use { return usesOf(c.ast.NativeRep().Expr()) }

// Unknown returns the facts on which the verdict about r may rest and that are not
// known, sorted: where r was put together from a record, a verdict that rests on them
// is a guess. known is asked for a fact as an expression writes it: "args.to", or
// "args" for all of them, "lease.usesLeft", "now".
func (p *Policy) Unknown(r policy.Request, known func(fact string) bool) []string {
	var out []string
	add := func(fact string) {
		if !known(fact) {
			out = append(out, fact)
		}
	}
	for _, u := range p.all() {
		m := u.match
		m.servers, m.labels = pick(known("tool.server"), m.servers), pick(known("tool.labels"), m.labels)
		if m.mismatch(&r.Tool) != "" {
			continue
		}
		for fact, given := range map[string]bool{"tool.server": u.match.servers != nil, "tool.labels": u.match.labels != nil} {
			if given {
				add(fact)
			}
		}
		for _, c := range u.clauses() {
			for _, use := range c.uses() {
				if root, _, _ := strings.Cut(use.fact, "."); root != "params" && root != "variables" {
					add(use.fact)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// pick is the constraint where what it looks at is known.
func pick(known bool, globs []string) []string {
	if known {
		return globs
	}
	return nil
}

func (p *Policy) all() []*rule {
	if p == nil {
		return nil
	}
	return p.rules
}

// always is what c comes to where nothing is known but the tool; not ok where that
// leaves it open. Without a tool nothing at all is known.
func (u *rule) always(c *clause, t *policy.ToolView) (value, ok bool) {
	prog, err := c.partial()
	if err != nil {
		return false, false
	}
	var r policy.Request
	open := slices.DeleteFunc(celenv.Variables(), func(name string) bool { return name == "tool" && t != nil })
	if t != nil {
		r.Tool = *t
	}
	for name := range u.varIndex {
		open = append(open, name)
	}
	for name := range u.params {
		open = append(open, name)
	}
	var unknown []*cel.AttributePatternType
	for _, name := range open {
		unknown = append(unknown, cel.AttributePattern(name))
	}
	vars, err := cel.PartialVars(newActivation(&r, u), unknown...)
	if err != nil {
		return false, false
	}
	v, _, err := prog.Eval(vars)
	b, ok := v.(types.Bool)
	return bool(b), ok && err == nil
}
