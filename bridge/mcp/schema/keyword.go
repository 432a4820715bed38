package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/codeact-dev/codeact/bridge/scan"
)

// maxDoc bounds what is shown of a description, and of the form of a parameter, in
// bytes each.
const maxDoc = 400

// jsonTypes are the types that JSON Schema knows.
var jsonTypes = []string{"object", "array", "string", "integer", "number", "boolean", "null"}

// knownTypes are the types of a schema, if all of them exist.
func knownTypes(v any) (any, bool) {
	switch v := v.(type) {
	case string:
		return v, slices.Contains(jsonTypes, v)
	case []any:
		names := texts(v)
		slices.Sort(names)
		names = slices.Compact(names)
		unknown := slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(jsonTypes, n) })
		if len(texts(v)) < len(v) || len(names) == 0 || unknown {
			return nil, false
		}
		if len(names) == 1 {
			return names[0], true
		}
		list := make([]any, len(names))
		for i, n := range names {
			list[i] = n
		}
		return list, true
	}
	return nil, false
}

// differing are parts of a regular expression that Go reads too, and that mean
// something else in ECMAScript, which schemas are written for.
var differing = []string{`\s`, `\S`, `\z`, `\A`, `\Q`, `\a`, "(?", "[:"}

// pattern is a regular expression that Go reads, and that means the same there.
func pattern(v any) (any, bool) {
	s, ok := v.(string)
	if !ok || slices.ContainsFunc(differing, func(d string) bool { return strings.Contains(s, d) }) {
		return nil, false
	}
	_, err := regexp.Compile(s)
	return s, err == nil
}

// bound is a number that the keyword k can have.
func bound(k string, v any) (any, bool) {
	n, ok := v.(float64)
	switch k {
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return n, ok
	case "multipleOf":
		return n, ok && n > 0
	}
	return n, ok && n >= 0 && n <= math.MaxInt32 && n == math.Trunc(n) // a count
}

func nonEmpty(v any) (any, bool) {
	list, ok := v.([]any)
	return list, ok && len(list) > 0
}

// texts are the texts of a list.
func texts(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// describe is the description of a parameter, on one line.
func describe(s any) string {
	m, _ := s.(map[string]any)
	text, _ := m["description"].(string)
	return FirstLine(text)
}

// FirstLine is the first line of a text that has one, visible and bounded.
func FirstLine(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return scan.Line(strings.TrimSpace(text), maxDoc)
}

// shape tells a script's writer how a value is built: its parts are not shown
// otherwise. It holds only types, names and values of the schema.
func shape(s map[string]any, depth int) string {
	text := ""
	switch {
	case depth > 3:
		return "…"
	case s["enum"] != nil:
		var values []string
		for _, e := range s["enum"].([]any) {
			v, _ := Canonical(e)
			values = append(values, v)
		}
		text = "one of " + strings.Join(values, ", ")
	case s["items"] != nil:
		m, _ := s["items"].(map[string]any)
		text = "list of " + orAny(shape(m, depth+1))
	case s["properties"] != nil:
		text = "{" + strings.Join(fields(s, depth), ", ") + "}"
	case s["anyOf"] != nil:
		var parts []string
		for _, e := range s["anyOf"].([]any) {
			m, _ := e.(map[string]any)
			parts = append(parts, orAny(shape(m, depth+1)))
		}
		text = strings.Join(slices.Compact(parts), " or ")
	case s["type"] != nil:
		text = strings.Trim(strings.ReplaceAll(fmt.Sprint(s["type"]), " ", " or "), "[]")
	}
	return scan.Line(text, maxDoc)
}

func fields(s map[string]any, depth int) []string {
	props, _ := s["properties"].(map[string]any)
	required := texts(s["required"])
	var list []string
	for _, name := range slices.Sorted(maps.Keys(props)) {
		m, _ := props[name].(map[string]any)
		mark := "?"
		if slices.Contains(required, name) {
			mark = ""
		}
		list = append(list, name+mark+": "+orAny(shape(m, depth+1)))
	}
	return list
}

func orAny(s string) string {
	if s == "" {
		return "any"
	}
	return s
}

// Canonical is JSON whose equal values have equal bytes: Go sorts the keys.
func Canonical(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
