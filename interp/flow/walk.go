package flow

import (
	"go.starlark.net/resolve"
	"go.starlark.net/syntax"
)

// maxDepth bounds the nesting of expressions, statements and inlined calls together, for the Go stack's sake.
const maxDepth = 2_000

// module is a block with its own globals: a function sees those of the block that defines it, and a later block's
// assignment to the same name does not reach it.
type module struct {
	n      int
	frame  *frame // of the top level; its slots begin with the globals
	names  []string
	source label // of the block's literals
}

// frame is a function that is being inlined, or the top level.
type frame struct {
	fn     *resolve.Function // nil at top level
	mod    *module
	locals int     // index of the first local in slots
	slots  []value // variables; a cell's value is the class that it holds
	free   []class // captured cells
	sticky label   // of the returns passed so far: what follows is run only if they were not taken
	loop   *loop   // innermost
	ret    value
}

// loop is a for or while statement that is being analysed.
type loop struct {
	sticky label // of the breaks, continues and while conditions passed so far
	exits  []value
	nexts  []value
}

// walk is the analysis of one block: abstract execution in the order of the real one, loops to a fixpoint, functions
// inlined (the dialect has no recursion).
type walk struct {
	*Analyzer
	file  *syntax.File
	mod   *module
	fr    *frame
	stack []*frame // callers of fr, outermost first

	pc     label // of the conditions, loops, returns and breaks around the current statement
	sticky label // of fail and final, which end the whole block
	code   label // literals of the blocks whose code is running

	steps int
	depth int
	over  bool
	nest  int // loops around, callers' included

	summaries map[syntax.Node]*summary
	returns   int // counts the changes of what any summary returns

	sites   map[siteKey]*site
	order   []*site
	demote  bool // an unknown function was called: it may call any position in a function
	assigns map[int]*assigned
}

// assigned is what a block bound to one of its globals, at any time.
type assigned struct {
	known bool    // the name had a value before
	all   []class // of its values, the earlier one included
	times int     // 2 stands for more, and for once in a loop
}

func newWalk(a *Analyzer, file *syntax.File) *walk {
	clear(a.heap.joins)
	a.heap.block = a.n
	m := &module{n: a.n, source: a.heap.of(source{block: a.n})}
	resolved := file.Module.(*resolve.Module)
	w := &walk{Analyzer: a, file: file, mod: m, code: m.source, summaries: map[syntax.Node]*summary{},
		sites: map[siteKey]*site{}, assigns: map[int]*assigned{}}
	w.fr = &frame{mod: m, locals: len(resolved.Globals)}
	m.frame = w.fr
	for i, b := range resolved.Globals {
		v, known := a.globals[b.First.Name]
		m.names = append(m.names, b.First.Name)
		w.fr.slots = append(w.fr.slots, v)
		w.assigns[i] = &assigned{known: known, all: []class{v.c}}
	}
	w.fr.slots = append(w.fr.slots, w.variables(resolved.Locals)...)
	return w
}

// variables makes room for the locals of a function. Those that an inner function captures are cells.
func (w *walk) variables(locals []*resolve.Binding) []value {
	slots := make([]value, len(locals))
	for i, b := range locals {
		if b.Scope == resolve.Cell {
			slots[i].c = w.heap.fresh()
		}
	}
	return slots
}

// run analyses the block and keeps its globals. A block that is over budget may have done anything.
func (w *walk) run() {
	w.stmts(w.file.Stmts, clean)
	w.heap.watches, w.heap.kept = nil, nil
	if w.over {
		w.heap.collapse()
		for i := range w.fr.slots {
			w.fr.slots[i] = top
		}
	}
	w.keep()
}

// keep makes the names of the block those of the run. A name that is only read has kept its value.
func (w *walk) keep() {
	for i, name := range w.mod.names {
		w.globals[name] = w.fr.slots[i]
	}
}

// fail corrects what run supposed, if the block did not reach its end.
func (w *walk) fail() {
	for i, as := range w.assigns {
		once := as.times == 1 && !as.known
		if as.times == 0 || once {
			continue
		}
		v := value{l: unproven}
		for _, c := range as.all {
			v.c = w.heap.unite(v.c, c)
		}
		w.fr.slots[i] = v
	}
	for c := range w.heap.nodes {
		if w.heap.nodes[c].dirty == w.n {
			w.heap.taint(class(c), unproven)
		}
	}
	w.keep()
}

func (w *walk) join(x, y label) label { return w.heap.join(x, y) }

// now is what the control flow depends on at this moment.
func (w *walk) now() label { return w.join(w.pc, w.sticky) }

// spent counts a step, and says whether the analysis has given up.
func (w *walk) spent() bool {
	w.steps++
	if w.steps > w.limits.Steps || w.depth > maxDepth {
		w.over = true
	}
	return w.over
}

// fresh is a new object that is made of the parts of others and depends on l.
func (w *walk) fresh(l label, parts ...class) value {
	c := w.heap.fresh()
	for _, p := range parts {
		c = w.heap.unite(c, p)
	}
	return value{l, c}
}

// element is what v yields when it is iterated, indexed or unpacked.
func (w *walk) element(v value) value { return value{w.heap.deep(v), v.c} }

// bindingOf says what id denotes.
func bindingOf(id *syntax.Ident) resolve.Binding {
	if b, ok := id.Binding.(*resolve.Binding); ok {
		return *b
	}
	return resolve.Binding{} // Undefined
}

// read is the value of a name.
func (w *walk) read(id *syntax.Ident) value {
	switch b := bindingOf(id); b.Scope {
	case resolve.Local:
		return w.fr.slots[w.fr.locals+b.Index]
	case resolve.Cell:
		return w.element(value{clean, w.fr.slots[w.fr.locals+b.Index].c})
	case resolve.Free:
		return w.element(value{clean, w.fr.free[b.Index]})
	case resolve.Global:
		return w.fr.mod.frame.slots[b.Index]
	}
	return w.builtinValue(id.Name)
}

// builtinValue is a predeclared name that is used as a value.
func (w *walk) builtinValue(name string) value {
	may := isBuiltin
	switch {
	case name == "True" || name == "False" || name == "None":
		return value{w.fr.mod.source, scalar}
	case enders[name]:
		may = isEnder | isBuiltin
	case universe[name] || modules[name] || name == "struct":
	case w.isTool(name):
		may = isTool
	default:
		return top
	}
	v := w.fresh(clean)
	w.heap.allow(v.c, may)
	return v
}

func (w *walk) isTool(name string) bool { _, ok := w.tools[name]; return ok }

// assign binds v to the name, under the present control flow.
func (w *walk) assign(id *syntax.Ident, v value) {
	v.l = w.join(v.l, w.now())
	switch b := bindingOf(id); b.Scope {
	case resolve.Local:
		w.fr.slots[w.fr.locals+b.Index] = v
	case resolve.Cell:
		w.heap.mutate(value{clean, w.fr.slots[w.fr.locals+b.Index].c}, v, w.now())
	case resolve.Global:
		w.fr.slots[b.Index] = v
		w.noteAssigned(b.Index, v)
	}
}

// noteAssigned remembers v for fail. The classes are united only there, since a block that ends well needs no such loss.
func (w *walk) noteAssigned(i int, v value) {
	as := w.assigns[i]
	as.times++
	if w.nest > 0 {
		as.times = 2
	}
	as.all = append(as.all, v.c)
}
