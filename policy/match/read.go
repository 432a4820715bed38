package match

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxText bounds a result that is read as data, in bytes. Longer texts bring no
// records.
const maxText = 256 << 10

// maxDepth bounds the levels of a text that is read as data: the parsers recurse.
const maxDepth = 32

// yamlShape is the first line of a YAML sequence or mapping.
var yamlShape = regexp.MustCompile(`^(?:- |-\n|[A-Za-z_][A-Za-z0-9_ -]{0,63}:(?:[ \n]|$))`)

// ReadData reads a text that is, as a whole, one JSON value, Python literal or
// block of YAML. Whatever fails or looks costly is no data.
func ReadData(s string) (any, bool) {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > maxText || !utf8.ValidString(s) {
		return nil, false
	}
	if strings.IndexByte("{[(", s[0]) >= 0 {
		if v, ok := readJSON(s); ok {
			return v, true
		}
		return readLiteral(s)
	}
	if yamlShape.MatchString(s) {
		return readYAML(s)
	}
	return nil, false
}

func readJSON(s string) (any, bool) {
	d := json.NewDecoder(bytes.NewReader([]byte(s)))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return nil, false
	}
	return plainNumbers(v), true
}

// plainNumbers turns the numbers of JSON into text, which keeps a long id whole.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return v.String()
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plainNumbers(v[k])
		}
	}
	return v
}

// readYAML reads block YAML without the parts that cost more than their length:
// anchors, aliases, merges and tags, and deep nesting, which could exhaust the
// stack of a recursive parser.
func readYAML(s string) (any, bool) {
	if tooDeep(s) {
		return nil, false
	}
	return fenced(s, parseYAML)
}

// fenced calls parse, and takes a panic for bad data: the parser is not ours, and
// the bytes are a stranger's.
func fenced(s string, parse func(string) (any, bool)) (v any, ok bool) {
	defer func() {
		if recover() != nil {
			v, ok = nil, false
		}
	}()
	return parse(s)
}

func parseYAML(s string) (any, bool) {
	tokens := lexer.Tokenize(s)
	for _, t := range tokens {
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType, token.TagType:
			return nil, false
		}
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil || len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return nil, false
	}
	var v any
	if yaml.NodeToValue(file.Docs[0].Body, &v) != nil {
		return nil, false
	}
	return v, true
}

// tooDeep reports whether a text could nest deeper than maxDepth in flow style,
// or with many indicators on one line.
func tooDeep(s string) bool {
	open := 0
	for line := range strings.Lines(s) {
		run := 0
		for i := 0; i < len(line); i++ {
			switch line[i] {
			case '[', '{':
				open++
			case ']', '}':
				open = max(open-1, 0)
			}
		}
		for strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "? ") || strings.HasPrefix(line, " ") {
			if line[0] != ' ' {
				run++
			}
			line = line[1:]
		}
		if open > maxDepth || run > maxDepth || len(line) > 0 && strings.Count(line, ": - ") > maxDepth {
			return true
		}
	}
	return false
}

// readLiteral reads the repr of a Python value: dict, list, tuple, str, number,
// True, False and None.
func readLiteral(s string) (any, bool) {
	l := literal{rest: s}
	v, ok := l.value(maxDepth)
	l.space()
	if !ok || l.rest != "" {
		return nil, false
	}
	return v, true
}

// A literal is the rest of a text that is being read.
type literal struct{ rest string }

func (l *literal) space() { l.rest = strings.TrimLeft(l.rest, " \t\r\n") }

func (l *literal) take(prefix string) bool {
	l.space()
	rest, ok := strings.CutPrefix(l.rest, prefix)
	if ok {
		l.rest = rest
	}
	return ok
}

func (l *literal) value(depth int) (any, bool) {
	l.space()
	if l.rest == "" || depth == 0 {
		return nil, false
	}
	switch l.rest[0] {
	case '{':
		return l.dict(depth)
	case '[':
		return l.list("[", "]", depth)
	case '(':
		return l.list("(", ")", depth)
	case '\'', '"':
		return l.str()
	}
	return l.atom()
}

func (l *literal) list(open, end string, depth int) (any, bool) {
	l.take(open)
	out := []any{}
	for !l.take(end) {
		v, ok := l.value(depth - 1)
		if !ok || !l.take(",") && !strings.HasPrefix(l.rest, end) {
			return nil, false
		}
		out = append(out, v)
	}
	return out, true
}

func (l *literal) dict(depth int) (any, bool) {
	l.take("{")
	out := map[string]any{}
	for !l.take("}") {
		k, ok := l.value(depth - 1)
		if !ok || !l.take(":") {
			return nil, false
		}
		v, ok := l.value(depth - 1)
		if !ok || !l.take(",") && !strings.HasPrefix(l.rest, "}") {
			return nil, false
		}
		name, ok := k.(string)
		if _, double := out[name]; !ok || double {
			return nil, false
		}
		out[name] = v
	}
	return out, true
}

// str reads a quoted string. The escapes are those that repr writes.
func (l *literal) str() (any, bool) {
	quote := l.rest[0]
	var b strings.Builder
	for s := l.rest[1:]; s != ""; {
		if s[0] == quote {
			l.rest = s[1:]
			return b.String(), true
		}
		r, _, rest, err := strconv.UnquoteChar(s, quote)
		if err != nil { // an escape that repr does not write stands for itself
			r, rest = '\\', s[1:]
		}
		b.WriteRune(r)
		s = rest
	}
	return nil, false
}

// atom reads a word or a number. A number stays text, which keeps it whole.
func (l *literal) atom() (any, bool) {
	end := strings.IndexAny(l.rest, ",:]}) \t\r\n")
	if end < 0 {
		end = len(l.rest)
	}
	s := l.rest[:end]
	l.rest = l.rest[end:]
	switch s {
	case "None", "null":
		return nil, true
	case "True", "true":
		return true, true
	case "False", "false":
		return false, true
	}
	_, err := strconv.ParseFloat(s, 64)
	return s, err == nil
}
