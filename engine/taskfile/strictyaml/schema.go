package strictyaml

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
)

// A Schema is the part of JSON Schema (draft 2020-12) that our own schemas use.
// A keyword outside it is an error of ParseSchema, never one that is skipped:
// a rule that nobody checks would look like a check.
type Schema struct {
	Dialect     string          `json:"$schema"`
	ID          string          `json:"$id"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Default     json.RawMessage `json:"default"`

	Type                 string             `json:"type"`
	Properties           map[string]*Schema `json:"properties"`
	AdditionalProperties *Schema            `json:"additionalProperties"`
	PropertyNames        *Schema            `json:"propertyNames"`
	Required             []string           `json:"required"`
	Enum                 []any              `json:"enum"`
	Const                any                `json:"const"`
	Pattern              *pattern           `json:"pattern"`
	Format               string             `json:"format"` // uri and regex
	MinLength            int                `json:"minLength"`
	Minimum              *float64           `json:"minimum"`
	Maximum              *float64           `json:"maximum"`
	ExclusiveMinimum     *float64           `json:"exclusiveMinimum"`
	MinItems             int                `json:"minItems"`
	UniqueItems          bool               `json:"uniqueItems"`
	Items                *Schema            `json:"items"`
	OneOf                []*Schema          `json:"oneOf"`
	AllOf                []*Schema          `json:"allOf"`
	If                   *Schema            `json:"if"`
	Then                 *Schema            `json:"then"`
	Ref                  string             `json:"$ref"` // "#/$defs/NAME" only
	Defs                 map[string]*Schema `json:"$defs"`

	never bool    // the schema false
	def   *Schema // what Ref names
}

// ParseSchema reads a schema and resolves its references.
func ParseSchema(data []byte) (*Schema, error) {
	s := new(Schema)
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("strictyaml: schema: %w", err)
	}
	if err := s.resolve(s.Defs); err != nil {
		return nil, fmt.Errorf("strictyaml: schema: %w", err)
	}
	return s, nil
}

// UnmarshalJSON reads true, false or an object of known keywords.
func (s *Schema) UnmarshalJSON(data []byte) error {
	if string(data) == "true" || string(data) == "false" {
		s.never = string(data) == "false"
		return nil
	}
	type keywords Schema // without this method
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode((*keywords)(s))
}

func (s *Schema) resolve(defs map[string]*Schema) error {
	if s == nil {
		return nil
	}
	if s.Ref != "" {
		name, _ := bytes.CutPrefix([]byte(s.Ref), []byte("#/$defs/"))
		if s.def = defs[string(name)]; s.def == nil {
			return fmt.Errorf("$ref %q: no such definition", s.Ref)
		}
	}
	for _, sub := range s.parts() {
		if err := sub.resolve(defs); err != nil {
			return err
		}
	}
	return nil
}

// parts lists the schemas written inside s; some may be nil.
func (s *Schema) parts() []*Schema {
	all := []*Schema{s.AdditionalProperties, s.PropertyNames, s.Items, s.If, s.Then}
	all = append(append(all, s.OneOf...), s.AllOf...)
	for _, p := range s.Properties {
		all = append(all, p)
	}
	for _, d := range s.Defs {
		all = append(all, d)
	}
	return all
}

// a pattern is compiled when the schema is read.
type pattern struct{ *regexp.Regexp }

func (p *pattern) UnmarshalText(text []byte) (err error) {
	p.Regexp, err = regexp.Compile(string(text))
	return err
}
