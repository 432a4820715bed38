package flow

import (
	"slices"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"
)

// stmts runs a list of statements under the label base. What the statements before have made uncertain (a return, a
// break) is added for each.
func (w *walk) stmts(list []syntax.Stmt, base label) {
	w.depth++
	defer func() { w.depth-- }()
	for _, s := range list {
		if w.spent() {
			return
		}
		w.pc = w.join(base, w.uncertain())
		w.stmt(s)
	}
}

// uncertain is the label of the returns, breaks and continues that may have been taken.
func (w *walk) uncertain() label {
	if w.fr.loop == nil {
		return w.fr.sticky
	}
	return w.join(w.fr.sticky, w.fr.loop.sticky)
}

func (w *walk) stmt(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.ExprStmt:
		w.expr(s.X)
	case *syntax.AssignStmt:
		w.assignment(s)
	case *syntax.IfStmt:
		w.ifStmt(s)
	case *syntax.ForStmt:
		w.forStmt(s)
	case *syntax.WhileStmt:
		w.whileStmt(s)
	case *syntax.BranchStmt:
		w.branch(s)
	case *syntax.ReturnStmt:
		if s.Result != nil {
			w.fr.ret = w.heap.either(w.fr.ret, w.expr(s.Result)) // enter adds sticky
		}
		w.fr.sticky = w.join(w.fr.sticky, w.now())
	case *syntax.DefStmt:
		w.assign(s.Name, w.closure(s, s.Function.(*resolve.Function)))
	}
}

func (w *walk) assignment(s *syntax.AssignStmt) {
	if s.Op != syntax.EQ {
		w.augmented(s)
		return
	}
	lhs, pairs := unparen(s.LHS).(*syntax.TupleExpr)
	rhs, literal := unparen(s.RHS).(*syntax.TupleExpr)
	if !pairs || !literal || len(lhs.List) != len(rhs.List) {
		w.target(s.LHS, w.expr(s.RHS))
		return
	}
	values := make([]value, len(rhs.List)) // x, y = y, x: each its own
	for i, e := range rhs.List {
		values[i] = w.expr(e)
	}
	for i, e := range lhs.List {
		w.target(e, values[i])
	}
}

// target binds v to a name, to each of several, or puts it into a container.
func (w *walk) target(lhs syntax.Expr, v value) {
	var list []syntax.Expr
	switch lhs := unparen(lhs).(type) {
	case *syntax.Ident:
		w.assign(lhs, v)
	case *syntax.IndexExpr:
		o, i := w.expr(lhs.X), w.expr(lhs.Y)
		w.heap.mutate(o, w.heap.either(v, i), w.now())
	case *syntax.DotExpr:
		w.heap.mutate(w.expr(lhs.X), v, w.now())
	case *syntax.TupleExpr:
		list = lhs.List
	case *syntax.ListExpr:
		list = lhs.List
	}
	for _, e := range list {
		w.target(e, w.element(v))
	}
}

// augmented is x += y: a list, dict or set changes in place, anything else is bound anew. The place is evaluated once.
func (w *walk) augmented(s *syntax.AssignStmt) {
	var old, holder value
	switch lhs := unparen(s.LHS).(type) {
	case *syntax.IndexExpr:
		holder = w.heap.either(w.expr(lhs.X), w.expr(lhs.Y))
		old = w.element(holder)
	case *syntax.DotExpr:
		holder = w.expr(lhs.X)
		old = w.element(holder)
	default:
		old = w.expr(lhs)
	}
	with := w.expr(s.RHS)
	w.heap.mutate(old, with, w.now())
	v := value{w.join(w.heap.deep(old), w.heap.deep(with)), scalar}
	if w.heap.root(old.c) != scalar {
		v.c = w.heap.unite(old.c, with.c)
	}
	if id, ok := unparen(s.LHS).(*syntax.Ident); ok {
		w.assign(id, v)
		return
	}
	w.heap.mutate(holder, v, w.now())
}

func (w *walk) ifStmt(s *syntax.IfStmt) {
	pc := w.pc
	inner := w.join(pc, w.heap.deep(w.expr(s.Cond)))
	before := slices.Clone(w.fr.slots)
	w.stmts(s.True, inner)
	after := w.fr.slots
	w.fr.slots = before
	w.stmts(s.False, inner)
	w.heap.meet(w.fr.slots, after)
}

func (w *walk) forStmt(s *syntax.ForStmt) {
	over, pc := w.expr(s.X), w.pc
	w.statementLoop(func() {
		each := w.element(over)
		base := w.join(pc, each.l)
		w.pc = w.join(base, w.uncertain())
		w.target(s.Vars, each)
		w.stmts(s.Body, base)
	})
}

func (w *walk) whileStmt(s *syntax.WhileStmt) {
	base := w.pc
	w.statementLoop(func() {
		w.pc = w.join(base, w.uncertain())
		// The next round, and with it the condition, is reached only if the condition held in this one.
		w.fr.loop.sticky = w.join(w.fr.loop.sticky, w.heap.deep(w.expr(s.Cond)))
		w.stmts(s.Body, base)
	})
}

// statementLoop is a loop that break and continue act on.
func (w *walk) statementLoop(body func()) {
	outer := w.fr.loop
	lp := &loop{}
	w.fr.loop = lp
	w.repeat(func() {
		body()
		w.meet(lp.nexts)
	})
	w.meet(lp.exits)
	w.fr.loop = outer
}

func (w *walk) meet(state []value) {
	if state != nil {
		w.heap.meet(w.fr.slots, state)
	}
}

// repeat runs body until the state before it covers the state after it. The body may run no time.
func (w *walk) repeat(body func()) {
	watch := &watch{}
	w.heap.watches = append(w.heap.watches, watch)
	w.nest++
	head := w.fr.slots
	for {
		watch.mark, watch.changed = class(len(w.heap.nodes)), false
		sticky, uncertain := w.sticky, w.uncertain()
		w.fr.slots = slices.Clone(head)
		body()
		next := slices.Clone(head)
		w.heap.meet(next, w.fr.slots)
		stable := !watch.changed && sticky == w.sticky && uncertain == w.uncertain() && w.heap.equal(head, next)
		head = next
		if w.over || stable {
			break
		}
	}
	w.fr.slots = head
	w.nest--
	w.heap.watches = w.heap.watches[:len(w.heap.watches)-1]
}

// branch is break, continue or pass. What follows in the loop, in this round or in another, depends on it.
func (w *walk) branch(s *syntax.BranchStmt) {
	lp := w.fr.loop
	if lp == nil || s.Token == syntax.PASS {
		return
	}
	lp.sticky = w.join(lp.sticky, w.now())
	to := &lp.exits
	if s.Token == syntax.CONTINUE {
		to = &lp.nexts
	}
	if *to == nil {
		*to = slices.Clone(w.fr.slots)
		return
	}
	w.heap.meet(*to, w.fr.slots)
}

func unparen(e syntax.Expr) syntax.Expr {
	for {
		p, ok := e.(*syntax.ParenExpr)
		if !ok {
			return e
		}
		e = p.X
	}
}
