package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxDepth bounds nesting: the parser recurses, and no task is this deep.
const maxDepth = 64

// maxTokens bounds the parts of a file, as keys, values and brackets: the parser
// takes the square of their number. A long text is one token.
const maxTokens = 50_000

// Parse reads data. The source holds every document that could be read; what is
// wrong is in its Err.
func Parse(name string, data []byte) *Source {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	s := &Source{Name: name}
	if !utf8.Valid(data) {
		line, col := invalidUTF8(data)
		s.AddAt(line, col, "$", "not valid UTF-8: save the file as UTF-8")
		return s
	}
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	s.lines = strings.Split(text, "\n")
	tokens := lexer.Tokenize(text)
	if len(tokens) > maxTokens {
		at := tokens[maxTokens].Position
		s.AddAt(at.Line, at.Column, "$", "more than %d keys, values and brackets: split the file", maxTokens)
		return s
	}
	if at := tooDeep(tokens); at != nil {
		s.AddAt(at.Line, at.Column, "$", "nested deeper than %d levels", maxDepth)
		return s
	}
	file, err := parseTokens(tokens)
	if err != nil {
		s.addSyntax(err)
		return s
	}
	for _, doc := range file.Docs {
		switch {
		case doc.Body != nil:
			s.Docs = append(s.Docs, s.node(doc.Body, "$", 0))
		case doc.Start != nil: // the parser leaves out what follows an empty document
			s.AddAt(doc.Start.Position.Line, doc.Start.Position.Column, "$", "an empty document: remove this ---")
		}
	}
	return s
}

// parseTokens turns a panic of the parser into an error: its input is a
// stranger's, and it has panicked on odd input in the past.
func parseTokens(tokens token.Tokens) (file *ast.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("cannot be parsed: %v", r)
		}
	}()
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey()) // two keys alike are our fault, with both places
}

func (s *Source) addSyntax(err error) {
	var at yaml.Error
	if !errors.As(err, &at) || at.GetToken() == nil {
		s.AddAt(0, 0, "$", "%v", err)
		return
	}
	msg, pos := at.GetMessage(), at.GetToken().Position
	if strings.Contains(msg, "'\t'") {
		msg = "a tab cannot indent: use spaces"
	}
	s.AddAt(pos.Line, pos.Column, "$", "%s", msg)
}

func invalidUTF8(data []byte) (line, col int) {
	line, col = 1, 1
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			break
		}
		col++
		if r == '\n' {
			line, col = line+1, 1
		}
		data = data[size:]
	}
	return line, col
}

// tooDeep finds the token that nests past maxDepth in brackets, or in "- - -"
// or "? ? ?" on one line. Nesting by indentation is bounded by node instead: it
// costs its square in bytes.
func tooDeep(tokens token.Tokens) *token.Position {
	flow, entries, line := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			entries, line = 0, t.Position.Line
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow = max(0, flow-1)
		case token.SequenceEntryType, token.MappingKeyType:
			entries++
		}
		if flow > maxDepth || entries > maxDepth {
			return t.Position
		}
	}
	return nil
}

// node converts an AST node. What is refused is recorded, and becomes a node of
// kind Refused.
func (s *Source) node(from ast.Node, path string, depth int) *Node {
	pos := position(from)
	n := &Node{Path: path, Line: pos.Line, Col: pos.Column, Text: from.GetToken().Value}
	if depth > maxDepth {
		return s.refuse(n, "nested deeper than %d levels", maxDepth)
	}
	switch v := from.(type) {
	case *ast.NullNode:
		n.Kind = Null
	case *ast.BoolNode:
		n.Kind, n.Bool = Bool, v.Value
	case *ast.FloatNode:
		n.Kind, n.Float = Float, v.Value
	case *ast.StringNode:
		n.Kind, n.Text = String, v.Value
	case *ast.LiteralNode:
		n.Kind, n.Text = String, v.Value.Value
	case *ast.IntegerNode:
		return s.integer(n, v)
	case *ast.SequenceNode:
		n.Kind = List
		for i, item := range v.Values {
			n.Items = append(n.Items, s.node(item, itemPath(path, i), depth+1))
		}
	case *ast.MappingNode:
		n.Kind = Map
		s.fields(n, v.Values, depth)
	default:
		return s.refuse(n, "%s", refused(from))
	}
	return n
}

func (s *Source) refuse(n *Node, format string, args ...any) *Node {
	s.Addf(n, format, args...)
	n.Kind = Refused
	return n
}

// position is where a person sees a node begin: a block mapping begins at its
// first key, while its token is the colon.
func position(n ast.Node) *token.Position {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return m.Values[0].Key.GetToken().Position
	}
	return n.GetToken().Position
}

func (s *Source) integer(n *Node, v *ast.IntegerNode) *Node {
	n.Kind = Int
	switch i := v.Value.(type) {
	case int64:
		n.Int = i
	case uint64:
		if i > math.MaxInt64 {
			return s.refuse(n, "%s is out of range: want at most %d", n.Text, math.MaxInt64)
		}
		n.Int = int64(i)
	}
	if digits := strings.TrimLeft(n.Text, "+-"); len(digits) > 1 && digits[0] == '0' && digits[1] <= '9' {
		return s.refuse(n, "%s: a leading 0 means octal to some readers: write the number without it", n.Text)
	}
	return n
}

func (s *Source) fields(n *Node, values []*ast.MappingValueNode, depth int) {
	first := make(map[string]*Node, len(values))
	for _, v := range values {
		tok := v.Key.GetToken()
		key := &Node{Kind: String, Text: tok.Value, Path: keyPath(n.Path, tok.Value), Line: tok.Position.Line, Col: tok.Position.Column}
		if !isPlainKey(v.Key) {
			s.Addf(key, "%s", refused(v.Key))
			continue
		}
		if at := first[key.Text]; at != nil {
			s.Addf(key, "duplicate key: it stands on line %d too", at.Line)
			continue
		}
		first[key.Text] = key
		value := s.node(v.Value, key.Path, depth+1)
		if value.Kind == Null {
			value.Line, value.Col = key.Line, key.Col // an empty value has no place of its own
		}
		n.Fields = append(n.Fields, Field{Key: key, Value: value})
	}
}

func isPlainKey(key ast.MapKeyNode) bool {
	switch key.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		return true
	}
	return false
}

// refused says why a node that is not read is not.
func refused(n ast.Node) string {
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode:
		return "anchors and aliases are not read: write the value out"
	case *ast.MergeKeyNode:
		return "merge keys are not read: write the keys out"
	case *ast.TagNode:
		return "tags are not read: quote a string, write other values plainly"
	case *ast.DirectiveNode:
		return "directives are not read: remove the line"
	case *ast.InfinityNode, *ast.NanNode:
		return "want a finite number"
	}
	return "cannot stand here: want a plain key and value"
}

// Text reads data as plain text, one string at the top of the source.
func Text(name string, data []byte) (*Source, *Node) {
	s := &Source{Name: name, lines: strings.Split(string(data), "\n")}
	if !utf8.Valid(data) {
		line, col := invalidUTF8(data)
		s.AddAt(line, col, "$", "not valid UTF-8: save the file as UTF-8")
	}
	return s, &Node{Kind: String, Path: "$", Line: 1, Col: 1, Text: string(data)}
}
