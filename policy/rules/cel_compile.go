package rules

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types/ref"

	"github.com/codeact-dev/codeact/policy/rules/celenv"
	"github.com/codeact-dev/codeact/policy/rules/source"
	"github.com/codeact-dev/codeact/spelling"
)

// A clause is one compiled expression. It is immutable.
type clause struct {
	label string // where it stands in its policy, as "validations[1]"
	name  string // of a condition, a variable or an annotation
	text  source.Text
	ast   *cel.Ast
	prog  cel.Program

	// tracked is the same program with the values of its parts, partial one that goes
	// by a part of the facts. They are slower and needed only to explain and to check,
	// so they are made when first asked for.
	tracked, partial func() (cel.Program, error)
}

// at is where the clause stands, as "file:line".
func (c *clause) at() string { return fmt.Sprintf("%s:%d", c.text.File(), c.line()) }

func (c *clause) line() int { return c.text.Line() }

// A validation is a clause that must hold, and what follows if it does not.
type validation struct {
	*clause
	message     string
	messageExpr *clause // nil if there is none
	action      action
}

// A rule is one compiled policy of a file. It is immutable once Compile returns.
type rule struct {
	name        string
	src         string // the name of its file
	line        int
	match       constraints
	conditions  []*clause
	variables   []*clause
	varIndex    map[string]int // by qualified name, as "variables.u"
	validations []validation
	annotations []*clause
	params      map[string]ref.Val // by qualified name, as "params.tz"
	declared    []paramDecl
	standing    bool            // see File
	exercised   bool            // an example reached the validations
	skipped     map[string]bool // the conditions that an example did not meet
}

// A compiler compiles the expressions of one policy, or one that stands alone.
type compiler struct {
	env       *cel.Env
	params    []string // the declared ones
	variables []string // those declared so far
	errs      []error
}

// compileRule compiles a policy. Its faults are added to d.
func compileRule(d reader, doc document, given map[string]any) *rule {
	u := &rule{name: doc.name.S, src: d.Name, line: d.Line(doc.name.Node), match: doc.match, varIndex: map[string]int{},
		declared: doc.params, skipped: map[string]bool{}}
	set := d.params(doc.params, given)
	u.params = set.values
	c := &compiler{env: celenv.Extend(celenv.Base(), set.opts...), params: slices.Sorted(maps.Keys(set.types))}
	for _, v := range doc.variables {
		c.variable(u, v)
	}
	for i, e := range doc.conditions {
		u.conditions = append(u.conditions, c.named(fmt.Sprintf("matchConditions[%d]", i), e, cel.BoolType))
	}
	for i, v := range doc.validations {
		label := fmt.Sprintf("validations[%d]", i)
		k := validation{clause: c.clause(label, v.expr, cel.BoolType), message: v.message.S, action: v.action}
		if !v.messageExpr.Empty() {
			k.messageExpr = c.clause(label+".messageExpression", v.messageExpr, cel.StringType)
		}
		u.validations = append(u.validations, k)
	}
	for i, e := range doc.annotations {
		u.annotations = append(u.annotations, c.named(fmt.Sprintf("auditAnnotations[%d]", i), e, cel.StringType))
	}
	d.Errs = append(d.Errs, c.errs...)
	u.examples(d, doc.examples, set.types, len(d.Errs) == 0)
	return u
}

// variable compiles a variable and declares it, with its type, for what follows.
func (c *compiler) variable(u *rule, v namedExpr) {
	if !identifier.MatchString(v.name.S) {
		c.errs = append(c.errs, v.name.Fault(0, "%q cannot be the name of a variable: want letters, digits and _", v.name.S))
		return
	}
	k := c.named(fmt.Sprintf("variables[%d]", len(u.variables)), v, nil)
	typ := cel.DynType // after a fault, so that it is reported once
	if k.ast != nil {
		typ = k.ast.OutputType()
	}
	name := "variables." + v.name.S
	c.env = celenv.Extend(c.env, cel.Variable(name, typ))
	c.variables = append(c.variables, v.name.S)
	u.varIndex[name] = len(u.variables)
	u.variables = append(u.variables, k)
}

func (c *compiler) named(label string, e namedExpr, want *cel.Type) *clause {
	k := c.clause(label, e.expr, want)
	k.name = e.name.S
	return k
}

// clause compiles an expression of the wanted type; a nil type is any. After a
// fault the clause has no program, and Compile returns no policy.
func (c *compiler) clause(label string, t source.Text, want *cel.Type) *clause {
	k := &clause{label: label, text: t}
	if t.Empty() {
		return k // reported when it was read
	}
	ast, iss := c.env.Compile(t.S)
	if iss.Err() != nil {
		for _, e := range iss.Errors() {
			c.errs = append(c.errs, c.fault(t, e))
		}
		return k
	}
	if got := ast.OutputType(); want != nil && !got.IsExactType(want) && !got.IsDyn() {
		c.errs = append(c.errs, t.Fault(0, "the expression must be a %s, not a %s", want, got))
		return k
	}
	prog, err := c.env.Program(ast, programOptions()...)
	if err != nil {
		c.errs = append(c.errs, t.Fault(0, "%v", err))
		return k
	}
	env := c.env
	k.ast, k.prog = ast, prog
	with := func(opt cel.EvalOption) func() (cel.Program, error) {
		return sync.OnceValues(func() (cel.Program, error) {
			return env.Program(ast, append(programOptions(), cel.EvalOptions(opt))...)
		})
	}
	k.tracked, k.partial = with(cel.OptTrackState), with(cel.OptPartialEval)
	return k
}

func programOptions() []cel.ProgramOption {
	return []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize), cel.CostTracking(celenv.Costs{}), cel.CostLimit(costLimit)}
}

var (
	undeclared = regexp.MustCompile(`^undeclared reference to '([^']*)'`)
	undefined  = regexp.MustCompile(`^undefined field '([^']*)'`)
	fieldRead  = regexp.MustCompile(`^\s*\.?\s*([A-Za-z_][A-Za-z0-9_]*)`)
)

// fault puts an error of the CEL compiler at its place in the file, and says what
// was probably meant.
func (c *compiler) fault(t source.Text, e *cel.Error) error {
	off := codePoint(t.S, e.Location.Line(), e.Location.Column())
	value := []rune(t.S)
	msg := strings.TrimSpace(e.Message)
	if m := undeclared.FindStringSubmatch(msg); m != nil {
		root, _, _ := strings.Cut(m[1], ".")
		known, own := map[string][]string{"variables": c.variables, "params": c.params}[root]
		if !own {
			return t.Fault(off, "%s is not known%s", m[1], spelling.DidYouMean(m[1], c.names()))
		}
		at, field := fieldAfter(value, off, root)
		return t.Fault(at, "%s.%s is not declared%s", root, field, orNone(field, known))
	}
	if m := undefined.FindStringSubmatch(msg); m != nil {
		at, _ := fieldAfter(value, off, "")
		return t.Fault(at, "there is no field %q%s", m[1], spelling.DidYouMean(m[1], celenv.Fields()))
	}
	return t.Fault(off, "%s", msg)
}

func orNone(name string, known []string) string {
	if len(known) == 0 {
		return ", as none is"
	}
	return source.NearestOr(name, known)
}

// fieldAfter finds the name that is read from root, or behind the dot at off.
func fieldAfter(value []rune, off int, root string) (int, string) {
	rest := string(value[min(off, len(value)):])
	skip := 0
	if root != "" && strings.HasPrefix(rest, root) {
		skip = len(root)
	}
	m := fieldRead.FindStringSubmatchIndex(rest[skip:])
	if m == nil {
		return off, "?"
	}
	return off + len([]rune(rest[:skip+m[2]])), rest[skip+m[2] : skip+m[3]]
}

// names is what an expression can begin with.
func (c *compiler) names() []string {
	names := append(celenv.Variables(), "variables", "params")
	for f := range c.env.Functions() {
		if identifier.MatchString(f) {
			names = append(names, f)
		}
	}
	slices.Sort(names)
	return names
}

// codePoint is the offset of a line, from 1, and a column, from 0.
func codePoint(s string, line, col int) int {
	off := 0
	for l := range strings.SplitAfterSeq(s, "\n") {
		if line--; line <= 0 {
			return off + max(0, min(col, len([]rune(l))))
		}
		off += len([]rune(l))
	}
	return off
}
