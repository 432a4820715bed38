package bridge

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/hashicorp/go-multierror"

	"github.com/codeact-dev/codeact/interp"
	"github.com/codeact-dev/codeact/policy"
)

// A Tool describes one effect that a script may ask for.
type Tool struct {
	Name   string // a Starlark identifier, at most 64 bytes
	Doc    string // the first line is shown to the model
	Server string // the MCP server that offers it, "" for other tools
	Params Schema
	Tier   policy.Tier
	Caps   policy.Capabilities

	Destinations []string // the parameters that say WHERE an effect goes or WHAT it hits
	Paths, URLs  []string // the parameters that the bridge turns into facts before the gates
	Writes       []string // those of Paths that the tool writes: a path that may not be written is refused before anyone is asked
	Commands     []string // the parameters that hold a command: a line for the shell, or a list of words
	Sensitive    []string // parameters that are never shown, logged or traced
	Labels       []string // for policies, as "financial"

	Unconfined bool // it is a program that can change files of this machine by itself, as an MCP server can

	Sandboxed bool // its commands run in a box that was seen to hold
	Pinned    bool // its definition is what the operator approved
	Staged    bool // a call becomes a draft that a person sends later, not an effect

	// Approval may raise the tier for these arguments; nil never does.
	Approval func(args map[string]any) Requirement

	// Preview returns what the call would change, as a unified diff, for the
	// person who is asked. It must only read. nil shows the arguments alone.
	Preview func(context.Context, *Permit) (string, error)

	Record     policy.RecordSpec // how its results name things
	Rate       Rate              // of this run
	UserRate   Rate              // of its principal, over all runs of the home
	Idempotent bool              // running it twice is as good as once

	// Run performs the effect. It gets everything it may touch from the
	// Permit: it must not open files, dial or read the environment itself. Calls
	// of one parallel run at the same time, so it must be safe for that.
	Run func(context.Context, *Permit) (Output, error)
}

// A Requirement says how often these arguments need a person's yes.
type Requirement uint8

// The requirements, strictest first.
const (
	Always Requirement = iota // every call; the zero value
	Once                      // one yes may cover later calls
	Never                     // the tool's tier is enough
)

// A Rate bounds how often a tool begins, in any window of the length Per. The
// zero Rate is no bound.
type Rate struct {
	N   int
	Per time.Duration
}

func (r Rate) valid() bool { return r.N >= 0 && (r.N == 0 || r.Per > 0) }

// Output is what a tool returns, not yet fit to be shown. The zero value is
// third-party content of unknown media type.
type Output struct {
	Value     any    // plain data: see package plain
	MediaType string // "" is sniffed
	Local     bool   // nothing in it came from outside this machine; ignored once the Permit was used to reach the network
}

// toolName keeps a name flat, printable and a Starlark identifier, so that it
// cannot deceive a dialog or hide a second name.
var toolName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// reserved are names that mean something else in a block.
var reserved = []string{"print", "json", "math", "struct", "final", "attempt", "parallel"}

// check returns what is wrong with t, all at once.
func (t *Tool) check() error {
	var errs *multierror.Error
	fault := func(format string, args ...any) {
		errs = multierror.Append(errs, fmt.Errorf("bridge: tool %q: "+format, append([]any{t.Name}, args...)...))
	}
	if !toolName.MatchString(t.Name) || slices.Contains(reserved, t.Name) {
		fault("the name must match %s and not be one of %v", toolName, reserved)
	}
	if t.Run == nil {
		fault("it has no Run")
	}
	if !t.Rate.valid() || !t.UserRate.valid() {
		fault("a rate needs a count and a duration")
	}
	if t.Staged && !t.Caps.Has(policy.ExternalSend) {
		fault("it sends nothing, so there is nothing to stage")
	}
	for what, names := range map[string][]string{"Destinations": t.Destinations, "Paths": t.Paths, "URLs": t.URLs, "Commands": t.Commands, "Writes": t.Writes, "Sensitive": t.Sensitive} {
		for _, n := range names {
			if !t.Params.has(n) && (what != "Sensitive" || !isDotted(n)) {
				fault("%s names %q, which is no parameter", what, n)
			}
		}
	}
	return errs.ErrorOrNil()
}

func isDotted(name string) bool { return slices.Contains([]byte(name), '.') }

// Signature is the tool as the script's interpreter knows it.
func (t *Tool) Signature() interp.Signature {
	return interp.Signature{Name: t.Name, Doc: t.Doc, Params: t.Params.params}
}

func (t *Tool) view(tier policy.Tier) policy.ToolView {
	return policy.ToolView{Name: t.Name, Server: t.Server, Tier: tier, Caps: t.Caps, Labels: t.Labels, Sandboxed: t.Sandboxed, Pinned: t.Pinned,
		Destinations: t.Destinations, Params: t.Params.names, IDs: t.Params.ids}
}
