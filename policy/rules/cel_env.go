package rules

import (
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/codeact-dev/codeact/policy"
	"github.com/codeact-dev/codeact/policy/rules/celenv"
)

// costLimit bounds one rule, all its expressions together, in CEL cost units. The
// eight rules of the test fixture cost at most some hundreds for one call
// (TestTheFixtureIsFarFromTheCostLimit); a triple nested all() over 300 items would
// cost 27 million.
const costLimit = 100_000

var errCost = errors.New("the rule costs more than it may: it loops over too much")

// An activation answers an expression's questions about one request. It is used by
// one goroutine.
type activation struct {
	r    *policy.Request
	rule *rule     // nil outside a policy
	vars []ref.Val // the rule's variables, as far as they were asked for
	cost uint64    // of all that was evaluated, in CEL units
}

func newActivation(r *policy.Request, u *rule) *activation { return &activation{r: r, rule: u} }

// Parent is nil: an activation is complete.
func (*activation) Parent() cel.Activation { return nil }

// ResolveName returns the variable with the qualified name, as "variables.u".
func (a *activation) ResolveName(name string) (any, bool) {
	if v, ok := celenv.Lookup(a.r, name); ok || a.rule == nil {
		return v, ok
	}
	if v, ok := a.rule.params[name]; ok {
		return v, true
	}
	i, ok := a.rule.varIndex[name]
	if !ok {
		return nil, false
	}
	return a.variable(i), true
}

// variable evaluates a variable at most once. What it could not evaluate is the
// error of whoever reads it.
func (a *activation) variable(i int) ref.Val {
	if a.vars == nil {
		a.vars = make([]ref.Val, len(a.rule.variables))
	}
	if a.vars[i] == nil {
		v, err := a.eval(a.rule.variables[i])
		if err != nil {
			v = types.WrapErr(fmt.Errorf("variables.%s: %w", a.rule.variables[i].name, err))
		}
		a.vars[i] = v
	}
	return a.vars[i]
}

// eval evaluates a clause within what is left of the cost.
func (a *activation) eval(c *clause) (ref.Val, error) {
	v, _, err := a.run(c.prog)
	return v, err
}

func (a *activation) run(prog cel.Program) (ref.Val, *cel.EvalDetails, error) {
	v, details, err := prog.Eval(a)
	if cost := details.ActualCost(); cost != nil {
		a.cost += *cost
	}
	switch {
	case a.cost > costLimit:
		return nil, details, errCost
	case err != nil:
		return nil, details, errors.New(firstLine(err.Error()))
	}
	return v, details, nil
}

// holds evaluates a condition.
func (a *activation) holds(c *clause) (bool, error) {
	v, err := a.eval(c)
	if err != nil {
		return false, err
	}
	b, ok := v.(types.Bool)
	if !ok {
		return false, fmt.Errorf("it is a %s and not a bool", v.Type().TypeName())
	}
	return bool(b), nil
}

func firstLine(s string) string { line, _, _ := strings.Cut(s, "\n"); return line }
