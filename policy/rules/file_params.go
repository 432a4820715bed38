package rules

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/codeact-dev/codeact/policy/rules/celenv"
	"github.com/codeact-dev/codeact/policy/rules/source"
	"github.com/codeact-dev/codeact/spelling"
)

// identifier is what CEL reads as one name.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// scalarTypes are the types of parameters; list(T) is one as well.
var scalarTypes = map[string]*cel.Type{
	"string":   cel.StringType,
	"int":      cel.IntType,
	"double":   cel.DoubleType,
	"bool":     cel.BoolType,
	"duration": cel.DurationType,
}

// A paramType is the declared type of a parameter.
type paramType struct {
	scalar string
	list   bool
}

func parseParamType(s string) (paramType, error) {
	t := paramType{scalar: s}
	if inner, ok := strings.CutPrefix(s, "list("); ok && strings.HasSuffix(inner, ")") {
		t = paramType{scalar: strings.TrimSuffix(inner, ")"), list: true}
	}
	if _, ok := scalarTypes[t.scalar]; !ok {
		names := slices.Sorted(maps.Keys(scalarTypes))
		return paramType{}, fmt.Errorf("%q is not a type of a parameter%s; list(T) is one too", s, source.NearestOr(t.scalar, names))
	}
	return t, nil
}

func (t paramType) cel() *cel.Type {
	if t.list {
		return cel.ListType(scalarTypes[t.scalar])
	}
	return scalarTypes[t.scalar]
}

// convert returns v as t, exactly: nothing is rounded or parsed from another type,
// except a duration, which is written as a string.
func (t paramType) convert(v any) (ref.Val, error) {
	if !t.list {
		return t.convertOne(v)
	}
	var vs []any
	switch l := v.(type) {
	case []any:
		vs = l
	case []string:
		for _, s := range l {
			vs = append(vs, s)
		}
	default:
		return nil, fmt.Errorf("want list(%s), got %s", t.scalar, goKind(v))
	}
	out := make([]ref.Val, len(vs))
	texts := make([]string, len(vs))
	for i, e := range vs {
		r, err := t.convertOne(e)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
		s, _ := r.(types.String)
		out[i], texts[i] = r, string(s)
	}
	if t.scalar == "string" {
		return types.NewStringList(celenv.Adapter{}, texts), nil
	}
	return types.NewRefValList(celenv.Adapter{}, out), nil
}

func (t paramType) convertOne(v any) (ref.Val, error) {
	switch x := v.(type) {
	case string:
		if t.scalar == "string" {
			return types.String(x), nil
		}
		if d, err := time.ParseDuration(x); err == nil && t.scalar == "duration" {
			return types.Duration{Duration: d}, nil
		}
	case bool:
		if t.scalar == "bool" {
			return types.Bool(x), nil
		}
	case int:
		return t.convertOne(int64(x))
	case uint64:
		if x <= math.MaxInt64 {
			return t.convertOne(int64(x))
		}
	case int64:
		if t.scalar == "int" {
			return types.Int(x), nil
		}
		if t.scalar == "double" && int64(float64(x)) == x {
			return types.Double(x), nil
		}
	case float64:
		if t.scalar == "double" && !math.IsNaN(x) {
			return types.Double(x), nil
		}
	}
	return nil, fmt.Errorf("want %s, got %s", t.scalar, goKind(v))
}

func goKind(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		return fmt.Sprintf("the string %q", v)
	case []any, []string:
		return "a list"
	case map[string]any:
		return "a mapping"
	}
	return fmt.Sprintf("%v", v)
}

// A paramSet is the parameters of one policy.
type paramSet struct {
	types  map[string]paramType // by name
	values map[string]ref.Val   // by "params." and name
	opts   []cel.EnvOption
}

// params reads the declared parameters out of those that the task gives.
func (d reader) params(decls []paramDecl, given map[string]any) paramSet {
	p := paramSet{types: map[string]paramType{}, values: map[string]ref.Val{}}
	for _, decl := range decls {
		if decl.name.Empty() || decl.typ.Empty() {
			continue // reported when it was read
		}
		if !identifier.MatchString(decl.name.S) {
			d.Fail(decl.name.Node, "%q cannot be the name of a parameter: want letters, digits and _", decl.name.S)
			continue
		}
		t, err := parseParamType(decl.typ.S)
		if err != nil {
			d.Fail(decl.typ.Node, "%v", err)
			continue
		}
		p.types[decl.name.S] = t
		p.opts = append(p.opts, cel.Variable("params."+decl.name.S, t.cel()))
		v, ok := given[decl.name.S]
		if !ok {
			d.Fail(decl.name.Node, "params.%s is declared and not given: set it in the policyParams of the task%s",
				decl.name.S, spelling.DidYouMean(decl.name.S, slices.Collect(maps.Keys(given))))
			continue
		}
		r, err := t.convert(v)
		if err != nil {
			d.Fail(decl.name.Node, "params.%s: %v", decl.name.S, err)
			continue
		}
		p.values["params."+decl.name.S] = r
	}
	return p
}
