package bridge

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/codeact-dev/codeact/policy"
)

// secrets keeps secrets from leaving the machine: a call of a tool that sends is
// refused when an argument holds a secret that the run knows, in any of its
// encodings, or what can hardly be anything but one. What the operator's own
// settings give a tool, as a header, is no argument.
//
// A script never has a secret as it is, since results are redacted; this is for
// what redaction does not see, as a text that a script puts together.
func (p *passage) secrets(context.Context) policy.Decision {
	if !p.tool.Caps.Has(policy.ExternalSend) {
		return policy.Allowed("secrets")
	}
	for _, name := range slices.Sorted(maps.Keys(p.args)) {
		if d := p.leak(name); d.Verdict == policy.Deny {
			return d
		}
	}
	if secret, ok := p.b.cfg.Redactor.HasKnown(string(p.text)); ok { // in a number, or as bytes
		return knownSecret("an argument", secret)
	}
	return policy.Allowed("secrets")
}

// leak looks at one argument, its name too, which a script may have made up.
func (p *passage) leak(name string) policy.Decision {
	what := "an argument"
	if p.tool.Params.has(name) {
		what = name
	}
	found := policy.Allowed("secrets")
	look := func(text string) {
		if found.Verdict == policy.Deny {
			return
		}
		if secret, ok := p.b.cfg.Redactor.HasKnown(text); ok {
			found = knownSecret(what, secret)
		} else if shape, ok := p.b.cfg.Redactor.HighConfidence(text); ok {
			found = policy.Decision{Gate: "secrets", Rule: shape, Reason: fmt.Sprintf("%s would send what looks like a secret (%s); leave it out, or say where it stands instead", what, shape)}
		}
	}
	look(name)
	eachText(p.args[name], look)
	return found
}

func knownSecret(what, secret string) policy.Decision {
	return policy.Decision{Gate: "secrets", Rule: "known-secret", Reason: fmt.Sprintf("%s would send the value of the secret %s; leave it out, no tool needs it from you", what, secret)}
}
