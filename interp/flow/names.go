package flow

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"

	"github.com/codeact-dev/codeact/spelling"
)

const (
	maxUnknown = 20  // bounds Report.Unknown
	maxKnown   = 500 // names that each is compared with: 20 unknown ones then cost some milliseconds
)

// set makes a set of the words in s.
func set(s string) map[string]bool {
	out := map[string]bool{}
	for _, word := range strings.Fields(s) {
		out[word] = true
	}
	return out
}

// The names of the dialect, by what a call of them can do. What stands in no list is taken to do anything that a builtin
// or a method can, so that a new one in the library costs precision and not soundness.
var (
	universe = set(`None True False abs all any bool bytes chr dict dir enumerate fail float getattr hasattr hash int len
		list max min ord print range repr reversed set sorted str tuple type zip`)
	modules       = set("json math")
	enders        = set("fail final attempt parallel") // they end the block, or call a tool
	takesFunction = set("max min sorted")
	scalarResult  = set("abs all any bool bytes chr float hasattr hash int len ord print range repr str type")

	scalarMethods = set(`capitalize count endswith find format index isalnum isalpha isdigit islower isspace istitle isupper
		issubset issuperset join lower lstrip removeprefix removesuffix replace rfind rindex rstrip startswith strip title upper`)
	stringLists = set("codepoint_ords codepoints elem_ords elems partition rpartition rsplit split splitlines")
	readers     = set("difference get intersection items keys symmetric_difference union values")
)

// reserved says whether the worker refuses to give name another meaning.
func (a *Analyzer) reserved(name string) bool {
	_, isTool := a.tools[name]
	return isTool || universe[name] || modules[name] || enders[name] || name == "struct"
}

// refuse finds what the worker refuses before it runs a block, as far as it would change what names mean.
func (a *Analyzer) refuse(file *syntax.File) error {
	for _, b := range file.Module.(*resolve.Module).Globals {
		if a.reserved(b.First.Name) {
			return a.fault(b.First.NamePos, "cannot rebind "+b.First.Name+": it is a tool or a builtin; choose another name")
		}
	}
	var err error
	syntax.Walk(file, func(n syntax.Node) bool {
		if l, ok := n.(*syntax.LoadStmt); ok && err == nil {
			err = a.fault(l.Load, "load is not available; json, math and struct are already there")
		}
		return err == nil
	})
	return err
}

func (a *Analyzer) fault(pos syntax.Position, text string) error {
	return &Error{Block: a.n, Line: int(pos.Line), Col: int(pos.Col), Err: fmt.Errorf("%s", text)}
}

// survey notes the tools that file names and returns the names that nothing defines.
func (a *Analyzer) survey(file *syntax.File) []Name {
	var unknown []Name
	seen := map[string]bool{}
	syntax.Walk(file, func(n syntax.Node) bool {
		id, ok := n.(*syntax.Ident)
		if !ok || !predeclared(id) {
			return true
		}
		a.name(id.Name)
		if !a.reserved(id.Name) && !seen[id.Name] && len(unknown) < maxUnknown {
			seen[id.Name] = true
			unknown = append(unknown, Name{Name: id.Name, Line: int(id.NamePos.Line), Col: int(id.NamePos.Col)})
		}
		return true
	})
	if len(unknown) > 0 {
		a.suggest(unknown, file)
	}
	return unknown
}

// suggest fills in Near. Names that blocks defined before come last: there is no bound on how many they are.
func (a *Analyzer) suggest(unknown []Name, file *syntax.File) {
	names := slices.Collect(maps.Keys(a.tools))
	for _, more := range []map[string]bool{universe, modules, enders} {
		names = slices.AppendSeq(names, maps.Keys(more))
	}
	for _, b := range file.Module.(*resolve.Module).Globals {
		names = append(names, b.First.Name)
	}
	names = append(names, slices.Sorted(maps.Keys(a.globals))...)
	for i, u := range unknown {
		unknown[i].Near = spelling.Nearest(u.Name, names[:min(len(names), maxKnown)])
	}
}
