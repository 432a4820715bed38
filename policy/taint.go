package policy

import (
	"encoding/json"
	"slices"
	"strings"
)

// A Label is one kind of taint.
type Label uint8

// The three labels of a value or a conversation.
const (
	Private   Label = iota // data that the user considers private
	Untrusted              // content from outside the machine: the trifecta's second leg
	Unvouched              // workspace files that nobody vouched for: arms only the destination rule
	labels
)

// Labels returns every label.
func Labels() []Label { return []Label{Private, Untrusted, Unvouched} }

var labelNames = [labels]string{"private", "untrusted", "unvouched"}

func (l Label) String() string { return labelNames[l] }

// maxSources is how many call ids a label keeps. The ids are for people: 32 are
// more than a dialog can show, and a bound keeps Join cheap. The least ids in
// order are kept, so that Join stays commutative, associative and idempotent.
const maxSources = 32

// Taint says what has entered a value or a conversation, and by which calls.
//
// It only grows: [Taint.Join] is the one operation, and no method lowers it. The
// zero value is clean. A Taint is immutable and safe for concurrent use.
type Taint struct{ from [labels][]string } // sorted, without doubles; a label is set when its list is not empty

// Tainted returns a taint with one label, brought in by the given calls. Without
// an id the source is "?".
func Tainted(l Label, calls ...string) Taint {
	if len(calls) == 0 {
		calls = []string{"?"}
	}
	ids := slices.Clone(calls)
	slices.Sort(ids)
	var t Taint
	t.from[l] = bound(slices.Compact(ids))
	return t
}

// TaintOf returns the taint that the result of call leaves, for a tool with
// capabilities c. The private leg comes from what was declared, whether or not
// the call succeeded; the untrusted leg needs content that really came from
// outside.
func TaintOf(c Capabilities, external bool, call string) Taint {
	var t Taint
	if c.Has(PrivateData) {
		t = t.Join(Tainted(Private, call))
	}
	if c.Has(UntrustedInput) && external {
		t = t.Join(Tainted(Untrusted, call))
	}
	return t
}

// Join returns the taint of both.
func (t Taint) Join(u Taint) Taint {
	for l := range t.from {
		t.from[l] = union(t.from[l], u.from[l])
	}
	return t
}

// Has reports whether t carries the label.
func (t Taint) Has(l Label) bool { return len(t.from[l]) > 0 }

// Private reports whether private data came in.
func (t Taint) Private() bool { return t.Has(Private) }

// Untrusted reports whether content from outside the machine came in.
func (t Taint) Untrusted() bool { return t.Has(Untrusted) }

// Unvouched reports whether files that nobody vouched for came in.
func (t Taint) Unvouched() bool { return t.Has(Unvouched) }

// Lethal reports whether two legs of the trifecta are set: private and untrusted.
func (t Taint) Lethal() bool { return t.Private() && t.Untrusted() }

// Clean reports whether no label is set.
func (t Taint) Clean() bool { return !t.Private() && !t.Untrusted() && !t.Unvouched() }

// Sources returns the ids of the calls that brought the label in, sorted; at
// most 32 of them.
func (t Taint) Sources(l Label) []string { return slices.Clone(t.from[l]) }

// Covers reports whether joining u to t would change nothing.
func (t Taint) Covers(u Taint) bool { return t.Join(u).equal(t) }

func (t Taint) equal(u Taint) bool {
	for l := range t.from {
		if !slices.Equal(t.from[l], u.from[l]) {
			return false
		}
	}
	return true
}

// String returns the labels joined by "+", or "clean".
func (t Taint) String() string {
	var names []string
	for l := range t.from {
		if t.Has(Label(l)) {
			names = append(names, labelNames[l])
		}
	}
	if names == nil {
		return "clean"
	}
	return strings.Join(names, "+")
}

// MarshalJSON encodes t as an object of the labels that are set, each with its
// call ids.
func (t Taint) MarshalJSON() ([]byte, error) {
	m := make(map[string][]string, labels)
	for l, ids := range t.from {
		if len(ids) > 0 {
			m[labelNames[l]] = ids
		}
	}
	return json.Marshal(m)
}

// UnmarshalJSON is the inverse of MarshalJSON. A label with an empty list of ids
// is still set, with the source "?": a damaged record must not lower a taint.
func (t *Taint) UnmarshalJSON(b []byte) error {
	var m struct {
		Private   *[]string `json:"private"`
		Untrusted *[]string `json:"untrusted"`
		Unvouched *[]string `json:"unvouched"`
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	*t = Taint{}
	for l, ids := range [labels]*[]string{m.Private, m.Untrusted, m.Unvouched} {
		if ids != nil {
			*t = t.Join(Tainted(Label(l), *ids...))
		}
	}
	return nil
}

func bound(ids []string) []string { return ids[:min(len(ids), maxSources)] }

// union merges two sorted lists. It returns one of them unchanged where that
// already is the answer, so that a settled conversation allocates nothing.
func union(a, b []string) []string {
	switch {
	case len(b) == 0:
		return a
	case len(a) == 0:
		return b
	}
	out := make([]string, 0, len(a)+len(b))
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case j == len(b) || i < len(a) && a[i] < b[j]:
			out = append(out, a[i])
			i++
		case i == len(a) || b[j] < a[i]:
			out = append(out, b[j])
			j++
		default:
			out = append(out, a[i])
			i, j = i+1, j+1
		}
	}
	return bound(out)
}
