// Package schema writes out the JSON Schema of a tool that an MCP server offers, in
// the form that the bridge checks arguments against.
//
// The schema is a third party's. What comes out is bounded and has no references,
// annotations or defaults, and accepts whatever the server's own schema accepts; it
// says nothing about what the tool does with it.
package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/codeact-dev/codeact/bridge/scan"
)

// The bounds of a schema that is written out.
const (
	maxParams = 128
	maxNodes  = 4096 // schemas inside each other or side by side
	maxDepth  = 24
)

// A Flat is a schema that was written out. It takes no parameters that the
// server's own does not name.
type Flat struct {
	Text   string            // JSON, of an object of parameters
	Wire   map[string]string // the server's name of a parameter, by ours, where they differ
	Widens []string          // what is left to the server to check, sorted
}

// Flatten writes a schema out.
//
// Annotations are dropped, and so are extensions, which mean something to the
// bridge that a third party must not say. A default is dropped too: the server
// fills it in itself, and nobody here vouches for the value. Of an object whose
// parameters stand in alternatives every one may be given.
func Flatten(text string) (Flat, error) {
	f := &flattener{widens: map[string]bool{}}
	if err := json.Unmarshal([]byte(text), &f.root); err != nil {
		return Flat{}, err
	}
	top, isObject := f.root.(map[string]any)
	if !isObject {
		return Flat{}, errors.New("its schema is no object")
	}
	params, required := map[string]any{}, []string{}
	f.collect(top, params, &required, 0)
	return f.write(params, required)
}

type flattener struct {
	root   any
	nodes  int
	refs   []string // that are being written out
	widens map[string]bool
}

func (f *flattener) widen(what string) { f.widens[what] = true }

// collect gathers the parameters of the top schema and of those that it is made
// of. Only a parameter that every call must give is required.
func (f *flattener) collect(s map[string]any, params map[string]any, required *[]string, depth int) {
	f.nodes++
	if f.nodes > maxNodes || depth > maxDepth {
		f.widen("size")
		return
	}
	if ref, ok := s["$ref"]; ok {
		f.follow(ref, func(target any) any {
			if t, ok := target.(map[string]any); ok {
				f.collect(t, params, required, depth+1)
			}
			return nil
		})
	}
	for _, name := range texts(s["required"]) {
		if !slices.Contains(*required, name) {
			*required = append(*required, name)
		}
	}
	if props, ok := s["properties"].(map[string]any); ok {
		for _, name := range slices.Sorted(maps.Keys(props)) {
			f.param(params, name, props[name])
		}
	}
	for _, k := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := s[k].([]any)
		for _, e := range list {
			part, ok := e.(map[string]any)
			if !ok {
				continue
			}
			into := required
			if k != "allOf" {
				f.widen(k + " of the parameters")
				into = new([]string)
			}
			f.collect(part, params, into, depth+1)
		}
	}
}

// param adds a parameter. One that two parts describe differently may be anything.
func (f *flattener) param(params map[string]any, name string, s any) {
	doc := describe(s)
	v := f.schema(s, 0)
	if m, ok := v.(map[string]any); ok {
		v = m
		if hint := shape(m, 0); hint != "" && hint != m["type"] {
			doc = strings.TrimSpace(doc + " (" + hint + ")")
		}
		if doc != "" {
			m["description"] = doc
		}
	}
	if old, twice := params[name]; twice {
		a, _ := Canonical(old)
		if b, _ := Canonical(v); a != b {
			f.widen("parameters with two meanings")
			v = map[string]any{"description": doc}
		}
	}
	params[name] = v
}

// write puts the required parameters first, in the order in which they are
// required: it is that of positional arguments.
func (f *flattener) write(params map[string]any, required []string) (Flat, error) {
	out := Flat{Wire: map[string]string{}}
	if len(params) > maxParams {
		return out, fmt.Errorf("it has %d parameters, over %d", len(params), maxParams)
	}
	required = slices.DeleteFunc(required, func(name string) bool { _, has := params[name]; return !has })
	order := slices.Clone(required)
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if !slices.Contains(required, name) {
			order = append(order, name)
		}
	}
	taken := map[string]bool{}
	var props, must []string
	for _, name := range order {
		ours, err := paramName(name)
		if err != nil {
			return out, err
		}
		if taken[ours] {
			return out, fmt.Errorf("two of its parameters would be called %s", ours)
		}
		taken[ours] = true
		if ours != name {
			out.Wire[ours] = name
		}
		text, err := Canonical(params[name])
		if err != nil {
			return out, err
		}
		props = append(props, `"`+ours+`":`+text)
		if slices.Contains(required, name) {
			must = append(must, `"`+ours+`"`)
		}
	}
	out.Text = `{"type":"object","required":[` + strings.Join(must, ",") + `],"properties":{` + strings.Join(props, ",") + `}}`
	out.Widens = slices.Sorted(maps.Keys(f.widens))
	return out, nil
}

var (
	printable = regexp.MustCompile(`^[!-~]{1,64}$`)
	noLetter  = regexp.MustCompile(`[^A-Za-z0-9_]`)
)

// keywords are words that a script cannot use as a name.
var keywords = strings.Fields(`and as assert async await break class continue def del elif else except finally for from
	global if import in is lambda load nonlocal not or pass raise return try while with yield`)

// paramName makes the name of a parameter an identifier. What could deceive a
// reader is refused.
func paramName(name string) (string, error) {
	if !printable.MatchString(name) {
		return "", fmt.Errorf("a parameter is called %s: a name has up to 64 printable ASCII characters without spaces", scan.Line(name, 64))
	}
	ours := noLetter.ReplaceAllString(name, "_")
	if ours[0] >= '0' && ours[0] <= '9' {
		ours = "_" + ours
	}
	if slices.Contains(keywords, ours) {
		ours += "_"
	}
	if len(ours) > 64 {
		return "", fmt.Errorf("the parameter %s has too long a name", name)
	}
	return ours, nil
}

// follow calls use with what a reference within the schema leads to. A reference
// that leads elsewhere, or back to itself, leads to anything.
func (f *flattener) follow(ref any, use func(target any) any) any {
	name, _ := ref.(string)
	target, ok := f.lookup(name)
	switch {
	case !ok:
		f.widen("references to elsewhere")
		return map[string]any{}
	case slices.Contains(f.refs, name) || len(f.refs) > maxDepth:
		f.widen("references that lead back to themselves")
		return map[string]any{}
	}
	f.refs = append(f.refs, name)
	defer func() { f.refs = f.refs[:len(f.refs)-1] }()
	return use(target)
}

// lookup reads a JSON pointer, as #/$defs/point.
func (f *flattener) lookup(ref string) (any, bool) {
	path, local := strings.CutPrefix(ref, "#")
	if !local || path != "" && path[0] != '/' {
		return nil, false
	}
	at := f.root
	for _, part := range strings.Split(path, "/")[1:] {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		m, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		if at, ok = m[part]; !ok {
			return nil, false
		}
	}
	return at, true
}

// schema is s without references and without what cannot be checked.
func (f *flattener) schema(v any, depth int) any {
	f.nodes++
	if f.nodes > maxNodes || depth > maxDepth {
		f.widen("size")
		return map[string]any{}
	}
	switch v := v.(type) {
	case bool:
		if v {
			return map[string]any{}
		}
		return false
	case map[string]any:
		return f.object(v, depth)
	}
	f.widen("what is no schema")
	return map[string]any{}
}

func (f *flattener) object(s map[string]any, depth int) any {
	out := map[string]any{}
	for _, k := range slices.Sorted(maps.Keys(s)) {
		f.keyword(out, k, s, depth)
	}
	if s["nullable"] == true { // OpenAPI's way to say it
		if t, ok := out["type"].(string); ok && t != "null" {
			out["type"] = []any{t, "null"}
		}
		if list, ok := out["enum"].([]any); ok && !slices.Contains(list, nil) {
			out["enum"] = append(slices.Clone(list), nil)
		}
		delete(out, "const")
	}
	ref, has := s["$ref"]
	if !has {
		return out
	}
	target := f.follow(ref, func(t any) any { return f.schema(t, depth+1) })
	if len(out) == 0 {
		return target
	}
	if list, ok := out["allOf"].([]any); ok {
		out["allOf"] = append(slices.Clone(list), target)
	} else {
		out["allOf"] = []any{target}
	}
	return out
}

// silent are keywords that restrict nothing, or that object handles.
var silent = strings.Fields(`title description default example examples format nullable deprecated readOnly writeOnly
	$schema $id $comment $anchor $defs definitions $ref contentMediaType contentEncoding`)

// keyword copies one keyword of s that the bridge can check. Each that it leaves
// out makes the schema wider, at any depth: none that could turn that round, as
// not, is kept.
func (f *flattener) keyword(out map[string]any, k string, s map[string]any, depth int) {
	var v any
	ok := false
	switch k {
	case "type":
		v, ok = knownTypes(s[k])
	case "enum":
		v, ok = nonEmpty(s[k])
	case "const":
		v, ok = s[k], true
	case "required":
		list, isList := s[k].([]any)
		v, ok = s[k], isList && len(texts(s[k])) == len(list)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
		"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		v, ok = bound(k, s[k])
	case "uniqueItems":
		v, ok = s[k].(bool)
	case "pattern":
		v, ok = pattern(s[k])
	case "properties":
		v, ok = f.properties(s[k], depth)
	case "items", "prefixItems", "allOf", "anyOf", "oneOf":
		k, v, ok = f.parts(k, s[k], depth)
	case "additionalProperties":
		// Without them a pattern's properties would be additional ones.
		if _, has := s["patternProperties"]; !has {
			v, ok = f.schema(s[k], depth+1), true
		}
	default:
		if slices.Contains(silent, k) || strings.HasPrefix(k, "x-") {
			return
		}
	}
	if !ok {
		f.widen(k)
		return
	}
	out[k] = v
}

// parts copies schemas that stand in a list. oneOf becomes anyOf: of parts that
// were widened more than one can fit.
func (f *flattener) parts(k string, v any, depth int) (string, any, bool) {
	list, isList := v.([]any)
	if k == "items" && !isList {
		return k, f.schema(v, depth+1), true
	}
	if !isList || len(list) == 0 {
		return k, nil, false
	}
	out := make([]any, len(list))
	for i, e := range list {
		out[i] = f.schema(e, depth+1)
	}
	switch k {
	case "items":
		k = "prefixItems" // as it was called before draft 2020-12
	case "oneOf":
		k = "anyOf"
	}
	return k, out, true
}

func (f *flattener) properties(v any, depth int) (any, bool) {
	props, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	out := make(map[string]any, len(props))
	for _, name := range slices.Sorted(maps.Keys(props)) {
		out[name] = f.schema(props[name], depth+1)
	}
	return out, true
}
