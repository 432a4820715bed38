package strictyaml

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/codeact-dev/codeact/spelling"
)

// Check records every place where n differs from schema. A value that has a
// fault already gets no second one.
func (s *Source) Check(n *Node, schema *Schema) {
	before := s.faults
	for _, f := range s.check(n, schema) {
		if !reported(before, f) {
			s.add(f)
		}
	}
}

// check returns the faults instead of recording them, so that a branch of oneOf
// can be tried.
func (s *Source) check(n *Node, c *Schema) []*Fault {
	if c == nil || n.Kind == Refused {
		return nil
	}
	if c.never {
		return []*Fault{s.fault(n, "is not allowed here")}
	}
	if c.Type != "" && !c.fits(n) {
		return []*Fault{s.fault(n, fmt.Sprintf("want %s, have %s", article(c.Type), describe(n)))}
	}
	faults := s.check(n, c.def)
	if msg := c.scalar(n); msg != "" {
		faults = append(faults, s.fault(n, msg))
	}
	switch n.Kind {
	case List:
		faults = append(faults, s.list(n, c)...)
	case Map:
		faults = append(faults, s.mapping(n, c)...)
	}
	for _, all := range c.AllOf {
		faults = append(faults, s.check(n, all)...)
	}
	if c.If != nil && len(s.check(n, c.If)) == 0 {
		faults = append(faults, s.check(n, c.Then)...)
	}
	return append(faults, s.oneOf(n, c.OneOf)...)
}

var typeKinds = map[string][]Kind{
	"string": {String}, "integer": {Int}, "number": {Int, Float}, "boolean": {Bool}, "array": {List}, "object": {Map}, "null": {Null},
}

func (c *Schema) fits(n *Node) bool { return slices.Contains(typeKinds[c.Type], n.Kind) }

func article(typ string) string {
	kinds := typeKinds[typ]
	if len(kinds) == 0 {
		return typ
	}
	return kinds[len(kinds)-1].String()
}

// describe names what was written, with the text of a scalar.
func describe(n *Node) string {
	switch n.Kind {
	case Null, List, Map:
		return n.Kind.String()
	}
	return fmt.Sprintf("%s %s", n.Kind, shown(n))
}

// shown is the text of a scalar as a message quotes it.
func shown(n *Node) string {
	const most = 60 // characters; the excerpt shows the rest
	text := n.Text
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	if n.Kind == String {
		return fmt.Sprintf("%q", text)
	}
	return text
}

// scalar says what is wrong with a single value, or "".
func (c *Schema) scalar(n *Node) string {
	if c.Const != nil && !equal(n, c.Const) {
		return fmt.Sprintf("%s: want %v%s", shown(n), c.Const, spelling.DidYouMean(n.Text, []string{fmt.Sprint(c.Const)}))
	}
	if c.Enum != nil && !slices.ContainsFunc(c.Enum, func(v any) bool { return equal(n, v) }) {
		names := make([]string, len(c.Enum))
		for i, v := range c.Enum {
			names[i] = fmt.Sprint(v)
		}
		hint := ""
		if n.Kind == String {
			hint = spelling.DidYouMean(n.Text, names)
		}
		return fmt.Sprintf("%s: want one of %s%s", shown(n), strings.Join(names, ", "), hint)
	}
	switch n.Kind {
	case String:
		return c.text(n)
	case Int:
		return c.number(n, float64(n.Int))
	case Float:
		return c.number(n, n.Float)
	}
	return ""
}

func (c *Schema) text(n *Node) string {
	if utf8.RuneCountInString(n.Text) < c.MinLength {
		return fmt.Sprintf("want at least %d characters", c.MinLength)
	}
	if c.Pattern != nil && !c.Pattern.MatchString(n.Text) {
		return fmt.Sprintf("%s does not match %s", shown(n), c.Pattern)
	}
	switch c.Format {
	case "regex":
		if _, err := regexp.Compile(n.Text); err != nil {
			return fmt.Sprintf("%s: %v", shown(n), err)
		}
	case "uri":
		if u, err := url.Parse(n.Text); err != nil || u.Scheme == "" || u.Host == "" {
			return fmt.Sprintf("%s: want a URL as https://example.com/mcp", shown(n))
		}
	}
	return ""
}

func (c *Schema) number(n *Node, v float64) string {
	switch {
	case c.Minimum != nil && v < *c.Minimum:
		return fmt.Sprintf("%s: want at least %v", n.Text, *c.Minimum)
	case c.ExclusiveMinimum != nil && v <= *c.ExclusiveMinimum:
		return fmt.Sprintf("%s: want more than %v", n.Text, *c.ExclusiveMinimum)
	case c.Maximum != nil && v > *c.Maximum:
		return fmt.Sprintf("%s: want at most %v", n.Text, *c.Maximum)
	}
	return ""
}

// equal compares a node with a value that encoding/json decoded.
func equal(n *Node, v any) bool {
	switch v := v.(type) {
	case string:
		return n.Kind == String && n.Text == v
	case float64:
		return n.Kind == Int && float64(n.Int) == v || n.Kind == Float && n.Float == v
	case bool:
		return n.Kind == Bool && n.Bool == v
	}
	return false
}

func (s *Source) list(n *Node, c *Schema) []*Fault {
	var faults []*Fault
	if len(n.Items) < c.MinItems {
		faults = append(faults, s.fault(n, fmt.Sprintf("want at least %d items", c.MinItems)))
	}
	seen := make(map[string]bool, len(n.Items))
	for _, item := range n.Items {
		faults = append(faults, s.check(item, c.Items)...)
		if !c.UniqueItems {
			continue
		}
		key, _ := json.Marshal(item.Value()) // plain data always encodes
		if seen[string(key)] {
			faults = append(faults, s.fault(item, fmt.Sprintf("%s stands in the list twice", bytes.TrimSpace(key))))
		}
		seen[string(key)] = true
	}
	return faults
}

func (s *Source) mapping(n *Node, c *Schema) []*Fault {
	var faults []*Fault
	for _, key := range c.Required {
		if n.At(key) == nil {
			faults = append(faults, s.fault(n, fmt.Sprintf("missing key %q", key)))
		}
	}
	for _, f := range n.Fields {
		faults = append(faults, s.check(f.Key, c.PropertyNames)...)
		switch prop := c.Properties[f.Key.Text]; {
		case prop != nil:
			faults = append(faults, s.check(f.Value, prop)...)
		case c.AdditionalProperties != nil && c.AdditionalProperties.never:
			faults = append(faults, s.fault(f.Key, "unknown key"+spelling.DidYouMean(f.Key.Text, c.keys())))
		default:
			faults = append(faults, s.check(f.Value, c.AdditionalProperties)...)
		}
	}
	return faults
}

func (c *Schema) keys() []string { return slices.Sorted(maps.Keys(c.Properties)) }

// oneOf reports the branch that the writer most likely meant: the only one of
// the written type. Branches that are only "required" are alternatives of keys.
func (s *Source) oneOf(n *Node, branches []*Schema) []*Fault {
	if len(branches) == 0 {
		return nil
	}
	passed, types, required := 0, []string(nil), []string(nil)
	var meant []*Fault
	for _, b := range branches {
		faults := s.check(n, b)
		if len(faults) == 0 {
			passed++
		}
		if b.Type == "" {
			required = append(required, b.Required...)
			continue
		}
		types = append(types, article(b.Type))
		if b.fits(n) {
			meant = faults
		}
	}
	switch {
	case passed == 1:
		return nil
	case len(required) > 0 && passed == 0:
		return []*Fault{s.fault(n, fmt.Sprintf("missing key: want one of %s", strings.Join(required, ", ")))}
	case len(required) > 0:
		return []*Fault{s.fault(n, fmt.Sprintf("want only one of the keys %s", strings.Join(required, ", ")))}
	case meant != nil:
		return meant
	}
	return []*Fault{s.fault(n, fmt.Sprintf("want %s, have %s", strings.Join(types, " or "), describe(n)))}
}
