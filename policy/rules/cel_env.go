package rules

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"

	"github.com/codeact-dev/codeact/policy"
)

// costLimit bounds one rule, all its expressions together, in CEL cost units. The
// eight rules of the test fixture cost at most some hundreds for one call
// (TestTheFixtureIsFarFromTheCostLimit); a triple nested all() over 300 items would
// cost 27 million.
const costLimit = 100_000

// maxExpression bounds one expression in code points; the longest of the fixture
// has 140.
const maxExpression = 8 << 10

var errCost = errors.New("the rule costs more than it may: it loops over too much")

// variableTypes are the names that every expression can read.
var variableTypes = map[string]*cel.Type{
	"call":    callType.typ,
	"tool":    toolType.typ,
	"args":    cel.MapType(cel.StringType, cel.DynType),
	"taint":   taintType.typ,
	"lease":   leaseType.typ,
	"run":     runType.typ,
	"session": sessionType.typ,
	"labels":  cel.MapType(cel.StringType, cel.StringType),
	"now":     cel.TimestampType,
}

// baseEnv is what all expressions share. It is made once, since that takes longer
// than to compile a file.
var baseEnv = sync.OnceValue(func() *cel.Env {
	opts := append(standardLibrary(),
		cel.OptionalTypes(),
		cel.CrossTypeNumericComparisons(true),
		cel.EnableMacroCallTracking(), // lints and explanations print what was written
		cel.DefaultUTCTimeZone(true),
		cel.ParserExpressionSizeLimit(maxExpression),
		ext.Strings(),
		ext.Network(),
	)
	opts = append(opts, functions()...)
	for name, t := range variableTypes {
		opts = append(opts, cel.Variable(name, t))
	}
	env := mustEnv(cel.NewCustomEnv(opts...))
	return extend(env, cel.CustomTypeProvider(provider{env.CELTypeProvider()}), cel.CustomTypeAdapter(adapter{}))
})

// extend adds declarations whose names were checked, which cannot fail.
func extend(env *cel.Env, opts ...cel.EnvOption) *cel.Env { return mustEnv(env.Extend(opts...)) }

func mustEnv(env *cel.Env, err error) *cel.Env {
	if err != nil {
		panic("policy: a declaration of ours is wrong: " + err.Error())
	}
	return env
}

// An activation answers an expression's questions about one request. Nothing is
// computed before it is asked for. It is used by one goroutine.
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
	switch name {
	case "call":
		return (*callView)(a.r), true
	case "tool":
		return &a.r.Tool, true
	case "args":
		return a.r.Args, true
	case "taint":
		return (*taintView)(a.r), true
	case "lease":
		return &a.r.Lease, true
	case "run":
		return &a.r.Run, true
	case "session":
		return &a.r.Session, true
	case "labels":
		return a.r.Labels, true
	case "now":
		return a.r.Now, true
	}
	if a.rule == nil {
		return nil, false
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
