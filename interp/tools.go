package interp

import (
	"fmt"
	"regexp"

	"github.com/hashicorp/go-multierror"

	"github.com/codeact-dev/codeact/interp/wire"
	"github.com/codeact-dev/codeact/interp/worker"
)

// maxParams is what a Starlark call can pass.
const maxParams = 255

var (
	identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
	reserved   = worker.ReservedNames()
)

// keywords cannot be written as a name, so a tool or parameter of that name could not be used.
var keywords = map[string]bool{"and": true, "break": true, "continue": true, "def": true, "elif": true, "else": true,
	"for": true, "if": true, "in": true, "lambda": true, "load": true, "not": true, "or": true, "pass": true,
	"return": true, "while": true, "as": true, "assert": true, "async": true, "await": true, "class": true,
	"del": true, "except": true, "finally": true, "from": true, "global": true, "import": true, "is": true,
	"nonlocal": true, "raise": true, "try": true, "with": true, "yield": true}

// checkTools returns every fault of the signatures at once.
func checkTools(tools []Signature) error {
	var errs *multierror.Error
	seen := map[string]bool{}
	for i, t := range tools {
		if fault := nameFault(t.Name, seen); fault != "" {
			errs = multierror.Append(errs, fmt.Errorf("tool %d, %q: %s", i, wire.Clip(t.Name, 80), fault))
		} else if reserved[t.Name] {
			errs = multierror.Append(errs, fmt.Errorf("tool %d, %q: the name of a builtin", i, t.Name))
		}
		for _, err := range paramFaults(t) {
			errs = multierror.Append(errs, fmt.Errorf("tool %d, %q: %w", i, wire.Clip(t.Name, 80), err))
		}
	}
	if err := errs.ErrorOrNil(); err != nil {
		return fmt.Errorf("interp: tools: %w", err)
	}
	return nil
}

func paramFaults(t Signature) []error {
	var errs []error
	if len(t.Params) > maxParams {
		errs = append(errs, fmt.Errorf("%d parameters, at most %d", len(t.Params), maxParams))
	}
	seen := map[string]bool{}
	for i, p := range t.Params {
		if fault := nameFault(p.Name, seen); fault != "" {
			errs = append(errs, fmt.Errorf("parameter %d, %q: %s", i, wire.Clip(p.Name, 80), fault))
		}
		if !wire.KnownType(p.Type) {
			errs = append(errs, fmt.Errorf("parameter %d, %q: unknown type %q, want a JSON type or \"\"",
				i, wire.Clip(p.Name, 80), wire.Clip(p.Type, 80)))
		}
	}
	return errs
}

// nameFault says why name cannot be used, and records it as seen.
func nameFault(name string, seen map[string]bool) string {
	twice := seen[name]
	seen[name] = true
	switch {
	case !identifier.MatchString(name):
		return "not an identifier of at most 64 letters, digits and _"
	case keywords[name]:
		return "a word of the language"
	case twice:
		return "the name is taken"
	}
	return ""
}
