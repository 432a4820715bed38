package flow

import (
	"fmt"
	"slices"

	"go.starlark.net/syntax"
)

type siteKey struct {
	call *syntax.CallExpr
	tool string
}

// site is one tool at one call, joined over all the ways to it.
type site struct {
	pos        string
	tool       string
	source     label // of the call itself
	inFunction bool
	inLoop     bool
	args       map[string]label
	control    label
	consts     map[string]string
}

// member is one call that is about to be made.
type member struct {
	tool   string
	in     arguments
	pc     label
	inLoop bool
}

// tool is a direct call of a tool.
func (w *walk) tool(e *syntax.CallExpr, name string, in arguments) value {
	return w.record(e, member{name, in, w.pc, w.nest > 0})
}

// attempt is a direct call if its tool is named in place; its result carries the call, whether it fails or not.
func (w *walk) attempt(e *syntax.CallExpr) value {
	if len(e.Args) > 0 {
		if id, ok := unparen(e.Args[0]).(*syntax.Ident); ok && predeclared(id) {
			switch {
			case w.isTool(id.Name):
				return w.tool(e, id.Name, w.arguments(e.Args[1:]))
			case id.Name == "final":
				return w.direct(e, "final")
			}
		}
	}
	return w.apply(w.builtinValue("attempt"), w.arguments(e.Args))
}

// parallel calls its members after all of them have been evaluated. Members that are not written out are unproven.
func (w *walk) parallel(e *syntax.CallExpr) value {
	if len(e.Args) != 1 || !w.isBatch(e.Args[0]) {
		return w.apply(w.builtinValue("parallel"), w.arguments(e.Args))
	}
	var batch []member
	l := w.members(e.Args[0], &batch)
	out := w.fresh(l)
	for _, m := range batch {
		out = w.heap.either(out, w.record(e, m))
	}
	return out
}

// isBatch says whether e is written out: a list of (tool, {"name": value}), or a comprehension of such a pair.
func (w *walk) isBatch(e syntax.Expr) bool {
	switch e := unparen(e).(type) {
	case *syntax.ListExpr:
		return !slices.ContainsFunc(e.List, func(x syntax.Expr) bool { return !w.isMember(x) })
	case *syntax.Comprehension:
		return !e.Curly && w.isMember(e.Body)
	}
	return false
}

func (w *walk) isMember(e syntax.Expr) bool {
	pair, ok := unparen(e).(*syntax.TupleExpr)
	if !ok || len(pair.List) != 2 {
		return false
	}
	id, ok := unparen(pair.List[0]).(*syntax.Ident)
	args, isDict := unparen(pair.List[1]).(*syntax.DictExpr)
	if !ok || !isDict || !predeclared(id) || !w.isTool(id.Name) {
		return false
	}
	return !slices.ContainsFunc(args.List, func(x syntax.Expr) bool {
		key, ok := unparen(x.(*syntax.DictEntry).Key).(*syntax.Literal)
		return !ok || key.Token != syntax.STRING
	})
}

// members evaluates a batch. It returns the label of how many members there are.
func (w *walk) members(e syntax.Expr, batch *[]member) label {
	l := clean
	one := func(e syntax.Expr) {
		pair := unparen(e).(*syntax.TupleExpr)
		m := member{tool: unparen(pair.List[0]).(*syntax.Ident).Name, pc: w.pc, inLoop: w.nest > 0}
		for _, x := range unparen(pair.List[1]).(*syntax.DictExpr).List {
			entry := x.(*syntax.DictEntry)
			key := unparen(entry.Key).(*syntax.Literal).Value.(string)
			m.in.list = append(m.in.list, argument{key, w.expr(entry.Value), entry.Value})
		}
		*batch = append(*batch, m)
		l = w.join(l, w.pc)
	}
	switch e := unparen(e).(type) {
	case *syntax.ListExpr:
		for _, x := range e.List {
			one(x)
		}
	case *syntax.Comprehension:
		w.clauses(e.Clauses, func() { one(e.Body) })
	}
	return l
}

// record joins one call into its site and returns its result, which depends on the call, on what it was given and on
// whether it was made.
func (w *walk) record(e *syntax.CallExpr, m member) value {
	params := w.tools[m.tool].Params
	given := map[string]label{}
	consts := map[string]string{}
	all := w.deep(arguments{list: m.in.list})
	for i, a := range m.in.list {
		switch {
		case a.name == "" && i < len(params):
			a.name = params[i]
		case a.name == "":
			continue
		}
		given[a.name] = w.heap.deep(a.v)
		if text, ok := constant(a.expr); ok {
			consts[a.name] = text
		}
	}
	if m.in.star {
		for _, p := range params {
			given[p] = all
		}
		for name := range given {
			given[name] = all
		}
		clear(consts)
	}
	control := w.join(m.pc, w.sticky)
	s := w.siteOf(e, m.tool, consts)
	s.add(w, m.inLoop, w.join(control, w.code), given, consts)
	return w.fresh(w.join(w.join(control, all), s.source))
}

func (w *walk) siteOf(e *syntax.CallExpr, tool string, consts map[string]string) *site {
	key := siteKey{e, tool}
	s := w.sites[key]
	if s == nil {
		pos := w.position(e.Lparen)
		s = &site{pos: pos, tool: tool, source: w.heap.of(source{w.n, pos}), args: map[string]label{}, consts: consts}
		w.sites[key] = s
		w.order = append(w.order, s)
	}
	return s
}

// add joins one more way to the site.
func (s *site) add(w *walk, inLoop bool, control label, given map[string]label, consts map[string]string) {
	s.inFunction = s.inFunction || len(w.stack) > 0
	s.inLoop = s.inLoop || inLoop
	s.control = w.join(s.control, control)
	for name, l := range given {
		s.args[name] = w.join(s.args[name], l)
	}
	for name, text := range s.consts {
		if other, ok := consts[name]; !ok || other != text {
			delete(s.consts, name)
		}
	}
}

// constant is the text of a literal.
func constant(e syntax.Expr) (string, bool) {
	if e == nil {
		return "", false
	}
	switch e := unparen(e).(type) {
	case *syntax.Literal:
		return fmt.Sprint(e.Value), true
	case *syntax.Ident:
		return e.Name, predeclared(e) && (e.Name == "True" || e.Name == "False" || e.Name == "None")
	}
	return "", false
}

// report is what has been proven.
func (w *walk) report() []Site {
	var out []Site
	known := map[label]Flow{}
	flow := func(l label) Flow {
		f, ok := known[l]
		if !ok {
			f = w.heap.flow(l)
			known[l] = f
		}
		return f
	}
	for _, s := range w.order {
		if w.demote && s.inFunction {
			continue
		}
		r := Site{Pos: s.pos, Tool: s.tool, InLoop: s.inLoop, Args: map[string]Flow{}, Control: flow(s.control), Const: s.consts}
		for name, l := range s.args {
			r.Args[name] = flow(l)
		}
		out = append(out, r)
	}
	return out
}

// flow spells l out.
func (ls *labels) flow(l label) Flow {
	if l == unproven {
		return Flow{}
	}
	f := Flow{Proven: true}
	ls.each(l, func(s source) {
		if s.pos == "" {
			f.Blocks = append(f.Blocks, s.block)
		} else {
			f.Calls = append(f.Calls, CallRef{s.block, s.pos})
		}
	})
	slices.Sort(f.Blocks)
	return f
}
