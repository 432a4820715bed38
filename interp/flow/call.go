package flow

import (
	"slices"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"
)

// argument is one actual argument. Expr is nil where it has no place of its own in the source.
type argument struct {
	name string // empty if positional
	v    value
	expr syntax.Expr
}

// arguments are those of a call. With a * or ** argument any of them may go to any parameter.
type arguments struct {
	list []argument
	star bool
}

func (w *walk) arguments(exprs []syntax.Expr) arguments {
	var in arguments
	for _, e := range exprs {
		switch x := e.(type) {
		case *syntax.BinaryExpr:
			if x.Op == syntax.EQ {
				in.list = append(in.list, argument{x.X.(*syntax.Ident).Name, w.expr(x.Y), x.Y})
				continue
			}
		case *syntax.UnaryExpr:
			if x.Op == syntax.STAR || x.Op == syntax.STARSTAR {
				in.star = true
				in.list = append(in.list, argument{v: w.element(w.expr(x.X))})
				continue
			}
		}
		in.list = append(in.list, argument{"", w.expr(e), e})
	}
	return in
}

// deep is the label of all arguments with what they hold. Their names are literals of the caller.
func (w *walk) deep(in arguments) label {
	l := clean
	for _, a := range in.list {
		l = w.join(l, w.heap.deep(a.v))
		if a.name != "" {
			l = w.join(l, w.fr.mod.source)
		}
	}
	return l
}

// made is an object of the parts of all arguments.
func (w *walk) made(in arguments, parts ...class) value {
	for _, a := range in.list {
		parts = append(parts, a.v.c)
	}
	return w.fresh(w.deep(in), parts...)
}

// call finds out what is called. A tool or builtin is known if it is called by its own name.
func (w *walk) call(e *syntax.CallExpr) value {
	switch fn := unparen(e.Fn).(type) {
	case *syntax.Ident:
		if predeclared(fn) {
			return w.direct(e, fn.Name)
		}
	case *syntax.DotExpr:
		return w.method(e, fn)
	}
	f := w.expr(e.Fn)
	return w.apply(f, w.arguments(e.Args))
}

// predeclared says whether id is not a variable.
func predeclared(id *syntax.Ident) bool {
	scope := bindingOf(id).Scope
	return scope == resolve.Predeclared || scope == resolve.Universal
}

func (w *walk) direct(e *syntax.CallExpr, name string) value {
	switch {
	case name == "attempt":
		return w.attempt(e)
	case name == "parallel":
		return w.parallel(e)
	case enders[name]:
		w.arguments(e.Args)
		w.sticky = w.join(w.sticky, w.now())
		return value{}
	case w.isTool(name):
		return w.tool(e, name, w.arguments(e.Args))
	case name == "struct" || universe[name]:
		return w.builtin(name, w.arguments(e.Args))
	}
	return w.apply(top, w.arguments(e.Args))
}

// builtin is a call of a builtin that only computes.
func (w *walk) builtin(name string, in arguments) value {
	if takesFunction[name] {
		l := w.callbacks(in)
		v := w.made(in)
		return value{w.join(v.l, l), v.c}
	}
	switch {
	case scalarResult[name]:
		return value{w.deep(in), scalar}
	case name == "dir":
		return w.fresh(w.deep(in))
	}
	v := w.made(in)
	if name == "getattr" {
		w.heap.allow(v.c, isMethod|isBuiltin)
	}
	return v
}

// callbacks calls each function among the arguments with one of the others or of what they hold, and returns the label of
// the results. A single argument is what is ordered, not the function that orders it.
func (w *walk) callbacks(in arguments) label {
	if len(in.list) < 2 && !in.star {
		return clean
	}
	l, pc := clean, w.pc
	w.pc = w.join(pc, w.deep(in))
	for i, f := range in.list {
		n := w.heap.at(f.v.c)
		if n.may == 0 && len(n.fns) == 0 {
			continue
		}
		w.repeat(func() {
			var each value
			for j, a := range in.list {
				if j != i || in.star {
					each = w.heap.either(each, w.element(a.v))
				}
			}
			l = w.join(l, w.heap.deep(w.apply(f.v, arguments{list: []argument{{v: each}}})))
		})
	}
	w.pc = pc
	return l
}

// apply calls a value: all that it may be.
func (w *walk) apply(f value, in arguments) value {
	if w.spent() {
		return top
	}
	pc, l := w.pc, w.heap.deep(f)
	n := *w.heap.at(f.c)
	n.fns = slices.Clone(n.fns)
	if n.may&isUnknown != 0 {
		w.unknown()
		return top
	}
	w.pc = w.join(pc, l)
	out := value{l: l}
	if n.may&isTool != 0 {
		out = w.heap.either(out, w.fresh(unproven))
	}
	if n.may&isEnder != 0 { // it may call a tool among its arguments, or end the block
		w.sticky = unproven
		out = w.heap.either(out, w.fresh(unproven))
	}
	if n.may&isBuiltin != 0 {
		out = w.heap.either(out, w.anyBuiltin(in))
	}
	if n.may&isMethod != 0 {
		out = w.heap.either(out, w.anyMethod(f, in))
	}
	for _, fn := range n.fns {
		out = w.heap.either(out, w.inline(fn, in))
	}
	w.pc = pc
	return out
}

// unknown is a call of some function that nothing is known of.
func (w *walk) unknown() {
	w.heap.collapse()
	w.sticky = unproven
	w.demote = true
}

func (w *walk) anyBuiltin(in arguments) value {
	l := w.callbacks(in)
	v := w.made(in)
	w.heap.allow(v.c, isMethod|isBuiltin) // it may have been getattr
	return value{w.join(v.l, l), v.c}
}

// anyMethod is a method that may put its arguments into o and return a part of it.
func (w *walk) anyMethod(o value, in arguments) value {
	names := w.deep(in)
	for _, a := range in.list {
		w.heap.mutate(o, a.v, w.join(names, w.now()))
	}
	w.heap.mutate(o, value{}, w.now()) // clear() has no arguments
	l := w.join(w.heap.deep(o), names)
	if w.heap.root(o.c) == scalar {
		return w.fresh(l)
	}
	return value{l, o.c}
}

// method is x.name(…): a method of a builtin type, or a function in a struct's field.
func (w *walk) method(e *syntax.CallExpr, fn *syntax.DotExpr) value {
	if id, ok := unparen(fn.X).(*syntax.Ident); ok && predeclared(id) && modules[id.Name] {
		in := w.arguments(e.Args)
		if fn.Name.Name == "decode" { // it has a parameter default
			return w.made(in)
		}
		return value{w.deep(in), scalar}
	}
	o := w.expr(fn.X)
	in := w.arguments(e.Args)
	var out value
	if n := w.heap.at(o.c); n.may != 0 || len(n.fns) > 0 {
		out = w.apply(w.element(o), in)
	}
	l := w.join(w.heap.deep(o), w.deep(in))
	switch name := fn.Name.Name; {
	case scalarMethods[name]:
		return w.heap.either(out, value{l, scalar})
	case stringLists[name]:
		return w.heap.either(out, w.fresh(l))
	case readers[name]:
		return w.heap.either(out, w.fresh(l, w.made(in, o.c).c))
	}
	return w.heap.either(out, w.anyMethod(o, in))
}
