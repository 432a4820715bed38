package flow

import (
	"go.starlark.net/resolve"
	"go.starlark.net/syntax"
)

// expr evaluates e in the order of the interpreter.
func (w *walk) expr(e syntax.Expr) value {
	w.depth++
	defer func() { w.depth-- }()
	if w.spent() {
		return top
	}
	switch e := e.(type) {
	case *syntax.Literal:
		return value{w.fr.mod.source, scalar}
	case *syntax.Ident:
		return w.read(e)
	case *syntax.ParenExpr:
		return w.expr(e.X)
	case *syntax.UnaryExpr:
		return value{w.heap.deep(w.expr(e.X)), scalar}
	case *syntax.BinaryExpr:
		return w.binary(e)
	case *syntax.CondExpr:
		return w.conditional(e)
	case *syntax.CallExpr:
		return w.call(e)
	case *syntax.DotExpr:
		return w.attribute(e)
	case *syntax.IndexExpr:
		x, i := w.expr(e.X), w.expr(e.Y)
		return value{w.join(w.heap.deep(x), w.heap.deep(i)), x.c}
	case *syntax.SliceExpr:
		return w.slice(e)
	case *syntax.LambdaExpr:
		return w.closure(e, e.Function.(*resolve.Function))
	case *syntax.Comprehension:
		return w.comprehension(e)
	}
	return w.display(e)
}

// display is a tuple, list, dict or entry of a dict written out. That it is empty is as much a literal as what stands in it.
func (w *walk) display(e syntax.Expr) value {
	v := w.fresh(w.fr.mod.source)
	var list []syntax.Expr
	switch e := e.(type) {
	case *syntax.DictEntry:
		list = []syntax.Expr{e.Key, e.Value}
	case *syntax.DictExpr:
		list = e.List
	case *syntax.ListExpr:
		list = e.List
	case *syntax.TupleExpr:
		list = e.List
	}
	for _, x := range list {
		v = w.heap.either(v, w.expr(x))
	}
	return v
}

func (w *walk) binary(e *syntax.BinaryExpr) value {
	x := w.expr(e.X)
	if e.Op != syntax.AND && e.Op != syntax.OR {
		return w.operated(e.Op, x, w.expr(e.Y))
	}
	l := w.heap.deep(x)
	v := w.heap.either(x, w.under(l, e.Y))
	return value{w.join(v.l, l), v.c}
}

// under evaluates e where the control flow also depends on l.
func (w *walk) under(l label, e syntax.Expr) value {
	pc := w.pc
	w.pc = w.join(pc, l)
	v := w.expr(e)
	w.pc = pc
	return v
}

func (w *walk) conditional(e *syntax.CondExpr) value {
	l := w.heap.deep(w.expr(e.Cond))
	v := w.heap.either(w.under(l, e.True), w.under(l, e.False))
	return value{w.join(v.l, l), v.c}
}

// operated is x op y. Only some operators make a container, and then of two containers; * also of one and a number.
func (w *walk) operated(op syntax.Token, x, y value) value {
	l := w.join(w.heap.deep(x), w.heap.deep(y))
	plain := w.heap.root(x.c) == scalar || w.heap.root(y.c) == scalar
	switch op {
	case syntax.STAR:
		if x.c == scalar && y.c == scalar {
			return value{l, scalar}
		}
		return w.fresh(l, x.c, y.c)
	case syntax.PLUS, syntax.MINUS, syntax.PIPE, syntax.AMP, syntax.CIRCUMFLEX:
		if !plain {
			return w.fresh(l, x.c, y.c)
		}
	}
	return value{l, scalar}
}

// attribute is x.name that is not called at once: a field, or a bound method.
func (w *walk) attribute(e *syntax.DotExpr) value {
	x := w.expr(e.X)
	if w.heap.root(x.c) == scalar { // a string's method
		v := w.fresh(x.l)
		w.heap.allow(v.c, isBuiltin)
		return v
	}
	w.heap.allow(x.c, isMethod)
	return w.element(x)
}

func (w *walk) slice(e *syntax.SliceExpr) value {
	v := w.element(w.expr(e.X))
	for _, x := range []syntax.Expr{e.Lo, e.Hi, e.Step} {
		if x != nil {
			v.l = w.join(v.l, w.heap.deep(w.expr(x)))
		}
	}
	return v
}

// closure is a function value: its code, the defaults of its parameters, and the cells that it captures.
func (w *walk) closure(node syntax.Node, fn *resolve.Function) value {
	f := &closure{node: node, fn: fn, mod: w.fr.mod, defaults: make([]value, len(fn.Params))}
	for i, p := range fn.Params {
		if d, ok := p.(*syntax.BinaryExpr); ok {
			f.defaults[i] = w.expr(d.Y)
		}
	}
	for _, b := range fn.FreeVars {
		if b.Scope == resolve.Free {
			f.free = append(f.free, w.fr.free[b.Index])
		} else {
			f.free = append(f.free, w.fr.slots[w.fr.locals+b.Index].c)
		}
	}
	v := w.fresh(clean)
	w.heap.add(v.c, f)
	return v
}

func (w *walk) comprehension(e *syntax.Comprehension) value {
	v := w.fresh(w.fr.mod.source)
	w.clauses(e.Clauses, func() {
		v = w.heap.either(v, w.expr(e.Body))
		v.l = w.join(v.l, w.pc)
	})
	return v
}

// clauses runs body under the loops and conditions of a comprehension.
func (w *walk) clauses(list []syntax.Node, body func()) {
	if len(list) == 0 {
		body()
		return
	}
	pc := w.pc
	switch c := list[0].(type) {
	case *syntax.IfClause:
		w.pc = w.join(pc, w.heap.deep(w.expr(c.Cond)))
		w.clauses(list[1:], body)
	case *syntax.ForClause:
		over := w.expr(c.X)
		w.repeat(func() {
			each := w.element(over)
			w.pc = w.join(pc, each.l)
			w.target(c.Vars, each)
			w.clauses(list[1:], body)
		})
	}
	w.pc = pc
}
