package celenv

import (
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/codeact-dev/codeact/policy"
	"github.com/codeact-dev/codeact/policy/rules/urls"
	"github.com/codeact-dev/codeact/spelling"
)

// An object is a Go value with its CEL type.
type object struct {
	typ *objectType
	v   any // a pointer to the Go type that the fields of typ read
}

var (
	_ traits.Indexer     = object{}
	_ traits.FieldTester = object{}
)

func (o object) Type() ref.Type { return o.typ.typ }
func (o object) Value() any     { return o.v }

// String prints the fields that have a value, for explanations.
func (o object) String() string {
	var fields []string
	for _, name := range o.typ.names {
		if f := o.typ.fields[name]; f.IsSet(o.v) {
			if v, err := f.GetFrom(o.v); err == nil {
				fields = append(fields, name+": "+types.Format(Adapter{}.NativeToValue(v)))
			}
		}
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// Equal compares by value.
func (o object) Equal(other ref.Val) ref.Val {
	p, ok := other.(object)
	return types.Bool(ok && p.typ == o.typ && reflect.DeepEqual(o.v, p.v))
}

// Get reads a field of a value whose type was not known when the rule was compiled.
func (o object) Get(index ref.Val) ref.Val {
	f, err := o.field(index)
	if err != nil {
		return types.WrapErr(err)
	}
	v, err := f.GetFrom(o.v)
	if err != nil {
		return types.WrapErr(err)
	}
	return Adapter{}.NativeToValue(v)
}

// IsSet is has() for such a value.
func (o object) IsSet(index ref.Val) ref.Val {
	f, err := o.field(index)
	if err != nil {
		return types.WrapErr(err)
	}
	return types.Bool(f.IsSet(o.v))
}

func (o object) field(index ref.Val) (*types.FieldType, error) {
	name, _ := index.(types.String)
	if f, ok := o.typ.fields[string(name)]; ok {
		return f, nil
	}
	return nil, fmt.Errorf("no such field: %v%s", index.Value(), spelling.DidYouMean(string(name), o.typ.names))
}

// ConvertToNative serves only the type that is behind o.
func (o object) ConvertToNative(t reflect.Type) (any, error) {
	if reflect.TypeOf(o.v).AssignableTo(t) {
		return o.v, nil
	}
	return nil, fmt.Errorf("%s cannot be converted to %v", o.typ.typ, t)
}

// ConvertToType knows type(x) and nothing else.
func (o object) ConvertToType(t ref.Type) ref.Val {
	if t == types.TypeType {
		return o.typ.typ
	}
	return types.NewErr("%s cannot be converted to %s", o.typ.typ, t.TypeName())
}

// argTaints is taint.args: a map from the arguments of a call to their labels,
// which are made when they are asked for.
type argTaints struct{ r *policy.Request }

var _ traits.Mapper = (*argTaints)(nil)

// FindStringKey serves args["name"] without a detour through CEL strings.
func (a *argTaints) FindStringKey(name string) (any, bool) {
	l, ok := argLabelOf(a.r, name)
	return l, ok
}

// Find returns the label of an argument of the call.
func (a *argTaints) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(key), false
	}
	l, ok := argLabelOf(a.r, string(name))
	if !ok {
		return nil, false
	}
	return object{argLabelType, l}, true
}

// Get is Find with an error for an argument that the call does not have.
func (a *argTaints) Get(key ref.Val) ref.Val {
	v, ok := a.Find(key)
	if !ok && v == nil {
		return types.NewErr("no such key: %v", key.Value())
	}
	return v
}

// Contains is "name in taint.args".
func (a *argTaints) Contains(key ref.Val) ref.Val {
	v, ok := a.Find(key)
	if !ok && v != nil {
		return v
	}
	return types.Bool(ok)
}

func (a *argTaints) Iterator() traits.Iterator {
	return types.NewStringList(Adapter{}, ArgNames(a.r)).Iterator()
}

func (a *argTaints) Size() ref.Val  { return types.Int(len(ArgNames(a.r))) }
func (a *argTaints) Type() ref.Type { return types.MapType }
func (a *argTaints) Value() any     { return a }

// Equal compares names and labels.
func (a *argTaints) Equal(other ref.Val) ref.Val {
	b, ok := other.(*argTaints)
	if !ok || !slices.Equal(ArgNames(a.r), ArgNames(b.r)) {
		return types.False
	}
	for _, n := range ArgNames(a.r) {
		x, _ := argLabelOf(a.r, n)
		y, _ := argLabelOf(b.r, n)
		if !reflect.DeepEqual(x, y) {
			return types.False
		}
	}
	return types.True
}

// ConvertToNative serves only its own type.
func (a *argTaints) ConvertToNative(t reflect.Type) (any, error) {
	if reflect.TypeOf(a).AssignableTo(t) {
		return a, nil
	}
	return nil, fmt.Errorf("taint.args cannot be converted to %v", t)
}

// ConvertToType knows type(x) and map(x).
func (a *argTaints) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case types.MapType:
		return a
	case types.TypeType:
		return types.MapType
	}
	return types.NewErr("taint.args cannot be converted to %s", t.TypeName())
}

// An Adapter turns the plain data of a request into CEL values.
type Adapter struct{}

// fallback converts what the request holds in Go's own types.
var fallback = types.DefaultTypeAdapter

// NativeToValue adapts v. Containers keep the adapter, so that what is in them is
// adapted by it as well.
func (a Adapter) NativeToValue(v any) ref.Val {
	switch v := v.(type) {
	case ref.Val:
		return v
	case map[string]any:
		return types.NewStringInterfaceMap(a, v)
	case []any:
		return types.NewList(a, v)
	case []policy.PathFact:
		return objectsOf(a, pathType, v)
	case []policy.URLFact:
		return urlsOf(a, v)
	case *big.Int:
		return bigValue(v)
	}
	if t := typeOfView(v); t != nil {
		return object{t, v}
	}
	return fallback.NativeToValue(v)
}

// typeOfView is the CEL type of a pointer into a request; nil for other values.
func typeOfView(v any) *objectType {
	switch v.(type) {
	case *callView:
		return callType
	case *taintView:
		return taintType
	case *policy.ToolView:
		return toolType
	case *urls.URL:
		return urlType
	case *policy.PathFact:
		return pathType
	case *policy.ShellFact:
		return shellType
	case *policy.Taint:
		return labelsType
	case *argLabel:
		return argLabelType
	case *policy.LeaseView:
		return leaseType
	case *policy.RunView:
		return runType
	case *policy.SessionView:
		return sessionType
	}
	return nil
}

func objectsOf[T any](a Adapter, t *objectType, vs []T) ref.Val {
	out := make([]ref.Val, len(vs))
	for i := range vs {
		out[i] = object{t, &vs[i]}
	}
	return types.NewRefValList(a, out)
}

// urlsOf makes call.urls. One URL that could not be parsed makes the list an
// error, so that all() cannot pass over it.
func urlsOf(a Adapter, facts []policy.URLFact) ref.Val {
	views := make([]urls.URL, len(facts))
	for i := range facts {
		v, err := urls.OfFact(&facts[i])
		if err != nil {
			return types.WrapErr(err)
		}
		views[i] = *v
	}
	return objectsOf(a, urlType, views)
}

// bigValue keeps an integer exact, or refuses it: a rounded amount could pass a
// limit that the real one does not.
func bigValue(n *big.Int) ref.Val {
	switch {
	case n.IsInt64():
		return types.Int(n.Int64())
	case n.IsUint64():
		return types.Uint(n.Uint64())
	}
	return types.NewErr("an integer of %d bits is more than a rule can compare", n.BitLen())
}

// A provider adds the object types to those of CEL.
type provider struct{ types.Provider }

var typeByName = func() map[string]*objectType {
	m := make(map[string]*objectType, len(objectTypes))
	for _, t := range objectTypes {
		m[t.typ.TypeName()] = t
	}
	return m
}()

func (p provider) FindStructType(name string) (*types.Type, bool) {
	if t, ok := typeByName[name]; ok {
		return types.NewTypeTypeWithParam(t.typ), true
	}
	return p.Provider.FindStructType(name)
}

func (p provider) FindStructFieldNames(name string) ([]string, bool) {
	if t, ok := typeByName[name]; ok {
		return t.names, true
	}
	return p.Provider.FindStructFieldNames(name)
}

func (p provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if t, ok := typeByName[name]; ok {
		f, ok := t.fields[field]
		return f, ok
	}
	return p.Provider.FindStructFieldType(name, field)
}

// NewValue refuses to make facts: a rule reads them and cannot forge them.
func (p provider) NewValue(name string, fields map[string]ref.Val) ref.Val {
	if _, ok := typeByName[name]; ok {
		return types.NewErr("%s cannot be made by a rule", name)
	}
	return p.Provider.NewValue(name, fields)
}
