package flow

import (
	"go.starlark.net/resolve"
	"go.starlark.net/syntax"
)

// value is what is known of a Starlark value: where it comes from, and what else may share parts of it.
//
// The label covers how the value was made and chosen. What was put into it later, through whatever name, is on its class.
type value struct {
	l label
	c class
}

// top may be anything.
var top = value{unproven, anything}

// class is a set of objects that may share mutable parts or hold one another, by union-find: a container and what it
// holds are one class, so that whatever is reached from an object has its class.
type class int32

const (
	scalar   class = iota // immutable and without parts: numbers, strings, bytes, ranges; it cannot be called
	anything              // joined with all that an unknown function may touch
)

// callable says what a call of a member of a class may be, besides a known function.
type callable uint8

const (
	isTool    callable = 1 << iota // a tool that is used as a value
	isBuiltin                      // a builtin that only computes, perhaps through functions among its arguments
	isEnder                        // fail, final, attempt or parallel used as a value
	isMethod                       // a bound method
	isUnknown                      // any function whatever
)

// closure is a function with what it has captured.
type closure struct {
	node     syntax.Node // its identity: *syntax.DefStmt or *syntax.LambdaExpr
	fn       *resolve.Function
	mod      *module
	free     []class // cells of the enclosing functions
	defaults []value // by parameter
}

type node struct {
	parent class
	l      label // of what was put in since creation
	may    callable
	fns    []*closure // functions among the members, one a syntax node
	dirty  int        // last block that mutated a member
}

// watch tells a loop that something older than its iteration has changed.
type watch struct {
	mark    class // classes from here on belong to the iteration
	changed bool
}

// maxClasses bounds the heap of a run, at about 56 bytes each. Beyond, every new object is of class anything.
const maxClasses = 1 << 20

// heap holds the classes of a run and the labels that they carry.
type heap struct {
	labels
	nodes   []node
	watches []*watch // of the loops that are being analysed, outermost first
	kept    []*watch // of the summaries of the block
	block   int      // the running block

	collapsed int // nodes below this are of class anything
}

func newHeap() heap {
	return heap{labels: newLabels(), collapsed: 1, nodes: []node{{parent: scalar},
		{parent: anything, l: unproven, may: isTool | isBuiltin | isEnder | isMethod | isUnknown}}}
}

func (h *heap) fresh() class {
	if len(h.nodes) >= maxClasses {
		return anything
	}
	c := class(len(h.nodes))
	h.nodes = append(h.nodes, node{parent: c})
	return c
}

// root has the smallest number of its class: a loop can so tell old classes from those of its own iteration.
func (h *heap) root(c class) class {
	for h.nodes[c].parent != c {
		h.nodes[c].parent = h.nodes[h.nodes[c].parent].parent
		c = h.nodes[c].parent
	}
	return c
}

func (h *heap) at(c class) *node { return &h.nodes[h.root(c)] }

// deep is the label of v with all that it holds.
func (h *heap) deep(v value) label { return h.join(v.l, h.at(v.c).l) }

// touch records that the class with root r is not what it was.
func (h *heap) touch(r class) {
	for _, list := range [][]*watch{h.watches, h.kept} {
		for _, w := range list {
			if r < w.mark {
				w.changed = true
			}
		}
	}
}

// taint adds l to what is known of the parts of c.
func (h *heap) taint(c class, l label) {
	r := h.root(c)
	if j := h.join(h.nodes[r].l, l); r != scalar && j != h.nodes[r].l {
		h.nodes[r].l = j
		h.touch(r)
	}
}

// allow adds to what a call of a member of c may be.
func (h *heap) allow(c class, may callable) {
	r := h.root(c)
	if r != scalar && h.nodes[r].may|may != h.nodes[r].may {
		h.nodes[r].may |= may
		h.touch(r)
	}
}

// unite makes one class of two. A scalar has no parts to share.
func (h *heap) unite(x, y class) class {
	x, y = h.root(x), h.root(y)
	switch {
	case x == y || y == scalar:
		return x
	case x == scalar:
		return y
	case x > y:
		x, y = y, x
	}
	gone := h.nodes[y]
	h.nodes[y] = node{parent: x}
	h.touch(y)
	h.taint(x, gone.l)
	h.allow(x, gone.may)
	h.nodes[x].dirty = max(h.nodes[x].dirty, gone.dirty)
	for _, f := range gone.fns {
		h.add(x, f)
	}
	return h.root(x)
}

// add puts a function into c. Two that differ in what they captured become one, or a loop could make ever more.
func (h *heap) add(c class, f *closure) {
	r := h.root(c)
	for _, g := range h.nodes[r].fns {
		if g.node == f.node && g.mod == f.mod {
			h.mergeClosure(r, g, f)
			return
		}
	}
	h.nodes[r].fns = append(h.nodes[r].fns, f)
	h.touch(r)
}

// mergeClosure makes g stand for f also.
func (h *heap) mergeClosure(r class, g, f *closure) {
	for i := range g.free {
		g.free[i] = h.unite(g.free[i], f.free[i])
	}
	for i := range g.defaults {
		both := h.either(g.defaults[i], f.defaults[i])
		if both.l != g.defaults[i].l || (g.defaults[i].c == scalar) != (both.c == scalar) {
			h.touch(h.root(r))
		}
		g.defaults[i] = both
	}
}

// either is a value that is x or y.
func (h *heap) either(x, y value) value { return value{h.join(x.l, y.l), h.unite(x.c, y.c)} }

// collapse makes all objects one, as after a call of a function that nothing is known of.
func (h *heap) collapse() {
	for ; h.collapsed < len(h.nodes); h.collapsed++ {
		h.unite(anything, class(h.collapsed))
	}
}

// mutate puts v into the object o when the control flow depends on pc.
func (h *heap) mutate(o, v value, pc label) {
	if h.root(o.c) == scalar {
		return
	}
	c := h.unite(o.c, v.c)
	h.taint(c, h.join(h.join(o.l, pc), v.l)) // unite has joined the rest
	h.at(c).dirty = h.block
}

// equal says that two states of the same variables are the same.
func (h *heap) equal(x, y []value) bool {
	for i := range x {
		if x[i].l != y[i].l || h.root(x[i].c) != h.root(y[i].c) {
			return false
		}
	}
	return true
}

// meet joins the state y into x, in place.
func (h *heap) meet(x, y []value) {
	for i := range x {
		if x[i] != y[i] {
			x[i] = h.either(x[i], y[i])
		}
	}
}
