package mcp

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codeact-dev/codeact/bridge/mcp/schema"
	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/policy"
)

// The bounds of what a server may offer.
const (
	maxTools       = 512
	maxPages       = 64        // of a list of tools
	maxDescription = 64 << 10  // bytes
	maxSchema      = 256 << 10 // bytes
)

// A Definition is a tool as its server describes it: the texts that a pin binds.
type Definition struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Schema      string `json:"schema"` // canonical JSON
	Hints       string `json:"hints"`  // canonical JSON of what can change its capabilities
}

func (d Definition) text() string { return d.Description + "\n" + d.Schema + "\n" + d.Hints }

// hints are what a server claims about the effects of its tool. nil is no claim.
type hints struct {
	ReadOnly    *bool `json:"readOnlyHint,omitempty"`
	Destructive *bool `json:"destructiveHint,omitempty"`
	Idempotent  *bool `json:"idempotentHint,omitempty"`
	OpenWorld   *bool `json:"openWorldHint,omitempty"`
	IFC         any   `json:"ifc,omitempty"` // _meta.ifc: information flow labels
}

// define takes what is pinned out of a tool.
func define(t *sdk.Tool) (Definition, error) {
	d := Definition{Name: t.Name, Description: t.Description}
	h := hints{IFC: t.Meta["ifc"]}
	if a := t.Annotations; a != nil {
		h.ReadOnly, h.Destructive, h.Idempotent, h.OpenWorld = &a.ReadOnlyHint, a.DestructiveHint, &a.IdempotentHint, a.OpenWorldHint
	}
	var err error
	if d.Schema, err = schema.Canonical(t.InputSchema); err == nil {
		d.Hints, err = schema.Canonical(h)
	}
	switch {
	case err != nil:
		return d, err
	case len(d.Description) > maxDescription:
		return d, fmt.Errorf("its description has %d bytes, over %d", len(d.Description), maxDescription)
	case len(d.Schema)+len(d.Hints) > maxSchema:
		return d, fmt.Errorf("its schema has %d bytes, over %d", len(d.Schema)+len(d.Hints), maxSchema)
	}
	return d, nil
}

// pick returns the definitions of the tools that are to be offered, by name. Only
// they are judged and pinned: what cannot be called cannot hurt.
func (s *Server) pick(tools []*sdk.Tool) (defs []Definition, errs []error) {
	has := map[string]bool{}
	for _, t := range tools {
		if has[t.Name] {
			errs = append(errs, fmt.Errorf("there are two tools %s", scan.Line(t.Name, 64)))
		}
		has[t.Name] = true
		if slices.Contains(s.Exclude, t.Name) || len(s.Include) > 0 && !slices.Contains(s.Include, t.Name) {
			continue
		}
		if _, err := toolName(s.Name, t.Name); err != nil {
			errs = append(errs, err)
			continue
		}
		d, err := define(t)
		if err != nil {
			errs = append(errs, fmt.Errorf("the tool %s: %w", t.Name, err))
			continue
		}
		defs = append(defs, d)
	}
	for i, n := range slices.Concat(s.Include, s.Exclude) {
		what := "includeTools"
		if i >= len(s.Include) {
			what = "excludeTools"
		}
		if !has[n] { // a name that is misspelt would let a tool in, or keep one out, unseen
			errs = append(errs, fmt.Errorf("%s names %s, which it does not have", what, scan.Line(n, 64)))
		}
	}
	slices.SortFunc(defs, func(a, b Definition) int { return strings.Compare(a.Name, b.Name) })
	return defs, errs
}

// plainName is what MCP lets a tool be called. It has no control, bidi or
// look-alike characters, which could deceive whoever reads it.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// fold makes a name fit for an identifier. Two names may become one; then they
// clash.
func fold(name string) string {
	return strings.NewReplacer("-", "_", ".", "_").Replace(strings.ToLower(name))
}

// toolName is the flat name of a server's tool.
func toolName(server, tool string) (string, error) {
	name := fold(server) + "_" + fold(tool)
	switch {
	case !plainName.MatchString(tool):
		return "", fmt.Errorf("a tool is called %s: a name has letters, digits, -, . and _ only", scan.Line(tool, 64))
	case len(name) > 64:
		return "", fmt.Errorf("the tool %s: %s has %d bytes, over 64: leave it out with excludeTools, or give the server a shorter name", tool, name, len(name))
	}
	return name, nil
}

// caps is what a tool can do: everything that nobody denies in a way that may be
// believed. A server that is reached over the network is sent the arguments
// whatever it says, and what it answers is a third party's.
func (s *Server) caps(h hints) policy.Capabilities {
	flags := slices.Clone(s.AddCaps)
	says := func(hint *bool, v bool) bool { return s.TrustAnnotations && hint != nil && *hint == v }
	if !says(h.ReadOnly, true) && !says(h.Destructive, false) {
		flags = append(flags, policy.Destructive)
	}
	if s.URL != "" || !says(h.OpenWorld, false) {
		flags = append(flags, policy.ExternalSend, policy.UntrustedInput)
	}
	return policy.Declare(append(flags, labels(h.IFC)...)...)
}

// idempotent is the one hint beside those that lets a call be repeated unasked.
func (s *Server) idempotent(h hints) bool {
	yes := func(hint *bool) bool { return s.TrustAnnotations && hint != nil && *hint }
	return yes(h.Idempotent) || yes(h.ReadOnly)
}

// labels reads information flow labels: {"integrity": "untrusted",
// "confidentiality": "private"}. They can add only, so whatever is neither the
// cleanest value nor absent is the dirtiest.
func labels(ifc any) []policy.Flag {
	if ifc == nil {
		return nil
	}
	m, ok := ifc.(map[string]any)
	if !ok {
		return []policy.Flag{policy.PrivateData, policy.UntrustedInput}
	}
	var flags []policy.Flag
	if v, given := m["integrity"]; given && v != "trusted" {
		flags = append(flags, policy.UntrustedInput)
	}
	if v, given := m["confidentiality"]; given && !public(v) {
		flags = append(flags, policy.PrivateData)
	}
	return flags
}

func public(v any) bool {
	if list, ok := v.([]any); ok {
		return len(list) > 0 && !slices.ContainsFunc(list, func(e any) bool { return e != "public" })
	}
	return v == "public"
}
