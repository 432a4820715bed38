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

// Check reports which of the tools no rule is about, and what in the rules is a
// known trap. Without tools it judges the rules alone.
func (p *Policy) Check(tools []policy.ToolView) []Warning {
	var ws []Warning
	var rules []*rule
	if p != nil {
		rules = p.rules
	}
	for _, t := range tools {
		about := func(u *rule) bool { return u.match.mismatch(&t) == "" }
		if len(t.Caps.Names()) > 0 && !slices.ContainsFunc(rules, about) {
			ws = append(ws, Warning{Text: fmt.Sprintf("uncovered: %s [%s]", t.Name, describeCaps(t.Caps))})
		}
	}
	for _, u := range rules {
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

func (u *rule) lint(tools []policy.ToolView) []Warning {
	l := linter{rule: u}
	l.fires(tools)
	if !u.exercised {
		l.warn(u.line, "no example exercises this rule")
	}
	for _, c := range u.clauses() {
		l.clause = c
		l.info = c.ast.NativeRep().SourceInfo()
		ast.PreOrderVisit(c.ast.NativeRep().Expr(), ast.NewExprVisitor(l.visit))
	}
	return l.warnings
}

// clauses are the expressions that a verdict depends on.
func (u *rule) clauses() []*clause {
	out := slices.Concat(u.conditions, u.variables)
	for _, v := range u.validations {
		out = append(out, v.clause)
	}
	return out
}

// A linter looks at one rule.
type linter struct {
	rule     *rule
	clause   *clause // the expression that is looked at
	info     *ast.SourceInfo
	warnings []Warning
}

func (l *linter) warn(line int, format string, args ...any) {
	l.add(Warning{File: l.rule.src.name, Line: line, Policy: l.rule.name, Text: fmt.Sprintf(format, args...)})
}

// idle warns about what can never fire.
func (l *linter) idle(line int, format string, args ...any) {
	l.add(Warning{File: l.rule.src.name, Line: line, Policy: l.rule.name, Text: fmt.Sprintf(format, args...), Idle: true})
}

func (l *linter) add(w Warning) {
	if !slices.Contains(l.warnings, w) {
		l.warnings = append(l.warnings, w)
	}
}

// trap warns about e, on its line.
func (l *linter) trap(e ast.Expr, format string, args ...any) {
	loc := l.info.GetStartLocation(e.ID())
	at := l.clause.text.at(codePoint(l.clause.text.s, loc.Line(), loc.Column()))
	l.warn(l.clause.text.src.lineOf(at), format, args...)
}

// fires warns about a rule that is about none of the tools.
func (l *linter) fires(tools []policy.ToolView) {
	matches := func(t policy.ToolView) bool { return l.rule.match.mismatch(&t) == "" }
	if len(tools) > 0 && !slices.ContainsFunc(tools, matches) {
		l.idle(l.rule.line, "this rule can never fire: it is about none of the tools of this task")
	}
	for _, c := range l.rule.conditions {
		if isLiteral(c.ast, types.False) {
			l.idle(c.line(), "this rule can never fire: condition %q is always false", c.name)
		}
	}
	for _, v := range l.rule.validations {
		if isLiteral(v.ast, types.True) {
			l.idle(v.line(), "%s can never fire: it is always true", v.label)
		}
	}
}

func isLiteral(a *cel.Ast, b types.Bool) bool {
	e := a.NativeRep().Expr()
	return e.Kind() == ast.LiteralKind && e.AsLiteral() == b
}

func (l *linter) visit(e ast.Expr) {
	switch e.Kind() {
	case ast.ComprehensionKind:
		l.emptyAll(e)
	case ast.CallKind:
		l.comparison(e)
		l.textMatch(e)
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
