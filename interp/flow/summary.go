package flow

import "slices"

// summary is one function of which all calls are taken together: it is run with what any of them passed, and again only
// if that, or what it reads, has changed since.
type summary struct {
	f       *closure
	bound   []binding
	pc      label
	sticky  label
	code    label
	inLoop  bool
	globals []value // of the running block; those of earlier blocks do not change
	ret     value

	watch   watch // of the heap
	returns int   // of walk, when it last ran
	fresh   bool  // the fields above have not changed since it ran
	running bool
}

// summarise is a call of f by its summary. A recursion, though an error at run time, gets what is known so far, so that a
// summary does not depend on who called.
func (w *walk) summarise(f *closure, bound []binding) value {
	s := w.summaryOf(f, bound)
	s.admit(w, f, bound)
	if s.running {
		return s.ret
	}
	outer := w.pc
	for !w.spent() && !s.current(w) {
		s.run(w)
	}
	w.pc = outer
	return s.ret
}

func (w *walk) summaryOf(f *closure, bound []binding) *summary {
	s := w.summaries[f.node]
	if s == nil {
		own := *f // its cells and defaults will be joined with others'
		own.free, own.defaults = slices.Clone(f.free), slices.Clone(f.defaults)
		s = &summary{f: &own, bound: bound}
		w.summaries[f.node] = s
		w.heap.kept = append(w.heap.kept, &s.watch)
	}
	return s
}

// admit joins one more call into s.
func (s *summary) admit(w *walk, f *closure, bound []binding) {
	grow := func(l *label, more label) {
		if j := w.join(*l, more); j != *l {
			*l, s.fresh = j, false
		}
	}
	grow(&s.pc, w.pc)
	grow(&s.sticky, w.sticky)
	grow(&s.code, w.code)
	for i := range f.free {
		s.f.free[i] = w.heap.unite(s.f.free[i], f.free[i])
	}
	for i, b := range bound {
		was := s.bound[i].v
		both := w.heap.either(was, b.v)
		s.bound[i].v = both
		if both.l != was.l || w.heap.root(both.c) != w.heap.root(was.c) || (was.c == scalar) != (both.c == scalar) {
			s.fresh = false
		}
	}
	if w.nest > 0 && !s.inLoop {
		s.inLoop, s.fresh = true, false
	}
}

// current says whether another run would find nothing new.
func (s *summary) current(w *walk) bool {
	return s.fresh && !s.watch.changed && s.returns == w.returns && w.heap.equal(s.globals, w.mod.frame.slots)
}

func (s *summary) run(w *walk) {
	code, nest := w.code, w.nest
	s.watch.mark, s.watch.changed = class(len(w.heap.nodes)), false
	s.fresh, s.running = true, true
	s.returns, s.globals = w.returns, slices.Clone(w.mod.frame.slots)
	if s.inLoop {
		w.nest = max(1, nest)
	}
	w.pc, w.code = s.pc, s.code
	was := s.ret
	s.ret = w.heap.either(was, w.enter(s.f, s.bound))
	if s.ret.l != was.l || (was.c == scalar) != (s.ret.c == scalar) {
		w.returns++
	}
	s.running = false
	w.code, w.nest = code, nest
}
