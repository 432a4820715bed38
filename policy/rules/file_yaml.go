package rules

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

// A reader reads the nodes of a file strictly, and collects every fault.
type reader struct {
	src  *source
	errs []error
}

func (d *reader) fail(n ast.Node, format string, args ...any) {
	if len(d.errs) >= maxFaults {
		return // the file is refused already
	}
	d.errs = append(d.errs, d.src.fault(d.place(n), format, args...))
}

// place is where a person would look for n: a mapping stands where its first key
// does.
func (d *reader) place(n ast.Node) int {
	switch m := n.(type) {
	case *ast.MappingNode:
		if len(m.Values) > 0 {
			return d.src.offset(m.Values[0].Key.GetToken())
		}
	case *ast.MappingValueNode:
		return d.src.offset(m.Key.GetToken())
	case nil:
		return 0
	}
	return d.src.offset(n.GetToken())
}

// parseYAML returns the documents of a file.
func (d *reader) parseYAML(data []byte) []ast.Node {
	if err := d.bounds(data); err != nil {
		d.errs = append(d.errs, err)
		return nil
	}
	f, err := parseSafely(data)
	if err != nil {
		at, msg := 0, err.Error()
		var y yaml.Error
		if errors.As(err, &y) {
			at, msg = d.src.offset(y.GetToken()), y.GetMessage()
		}
		d.errs = append(d.errs, d.src.fault(at, "%s", strings.TrimSpace(msg)))
		return nil
	}
	var docs []ast.Node
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

func (d *reader) bounds(data []byte) error {
	switch {
	case len(data) > maxFile:
		return d.src.fault(0, "the file has %d bytes, more than %d: split it", len(data), maxFile)
	case !utf8.Valid(data):
		return d.src.fault(0, "the file is not UTF-8")
	case strings.Count(string(data), ":") > maxColons:
		return d.src.fault(0, "the file has more than %d keys: split it", maxColons)
	case len(d.src.lines) > maxLines:
		return d.src.fault(0, "the file has more than %d lines: split it", maxLines)
	}
	return d.shape()
}

// shape bounds how deep the text nests, and how many anchors, aliases and tags it
// could have, none of which a policy has.
func (d *reader) shape() error {
	depth, items, marks, begin := 0, 0, 0, 0
	for i, r := range d.src.runes {
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
			if i == begin || d.src.runes[i-1] == ' ' {
				marks++
			}
		}
		switch {
		case i-begin > maxLine:
			return d.src.fault(begin, "the line has more than %d characters: fold it", maxLine)
		case depth > maxNesting || items > 10*maxNesting:
			return d.src.fault(i, "nested too deep: at most %d levels", maxNesting)
		case marks > maxMarks:
			return d.src.fault(i, "the file has more than %d of what could be an alias or a tag: split it", maxMarks)
		}
	}
	return nil
}

// mapping reads a mapping whose keys are all known. It reports whether n is one.
func (d *reader) mapping(n ast.Node, what string, keys map[string]func(ast.Node)) bool {
	known := make([]string, 0, len(keys))
	for k := range keys {
		known = append(known, k)
	}
	slices.Sort(known)
	return d.pairs(n, what, func(key string, k, v ast.Node) {
		read, ok := keys[key]
		if !ok {
			d.fail(k, "unknown key %q in %s%s", key, what, nearestOr(key, known))
			return
		}
		read(v)
	})
}

// pairs reads a mapping with any keys, each of which may stand there once.
func (d *reader) pairs(n ast.Node, what string, each func(key string, k, v ast.Node)) bool {
	var values []*ast.MappingValueNode
	switch m := n.(type) {
	case *ast.MappingNode:
		values = m.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{m}
	default:
		d.fail(n, "%s must be a mapping%s", what, kindOf(n))
		return false
	}
	seen := make(map[string]bool, len(values))
	for _, v := range values {
		key, ok := v.Key.(*ast.StringNode)
		if !ok {
			d.fail(v.Key, "a key of %s must be a plain name: no merge, anchor or complex key", what)
			continue
		}
		if seen[key.Value] {
			d.fail(v.Key, "duplicate key %q in %s", key.Value, what)
			continue
		}
		seen[key.Value] = true
		each(key.Value, v.Key, v.Value)
	}
	return true
}

func (d *reader) list(n ast.Node, what string, each func(i int, n ast.Node)) {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		d.fail(n, "%s must be a list%s", what, kindOf(n))
		return
	}
	for i, v := range s.Values {
		each(i, v)
	}
}

// text reads a string. A number is not one: what is written 0123 would be another
// text.
func (d *reader) text(n ast.Node, what string) text {
	t := text{src: d.src, node: n}
	switch s := n.(type) {
	case *ast.StringNode:
		t.s = s.Value
	case *ast.LiteralNode:
		t.s = s.Value.Value
	default:
		d.fail(n, "%s must be a string%s", what, kindOf(n))
		return t
	}
	if strings.TrimSpace(t.s) == "" {
		d.fail(n, "%s is empty", what)
		t.s = ""
	}
	return t
}

func (d *reader) boolean(n ast.Node, what string) bool {
	b, ok := n.(*ast.BoolNode)
	if !ok {
		d.fail(n, "%s must be true or false%s", what, kindOf(n))
		return false
	}
	return b.Value
}

func (d *reader) integer(n ast.Node, what string) int64 {
	i, _ := d.value(n).(int64)
	if _, ok := n.(*ast.IntegerNode); !ok {
		d.fail(n, "%s must be a whole number%s", what, kindOf(n))
	}
	return i
}

func (d *reader) texts(n ast.Node, what string) []text {
	var out []text
	d.list(n, what, func(_ int, n ast.Node) { out = append(out, d.text(n, what)) })
	return out
}

func (d *reader) strings(n ast.Node, what string) []string {
	var out []string
	for _, t := range d.texts(n, what) {
		out = append(out, t.s)
	}
	return out
}

// value reads plain data, as the arguments of an example.
func (d *reader) value(n ast.Node) any {
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
		d.fail(n, "the number does not fit 64 bits with a sign")
		return nil
	case *ast.SequenceNode:
		out := []any{}
		for _, v := range n.Values {
			out = append(out, d.value(v))
		}
		return out
	case *ast.MappingNode, *ast.MappingValueNode:
		out := map[string]any{}
		d.pairs(n, "the value", func(key string, _, v ast.Node) { out[key] = d.value(v) })
		return out
	}
	d.fail(n, "not plain data%s", kindOf(n))
	return nil
}

// kindOf says what stands there instead.
func kindOf(n ast.Node) string {
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
