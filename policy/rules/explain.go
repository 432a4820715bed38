package rules

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"github.com/codeact-dev/codeact/policy"
	"github.com/codeact-dev/codeact/policy/rules/celenv"
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
	Policy  string         `json:"policy"`  // or the name of another gate
	Outcome string         `json:"outcome"` // n/a, pass, ask, deny, warn, audit or error
	Verdict policy.Verdict `json:"verdict"` // what it adds to the decision: an error of a warning adds nothing
	Why     string         `json:"why,omitempty"`
	At      string         `json:"at,omitempty"`     // file:line
	Values  []policy.Value `json:"values,omitempty"` // the facts that the clause read
	Steps   []policy.Value `json:"steps,omitempty"`  // its sub-expressions, innermost first
	Cost    uint64         `json:"cost,omitempty"`   // of the rule for this call, in CEL cost units
}

// sensitive stands for a value of an argument that is not shown.
const sensitive = "[sensitive]"

// Explain judges r and keeps every rule's reasons, with the values of the
// sub-expressions of what did not hold. Of the arguments that are named as hidden,
// and of what is computed from them, no value is kept but true and false. A reason
// that a rule made of them is kept: see [Explanation.Map].
func (p *Policy) Explain(r policy.Request, hidden ...string) Explanation {
	x := Explanation{Call: r.Call, Tool: r.Tool.Name, Taint: describeTaint(&r), Rules: []RuleExplanation{}}
	for _, name := range celenv.ArgNames(&r) {
		v, ok := r.Args[name]
		switch {
		case !ok:
		case slices.Contains(hidden, name):
			x.Args = append(x.Args, policy.Value{Name: name, Value: sensitive})
		default:
			x.Args = append(x.Args, policy.Value{Name: name, Value: show(celenv.Adapter{}.NativeToValue(v))})
		}
	}
	x.Decision, x.Notes = p.JudgeAll(r)
	x.Decision.Values = nil // each rule has its own
	for _, u := range p.all() {
		x.Rules = append(x.Rules, u.explain(&r, hidden)...)
	}
	return x
}

// Behind puts the decisions of other gates before those of the rules, as they stand
// in the order of a call, and narrows the decision by them.
func (x Explanation) Behind(gates ...policy.Decision) Explanation {
	var first []RuleExplanation
	for _, g := range gates {
		e := RuleExplanation{Policy: g.Gate, Outcome: "pass", Verdict: g.Verdict, Why: g.Reason, Values: g.Values}
		if g.Verdict != policy.Allow {
			e.Outcome = g.Verdict.String()
		}
		first = append(first, e)
	}
	x.Rules = append(first, x.Rules...)
	x.Decision = policy.Narrow(append(gates, x.Decision)...)
	x.Decision.Values = nil
	return x
}

// Map returns x with f applied to every text that can quote an argument.
func (x Explanation) Map(f func(string) string) Explanation {
	values := func(vs []policy.Value) []policy.Value {
		var out []policy.Value
		for _, v := range vs {
			out = append(out, policy.Value{Name: f(v.Name), Value: f(v.Value)})
		}
		return out
	}
	x.Call, x.Tool, x.Taint, x.Args = f(x.Call), f(x.Tool), f(x.Taint), values(x.Args)
	x.Rules, x.Notes = slices.Clone(x.Rules), slices.Clone(x.Notes)
	for i, e := range x.Rules {
		x.Rules[i].Why, x.Rules[i].Values, x.Rules[i].Steps = f(e.Why), values(e.Values), values(e.Steps)
	}
	for i, n := range x.Notes {
		x.Notes[i].Text = f(n.Text)
	}
	x.Decision.Reason = f(x.Decision.Reason)
	return x
}

// A Place is a rule and where it begins.
type Place struct {
	Policy string `json:"policy"`
	File   string `json:"file"`
	Line   int    `json:"line"`
}

// Places lists the rules, sorted by name.
func (p *Policy) Places() []Place {
	var out []Place
	for _, u := range p.all() {
		out = append(out, Place{u.name, u.src, u.line})
	}
	return out
}

func (u *rule) explain(r *policy.Request, hidden []string) []RuleExplanation {
	var out []RuleExplanation
	a := newActivation(r, u)
	skipped := u.judge(a, func(f finding) {
		e := RuleExplanation{Policy: u.name, Outcome: f.action.String(), Verdict: f.action.verdict(), Why: f.clause.label + " false: " + f.reason, At: f.clause.at()}
		if f.failed {
			e.Outcome, e.Why = "error", f.clause.label+": "+f.reason
		}
		e.Values, e.Steps = u.track(r, f.clause, hidden)
		out = append(out, e)
	})
	for i := range out {
		out[i].Cost = a.cost
	}
	if len(out) > 0 {
		return out
	}
	e := RuleExplanation{Policy: u.name, Cost: a.cost, Outcome: "pass", Verdict: policy.Allow, At: fmt.Sprintf("%s:%d", u.src, u.line)}
	if skipped != "" {
		e.Outcome, e.Why = "n/a", skipped
	}
	return []RuleExplanation{e}
}

// values are the facts that a clause read.
func (u *rule) values(r *policy.Request, c *clause) []policy.Value {
	vs, _ := u.track(r, c, nil)
	return vs
}

// track evaluates a clause once more, with its parts, and then the variables that
// it read.
func (u *rule) track(r *policy.Request, c *clause, hidden []string) (values, steps []policy.Value) {
	t := tracker{rule: u, request: r, hidden: hidden, seen: map[string]bool{}}
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
	hidden  []string // arguments
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
	t.values = append(t.values, policy.Value{Name: name, Value: t.show(e, v)})
}

func (t *tracker) step(e ast.Expr) {
	if name, v, ok := t.value(e); ok {
		t.steps = append(t.steps, policy.Value{Name: name, Value: t.show(e, v)})
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

// show is the value v of e, unless it comes from a hidden argument.
func (t *tracker) show(e ast.Expr, v ref.Val) string {
	if _, ok := v.(types.Bool); !ok && t.hides(e) {
		return sensitive
	}
	return show(v)
}

// hides reports whether e reads a hidden argument, or a variable that does.
func (t *tracker) hides(e ast.Expr) bool {
	if len(t.hidden) == 0 {
		return false
	}
	return slices.ContainsFunc(usesOf(e), func(u use) bool {
		if i, ok := t.rule.varIndex[u.fact]; ok {
			return t.hides(t.rule.variables[i].ast.NativeRep().Expr())
		}
		param, of := strings.CutPrefix(u.fact, "args.")
		return u.fact == "args" || u.fact == "call.paths" || u.fact == "call.url" || u.fact == "call.urls" || u.fact == "call.shell" || of && slices.Contains(t.hidden, param)
	})
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

// describeTaint is the floor, and which arguments are proven to carry something.
func describeTaint(r *policy.Request) string {
	s := r.Held.String()
	var args []string
	for _, n := range celenv.ArgNames(r) {
		if a, ok := r.ArgTaint[n]; ok && !a.Taint.Clean() {
			args = append(args, n+" <- "+strings.Join(celenv.Sources(a.Taint), ","))
		}
	}
	if args == nil {
		return s
	}
	return s + " (" + strings.Join(args, "; ") + ")"
}
