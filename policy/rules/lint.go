package rules

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/codeact-dev/codeact/policy"
	"github.com/codeact-dev/codeact/spelling"
)

func (u *rule) lint(tools []policy.ToolView) []Warning {
	l := linter{rule: u}
	l.fires(tools)
	l.unread()
	if !u.exercised {
		l.warn(u.line, "no example exercises this rule")
	}
	l.skips()
	for _, c := range u.clauses() {
		l.clause = c
		l.info = c.ast.NativeRep().SourceInfo()
		ast.PreOrderVisit(c.ast.NativeRep().Expr(), ast.NewExprVisitor(l.visit))
		l.params(tools)
	}
	return l.warnings
}

// A linter looks at one rule.
type linter struct {
	rule     *rule
	clause   *clause // the expression that is looked at
	info     *ast.SourceInfo
	warnings []Warning
}

func (l *linter) warn(line int, format string, args ...any) {
	l.add(Warning{File: l.rule.src, Line: line, Policy: l.rule.name, Text: fmt.Sprintf(format, args...)})
}

// idle warns about what can never fire.
func (l *linter) idle(line int, format string, args ...any) {
	l.add(Warning{File: l.rule.src, Line: line, Policy: l.rule.name, Text: fmt.Sprintf(format, args...), Idle: true})
}

func (l *linter) add(w Warning) {
	if !slices.Contains(l.warnings, w) {
		l.warnings = append(l.warnings, w)
	}
}

// trap warns about e, on its line.
func (l *linter) trap(e ast.Expr, format string, args ...any) {
	loc := l.info.GetStartLocation(e.ID())
	l.warn(l.clause.text.LineAt(codePoint(l.clause.text.S, loc.Line(), loc.Column())), format, args...)
}

// skips warns about a condition on what a script writes: a call that does not meet it
// passes the rule. An example of such a call shows that it is meant.
func (l *linter) skips() {
	for _, c := range l.rule.conditions {
		written := slices.ContainsFunc(c.uses(), func(u use) bool {
			root, _, _ := strings.Cut(u.fact, ".")
			return root == "args" || root == "call" || root == "variables"
		})
		if written && !l.rule.skipped[c.name] {
			l.warn(c.line(), "a call that does not meet condition %q passes this rule: add an example of one, or ask for it in a validation", c.name)
		}
	}
}

// params warns about an argument that no tool has which the rule is about.
func (l *linter) params(tools []policy.ToolView) {
	var known []string
	for i := range tools {
		switch t := &tools[i]; {
		case l.rule.match.mismatch(t) != "":
		case t.Params == nil:
			return // it may take anything
		default:
			known = append(known, t.Params...)
		}
	}
	for _, u := range l.clause.uses() {
		if name, ok := strings.CutPrefix(u.fact, "args."); ok && known != nil && !slices.Contains(known, name) {
			l.trap(u.expr, "args.%s: no tool that this rule is about has such a parameter%s", name, spelling.DidYouMean(name, known))
		}
	}
}

func (l *linter) visit(e ast.Expr) {
	switch e.Kind() {
	case ast.ComprehensionKind:
		l.emptyAll(e)
	case ast.CallKind:
		l.comparison(e)
		l.textMatch(e)
		l.hidden(e)
	}
}

// emptyAll warns about all() over a list that may be empty, for which it is true.
func (l *linter) emptyAll(e ast.Expr) {
	macro, ok := l.info.GetMacroCall(e.ID())
	if !ok || macro.AsCall().FunctionName() != operators.All {
		return
	}
	over := e.AsComprehension().IterRange()
	if over.Kind() == ast.ListKind && over.AsList().Size() > 0 {
		return
	}
	list := l.print(over, l.info)
	for _, c := range l.rule.clauses() {
		if l.guards(c, list) {
			return
		}
	}
	l.trap(e, "all() is true for an empty list: add size(%s) > 0 &&", list)
}

// guards reports whether a clause looks at the size of the list.
func (l *linter) guards(c *clause, list string) bool {
	found := false
	info := c.ast.NativeRep().SourceInfo()
	ast.PreOrderVisit(c.ast.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != "size" {
			return
		}
		of := e.AsCall().Target()
		if !e.AsCall().IsMemberFunction() {
			of = e.AsCall().Args()[0]
		}
		found = found || l.print(of, info) == list
	}))
	return found
}

func (l *linter) print(e ast.Expr, info *ast.SourceInfo) string {
	s, _ := cel.ExprToString(e, info) // "" for what cannot be written, and then the line number must do
	return s
}

// hidden warns about a || b, and about !(a && b), where one side can fail: CEL drops
// its error when the other side decides, so that a missing fact does not deny.
func (l *linter) hidden(e ast.Expr) {
	switch c := e.AsCall(); {
	case c.FunctionName() == operators.LogicalOr:
	case c.FunctionName() == operators.LogicalNot && isCall(c.Args()[0], operators.LogicalAnd):
		e = c.Args()[0]
	default:
		return
	}
	inside := map[int64]bool{}
	for _, u := range usesOf(e) {
		inside[u.expr.ID()] = true
	}
	sides := e.AsCall().Args()
	for _, side := range sides {
		for _, u := range usesOf(side) {
			if l.canFail(u) && !l.needed(u.fact, sides, inside) {
				l.trap(u.expr, "%s may be missing, which does not deny where the other side decides: test has(%s) first", u.fact, u.fact)
			}
		}
	}
}

func isCall(e ast.Expr, function string) bool {
	return e.Kind() == ast.CallKind && e.AsCall().FunctionName() == function
}

// canFail reports whether what is read may be missing: an argument, the URL or the
// command of a call, or a variable of the rule that reads one.
func (l *linter) canFail(u use) bool {
	if u.tested {
		return false
	}
	if i, ok := l.rule.varIndex[u.fact]; ok {
		return slices.ContainsFunc(l.rule.variables[i].uses(), func(v use) bool { return l.canFail(v) && !l.tests(v.fact) })
	}
	return strings.HasPrefix(u.fact, "args.") || u.fact == "call.url" || u.fact == "call.shell"
}

// tests reports whether the rule asks somewhere whether the fact is there.
func (l *linter) tests(fact string) bool {
	return slices.ContainsFunc(l.rule.clauses(), func(c *clause) bool {
		return slices.ContainsFunc(c.uses(), func(u use) bool { return u.tested && u.fact == fact })
	})
}

// needed reports whether a missing fact is noticed after all: the rule tests for it,
// every side reads it, or it is read where nothing hides its error.
func (l *linter) needed(fact string, sides []ast.Expr, inside map[int64]bool) bool {
	if l.tests(fact) {
		return true
	}
	reads := func(us []use, but map[int64]bool) bool {
		return slices.ContainsFunc(us, func(u use) bool { return u.fact == fact && !but[u.expr.ID()] })
	}
	if !slices.ContainsFunc(sides, func(e ast.Expr) bool { return !reads(usesOf(e), nil) }) {
		return true
	}
	return slices.ContainsFunc(l.rule.clauses(), func(c *clause) bool {
		if c == l.clause {
			return reads(c.uses(), inside)
		}
		return reads(c.uses(), nil)
	})
}

var comparisons = []string{
	operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals, operators.Equals, operators.NotEquals,
}

// comparison warns about numbers that compare in another way than they read.
func (l *linter) comparison(e ast.Expr) {
	c := e.AsCall()
	if !slices.Contains(comparisons, c.FunctionName()) {
		return
	}
	a, b := c.Args()[0], c.Args()[1]
	for _, x := range []ast.Expr{a, b} {
		if x.Kind() == ast.CallKind && x.AsCall().FunctionName() == "int" && l.isUntyped(x.AsCall().Args()[0]) {
			l.trap(e, "int() cuts the fraction off, so 100.9 passes a limit of 100: use double()")
		}
	}
	if fn := c.FunctionName(); fn != operators.Equals && fn != operators.NotEquals {
		return
	}
	if l.isUntyped(a) && l.isNumber(b) || l.isUntyped(b) && l.isNumber(a) {
		l.trap(e, "an argument is untyped, and the string \"5\" is simply not equal to 5: use double() on it")
	}
}

func (l *linter) isUntyped(e ast.Expr) bool {
	return isFact(e) && rootOf(e) == "args" && e.Kind() != ast.IdentKind
}

func (l *linter) isNumber(e ast.Expr) bool {
	t := l.clause.ast.NativeRep().GetType(e.ID())
	return t.IsExactType(types.IntType) || t.IsExactType(types.DoubleType) || t.IsExactType(types.UintType)
}

// The names under which arguments hold what should not be compared as text.
var (
	urlNames  = []string{"url", "uri", "host", "hostname", "domain", "endpoint"}
	pathNames = []string{"path", "file", "filename", "dir", "directory", "rel", "abs"}
	textTests = []string{"startsWith", "endsWith", "contains", "matches", operators.Equals, operators.NotEquals}
)

// textMatch warns about hosts and paths that are compared as text.
func (l *linter) textMatch(e ast.Expr) {
	c := e.AsCall()
	if !slices.Contains(textTests, c.FunctionName()) {
		return
	}
	operands := c.Args()
	if c.IsMemberFunction() {
		operands = []ast.Expr{c.Target()}
	}
	for _, x := range operands {
		exact := c.FunctionName() == operators.Equals || c.FunctionName() == operators.NotEquals
		if !isFact(x) || exact && !l.isUntyped(x) {
			continue // equality with a canonical host or path is sound
		}
		switch name := lastName(x); {
		case slices.Contains(urlNames, name):
			l.trap(e, "%s is compared as text, which evilexample.com or a user@ passes: use url(...).host.inDomains([...])", l.print(x, l.info))
		case slices.Contains(pathNames, name):
			l.trap(e, "%s is compared as text, which src/../x or src-old passes: use call.paths and rel.matchesGlob(\"src/**\")", l.print(x, l.info))
		}
	}
}

// lastName is the last field or key of a fact.
func lastName(e ast.Expr) string {
	if e.Kind() == ast.SelectKind {
		return e.AsSelect().FieldName()
	}
	if e.Kind() != ast.CallKind {
		return ""
	}
	s, _ := e.AsCall().Args()[1].AsLiteral().(types.String)
	return string(s)
}
