package rules

import (
	"slices"

	"github.com/goccy/go-yaml/ast"

	"github.com/codeact-dev/codeact/policy"
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
	name        text
	params      []paramDecl
	match       constraints
	conditions  []namedExpr
	variables   []namedExpr
	validations []validationDecl
	annotations []namedExpr
	examples    []example
}

// A namedExpr is a condition, a variable or an annotation.
type namedExpr struct{ name, expr text }

type validationDecl struct {
	expr        text
	message     text
	messageExpr text
	action      action
}

// A paramDecl is one line of spec.params.
type paramDecl struct{ name, typ text }

// readPolicies returns the policies of a file.
func readPolicies(f File) ([]document, *reader) {
	d := &reader{src: newSource(f.Name, string(f.Data))}
	var docs []document
	for _, n := range d.parseYAML(f.Data) {
		docs = append(docs, d.document(n))
	}
	if len(docs) == 0 && len(d.errs) == 0 {
		d.errs = append(d.errs, d.src.fault(0, "no policy is in this file"))
	}
	return docs, d
}

func (d *reader) document(n ast.Node) document {
	var doc document
	var version, kind text
	spec := false
	ok := d.mapping(n, "a policy", map[string]func(ast.Node){
		"apiVersion": func(n ast.Node) { version = d.constant(n, "apiVersion", apiVersion) },
		"kind":       func(n ast.Node) { kind = d.constant(n, "kind", kindPolicy) },
		"metadata":   func(n ast.Node) { doc.name = d.metadata(n) },
		"spec":       func(n ast.Node) { spec = true; d.spec(n, &doc) },
	})
	if !ok {
		return doc
	}
	missing := func(key string) { d.fail(n, "the policy has no %s", key) }
	if version.node == nil {
		missing("apiVersion: want " + apiVersion)
	}
	if kind.node == nil {
		missing("kind: want " + kindPolicy)
	}
	if doc.name.node == nil {
		missing("metadata.name")
	}
	if !spec {
		missing("spec")
	} else if len(doc.validations)+len(doc.annotations) == 0 {
		missing("validations, so it would allow everything")
	}
	return doc
}

func (d *reader) constant(n ast.Node, what, want string) text {
	t := d.text(n, what)
	if t.s != want && !t.empty() {
		d.fail(n, "%s %q: want %s", what, t.s, want)
	}
	return t
}

func (d *reader) metadata(n ast.Node) text {
	name := text{node: n, src: d.src}
	seen := false
	d.mapping(n, "metadata", map[string]func(ast.Node){
		"name":        func(n ast.Node) { seen, name = true, d.text(n, "metadata.name") },
		"description": func(n ast.Node) { d.text(n, "metadata.description") },
	})
	if !seen {
		d.fail(n, "the policy has no metadata.name")
	}
	return name
}

func (d *reader) spec(n ast.Node, doc *document) {
	d.mapping(n, "spec", map[string]func(ast.Node){
		"params": func(n ast.Node) {
			d.pairs(n, "spec.params", func(_ string, k, v ast.Node) {
				doc.params = append(doc.params, paramDecl{d.text(k, "a parameter"), d.text(v, "the type of a parameter")})
			})
		},
		"matchConstraints": func(n ast.Node) { doc.match = d.constraints(n) },
		"matchConditions":  func(n ast.Node) { doc.conditions = d.named(n, "matchConditions", "name", "expression") },
		"variables":        func(n ast.Node) { doc.variables = d.named(n, "variables", "name", "expression") },
		"validations": func(n ast.Node) {
			d.list(n, "validations", func(_ int, n ast.Node) { doc.validations = append(doc.validations, d.validation(n)) })
		},
		"auditAnnotations": func(n ast.Node) { doc.annotations = d.named(n, "auditAnnotations", "key", "valueExpression") },
		"examples": func(n ast.Node) {
			d.list(n, "examples", func(_ int, n ast.Node) { doc.examples = append(doc.examples, d.example(n)) })
		},
	})
}

// named reads a list of {name, expression} under whatever those two are called.
func (d *reader) named(n ast.Node, what, nameKey, exprKey string) []namedExpr {
	var out []namedExpr
	seen := map[string]bool{}
	d.list(n, what, func(_ int, n ast.Node) {
		var e namedExpr
		ok := d.mapping(n, what, map[string]func(ast.Node){
			nameKey: func(n ast.Node) { e.name = d.text(n, nameKey) },
			exprKey: func(n ast.Node) { e.expr = d.text(n, exprKey) },
		})
		switch {
		case !ok:
		case e.name.node == nil:
			d.fail(n, "an entry of %s has no %s", what, nameKey)
		case e.expr.node == nil:
			d.fail(n, "an entry of %s has no %s", what, exprKey)
		case seen[e.name.s]:
			d.fail(e.name.node, "duplicate %s %q in %s", nameKey, e.name.s, what)
		default:
			seen[e.name.s] = true
			out = append(out, e)
		}
	})
	return out
}

func (d *reader) validation(n ast.Node) validationDecl {
	var v validationDecl
	ok := d.mapping(n, "a validation", map[string]func(ast.Node){
		"expression":        func(n ast.Node) { v.expr = d.text(n, "expression") },
		"message":           func(n ast.Node) { v.message = d.text(n, "message") },
		"messageExpression": func(n ast.Node) { v.messageExpr = d.text(n, "messageExpression") },
		"action": func(n ast.Node) {
			t := d.text(n, "action")
			i := slices.Index(actionNames, t.s)
			if i < 0 && !t.empty() {
				d.fail(n, "action %q: want deny, ask, warn or audit%s", t.s, nearestOf(t.s, actionNames))
			}
			v.action = action(max(i, 0))
		},
	})
	if ok && v.expr.node == nil {
		d.fail(n, "the validation has no expression")
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

func (d *reader) constraints(n ast.Node) constraints {
	var c constraints
	globs := func(into *[]string, what string) func(ast.Node) {
		return func(n ast.Node) { *into = d.strings(n, what); d.notEmpty(n, what, len(*into)) }
	}
	d.mapping(n, "matchConstraints", map[string]func(ast.Node){
		"tools":   globs(&c.tools, "tools"),
		"servers": globs(&c.servers, "servers"),
		"labels":  globs(&c.labels, "labels"),
		"capabilities": func(n ast.Node) {
			c.caps = d.flags(n)
			d.notEmpty(n, "capabilities", len(c.caps))
		},
		"tiers": func(n ast.Node) {
			d.list(n, "tiers", func(_ int, n ast.Node) { c.tiers = append(c.tiers, d.tier(n)) })
			d.notEmpty(n, "tiers", len(c.tiers))
		},
	})
	return c
}

// notEmpty refuses a list that would match nothing, which nobody means.
func (d *reader) notEmpty(n ast.Node, what string, entries int) {
	if s, ok := n.(*ast.SequenceNode); ok && entries == 0 && len(s.Values) == 0 {
		d.fail(n, "an empty list of %s matches no call: leave the key out to match every call", what)
	}
}

// capabilityNames are all of them, which a tool has that declares none.
var capabilityNames = policy.Capabilities{}.Names()

func (d *reader) flags(n ast.Node) []policy.Flag {
	var out []policy.Flag
	for _, t := range d.texts(n, "capabilities") {
		f, err := policy.ParseFlag(t.s)
		if err != nil && !t.empty() {
			d.fail(t.node, "capability %q is not known%s", t.s, nearestOr(t.s, capabilityNames))
			continue
		}
		out = append(out, f)
	}
	return out
}

func (d *reader) tier(n ast.Node) policy.Tier {
	var t policy.Tier
	s := ""
	switch n := n.(type) {
	case *ast.IntegerNode:
		s = n.Token.Value
	case *ast.StringNode:
		s = n.Value
	}
	if err := t.UnmarshalText([]byte(s)); err != nil {
		d.fail(n, "a tier is free, ask_once or always_ask, or the number 0, 1 or 2")
	}
	return t
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
