package strictyaml

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheck(t *testing.T) {
	tests := []struct {
		name, schema, text string
		want               []string
	}{
		{"true takes anything", `true`, "a: 1", nil},
		{"false takes nothing", `{"properties": {"a": false}}`, "a: 1", []string{"1:4: a: is not allowed here"}},
		{"null", `{"type": "null"}`, "1", []string{"1:1: want nothing, have an integer 1"}},
		{"a type that is none", `{"type": "float"}`, "1", []string{"1:1: want float, have an integer 1"}},
		{"number", `{"items": {"type": "number", "minimum": 1, "maximum": 2}}`, "[1, 1.5, 0.5, 2.5, x]", []string{"1:10: [2]: 0.5: want at least 1", "1:15: [3]: 2.5: want at most 2", `1:20: [4]: want a number, have a string "x"`}},
		{"const", `{"items": {"const": true}}`, "[true, false, 'true', [], {}]", []string{"1:8: [1]: false: want true", `1:15: [2]: "true": want true (did you mean "true"?)`, "1:23: [3]: [: want true", "1:27: [4]: {: want true"}},
		{"numbers are equal by value", `{"items": {"enum": [1, 2.5]}}`, "[1, 1.0, 2.5, 3]", []string{"1:15: [3]: 3: want one of 1, 2.5"}},
		{"unique by value", `{"uniqueItems": true}`, "[{a: 1}, {a: 1}, 1, '1']", []string{`1:10: [1]: {"a":1} stands in the list twice`}},
		{"length in characters", `{"minLength": 3}`, "äöü", nil},
		{"a long text is cut", `{"pattern": "^a$"}`, strings.Repeat("b", 99), []string{`1:1: "` + strings.Repeat("b", 60) + `…" does not match ^a$`}},
		{"all of", `{"allOf": [{"type": "string"}, {"minLength": 2}]}`, "a", []string{"1:1: want at least 2 characters"}},
		{"if then", `{"if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}}`, "a: 1", []string{`1:1: missing key "b"`}},
		{"if not", `{"if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}}`, "a: 2", nil},
		{"nothing stands at its key", `{"properties": {"a": {"type": "string"}}}`, "b: 1\na:\n", []string{"2:1: a: want a string, have nothing"}},
		{"reference", `{"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer", "exclusiveMinimum": 0}}}`, "0", []string{"1:1: 0: want more than 0"}},
		{"one of two types", `{"oneOf": [{"type": "integer", "minimum": 2}, {"type": "string"}]}`, "1", []string{"1:1: 1: want at least 2"}},
		{"none of two types", `{"oneOf": [{"type": "integer"}, {"type": "string"}]}`, "~", []string{"1:1: want an integer or a string, have nothing"}},
		{"additional", `{"additionalProperties": {"type": "string"}}`, "a: 1", []string{"1:4: a: want a string, have an integer 1"}},
		{"name of a key", `{"propertyNames": {"pattern": "^[a-z]$"}}`, "A: 1", []string{`1:1: A: "A" does not match ^[a-z]$`}},
		{"formats", `{"items": {"format": "uri"}}`, "['https://a/b', '/b', 'http://a b', ':']", []string{`1:17: [1]: "/b": want a URL as https://example.com/mcp`, `1:23: [2]: "http://a b": want a URL as https://example.com/mcp`, `1:37: [3]: ":": want a URL as https://example.com/mcp`}},
		{"regex", `{"format": "regex"}`, "'('", []string{"1:1: \"(\": error parsing regexp: missing closing ): `(`"}},
		{"text of an enum", `{"enum": ["on", "off", 1]}`, "'of'", []string{`1:1: "of": want one of on, off, 1 (did you mean "off"?)`}},
		{"a list of nothing", `{"minItems": 1}`, "[]", []string{"1:1: want at least 1 items"}},
		{"unknown key", `{"properties": {"ab": {}}, "additionalProperties": false}`, "abc: 1\nab: 1", []string{`1:1: abc: unknown key (did you mean "ab"?)`}},
		{"no alternative key", `{"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}`, "{}", []string{"1:1: missing key: want one of a, b"}},
		{"both alternative keys", `{"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}`, "{a: 1, b: 1}", []string{"1:1: want only one of the keys a, b"}},
		{"one alternative key", `{"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}`, "a: 1", nil},
		{"no constant", `{"const": null}`, "1", nil},
		{"an enum with nothing", `{"enum": [null]}`, "1", []string{"1:1: 1: want one of <nil>"}},
		{"what is refused is asked nothing", `{"properties": {"a": {"type": "integer"}}}`, "a: &x 1", []string{"1:4: a: anchors and aliases are not read: write the value out"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			schema, err := ParseSchema([]byte(tt.schema))
			if err != nil {
				t.Fatal(err)
			}
			src := Parse("f", []byte(tt.text))
			src.Check(src.Docs[0], schema)
			var got []string
			for _, f := range src.faults {
				line, _, _ := strings.Cut(f.Error(), "\n")
				got = append(got, strings.TrimPrefix(line, "f:"))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAValueWithAFaultGetsNoSecond(t *testing.T) {
	schema, err := ParseSchema([]byte(`{"items": {"type": "string"}}`))
	if err != nil {
		t.Fatal(err)
	}
	src := Parse("f", []byte("[1, 2]"))
	src.Addf(src.Docs[0].Items[0], "known")
	src.Check(src.Docs[0], schema)
	if len(src.faults) != 2 || !src.Reported(src.Docs[0].Items[1]) || src.Reported(src.Docs[0]) {
		t.Errorf("faults are %v", src.faults)
	}
	if f := src.FaultAt(src.Docs[0], "m"); f.Excerpt == "" || len(src.faults) != 2 {
		t.Errorf("FaultAt = %+v, and recorded it", f)
	}
}

func TestASchemaThatWouldNotBeCheckedIsAnError(t *testing.T) {
	tests := map[string]string{
		`{"type": "string", "maxLength": 3}`:       "maxLength",
		`{"properties": {"a": {"not": {}}}}`:       "not",
		`{"pattern": "("}`:                         "missing closing )",
		`{"items": {"$ref": "#/$defs/x"}}`:         `$ref "#/$defs/x": no such definition`,
		`{"$defs": {"a": {"$ref": "http://x/y"}}}`: "no such definition",
		`[`: "unexpected end",
	}
	for text, want := range tests {
		if _, err := ParseSchema([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
