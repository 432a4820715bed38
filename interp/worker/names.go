package worker

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/codeact-dev/codeact/interp/wire"
)

// defined reports the names that nothing defines. It runs after resolve.
func (r *run) defined(file *syntax.File) error {
	var known []string
	var faults []string
	var first syntax.Position
	seen := map[string]bool{}
	syntax.Walk(file, func(n syntax.Node) bool {
		id, ok := n.(*syntax.Ident)
		if !ok || len(faults) == maxReported || seen[id.Name] || !undefined(id) {
			return true
		}
		if known == nil {
			known, first = r.knownNames(file), id.NamePos
		}
		seen[id.Name] = true
		faults = append(faults, fmt.Sprintf("undefined: %s (line %d)%s",
			wire.Clip(id.Name, 60), id.NamePos.Line, didYouMean(id.Name, known)))
		return true
	})
	if faults == nil {
		return nil
	}
	return &staticError{kind: wire.FaultSyntax, pos: first, msg: strings.Join(faults, "; ")}
}

// undefined says whether resolve took id for predeclared, which no name of ours is.
func undefined(id *syntax.Ident) bool {
	b, ok := id.Binding.(*resolve.Binding)
	return ok && b.Scope == resolve.Predeclared
}

func (r *run) knownNames(file *syntax.File) []string {
	names := append(r.globals.Keys(), starlark.Universe.Keys()...)
	for _, b := range file.Module.(*resolve.Module).Globals {
		names = append(names, b.First.Name)
	}
	return names
}

// refuseRebinding refuses to give a reserved name another meaning: later blocks, and the person who reads the trace,
// must be able to trust that a tool's name is the tool.
func (r *run) refuseRebinding(file *syntax.File) error {
	for _, id := range bound(file.Stmts) {
		if r.reserved[id.Name] {
			return &staticError{kind: wire.FaultSyntax, pos: id.NamePos,
				msg:  fmt.Sprintf("cannot rebind %s: it is a tool or a builtin", id.Name),
				hint: fmt.Sprintf("choose another name, such as my_%s", id.Name)}
		}
	}
	return nil
}

// bound returns the identifiers that stmts bind at top level, not those inside functions and comprehensions.
func bound(stmts []syntax.Stmt) []*syntax.Ident {
	var ids []*syntax.Ident
	for _, s := range stmts {
		switch s := s.(type) {
		case *syntax.AssignStmt:
			ids = append(ids, targets(s.LHS)...)
		case *syntax.DefStmt:
			ids = append(ids, s.Name)
		case *syntax.ForStmt:
			ids = append(append(ids, targets(s.Vars)...), bound(s.Body)...)
		case *syntax.WhileStmt:
			ids = append(ids, bound(s.Body)...)
		case *syntax.IfStmt:
			ids = append(append(ids, bound(s.True)...), bound(s.False)...)
		}
	}
	return ids
}

// targets returns the identifiers that an assignment to e binds; x[i] and x.f bind none.
func targets(e syntax.Expr) []*syntax.Ident {
	var list []syntax.Expr
	switch e := e.(type) {
	case *syntax.Ident:
		return []*syntax.Ident{e}
	case *syntax.ParenExpr:
		return targets(e.X)
	case *syntax.TupleExpr:
		list = e.List
	case *syntax.ListExpr:
		list = e.List
	}
	var ids []*syntax.Ident
	for _, e := range list {
		ids = append(ids, targets(e)...)
	}
	return ids
}

// readers knows which functions of earlier blocks read which globals: name -> function -> block. Each block is its own
// module, so such a function goes on seeing the old value when a later block assigns the name.
type readers map[string]map[string]int

// note records the functions of file and returns a warning for each name whose readers will not see its new value.
func (rs readers) note(file *syntax.File, chunk int) []string {
	names := map[string]bool{}
	for _, id := range bound(file.Stmts) {
		names[id.Name] = true
	}
	for _, functions := range rs {
		for f := range functions {
			if names[f] {
				delete(functions, f) // defined again: the new one reads this block's globals
			}
		}
	}
	var warnings []string
	for name := range names {
		if functions := rs[name]; len(functions) > 0 {
			warnings = append(warnings, fmt.Sprintf("%s still sees the old %s: it was defined in an earlier block. "+
				"Pass %s as an argument, or define the function again", anyKey(functions), name, name))
		}
	}
	slices.Sort(warnings)
	rs.record("", file, chunk)
	return warnings[:min(len(warnings), maxReported)]
}

// record notes the globals read below n, which stands inside the named function, or in none.
func (rs readers) record(function string, n syntax.Node, chunk int) {
	syntax.Walk(n, func(c syntax.Node) bool {
		switch c := c.(type) {
		case *syntax.DefStmt:
			if function == "" {
				for _, s := range c.Body {
					rs.record(c.Name.Name, s, chunk)
				}
				return false
			}
		case *syntax.LambdaExpr:
			if function == "" {
				rs.record("a lambda", c.Body, chunk)
				return false
			}
		case *syntax.Ident:
			if b, ok := c.Binding.(*resolve.Binding); ok && function != "" && b.Scope == resolve.Global {
				if rs[c.Name] == nil {
					rs[c.Name] = map[string]int{}
				}
				rs[c.Name][function] = chunk
			}
		}
		return true
	})
}

// anyKey returns the least key, so that the same session always warns with the same words.
func anyKey(m map[string]int) string {
	least := ""
	for k := range m {
		if least == "" || k < least {
			least = k
		}
	}
	return least
}
