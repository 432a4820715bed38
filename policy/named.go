package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/codeact-dev/codeact/policy/match"
)

// An UnnamedLeaf is one value that nobody named.
type UnnamedLeaf struct {
	Param string     `json:"param"` // with its place, as "recipients[0]"
	Value string     `json:"value"`
	Seen  []Sighting `json:"seen,omitempty"`
	Near  string     `json:"near,omitempty"` // what the user wrote nearest to it
}

// Named applies the rule of named destinations: once the deciding context holds
// untrusted or unvouched content, a call that sends or destroys may only aim at
// what the user or the operator named. Everything else asks, or is denied where
// the task says so.
//
// It does not look at what is sent, only at where it goes; that is for
// [Interlock]. It is total, and changes nothing.
func Named(r Request) Decision {
	rule, leaves := r.unnamed()
	if rule == "" {
		return Allowed("named")
	}
	d := Decision{Verdict: Deny, Gate: "named", Rule: rule, Reason: r.namedReason(rule, leaves)}
	if r.Security.Named == NamedAsk {
		d.Verdict = Ask
	}
	for _, l := range leaves {
		d.Values = append(d.Values, Value{Name: l.path, Value: shown(l.Raw())})
	}
	return d
}

// Unnamed returns the values for which Named objects to r, each with the places
// where it was seen. It is for the question that a person is asked.
func (a *Authority) Unnamed(r Request) []UnnamedLeaf {
	r.Authority = a
	_, leaves := r.unnamed()
	var out []UnnamedLeaf
	for _, l := range leaves {
		u := UnnamedLeaf{Param: l.path, Value: shown(l.Raw()), Seen: a.Where(l.Raw())}
		if a != nil {
			u.Near = a.user.Nearest(l.Term)
		}
		out = append(out, u)
	}
	return out
}

// An argLeaf is one value of an argument and where it stands.
type argLeaf struct {
	match.Term
	param, path string
}

// The rules of the gate named.
const (
	unnamedDestination = "unnamed-destination"
	noDestination      = "no-destination"
)

// unnamed returns the rule that objects to r, "" for none, and the values it
// objects to.
func (r Request) unnamed() (string, []argLeaf) {
	if !r.Tool.Caps.Has(ExternalSend) && !r.Tool.Caps.Has(Destructive) || r.Security.Named == NamedOff {
		return "", nil
	}
	if r.Tool.Sandboxed && !r.Tool.Caps.Has(ExternalSend) {
		return "", nil // all that it can hit is what the operator lets the run write
	}
	aimed := false
	var bad []argLeaf
	for _, p := range r.Tool.Destinations {
		for _, l := range leavesOf(nil, p, p, r.Args[p]) {
			if l.Kind() == match.Neutral {
				continue
			}
			aimed = true
			if r.dirty(p) && !r.writable(p) && !r.Authority.names(r.Tool.Name, p, l.Term, r.isID(p)) {
				bad = append(bad, l)
			}
		}
	}
	switch {
	case bad != nil:
		return unnamedDestination, bad
	case aimed:
		return "", nil
	}
	return r.aimless()
}

// aimless judges a call without any destination. Nobody can have named its
// target, so everything that it says must come from the user or be proven clean.
// A call that says nothing at all asks: it may well mean "all of them".
func (r Request) aimless() (string, []argLeaf) {
	vouched := !exposed(r.Held) && !exposed(r.Turn)
	var bad []argLeaf
	for _, p := range slices.Sorted(maps.Keys(r.Args)) {
		if !r.dirty(p) {
			vouched = true
			continue
		}
		for _, l := range leavesOf(nil, p, p, r.Args[p]) {
			switch {
			case !r.Authority.found(r.Tool.Name, p, l.Term, r.isID(p)):
				bad = append(bad, l)
			case l.Kind() != match.Neutral:
				vouched = true
			}
		}
	}
	if bad != nil || !vouched {
		return noDestination, bad
	}
	return "", nil
}

// dirty reports whether the label that decides about parameter p holds content
// that the user does not vouch for: the proven label of the argument and of the
// control flow, else everything that the conversation holds.
func (r Request) dirty(p string) bool {
	if a, proven := r.ArgTaint[p]; proven && !r.Security.Floor {
		return exposed(a.Taint) || exposed(r.Control)
	}
	return exposed(r.Held) || exposed(r.Turn)
}

func exposed(t Taint) bool { return t.Untrusted() || t.Unvouched() }

// writable reports whether every path in parameter p lies where the operator lets
// the run write, which names it.
func (r Request) writable(p string) bool {
	paths := 0
	for _, f := range r.Paths {
		if f.Param == p {
			if !f.Writable {
				return false
			}
			paths++
		}
	}
	return paths > 0 && paths >= len(leavesOf(nil, p, p, r.Args[p]))
}

func (r Request) isID(p string) bool { return isIDParam(p, slices.Contains(r.Tool.IDs, p)) }

// leavesOf appends the leaves of v. The keys of an object are leaves too where
// they read as a target, as in {"a@example.com": "reader"}.
func leavesOf(out []argLeaf, param, path string, v any) []argLeaf {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			out = leavesOf(out, param, fmt.Sprintf("%s[%d]", path, i), e)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if t := match.TextTerm(strings.TrimSpace(k)); t.Kind() != match.Plain && t.Kind() != match.Neutral {
				out = append(out, argLeaf{t, param, path + " key"})
			}
			out = leavesOf(out, param, path+"."+k, v[k])
		}
	default:
		out = append(out, argLeaf{match.TermOf(v), param, path})
	}
	return out
}

// Origin says who chose the argument of parameter p: "user" where every value in it
// stands in the user's own words, else what is proven, "model" or "tool", and "tool",
// the least trusted, where nothing is.
func (r Request) Origin(p string) string {
	leaves := leavesOf(nil, p, p, r.Args[p])
	chosen := func(l argLeaf) bool {
		return l.Kind() != match.Neutral && !r.Authority.byUser(r.Tool.Name, p, l.Term, r.isID(p))
	}
	if a, proven := r.ArgTaint[p]; r.Authority == nil || len(leaves) == 0 || slices.ContainsFunc(leaves, chosen) {
		if proven && a.Origin != "" {
			return a.Origin
		}
		return "tool"
	}
	return "user"
}

// maxListed is how many values a reason spells out.
const maxListed = 3

// namedReason says what nobody named, where it was seen, and what would name it.
func (r Request) namedReason(rule string, leaves []argLeaf) string {
	if len(leaves) == 0 {
		return "after content was read that nobody vouches for, a call that says nothing of its target needs a yes: name the target, or ask the user"
	}
	var b strings.Builder
	b.WriteString("after content was read that nobody vouches for, ")
	for i, l := range leaves[:min(len(leaves), maxListed)] {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s = %q was named by nobody", l.path, shown(l.Raw()))
		if calls := r.Authority.calls(l.Raw()); calls != "" {
			b.WriteString(" (it stands in the result of " + calls + ")")
		}
	}
	if n := len(leaves) - maxListed; n > 0 {
		fmt.Fprintf(&b, "; and %d more", n)
	}
	if rule == noDestination {
		b.WriteString("; the call has no destination, so its arguments must be the user's own words: ask the user")
		return b.String()
	}
	b.WriteString("; it must be in the user's own words, or belong to a record whose title the user wrote: ask the user")
	return b.String()
}

// calls lists the ids of the calls in whose results a value stands.
func (a *Authority) calls(raw string) string {
	var ids []string
	for _, s := range a.Where(raw) {
		ids = append(ids, s.Call)
	}
	return strings.Join(ids, ", ")
}

// maxShown bounds a value in a reason, in bytes.
const maxShown = 200

func shown(s string) string {
	if len(s) <= maxShown {
		return visible(s)
	}
	return visible(s[:maxShown]) + "…"
}

// isIDParam reports whether a parameter holds an id, an opaque number or key that
// a coincidence of digits must not name: its schema marks it with x-id, or its
// name is id, *_id or id_.
func isIDParam(name string, marked bool) bool {
	n := match.Snake(name)
	return marked || n == "id" || n == "id_" || strings.HasSuffix(n, "_id")
}
