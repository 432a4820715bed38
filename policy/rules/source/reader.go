package source

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// The bounds of a policy file. The YAML parser takes quadratic time in the keys,
// the lines and the documents, and recurses with the depth: 20,000 keys cost it more
// than a second, and the file is read before every run. The eight policies of the
// test fixture have 250 keys in 190 lines.
const (
	maxFile    = 1 << 20 // bytes
	maxColons  = 8_000
	maxLines   = 8_000
	maxLine    = 8 << 10 // code points
	maxFaults  = 100     // more in one file is not read by anybody
	maxMarks   = 2_000
	maxNesting = 100 // levels of brackets, or of list items in one line
)

// A Reader reads the nodes of one file strictly, and collects every fault. It is
// used by one goroutine.
type Reader struct {
	*Source
	Errs []error // each a *Fault

	data []byte
}

// NewReader returns a reader of f.
func NewReader(f File) *Reader { return &Reader{Source: New(f.Name, string(f.Data)), data: f.Data} }

// Fail adds a fault at n.
func (d *Reader) Fail(n Node, format string, args ...any) {
	if len(d.Errs) >= maxFaults {
		return // the file is refused already
	}
	d.Errs = append(d.Errs, d.Fault(d.place(n), format, args...))
}

// Line is where a person would look for n.
func (d *Reader) Line(n Node) int { return d.LineOf(d.place(n)) }

// place is where a person would look for n: a mapping stands where its first key
// does.
func (d *Reader) place(n Node) int {
	switch m := n.(type) {
	case *ast.MappingNode:
		if len(m.Values) > 0 {
			return d.offset(m.Values[0].Key.GetToken())
		}
	case *ast.MappingValueNode:
		return d.offset(m.Key.GetToken())
	case nil:
		return 0
	}
	return d.offset(n.GetToken())
}

// Documents returns the documents of the file that are not empty.
func (d *Reader) Documents() []Node {
	if err := d.bounds(d.data); err != nil {
		d.Errs = append(d.Errs, err)
		return nil
	}
	f, err := parseSafely(d.data)
	if err != nil {
		at, msg := 0, err.Error()
		var y yaml.Error
		if errors.As(err, &y) {
			at, msg = d.offset(y.GetToken()), y.GetMessage()
		}
		d.Errs = append(d.Errs, d.Fault(at, "%s", strings.TrimSpace(msg)))
		return nil
	}
	var docs []Node
	for _, doc := range f.Docs {
		if _, comment := doc.Body.(*ast.CommentGroupNode); doc.Body != nil && !comment {
			docs = append(docs, doc.Body)
		}
	}
	return docs
}

// parseSafely turns a panic of the parser into an error: a file must not end the
// program.
func parseSafely(data []byte) (f *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("not YAML that can be read: %v", p)
		}
	}()
	return parser.ParseBytes(data, 0)
}

func (d *Reader) bounds(data []byte) error {
	switch {
	case len(data) > maxFile:
		return d.Fault(0, "the file has %d bytes, more than %d: split it", len(data), maxFile)
	case !utf8.Valid(data):
		return d.Fault(0, "the file is not UTF-8")
	case strings.Count(string(data), ":") > maxColons:
		return d.Fault(0, "the file has more than %d keys: split it", maxColons)
	case len(d.lines) > maxLines:
		return d.Fault(0, "the file has more than %d lines: split it", maxLines)
	}
	return d.shape()
}

// shape bounds how deep the text nests, and how many anchors, aliases and tags it
// could have, none of which a policy has.
func (d *Reader) shape() error {
	depth, items, marks, begin := 0, 0, 0, 0
	for i, r := range d.runes {
		switch r {
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(depth-1, 0)
		case '\n':
			items, begin = 0, i+1
		case '-', '?':
			items++
		case '*', '&', '!':
			if i == begin || d.runes[i-1] == ' ' {
				marks++
			}
		}
		switch {
		case i-begin > maxLine:
			return d.Fault(begin, "the line has more than %d characters: fold it", maxLine)
		case depth > maxNesting || items > 10*maxNesting:
			return d.Fault(i, "nested too deep: at most %d levels", maxNesting)
		case marks > maxMarks:
			return d.Fault(i, "the file has more than %d of what could be an alias or a tag: split it", maxMarks)
		}
	}
	return nil
}

// Mapping reads a mapping whose keys are all known. It reports whether n is one.
func (d *Reader) Mapping(n Node, what string, keys map[string]func(Node)) bool {
	known := make([]string, 0, len(keys))
	for k := range keys {
		known = append(known, k)
	}
	slices.Sort(known)
	return d.Pairs(n, what, func(key string, k, v Node) {
		read, ok := keys[key]
		if !ok {
			d.Fail(k, "unknown key %q in %s%s", key, what, NearestOr(key, known))
			return
		}
		read(v)
	})
}

// Pairs reads a mapping with any keys, each of which may stand there once.
func (d *Reader) Pairs(n Node, what string, each func(key string, k, v Node)) bool {
	var values []*ast.MappingValueNode
	switch m := n.(type) {
	case *ast.MappingNode:
		values = m.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{m}
	default:
		d.Fail(n, "%s must be a mapping%s", what, kindOf(n))
		return false
	}
	seen := make(map[string]bool, len(values))
	for _, v := range values {
		key, ok := v.Key.(*ast.StringNode)
		if !ok {
			d.Fail(v.Key, "a key of %s must be a plain name: no merge, anchor or complex key", what)
			continue
		}
		if seen[key.Value] {
			d.Fail(v.Key, "duplicate key %q in %s", key.Value, what)
			continue
		}
		seen[key.Value] = true
		each(key.Value, v.Key, v.Value)
	}
	return true
}

// List reads a list.
func (d *Reader) List(n Node, what string, each func(i int, n Node)) {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		d.Fail(n, "%s must be a list%s", what, kindOf(n))
		return
	}
	for i, v := range s.Values {
		each(i, v)
	}
}

// Text reads a string. A number is not one: what is written 0123 would be another
// text.
func (d *Reader) Text(n Node, what string) Text {
	t := Text{src: d.Source, Node: n}
	switch s := n.(type) {
	case *ast.StringNode:
		t.S = s.Value
	case *ast.LiteralNode:
		t.S = s.Value.Value
	default:
		d.Fail(n, "%s must be a string%s", what, kindOf(n))
		return t
	}
	if strings.TrimSpace(t.S) == "" {
		d.Fail(n, "%s is empty", what)
		t.S = ""
	}
	return t
}

// Boolean reads true or false.
func (d *Reader) Boolean(n Node, what string) bool {
	b, ok := n.(*ast.BoolNode)
	if !ok {
		d.Fail(n, "%s must be true or false%s", what, kindOf(n))
		return false
	}
	return b.Value
}

// Integer reads a whole number.
func (d *Reader) Integer(n Node, what string) int64 {
	i, _ := d.Value(n).(int64)
	if _, ok := n.(*ast.IntegerNode); !ok {
		d.Fail(n, "%s must be a whole number%s", what, kindOf(n))
	}
	return i
}

// Texts reads a list of strings.
func (d *Reader) Texts(n Node, what string) []Text {
	var out []Text
	d.List(n, what, func(_ int, n Node) { out = append(out, d.Text(n, what)) })
	return out
}

// Strings is Texts without the places.
func (d *Reader) Strings(n Node, what string) []string {
	var out []string
	for _, t := range d.Texts(n, what) {
		out = append(out, t.S)
	}
	return out
}

// Value reads plain data, as the arguments of an example.
func (d *Reader) Value(n Node) any {
	switch n := n.(type) {
	case *ast.NullNode:
		return nil
	case *ast.BoolNode:
		return n.Value
	case *ast.FloatNode:
		return n.Value
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	case *ast.InfinityNode:
		return n.Value
	case *ast.NanNode:
		return math.NaN()
	case *ast.IntegerNode:
		switch i := n.Value.(type) {
		case int64:
			return i
		case uint64:
			if i <= math.MaxInt64 {
				return int64(i)
			}
		}
		d.Fail(n, "the number does not fit 64 bits with a sign")
		return nil
	case *ast.SequenceNode:
		out := []any{}
		for _, v := range n.Values {
			out = append(out, d.Value(v))
		}
		return out
	case *ast.MappingNode, *ast.MappingValueNode:
		out := map[string]any{}
		d.Pairs(n, "the value", func(key string, _, v Node) { out[key] = d.Value(v) })
		return out
	}
	d.Fail(n, "not plain data%s", kindOf(n))
	return nil
}

// kindOf says what stands there instead.
func kindOf(n Node) string {
	switch n.(type) {
	case nil, *ast.NullNode:
		return ", and nothing is there"
	case *ast.MappingNode, *ast.MappingValueNode:
		return ", not a mapping"
	case *ast.SequenceNode:
		return ", not a list"
	case *ast.StringNode, *ast.LiteralNode:
		return ", not a string"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return ", not a number"
	case *ast.BoolNode:
		return ", not true or false"
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		return ": write the value out, anchors and aliases are refused"
	}
	return ", without a tag"
}
