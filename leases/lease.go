// Package leases counts. A lease is leave to use one tool, so many times, until
// some moment; a [Book] holds the leases of one conversation.
//
// A lease says nothing about what a call does: that is for package policy. It
// does not perform anything either: a spend is real only once the bridge's
// journal holds it.
package leases

import (
	"fmt"
	"maps"
	"path"
	"strings"
	"time"

	"github.com/codeact-dev/codeact/policy"
)

// The size of a lease for which nothing else was said: the seed asks for leases
// that are time- and use-limited, and 30 minutes with 50 uses is one sitting of
// one step's worth of calls.
const (
	DefaultTTL  = 30 * time.Minute
	DefaultUses = 50
)

// A Lease is leave to use a tool. The zero Lease allows nothing: it names no
// tool, has no use left and has expired. Every field survives JSON as it is, so
// that an empty grant cannot come back as a wide one.
type Lease struct {
	ID         string            `json:"id"`
	Tool       string            `json:"tool"`           // a name, or a pattern in which "*" stands for any run of characters
	Tier       policy.Tier       `json:"tier"`           // the strictest tool tier that it serves; it never lowers a tool's tier
	Uses       int               `json:"uses"`           // calls left
	Expires    time.Time         `json:"expires"`        // exclusive, on the book's clock
	When       string            `json:"when,omitempty"` // CEL over the call; "" is always
	Bind       map[string]string `json:"bind,omitempty"` // parameter to canonical JSON: the lease serves only these values
	ApprovedBy string            `json:"approved_by"`    // "task sha256:…", "user:alice", …
}

// New returns a lease of the default size for tool: 50 uses within 30 minutes
// from now.
func New(id, tool string, tier policy.Tier, now time.Time) Lease {
	return Lease{ID: id, Tool: tool, Tier: tier, Uses: DefaultUses, Expires: now.Add(DefaultTTL)}
}

// Names reports whether l is for the tool. A pattern with anything special but
// "*" names nothing: over "?" or a class, a wider pattern would look like a name
// that fits, and a child could be cut wider than its parent.
func (l Lease) Names(tool string) bool {
	if l.Tool == "" || tool == "" || strings.ContainsAny(l.Tool, `?[\`) {
		return false
	}
	ok, err := path.Match(l.Tool, tool)
	return ok && err == nil
}

// Serves reports whether l may serve a tool of tier t.
func (l Lease) Serves(t policy.Tier) bool { return t >= l.Tier }

// Binds reports whether the canonical JSON values of a call are the ones that l
// is bound to. canonical returns a parameter's value, "" when it is not given.
func (l Lease) Binds(canonical func(param string) string) bool {
	for p, want := range l.Bind {
		if canonical(p) != want {
			return false
		}
	}
	return true
}

// within returns l cut down to what outer allows: fewer uses, an earlier end, a
// stricter tier, every binding of both.
func (l Lease) within(outer Lease) (Lease, error) {
	if !outer.Names(l.Tool) {
		return Lease{}, fmt.Errorf("%w for %q", ErrNone, l.Tool)
	}
	l.Uses = min(l.Uses, outer.Uses)
	if outer.Expires.Before(l.Expires) {
		l.Expires = outer.Expires
	}
	l.Tier = max(l.Tier, outer.Tier)
	bind := make(map[string]string, len(l.Bind)+len(outer.Bind))
	maps.Copy(bind, l.Bind)
	for p, v := range outer.Bind {
		if own, ok := bind[p]; ok && own != v {
			return Lease{}, fmt.Errorf("%w: %s is bound to another value", ErrNone, p)
		}
		bind[p] = v
	}
	l.Bind = bind
	switch {
	case l.When == "":
		l.When = outer.When
	case outer.When != "":
		l.When = "(" + l.When + ") && (" + outer.When + ")"
	}
	return l, nil
}
