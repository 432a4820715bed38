package rules

import (
	"slices"

	"github.com/codeact-dev/codeact/policy"
	"github.com/codeact-dev/codeact/policy/rules/example"
	"github.com/codeact-dev/codeact/policy/rules/source"
	"github.com/codeact-dev/codeact/spelling"
)

const (
	apiVersion = "codeact.dev/v1"
	kindPolicy = "ToolCallPolicy"
)

// An action is what a validation that does not hold does.
type action uint8

// The actions, strictest first.
const (
	actDeny action = iota // the default
	actAsk
	actWarn
	actAudit
)

var actionNames = []string{"deny", "ask", "warn", "audit"}

func (a action) String() string { return actionNames[a] }

// verdict is what a failed validation contributes: a warning refuses nothing.
func (a action) verdict() policy.Verdict {
	switch a {
	case actDeny:
		return policy.Deny
	case actAsk:
		return policy.Ask
	}
	return policy.Allow
}

// A document is one policy as it was written, before its expressions are compiled.
type document struct {
	name        source.Text
	params      []paramDecl
	match       constraints
	conditions  []namedExpr
	variables   []namedExpr
	validations []validationDecl
	annotations []namedExpr
	examples    []sample
}

// A namedExpr is a condition, a variable or an annotation.
type namedExpr struct{ name, expr source.Text }

type validationDecl struct {
	expr        source.Text
	message     source.Text
	messageExpr source.Text
	action      action
}

// A paramDecl is one line of spec.params.
type paramDecl struct{ name, typ source.Text }

// A reader reads the policies of one file.
type reader struct{ *source.Reader }

// readPolicies returns the policies of a file.
func readPolicies(f File) ([]document, reader) {
	d := reader{source.NewReader(source.File{Name: f.Name, Data: f.Data})}
	var docs []document
	for _, n := range d.Documents() {
		docs = append(docs, d.document(n))
	}
	if len(docs) == 0 && len(d.Errs) == 0 {
		d.Errs = append(d.Errs, d.Fault(0, "no policy is in this file"))
	}
	return docs, d
}

func (d reader) document(n source.Node) document {
	var doc document
	var version, kind source.Text
	spec := false
	ok := d.Mapping(n, "a policy", map[string]func(source.Node){
		"apiVersion": func(n source.Node) { version = d.Constant(n, "apiVersion", apiVersion) },
		"kind":       func(n source.Node) { kind = d.Constant(n, "kind", kindPolicy) },
		"metadata":   func(n source.Node) { doc.name = d.metadata(n) },
		"spec":       func(n source.Node) { spec = true; d.spec(n, &doc) },
	})
	if !ok {
		return doc
	}
	missing := func(key string) { d.Fail(n, "the policy has no %s", key) }
	if version.Node == nil {
		missing("apiVersion: want " + apiVersion)
	}
	if kind.Node == nil {
		missing("kind: want " + kindPolicy)
	}
	if doc.name.Node == nil {
		missing("metadata.name")
	}
	if !spec {
		missing("spec")
	} else if len(doc.validations)+len(doc.annotations) == 0 {
		missing("validations, so it would allow everything")
	}
	return doc
}

func (d reader) metadata(n source.Node) source.Text {
	name := source.Text{Node: n}
	seen := false
	d.Mapping(n, "metadata", map[string]func(source.Node){
		"name":        func(n source.Node) { seen, name = true, d.Text(n, "metadata.name") },
		"description": func(n source.Node) { d.Text(n, "metadata.description") },
	})
	if !seen {
		d.Fail(n, "the policy has no metadata.name")
	}
	return name
}

func (d reader) spec(n source.Node, doc *document) {
	d.Mapping(n, "spec", map[string]func(source.Node){
		"params": func(n source.Node) {
			d.Pairs(n, "spec.params", func(_ string, k, v source.Node) {
				doc.params = append(doc.params, paramDecl{d.Text(k, "a parameter"), d.Text(v, "the type of a parameter")})
			})
		},
		"matchConstraints": func(n source.Node) { doc.match = d.constraints(n) },
		"matchConditions":  func(n source.Node) { doc.conditions = d.named(n, "matchConditions", "name", "expression") },
		"variables":        func(n source.Node) { doc.variables = d.named(n, "variables", "name", "expression") },
		"validations": func(n source.Node) {
			d.List(n, "validations", func(_ int, n source.Node) { doc.validations = append(doc.validations, d.validation(n)) })
		},
		"auditAnnotations": func(n source.Node) { doc.annotations = d.named(n, "auditAnnotations", "key", "valueExpression") },
		"examples": func(n source.Node) {
			d.List(n, "examples", func(_ int, n source.Node) { doc.examples = append(doc.examples, d.example(n)) })
		},
	})
}

// named reads a list of {name, expression} under whatever those two are called.
func (d reader) named(n source.Node, what, nameKey, exprKey string) []namedExpr {
	var out []namedExpr
	seen := map[string]bool{}
	d.List(n, what, func(_ int, n source.Node) {
		var e namedExpr
		ok := d.Mapping(n, what, map[string]func(source.Node){
			nameKey: func(n source.Node) { e.name = d.Text(n, nameKey) },
			exprKey: func(n source.Node) { e.expr = d.Text(n, exprKey) },
		})
		switch {
		case !ok:
		case e.name.Node == nil:
			d.Fail(n, "an entry of %s has no %s", what, nameKey)
		case e.expr.Node == nil:
			d.Fail(n, "an entry of %s has no %s", what, exprKey)
		case seen[e.name.S]:
			d.Fail(e.name.Node, "duplicate %s %q in %s", nameKey, e.name.S, what)
		default:
			seen[e.name.S] = true
			out = append(out, e)
		}
	})
	return out
}

func (d reader) validation(n source.Node) validationDecl {
	var v validationDecl
	ok := d.Mapping(n, "a validation", map[string]func(source.Node){
		"expression":        func(n source.Node) { v.expr = d.Text(n, "expression") },
		"message":           func(n source.Node) { v.message = d.Text(n, "message") },
		"messageExpression": func(n source.Node) { v.messageExpr = d.Text(n, "messageExpression") },
		"action": func(n source.Node) {
			t := d.Text(n, "action")
			i := slices.Index(actionNames, t.S)
			if i < 0 && !t.Empty() {
				d.Fail(n, "action %q: want deny, ask, warn or audit%s", t.S, spelling.DidYouMean(t.S, actionNames))
			}
			v.action = action(max(i, 0))
		},
	})
	if ok && v.expr.Node == nil {
		d.Fail(n, "the validation has no expression")
	}
	return v
}

// Constraints say which calls a policy is about. All kinds that are given must
// match; within a kind, one entry.
type constraints struct {
	tools, servers, labels []string // globs
	caps                   []policy.Flag
	tiers                  []policy.Tier
}

func (d reader) constraints(n source.Node) constraints {
	var c constraints
	globs := func(into *[]string, what string) func(source.Node) {
		return func(n source.Node) { *into = d.Strings(n, what); d.notEmpty(n, what, len(*into)) }
	}
	d.Mapping(n, "matchConstraints", map[string]func(source.Node){
		"tools":   globs(&c.tools, "tools"),
		"servers": globs(&c.servers, "servers"),
		"labels":  globs(&c.labels, "labels"),
		"capabilities": func(n source.Node) {
			c.caps = example.Capabilities(d.Reader, n)
			d.notEmpty(n, "capabilities", len(c.caps))
		},
		"tiers": func(n source.Node) {
			d.List(n, "tiers", func(_ int, n source.Node) { c.tiers = append(c.tiers, example.Tier(d.Reader, n)) })
			d.notEmpty(n, "tiers", len(c.tiers))
		},
	})
	return c
}

// notEmpty refuses a list that would match nothing, which nobody means.
func (d reader) notEmpty(n source.Node, what string, entries int) {
	if entries == 0 && source.IsEmptyList(n) {
		d.Fail(n, "an empty list of %s matches no call: leave the key out to match every call", what)
	}
}

// mismatch says why a call is none of the policy's business, "" if it is.
func (c *constraints) mismatch(t *policy.ToolView) string {
	switch {
	case c.tools != nil && !anyMatches(c.tools, t.Name):
		return "the tool is not one of its tools"
	case c.servers != nil && !anyMatches(c.servers, t.Server):
		return "the tool's server is not one of its servers"
	case c.caps != nil && !slices.ContainsFunc(c.caps, t.Caps.Has):
		return "the tool has none of its capabilities"
	case c.tiers != nil && !slices.Contains(c.tiers, t.Tier):
		return "the tool is in none of its tiers"
	case c.labels != nil && !slices.ContainsFunc(t.Labels, func(l string) bool { return anyMatches(c.labels, l) }):
		return "the tool has none of its labels"
	}
	return ""
}

func anyMatches(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { return wildcard(g, name) })
}

// wildcard matches with * for any text and everything else for itself.
func wildcard(glob, s string) bool {
	star, mark := -1, 0
	g, i := 0, 0
	for i < len(s) {
		switch {
		case g < len(glob) && glob[g] == '*':
			star, mark = g, i
			g++
		case g < len(glob) && glob[g] == s[i]:
			g, i = g+1, i+1
		case star >= 0:
			mark++
			g, i = star+1, mark
		default:
			return false
		}
	}
	for g < len(glob) && glob[g] == '*' {
		g++
	}
	return g == len(glob)
}
