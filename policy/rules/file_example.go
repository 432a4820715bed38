package rules

import (
	"github.com/codeact-dev/codeact/policy"
	"github.com/codeact-dev/codeact/policy/rules/example"
	"github.com/codeact-dev/codeact/policy/rules/source"
)

// A sample is an example of a policy: a call with the verdict that the policy must
// give. A policy whose example fails does not load.
type sample struct {
	name   source.Text
	node   source.Node
	req    policy.Request
	params map[string]any // instead of the task's, so that an example stands alone
	places map[string]source.Node
	expect policy.Verdict
}

func (d reader) example(n source.Node) sample {
	e := sample{node: n, params: map[string]any{}, places: map[string]source.Node{}}
	expected, called := false, false
	keys := example.Keys(d.Reader, &e.req)
	call := keys["call"]
	keys["call"] = func(n source.Node) { called = true; call(n) }
	keys["name"] = func(n source.Node) { e.name = d.Text(n, "name") }
	keys["params"] = func(n source.Node) {
		d.Pairs(n, "params", func(key string, k, v source.Node) { e.params[key], e.places[key] = d.Value(v), k })
	}
	keys["expect"] = func(n source.Node) {
		expected = true
		if err := e.expect.UnmarshalText([]byte(d.Text(n, "expect").S)); err != nil {
			d.Fail(n, "expect must be deny, ask or allow")
		}
	}
	ok := d.Mapping(n, "an example", keys)
	if ok && !called {
		d.Fail(n, "the example has no call")
	}
	if ok && !expected {
		d.Fail(n, "the example has no expect: want deny, ask or allow")
	}
	return e
}
