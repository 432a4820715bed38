package policytest

import (
	"fmt"

	"github.com/hashicorp/go-multierror"

	"github.com/codeact-dev/codeact/policy"
	"github.com/codeact-dev/codeact/policy/rules/example"
	"github.com/codeact-dev/codeact/policy/rules/source"
)

// A Suite is one test file.
type Suite struct {
	File     string
	Policies []source.Text  // paths, relative to the file
	Params   map[string]any // policyParams
	Cases    []Case
}

// A Case is one expectation, of one call or of all calls of a trace.
type Case struct {
	Name  string
	File  string
	Line  int
	Trace source.Text // a path, relative to the file; missing where a call is written

	req  policy.Request
	want expectation
}

// An expectation is what must come of a call. What is not given is not looked at,
// but for the decision.
type expectation struct {
	decision policy.Verdict
	policy   string // a rule that decides so; "" is any
	reason   string // a part of it
	failed   *bool  // the deciding rule could, or could not, be evaluated
	same     bool
}

// Parse reads a test file. Its error has every fault, each a *[source.Fault].
func Parse(f source.File) (*Suite, error) {
	d := reader{source.NewReader(f)}
	docs := d.Documents()
	s := &Suite{File: f.Name, Params: map[string]any{}}
	switch {
	case len(docs) == 1:
		d.suite(docs[0], s)
	case len(docs) > 1:
		d.Fail(docs[1], "a test file holds one document")
	case len(d.Errs) == 0:
		d.Errs = append(d.Errs, d.Fault(0, "no test is in this file"))
	}
	if len(d.Errs) > 0 {
		return nil, multierror.Append(nil, d.Errs...)
	}
	return s, nil
}

// ParseCall reads a file with one call, as a case has it, to explain it.
func ParseCall(f source.File) (policy.Request, error) {
	d := reader{source.NewReader(f)}
	docs := d.Documents()
	var r policy.Request
	switch {
	case len(docs) == 1:
		called := false
		keys := example.Keys(d.Reader, &r)
		call := keys["call"]
		keys["call"] = func(n source.Node) { called = true; call(n) }
		if d.Mapping(docs[0], "the file", keys) && !called {
			d.Fail(docs[0], "the file has no call")
		}
	case len(docs) > 1:
		d.Fail(docs[1], "the file holds one call")
	case len(d.Errs) == 0:
		d.Errs = append(d.Errs, d.Fault(0, "no call is in this file"))
	}
	if len(d.Errs) > 0 {
		return policy.Request{}, multierror.Append(nil, d.Errs...)
	}
	return r, nil
}

// A reader reads one test file.
type reader struct{ *source.Reader }

type keys = map[string]func(source.Node)

func (d reader) suite(n source.Node, s *Suite) {
	var version, kind source.Text
	var defaults policy.Request
	var cases source.Node
	ok := d.Mapping(n, "a policy test", keys{
		"apiVersion": func(n source.Node) { version = d.Constant(n, "apiVersion", "codeact.dev/v1") },
		"kind":       func(n source.Node) { kind = d.Constant(n, "kind", "PolicyTest") },
		"policies":   func(n source.Node) { s.Policies = d.Texts(n, "policies") },
		"params": func(n source.Node) {
			d.Pairs(n, "params", func(key string, _, v source.Node) { s.Params[key] = d.Value(v) })
		},
		"defaults": func(n source.Node) { d.Mapping(n, "defaults", example.Keys(d.Reader, &defaults)) },
		"cases":    func(n source.Node) { cases = n }, // they need the defaults, wherever those stand
	})
	if !ok {
		return
	}
	for _, part := range []struct {
		what    string
		missing bool
	}{{"apiVersion: want codeact.dev/v1", version.Missing()}, {"kind: want PolicyTest", kind.Missing()}, {"policies", len(s.Policies) == 0}, {"cases", cases == nil}} {
		if part.missing {
			d.Fail(n, "the test has no %s", part.what)
		}
	}
	if cases != nil {
		d.cases(cases, defaults, s)
	}
}

func (d reader) cases(cases source.Node, defaults policy.Request, s *Suite) {
	seen := map[string]bool{}
	d.List(cases, "cases", func(_ int, n source.Node) {
		c := d.testCase(n, defaults)
		if seen[c.Name] {
			d.Fail(n, "duplicate case %q", c.Name)
		}
		seen[c.Name] = true
		s.Cases = append(s.Cases, c)
	})
	if source.IsEmptyList(cases) {
		d.Fail(cases, "the test has no cases")
	}
}

func (d reader) testCase(n source.Node, defaults policy.Request) Case {
	c := Case{File: d.Name, Line: d.Line(n), req: defaults}
	called, expected := false, false
	m := example.Keys(d.Reader, &c.req)
	call := m["call"]
	m["call"] = func(n source.Node) { called = true; call(n) }
	m["name"] = func(n source.Node) { c.Name = d.Text(n, "name").S }
	m["fromTrace"] = func(n source.Node) { c.Trace = d.Text(n, "fromTrace") }
	m["expect"] = func(n source.Node) { expected = true; c.want = d.expectation(n) }
	if !d.Mapping(n, "a case", m) {
		return c
	}
	if c.Name == "" {
		c.Name = c.Trace.S
	}
	switch {
	case called == !c.Trace.Missing():
		d.Fail(n, "a case has a call or a fromTrace")
	case !expected:
		d.Fail(n, "the case has no expect")
	case called && c.Name == "":
		d.Fail(n, "the case has no name")
	case called && c.want.same:
		d.Fail(n, "sameDecision goes with fromTrace: a call that is written has no earlier decision")
	case !called && !c.want.same:
		d.Fail(n, "fromTrace goes with expect: {sameDecision: true}")
	}
	return c
}

func (d reader) expectation(n source.Node) expectation {
	var w expectation
	decided := false
	verdict := func(n source.Node) {
		decided = true
		if err := w.decision.UnmarshalText([]byte(d.Text(n, "decision").S)); err != nil {
			d.Fail(n, "decision must be deny, ask or allow")
		}
	}
	if !source.IsMapping(n) {
		verdict(n) // as an example writes it
		return w
	}
	d.Mapping(n, "expect", keys{
		"decision":       verdict,
		"policy":         func(n source.Node) { w.policy = d.Text(n, "policy").S },
		"reasonContains": func(n source.Node) { w.reason = d.Text(n, "reasonContains").S },
		"error":          func(n source.Node) { w.failed = new(bool); *w.failed = d.Boolean(n, "error") },
		"sameDecision":   func(n source.Node) { w.same = d.Boolean(n, "sameDecision") },
	})
	if decided == w.same {
		d.Fail(n, "expect has a decision or sameDecision: true")
	}
	if w.decision == policy.Allow && decided && (w.policy != "" || w.reason != "" || w.failed != nil && *w.failed) {
		d.Fail(n, "no rule stands behind an allow: take policy, reasonContains and error away")
	}
	return w
}

func (c Case) String() string { return fmt.Sprintf("%s:%d: %s", c.File, c.Line, c.Name) }
