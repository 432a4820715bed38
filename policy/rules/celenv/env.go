package celenv

import (
	"maps"
	"slices"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/ext"

	"github.com/codeact-dev/codeact/policy"
)

// MaxExpression bounds one expression in code points; the longest of the rules that
// the tests use has 140.
const MaxExpression = 8 << 10

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

// Base is what all expressions share. It is made once, since that takes longer than
// to compile a file.
var Base = sync.OnceValue(func() *cel.Env {
	opts := append(standardLibrary(),
		cel.OptionalTypes(),
		cel.CrossTypeNumericComparisons(true),
		cel.EnableMacroCallTracking(), // lints and explanations print what was written
		cel.DefaultUTCTimeZone(true),
		cel.ParserExpressionSizeLimit(MaxExpression),
		ext.Strings(),
		ext.Network(),
	)
	opts = append(opts, functions()...)
	for name, t := range variableTypes {
		opts = append(opts, cel.Variable(name, t))
	}
	env := mustEnv(cel.NewCustomEnv(opts...))
	return Extend(env, cel.CustomTypeProvider(provider{env.CELTypeProvider()}), cel.CustomTypeAdapter(Adapter{}))
})

// Extend adds declarations whose names were checked, which cannot fail.
func Extend(env *cel.Env, opts ...cel.EnvOption) *cel.Env { return mustEnv(env.Extend(opts...)) }

func mustEnv(env *cel.Env, err error) *cel.Env {
	if err != nil {
		panic("policy: a declaration of ours is wrong: " + err.Error())
	}
	return env
}

// Lookup returns one of the variables for a request. Nothing is computed before it
// is asked for.
func Lookup(r *policy.Request, name string) (any, bool) {
	switch name {
	case "call":
		return (*callView)(r), true
	case "tool":
		return &r.Tool, true
	case "args":
		return r.Args, true
	case "taint":
		return (*taintView)(r), true
	case "lease":
		return &r.Lease, true
	case "run":
		return &r.Run, true
	case "session":
		return &r.Session, true
	case "labels":
		return r.Labels, true
	case "now":
		return r.Now, true
	}
	return nil, false
}

// Variables are the names that every expression can read, sorted.
func Variables() []string { return slices.Sorted(maps.Keys(variableTypes)) }

// Fields are the names of all fields of all facts, sorted.
func Fields() []string {
	var names []string
	for _, t := range objectTypes {
		names = append(names, t.names...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
