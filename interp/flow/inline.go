package flow

import (
	"slices"

	"go.starlark.net/syntax"
)

// inlineDepth is how many functions may be inlined in one another before summaries take over. They also do when a quarter
// of the budget is spent: a few functions that call one another can otherwise be inlined in exponentially many ways.
const inlineDepth = 3

// inline runs the body of f with these arguments. A function that is already running would be a recursion, which is an
// error: it returns nothing.
func (w *walk) inline(f *closure, in arguments) value {
	bound := w.parameters(f, in)
	if len(w.stack) >= inlineDepth || w.steps > w.limits.Steps/4 {
		return w.summarise(f, bound)
	}
	if w.fr.fn == f.fn || slices.ContainsFunc(w.stack, func(fr *frame) bool { return fr.fn == f.fn }) {
		return value{}
	}
	return w.enter(f, bound)
}

// enter runs the body of f in a new frame, under the present control flow.
func (w *walk) enter(f *closure, bound []binding) value {
	pc, code := w.pc, w.code
	callee := &frame{fn: f.fn, mod: f.mod, slots: w.variables(f.fn.Locals), free: f.free}
	w.stack = append(w.stack, w.fr)
	w.fr, w.code = callee, w.join(code, f.mod.source)
	for _, b := range bound {
		w.assign(b.id, b.v)
	}
	w.stmts(f.fn.Body, pc)
	ret := callee.ret
	ret.l = w.join(ret.l, callee.sticky)

	w.fr = w.stack[len(w.stack)-1]
	w.stack = w.stack[:len(w.stack)-1]
	w.pc, w.code = pc, code
	return ret
}

// binding is a parameter with the value that it gets.
type binding struct {
	id *syntax.Ident
	v  value
}

// parameters gives each parameter of f its argument. What a call has too many or too few of is an error at run time.
func (w *walk) parameters(f *closure, in arguments) []binding {
	var out []binding
	rest := in.list
	positional := func() (value, bool) {
		if len(rest) == 0 || rest[0].name != "" {
			return value{}, false
		}
		v := rest[0].v
		rest = rest[1:]
		return v, true
	}
	keywordOnly := false
	for i, p := range f.fn.Params {
		switch p := p.(type) {
		case *syntax.Ident:
			out = append(out, binding{p, w.parameter(p.Name, value{}, in, positional, keywordOnly)})
		case *syntax.BinaryExpr:
			id := p.X.(*syntax.Ident)
			out = append(out, binding{id, w.parameter(id.Name, f.defaults[i], in, positional, keywordOnly)})
		case *syntax.UnaryExpr:
			keywordOnly = true
			if id, ok := p.X.(*syntax.Ident); ok {
				out = append(out, binding{id, w.made(in)}) // of some of them
			}
		}
	}
	return out
}

// parameter is what one named parameter gets.
func (w *walk) parameter(name string, otherwise value, in arguments, positional func() (value, bool), keywordOnly bool) value {
	if in.star {
		for _, a := range in.list {
			otherwise = w.heap.either(otherwise, a.v)
		}
		return otherwise
	}
	if !keywordOnly {
		if v, ok := positional(); ok {
			return v
		}
	}
	for _, a := range in.list {
		if a.name == name {
			return a.v
		}
	}
	return otherwise
}
