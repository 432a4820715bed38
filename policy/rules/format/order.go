package format

// An order says in which order the keys of a mapping stand, and that of the mappings
// below. A list has the order of its entries.
type order struct {
	keys  []string
	below map[string]*order
}

// The orders are those in which the documentation introduces the keys. What has none,
// as arguments and parameters, stays as its author wrote it.
var (
	call  = &order{keys: []string{"id", "tool", "server", "tier", "capabilities", "labels", "sandboxed", "pinned", "args", "argsBytes", "paths", "url", "shell"}}
	taint = &order{keys: []string{"private", "untrusted", "unvouched", "control", "turn", "args"}}

	callKeys = []string{"call", "taint", "lease", "run", "session", "labels", "now"}
	expect   = &order{keys: []string{"decision", "policy", "reasonContains", "error", "sameDecision"}}

	example = &order{keys: append(append([]string{"name"}, callKeys...), "params", "expect"), below: map[string]*order{"call": call, "taint": taint}}
	entry   = &order{keys: []string{"name", "key", "expression", "valueExpression"}}
	spec    = &order{
		keys: []string{"params", "matchConstraints", "matchConditions", "variables", "validations", "auditAnnotations", "examples"},
		below: map[string]*order{
			"matchConstraints": {keys: []string{"tools", "servers", "labels", "capabilities", "tiers"}},
			"matchConditions":  entry,
			"variables":        entry,
			"validations":      {keys: []string{"expression", "message", "messageExpression", "action"}},
			"auditAnnotations": entry,
			"examples":         example,
		},
	}
	policyFile = &order{
		keys:  []string{"apiVersion", "kind", "metadata", "spec"},
		below: map[string]*order{"metadata": {keys: []string{"name", "description"}}, "spec": spec},
	}
	testFile = &order{
		keys: []string{"apiVersion", "kind", "policies", "params", "defaults", "cases"},
		below: map[string]*order{
			"defaults": {keys: callKeys, below: example.below},
			"cases": {keys: append(append([]string{"name", "fromTrace"}, callKeys...), "expect"),
				below: map[string]*order{"call": call, "taint": taint, "expect": expect}},
		},
	}
)
