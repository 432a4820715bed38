package worker

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"github.com/codeact-dev/codeact/interp/wire"
)

// toPlain converts v to plain data of at most budget bytes, counted as wire.Plain counts them: the host calls a worker
// that sends more a liar. Every error wraps wire.ErrValue.
func toPlain(v starlark.Value, budget int) (any, error) {
	return (&converter{budget: wire.Budget{Bytes: budget}}).value(v, 0)
}

// converter recurses at most wire.MaxDepth deep, since its budget ends a deeper value.
type converter struct {
	budget wire.Budget
	open   []starlark.Value // the mutable containers around the current value: only they can contain themselves
}

// args converts the arguments of a call. A call that fails takes nothing of the budget.
func (c *converter) args(args starlark.StringDict) (map[string]any, error) {
	whole := c.budget
	out := make(map[string]any, len(args))
	err := c.budget.Take(0, 0)
	for _, name := range args.Keys() {
		if err != nil {
			break
		}
		err = c.field(out, name, args[name], 0)
	}
	if err != nil {
		c.budget, c.open = whole, nil
		return nil, err
	}
	return out, nil
}

func (c *converter) value(v starlark.Value, depth int) (any, error) {
	if err := c.budget.Take(depth, leafSize(v)); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case starlark.NoneType:
		return nil, nil
	case starlark.Bool:
		return bool(v), nil
	case starlark.Int:
		return wire.CheckInt(v.BigInt())
	case starlark.Float:
		return float64(v), wire.CheckFloat(float64(v))
	case starlark.String:
		return string(v), wire.CheckString(string(v))
	case starlark.Bytes:
		return []byte(v), nil
	case *starlark.Dict:
		return c.dict(v, depth)
	case *starlarkstruct.Struct:
		return c.structure(v, depth)
	case starlark.Sequence:
		return c.sequence(v, depth)
	}
	return nil, fmt.Errorf("%w: a %s is not data", wire.ErrValue, v.Type())
}

// leafSize is the content of v in bytes.
func leafSize(v starlark.Value) int {
	switch v := v.(type) {
	case starlark.String:
		return len(v)
	case starlark.Bytes:
		return len(v)
	case starlark.Float:
		return 8
	case starlark.Int:
		if _, small := v.Int64(); small {
			return 8
		}
		return v.BigInt().BitLen() / 8
	}
	return 0
}

// enter refuses a container that is already open, and returns the function that closes it.
func (c *converter) enter(v starlark.Value) (leave func(), err error) {
	if slices.Contains(c.open, v) {
		return nil, fmt.Errorf("%w: the %s contains itself", wire.ErrValue, v.Type())
	}
	c.open = append(c.open, v)
	return func() { c.open = c.open[:len(c.open)-1] }, nil
}

func (c *converter) sequence(v starlark.Sequence, depth int) (any, error) {
	if l, ok := v.(*starlark.List); ok {
		leave, err := c.enter(l)
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	out := make([]any, 0, min(v.Len(), wire.MaxNodes))
	i := 0
	for e := range starlark.Elements(v) {
		p, err := c.value(e, depth+1)
		if err != nil {
			return nil, wire.At(fmt.Sprintf("[%d]", i), err)
		}
		out = append(out, p)
		i++
	}
	return out, nil
}

func (c *converter) dict(v *starlark.Dict, depth int) (any, error) {
	leave, err := c.enter(v)
	if err != nil {
		return nil, err
	}
	defer leave()
	out := make(map[string]any, min(v.Len(), wire.MaxNodes))
	for k, e := range starlark.Entries(v) {
		key, ok := k.(starlark.String)
		if !ok {
			return nil, fmt.Errorf("%w: a dict key is %s, want string", wire.ErrValue, k.Type())
		}
		if err := c.field(out, string(key), e, depth); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c *converter) structure(v *starlarkstruct.Struct, depth int) (any, error) {
	out := make(map[string]any, v.Len())
	for name, e := range v.Entries() {
		if err := c.field(out, name, e, depth); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// field converts one entry of a dict or struct into out.
func (c *converter) field(out map[string]any, key string, v starlark.Value, depth int) error {
	if err := errors.Join(wire.CheckString(key), c.budget.Take(depth, len(key))); err != nil {
		return wire.At("key", err)
	}
	p, err := c.value(v, depth+1)
	if err != nil {
		return wire.At("."+wire.Clip(key, 40), err)
	}
	out[key] = p
	return nil
}

// toStarlark converts plain data that the wire has bounded. Keys are sorted: Go's map order must not reach a script,
// or two runs of one block would differ.
func toStarlark(v any) starlark.Value {
	switch v := v.(type) {
	case bool:
		return starlark.Bool(v)
	case int64:
		return starlark.MakeInt64(v)
	case *big.Int:
		return starlark.MakeBigInt(v)
	case float64:
		return starlark.Float(v)
	case string:
		return starlark.String(v)
	case []byte:
		return starlark.Bytes(v)
	case []any:
		elems := make([]starlark.Value, len(v))
		for i, e := range v {
			elems[i] = toStarlark(e)
		}
		return starlark.NewList(elems)
	case map[string]any:
		return toDict(v)
	}
	return starlark.None
}

func toDict(m map[string]any) *starlark.Dict {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, strings.Compare)
	d := starlark.NewDict(len(m))
	for _, k := range keys {
		// SetKey fails only for a frozen dict or an unhashable key.
		_ = d.SetKey(starlark.String(k), toStarlark(m[k]))
	}
	return d
}
