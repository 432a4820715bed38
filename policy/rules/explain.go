package rules

import (
	"fmt"
	"strings"
	"unicode"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"github.com/codeact-dev/codeact/policy"
)

// The bounds of what an explanation prints of one call.
const (
	maxValues = 16  // facts of one clause
	maxValue  = 200 // code points of one fact
)

// An Explanation says what every rule made of a call. It holds argument values as
// they are: whoever shows it redacts it.
type Explanation struct {
	Call     string            `json:"call"`
	Tool     string            `json:"tool"`
	Args     []policy.Value    `json:"args,omitempty"`
	Taint    string            `json:"taint"`
	Rules    []RuleExplanation `json:"rules"`
	Notes    []Note            `json:"notes,omitempty"`
	Decision policy.Decision   `json:"decision"`
}

// A RuleExplanation is one finding of a rule, or that it has none.
type RuleExplanation struct {
	Policy  string         `json:"policy"`
	Outcome string         `json:"outcome"` // n/a, pass, ask, deny, warn, audit or error
	Why     string         `json:"why,omitempty"`
	At      string         `json:"at"`               // file:line
	Values  []policy.Value `json:"values,omitempty"` // the facts that the clause read
	Steps   []policy.Value `json:"steps,omitempty"`  // its sub-expressions, innermost first
}

// Explain judges r and keeps every rule's reasons, with the values of the
// sub-expressions of what did not hold.
func (p *Policy) Explain(r policy.Request) Explanation {
	x := Explanation{Call: r.Call, Tool: r.Tool.Name, Taint: describeTaint(&r), Rules: []RuleExplanation{}}
	for _, name := range argNames(&r) {
		if v, ok := r.Args[name]; ok {
			x.Args = append(x.Args, policy.Value{Name: name, Value: show(adapter{}.NativeToValue(v))})
		}
	}
	x.Decision, x.Notes = p.JudgeAll(r)
	if p == nil {
		return x
	}
	for _, u := range p.rules {
		x.Rules = append(x.Rules, u.explain(&r)...)
	}
	return x
}

func (u *rule) explain(r *policy.Request) []RuleExplanation {
	var out []RuleExplanation
	skipped := u.judge(newActivation(r, u), func(f finding) {
		e := RuleExplanation{Policy: u.name, Outcome: f.action.String(), Why: f.clause.label + " false: " + f.reason, At: f.clause.at()}
		if f.failed {
			e.Outcome, e.Why = "error", f.clause.label+": "+f.reason
		}
		e.Values, e.Steps = u.track(r, f.clause)
		out = append(out, e)
	})
	if len(out) > 0 {
		return out
	}
	e := RuleExplanation{Policy: u.name, Outcome: "pass", At: fmt.Sprintf("%s:%d", u.src.name, u.line)}
	if skipped != "" {
		e.Outcome, e.Why = "n/a", skipped
	}
	return []RuleExplanation{e}
}

// values are the facts that a clause read.
func (u *rule) values(r *policy.Request, c *clause) []policy.Value {
	vs, _ := u.track(r, c)
	return vs
}

// track evaluates a clause once more, with its parts, and then the variables that
// it read.
func (u *rule) track(r *policy.Request, c *clause) (values, steps []policy.Value) {
	t := tracker{rule: u, request: r, seen: map[string]bool{}}
	t.clause(c)
	steps = t.steps
	for i := 0; i < len(t.read); i++ { // grows: a variable may read another
		t.clause(t.read[i])
	}
	return t.values[:min(len(t.values), maxValues)], steps
}

// A tracker collects what an evaluation went through. One is used for one clause.
type tracker struct {
	rule    *rule
	request *policy.Request
	seen    map[string]bool
	values  []policy.Value
	steps   []policy.Value
	read    []*clause // the variables that were read

	state interpreter.EvalState
	info  *ast.SourceInfo
}

func (t *tracker) clause(c *clause) {
	prog, err := c.tracked()
	if err != nil {
		return // the verdict stands without its values
	}
	_, details, _ := newActivation(t.request, t.rule).run(prog)
	native := c.ast.NativeRep()
	t.state, t.info = details.State(), native.SourceInfo()
	t.visit(native.Expr())
}

// visit collects the facts and steps of e. It does not enter the body of a loop,
// whose values are those of one turn only.
func (t *tracker) visit(e ast.Expr) {
	if isFact(e) {
		t.fact(e)
		return
	}
	switch e.Kind() {
	case ast.SelectKind:
		t.visit(e.AsSelect().Operand())
	case ast.CallKind:
		c := e.AsCall()
		if c.IsMemberFunction() {
			t.visit(c.Target())
		}
		for _, a := range c.Args() {
			t.visit(a)
		}
		t.step(e)
	case ast.ListKind:
		for _, x := range e.AsList().Elements() {
			t.visit(x)
		}
	case ast.ComprehensionKind:
		t.visit(e.AsComprehension().IterRange())
		t.step(e)
	}
}

// isFact reports whether e reads a variable, or a field or element of one.
func isFact(e ast.Expr) bool {
	switch e.Kind() {
	case ast.IdentKind:
		return true
	case ast.SelectKind:
		return !e.AsSelect().IsTestOnly() && isFact(e.AsSelect().Operand())
	case ast.CallKind:
		c := e.AsCall()
		return c.FunctionName() == operators.Index && isFact(c.Args()[0]) && c.Args()[1].Kind() == ast.LiteralKind
	}
	return false
}

func (t *tracker) fact(e ast.Expr) {
	if i, ok := t.rule.varIndex[rootOf(e)]; ok && !t.seen[rootOf(e)+" "] {
		t.seen[rootOf(e)+" "] = true
		t.read = append(t.read, t.rule.variables[i])
	}
	name, v, ok := t.value(e)
	if !ok || t.seen[name] {
		return
	}
	t.seen[name] = true
	t.values = append(t.values, policy.Value{Name: name, Value: show(v)})
}

func (t *tracker) step(e ast.Expr) {
	if name, v, ok := t.value(e); ok {
		t.steps = append(t.steps, policy.Value{Name: name, Value: show(v)})
	}
}

// value is the text of e and what it came to; not ok where that is nothing, or an
// error, which the finding states.
func (t *tracker) value(e ast.Expr) (string, ref.Val, bool) {
	v, ok := t.state.Value(e.ID())
	if !ok || types.IsError(v) {
		return "", nil, false
	}
	name, err := cel.ExprToString(e, t.info)
	return clip(strings.Join(strings.Fields(name), " "), maxValue), v, err == nil
}

// rootOf is the variable that a fact reads from.
func rootOf(e ast.Expr) string {
	switch e.Kind() {
	case ast.SelectKind:
		return rootOf(e.AsSelect().Operand())
	case ast.CallKind:
		return rootOf(e.AsCall().Args()[0])
	}
	return e.AsIdent()
}

// show prints a value the way that an expression would write it.
func show(v ref.Val) string {
	if types.IsError(v) {
		return "error: " + clip(firstLine(fmt.Sprint(v)), maxValue)
	}
	return clip(types.Format(v), maxValue)
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// printable keeps text from an argument from steering the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}

// describeTaint is the floor, and which arguments are proven to carry something.
func describeTaint(r *policy.Request) string {
	s := r.Held.String()
	var args []string
	for _, n := range argNames(r) {
		if a, ok := r.ArgTaint[n]; ok && !a.Taint.Clean() {
			args = append(args, n+" <- "+strings.Join(allSources(a.Taint), ","))
		}
	}
	if args == nil {
		return s
	}
	return s + " (" + strings.Join(args, "; ") + ")"
}

// String prints one line a rule, and below it the values that it went by.
func (x Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "call %s %s", x.Call, x.Tool)
	for _, a := range x.Args {
		fmt.Fprintf(&b, " %s=%s", a.Name, clip(a.Value, 60))
	}
	fmt.Fprintf(&b, "      taint: %s\n", x.Taint)
	width := 0
	for _, r := range x.Rules {
		width = max(width, len(r.Policy))
	}
	for i, r := range x.Rules {
		outcome := r.Outcome
		if outcome == "ask" || outcome == "deny" || outcome == "error" {
			outcome = strings.ToUpper(outcome)
		}
		fmt.Fprintf(&b, "%-2d %-*s %-6s %s\n", i+1, width, r.Policy, outcome, printable(strings.TrimSpace(r.Why+"  "+r.At)))
		for _, v := range r.Values {
			fmt.Fprintf(&b, "     %s = %s\n", v.Name, v.Value)
		}
		for _, s := range r.Steps {
			fmt.Fprintf(&b, "     %s  =>  %s\n", s.Name, s.Value)
		}
	}
	for _, n := range x.Notes {
		fmt.Fprintf(&b, "%s %s %s: %s\n", n.Kind, n.Policy, n.Key, printable(n.Text))
	}
	fmt.Fprintf(&b, "decision %s (strictest of %d)\n", x.Decision.Verdict, len(x.Rules))
	return b.String()
}
