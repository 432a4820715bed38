package worker

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/codeact-dev/codeact/interp/wire"
)

// Static bounds that no configuration moves.
const (
	maxNodes     = 20_000 // syntax nodes of a block
	maxIntDigits = 300    // characters of an integer literal: parsing is quadratic in them
	maxReported  = 20     // faults listed in one error
)

// staticError is one or more faults found before the block ran. Pos is the first.
type staticError struct {
	kind wire.FaultKind
	pos  syntax.Position
	msg  string
	hint string
}

func (e *staticError) Error() string { return e.msg }

// check parses source and refuses it before it runs: what is too large first, since the later steps recurse.
func (r *run) check(source string) (*syntax.File, error) {
	file, err := dialect.Parse(r.name, source, 0)
	if err != nil {
		return nil, parseError(err, source)
	}
	for _, step := range []func(*syntax.File) error{r.measure, refuseLoad, r.resolve, r.refuseRebinding, r.defined} {
		if err := step(file); err != nil {
			return nil, err
		}
	}
	r.warnings = r.readers.note(file, r.chunk)
	return file, nil
}

// parseError keeps the library's message. The parser stops by itself at 1,000 levels.
func parseError(err error, source string) error {
	var at syntax.Error
	if !errors.As(err, &at) {
		return &staticError{kind: wire.FaultSyntax, msg: err.Error()}
	}
	if at.Msg == "excessive nesting" {
		return tooDeep(at.Pos, 1000)
	}
	return &staticError{kind: wire.FaultSyntax, pos: at.Pos, msg: at.Msg, hint: dialectHint(source, at.Pos)}
}

func tooDeep(pos syntax.Position, limit int) error {
	return &staticError{kind: wire.FaultSource, pos: pos, msg: fmt.Sprintf("nested deeper than %d levels", limit),
		hint: "split the expression over several statements; build long texts with a list and join"}
}

// measure walks the tree without recursion, because chains such as 1-1-1 or elif are as deep as they are long.
func (r *run) measure(file *syntax.File) error {
	type item struct {
		node  syntax.Node
		depth int
	}
	stack := []item{{file, 0}}
	for n := 0; len(stack) > 0; n++ {
		it := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if it.depth > r.limits.Nesting {
			return tooDeep(syntax.Start(it.node), r.limits.Nesting)
		}
		if n > maxNodes {
			return &staticError{kind: wire.FaultSource, pos: syntax.Start(it.node),
				msg:  fmt.Sprintf("more than %d parts", maxNodes),
				hint: "write a shorter block; read large data through a tool instead of writing it out"}
		}
		if lit, ok := it.node.(*syntax.Literal); ok && lit.Token == syntax.INT && len(lit.Raw) > maxIntDigits {
			return &staticError{kind: wire.FaultSource, pos: lit.TokenPos,
				msg: fmt.Sprintf("integer literal of %d digits, at most %d", len(lit.Raw), maxIntDigits)}
		}
		for _, c := range children(it.node) {
			stack = append(stack, item{c, it.depth + 1})
		}
	}
	return nil
}

// refuseLoad refuses load here, where it has a position; without a loader it would fail at run time.
func refuseLoad(file *syntax.File) (err error) {
	syntax.Walk(file, func(n syntax.Node) bool {
		if load, ok := n.(*syntax.LoadStmt); ok && err == nil {
			err = &staticError{kind: wire.FaultSyntax, pos: load.Load, msg: "load is not available",
				hint: "there are no modules to load; json, math and struct are already there"}
		}
		return err == nil
	})
	return err
}

// resolve binds every name. The library takes quadratic time to suggest a spelling for each undefined name, so all
// names are declared known to it, and defined looks for those that are not.
func (r *run) resolve(file *syntax.File) error {
	anyName := func(name string) bool { return !starlark.Universe.Has(name) }
	err := resolve.REPLChunk(file, r.globals.Has, anyName, starlark.Universe.Has)
	var list resolve.ErrorList
	if !errors.As(err, &list) {
		return err
	}
	lines := make([]string, 0, maxReported)
	for _, e := range list[:min(len(list), maxReported)] {
		lines = append(lines, fmt.Sprintf("%s (line %d)", e.Msg, e.Pos.Line))
	}
	return &staticError{kind: wire.FaultSyntax, pos: list[0].Pos, msg: strings.Join(lines, "; ")}
}

// dialectHint knows the Python that models write and Starlark refuses, by the first word of the line.
func dialectHint(source string, pos syntax.Position) string {
	lines := strings.Split(source, "\n")
	if i := int(pos.Line) - 1; i >= 0 && i < len(lines) {
		word, _, _ := strings.Cut(strings.TrimLeft(lines[i], " \t"), " ")
		if hint, ok := foreign[strings.TrimRight(word, ":(")]; ok {
			return hint
		}
		if fString.MatchString(lines[i]) {
			return `there are no f-strings: use "{} and {}".format(a, b) or %`
		}
	}
	return ""
}

// fString is an f that is not the end of a word or of an escape, before a quote.
var fString = regexp.MustCompile(`(^|[^A-Za-z0-9_\\])f["']`)

var foreign = map[string]string{
	"import": "there is no import: json, math and struct are already there, everything else is a tool",
	"from":   "there is no import: json, math and struct are already there, everything else is a tool",
	"try":    "there is no try: use r = attempt(tool, name=value); then r.ok, r.value, r.error",
	"except": "there is no try: use r = attempt(tool, name=value); then r.ok, r.value, r.error",
	"raise":  "there is no raise: use fail(message)",
	"class":  "there are no classes: use struct(name=value) and functions",
	"with":   "there is no with: call the tools directly",
	"async":  "there is no async: tool calls return their value",
	"await":  "there is no await: tool calls return their value",
	"yield":  "there are no generators: return a list",
	"global": "there is no global: a function cannot assign a global; return the value",
	"del":    "there is no del: use d.pop(key)",
	"assert": "there is no assert: use if not x: fail(message)",
}
