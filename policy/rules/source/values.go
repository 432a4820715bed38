package source

import (
	"time"

	"github.com/goccy/go-yaml/ast"
)

// Constant reads a string that can have only one value.
func (d *Reader) Constant(n Node, what, want string) Text {
	t := d.Text(n, what)
	if t.S != want && !t.Empty() {
		d.Fail(n, "%s %q: want %s", what, t.S, want)
	}
	return t
}

// Enum reads a string that is one of known; "" after a fault.
func (d *Reader) Enum(n Node, what string, known ...string) string {
	t := d.Text(n, what)
	for _, k := range known {
		if t.S == k {
			return k
		}
	}
	if !t.Empty() {
		d.Fail(n, "%s %q is not known%s", what, t.S, NearestOr(t.S, known))
	}
	return ""
}

// Number reads a number.
func (d *Reader) Number(n Node, what string) float64 {
	switch x := d.Value(n).(type) {
	case float64:
		return x
	case int64:
		return float64(x)
	}
	d.Fail(n, "%s must be a number%s", what, kindOf(n))
	return 0
}

// Time reads a time with its zone.
func (d *Reader) Time(n Node, what string) time.Time {
	s := d.Text(n, what)
	t, err := time.Parse(time.RFC3339, s.S)
	if err != nil && !s.Empty() {
		d.Fail(n, "%s must be a time such as 2026-11-30T10:00:00Z", what)
	}
	return t
}

// Word is a string or a whole number as it is written; "" for anything else.
func Word(n Node) string {
	switch n := n.(type) {
	case *ast.IntegerNode:
		return n.Token.Value
	case *ast.StringNode:
		return n.Value
	}
	return ""
}

// IsEmptyList reports whether a list is written there that has no entry.
func IsEmptyList(n Node) bool {
	s, ok := n.(*ast.SequenceNode)
	return ok && len(s.Values) == 0
}

// IsMapping reports whether a mapping is written there.
func IsMapping(n Node) bool {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return true
	}
	return false
}
