package strictyaml

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
)

// A Kind is what a node holds.
type Kind uint8

// The kinds of nodes.
const (
	Null Kind = iota
	Bool
	Int
	Float
	String
	List
	Map
	Refused // its fault is recorded, and nothing more is asked of it
)

var kindNames = [...]string{"nothing", "a boolean", "an integer", "a number", "a string", "a list", "a mapping", "a refused value"}

// String returns the kind with its article, as it stands in messages.
func (k Kind) String() string { return kindNames[min(int(k), len(kindNames)-1)] }

// A Node is one value of a document with the place where it was written. Line
// and Col of a block mapping are those of its first key.
type Node struct {
	Kind   Kind
	Path   string // "$.leases[0].tool"
	Line   int
	Col    int
	Bool   bool
	Int    int64
	Float  float64
	Text   string  // of a String its value, of another scalar what was written
	Items  []*Node // of a List
	Fields []Field // of a Map, in the written order
}

// A Field is one key of a mapping with its value.
type Field struct {
	Key   *Node // a String with the path of Value
	Value *Node
}

// At follows keys through mappings and returns nil where one is missing. A nil
// node has no keys.
func (n *Node) At(keys ...string) *Node {
	for _, k := range keys {
		n = n.field(k)
	}
	return n
}

func (n *Node) field(key string) *Node {
	if n == nil {
		return nil
	}
	for _, f := range n.Fields {
		if f.Key.Text == key {
			return f.Value
		}
	}
	return nil
}

// Keys returns the keys of a mapping in the written order.
func (n *Node) Keys() []string {
	if n == nil {
		return nil
	}
	keys := make([]string, len(n.Fields))
	for i, f := range n.Fields {
		keys[i] = f.Key.Text
	}
	return keys
}

// Value returns n as plain data: nil, bool, int64, float64, string, []any or
// map[string]any.
func (n *Node) Value() any {
	if n == nil {
		return nil
	}
	switch n.Kind {
	case Bool:
		return n.Bool
	case Int:
		return n.Int
	case Float:
		return n.Float
	case String:
		return n.Text
	case List:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = item.Value()
		}
		return list
	case Map:
		m := make(map[string]any, len(n.Fields))
		for _, f := range n.Fields {
			m[f.Key.Text] = f.Value.Value()
		}
		return m
	}
	return nil
}

// MarshalJSON writes n with its keys in the written order.
func (n *Node) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	n.json(&b)
	return b.Bytes(), nil
}

func (n *Node) json(b *bytes.Buffer) {
	switch n.Kind {
	case List:
		b.WriteByte('[')
		for i, item := range n.Items {
			comma(b, i)
			item.json(b)
		}
		b.WriteByte(']')
	case Map:
		b.WriteByte('{')
		for i, f := range n.Fields {
			comma(b, i)
			f.Key.json(b)
			b.WriteByte(':')
			f.Value.json(b)
		}
		b.WriteByte('}')
	default:
		s, _ := json.Marshal(n.Value()) // a finite scalar always encodes
		b.Write(s)
	}
}

func comma(b *bytes.Buffer, i int) {
	if i > 0 {
		b.WriteByte(',')
	}
}

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func keyPath(parent, key string) string {
	if plainKey.MatchString(key) {
		return parent + "." + key
	}
	return fmt.Sprintf("%s[%q]", parent, key)
}

func itemPath(parent string, i int) string { return fmt.Sprintf("%s[%d]", parent, i) }
