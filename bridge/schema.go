package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/codeact-dev/codeact/bridge/plain"
	"github.com/codeact-dev/codeact/interp"
)

// A Schema says which parameters a tool takes. The zero Schema takes none.
type Schema struct {
	text     string // the JSON that it was made from; part of a tool's pin
	resolved *jsonschema.Resolved
	params   []interp.Param
	names    []string
	ids      []string // parameters with "x-id": true
	defaults map[string]any
	required []string
	types    map[string]string // of each parameter, when types are all that the schema asks for; else nil
}

// ParseSchema reads a JSON Schema of an object, in the draft 2020-12 form that
// MCP tools and mock tools declare. The order of the properties is kept: it is
// the order of positional arguments. A parameter that the schema does not name is
// refused, unless "additionalProperties" says otherwise.
func ParseSchema(text []byte) (Schema, error) {
	if err := CheckSchema(text); err != nil {
		return Schema{}, fmt.Errorf("bridge: schema: %w", err)
	}
	var js jsonschema.Schema
	if err := json.Unmarshal(text, &js); err != nil {
		return Schema{}, fmt.Errorf("bridge: schema: %w", err)
	}
	if js.Type != "object" {
		return Schema{}, fmt.Errorf("bridge: schema: type %q: want an object of parameters", js.Type)
	}
	if js.AdditionalProperties == nil {
		js.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	}
	resolved, err := js.Resolve(nil)
	if err != nil {
		return Schema{}, fmt.Errorf("bridge: schema: %w", err)
	}
	order, err := propertyOrder(text)
	if err != nil {
		return Schema{}, err
	}
	s := Schema{text: string(text), resolved: resolved, required: js.Required, types: typesOnly(text)}
	for _, name := range order {
		p := js.Properties[name]
		s.names = append(s.names, name)
		s.params = append(s.params, interp.Param{Name: name, Type: p.Type, Required: slices.Contains(js.Required, name), Doc: p.Description})
		if id, _ := p.Extra["x-id"].(bool); id {
			s.ids = append(s.ids, name)
		}
		if err := s.setDefault(name, p.Default); err != nil {
			return Schema{}, err
		}
	}
	// Required parameters come first, so that a positional call reads naturally.
	slices.SortStableFunc(s.params, func(a, b interp.Param) int { return rank(a) - rank(b) })
	return s, nil
}

func (s *Schema) setDefault(name string, text json.RawMessage) error {
	if len(text) == 0 {
		return nil
	}
	v, err := plain.Decode(text)
	if err != nil {
		return fmt.Errorf("bridge: schema: default of %s: %w", name, err)
	}
	if s.defaults == nil {
		s.defaults = make(map[string]any)
	}
	s.defaults[name] = v
	return nil
}

// types are the types that JSON Schema knows.
var types = []string{"object", "array", "string", "integer", "number", "boolean", "null"}

// CheckSchema refuses what the validator would accept and fail on when it is used:
// types that do not exist, and references, by which a schema can lead back to
// itself without end.
func CheckSchema(text []byte) error {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	return checkSchema(v, "$")
}

func checkSchema(v any, at string) error {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			if err := checkSchema(e, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			switch {
			case k == "const" || k == "enum" || k == "default" || k == "examples":
				continue // values, not schemas
			case k == "$ref" || k == "$dynamicRef" || k == "$recursiveRef":
				return fmt.Errorf("%s: %s is not supported, since a reference can lead back to itself: write the schema out", at, k)
			}
			if name, ok := v[k].(string); ok && k == "type" && !slices.Contains(types, name) {
				return fmt.Errorf("%s: there is no type %q: want one of %s", at, name, strings.Join(types, ", "))
			}
			if err := checkSchema(v[k], at+"."+k); err != nil {
				return err
			}
		}
	}
	return nil
}

func rank(p interp.Param) int {
	if p.Required {
		return 0
	}
	return 1
}

// MustSchema is ParseSchema for a schema that is a constant of the program.
func MustSchema(text string) Schema {
	s, err := ParseSchema([]byte(text))
	if err != nil {
		panic(err)
	}
	return s
}

// propertyOrder returns the keys of "properties" as they stand in the text, which
// a Go map does not keep.
func propertyOrder(text []byte) ([]string, error) {
	var top struct {
		Properties json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(text, &top); err != nil || len(top.Properties) == 0 {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(top.Properties))
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("bridge: schema: properties: %w", err)
	}
	var names []string
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("bridge: schema: properties: %w", err)
		}
		var skip json.RawMessage
		if err := dec.Decode(&skip); err != nil {
			return nil, fmt.Errorf("bridge: schema: properties: %w", err)
		}
		names = append(names, key.(string))
	}
	return names, nil
}

// JSON is the schema as it was given, or that of no parameters.
func (s Schema) JSON() string {
	if s.text == "" {
		return `{"type":"object","properties":{}}`
	}
	return s.text
}

func (s Schema) has(name string) bool { return slices.Contains(s.names, name) }

// validate says what is wrong with args.
func (s Schema) validate(args map[string]any) error {
	if s.resolved == nil {
		if len(args) > 0 {
			return fmt.Errorf("it takes no parameters")
		}
		return nil
	}
	if s.plainlyValid(args) {
		return nil
	}
	if err := s.resolved.Validate(jsonArgs(args)); err != nil {
		// The library's text starts with the path of the schema; the model needs
		// what is wrong, which stands behind it.
		text := err.Error()
		if i := strings.LastIndex(text, "validating "); i >= 0 {
			text = text[i+len("validating "):]
		}
		return fmt.Errorf("%s", strings.TrimPrefix(text, "root: "))
	}
	return nil
}

// typesOnly returns the types of the parameters of a schema that asks for nothing
// but types and presence, and nil for any other.
func typesOnly(text []byte) map[string]string {
	var top struct {
		Type, Title, Description any
		Required                 []string
		AdditionalProperties     bool
		Properties               map[string]struct {
			Type                        string
			Title, Description, Default any
			ID                          any `json:"x-id"`
		}
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&top); err != nil || top.AdditionalProperties {
		return nil
	}
	types := make(map[string]string, len(top.Properties))
	for name, p := range top.Properties {
		if !slices.Contains([]string{"string", "integer", "number", "boolean"}, p.Type) {
			return nil
		}
		types[name] = p.Type
	}
	return types
}

// plainlyValid accepts arguments that the validator would accept too, without its
// cost: it took a third of a call. What it does not accept goes to the validator.
func (s Schema) plainlyValid(args map[string]any) bool {
	if s.types == nil {
		return false
	}
	for _, name := range s.required {
		if _, given := args[name]; !given {
			return false
		}
	}
	for name, v := range args {
		want := s.types[name]
		fits := false
		switch v.(type) {
		case string:
			fits = want == "string"
		case bool:
			fits = want == "boolean"
		case int64:
			fits = want == "integer" || want == "number"
		case float64:
			fits = want == "number"
		}
		if !fits {
			return false
		}
	}
	return true
}

// jsonArgs turns bytes and big integers, which JSON Schema does not know, into the
// nearest thing that it does. It copies only where it must.
func jsonArgs(args map[string]any) map[string]any {
	out, copied := args, false
	set := func(k string, v any) {
		if !copied {
			out, copied = maps.Clone(args), true
		}
		out[k] = v
	}
	for k, v := range args {
		switch v := v.(type) {
		case []byte:
			set(k, string(v))
		case *big.Int:
			f, _ := new(big.Float).SetInt(v).Float64()
			set(k, f)
		}
	}
	return out
}

// fill returns args with the schema's defaults for what was not given.
func (s Schema) fill(args map[string]any) map[string]any {
	if len(s.defaults) == 0 {
		return args
	}
	out := maps.Clone(s.defaults)
	maps.Copy(out, args)
	return out
}

// isDefault reports whether v is what fill puts in for the parameter.
func (s Schema) isDefault(name string, v any) bool {
	d, has := s.defaults[name]
	return has && reflect.DeepEqual(v, d)
}
