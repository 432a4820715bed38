package schema_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/mcp/schema"
)

// props is the schema of an object with these properties, as JSON.
func props(p string, more ...string) string {
	return `{"type":"object","properties":{` + p + `}` + strings.Join(append([]string{""}, more...), ",") + `}`
}

func TestFlatten(t *testing.T) {
	for _, tt := range []struct {
		name, in, want string // want: the properties alone
		widens         []string
	}{
		{"plain", props(`"a":{"type":"string"}`), `"a":{"description":"string","type":"string"}`, nil},
		{"annotations", props(`"a":{"type":"string","title":"A","format":"uri","default":"x","examples":["y"],"deprecated":true,"$comment":"c","x-id":true,"x-mcp-header":"h"}`),
			`"a":{"type":"string"}`, nil},
		{"descriptions", props(`"a":{"type":"string","description":" first \nsecond"}`), `"a":{"description":"first","type":"string"}`, nil},
		{"local reference", props(`"a":{"$ref":"#/$defs/p~1q"}`, `"$defs":{"p/q":{"type":"integer"}}`), `"a":{"type":"integer"}`, nil},
		{"draft 7 definitions", props(`"a":{"$ref":"#/definitions/p"}`, `"definitions":{"p":{"enum":[1]}}`), `"a":{"description":"(one of 1)","enum":[1]}`, nil},
		{"reference with siblings", props(`"a":{"$ref":"#/$defs/p","minLength":2}`, `"$defs":{"p":{"type":"string"}}`), `"a":{"allOf":[{"type":"string"}],"minLength":2}`, nil},
		{"reference to elsewhere", props(`"a":{"$ref":"https://evil.test/s.json"}`), `"a":{}`, []string{"references to elsewhere"}},
		{"reference to nothing", props(`"a":{"$ref":"#/$defs/none"}`), `"a":{}`, []string{"references to elsewhere"}},
		{"reference that is none", props(`"a":{"$ref":7}`), `"a":{}`, []string{"references to elsewhere"}},
		{"tree", props(`"a":{"$ref":"#/$defs/t"}`, `"$defs":{"t":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/t"}}}}}`),
			`"a":{"description":"({kids?: list of any})","properties":{"kids":{"items":{},"type":"array"}},"type":"object"}`, []string{"references that lead back to themselves"}},
		{"reference to itself", props(`"a":{"$ref":"#/properties/a"}`), `"a":{}`, []string{"references that lead back to themselves"}},
		{"the root inside itself", props(`"a":{"$ref":"#"}`), `"a":{"description":"({a?: any})","properties":{"a":{}},"type":"object"}`, []string{"references that lead back to themselves"}},
		{"list of types", props(`"a":{"type":["string","null"]},"b":{"type":["string"]},"c":{"type":["string","any"]}`),
			`"a":{"description":"(null or string)","type":["null","string"]},"b":{"type":"string"},"c":{}`, []string{"type"}},
		{"nullable", props(`"a":{"type":"string","nullable":true,"enum":["x"]}`), `"a":{"description":"(one of \"x\", null)","enum":["x",null],"type":["string","null"]}`, nil},
		{"oneOf", props(`"a":{"oneOf":[{"type":"string"},{"type":"string","contains":{}}]}`), `"a":{"anyOf":[{"type":"string"},{"type":"string"}],"description":"(string)"}`, []string{"contains"}},
		{"bounds", props(`"a":{"type":"integer","minimum":1,"maximum":1e3,"exclusiveMinimum":true,"multipleOf":0},"b":{"minLength":-1,"maxLength":1.5,"minItems":2,"maxItems":1e20}`),
			`"a":{"maximum":1000,"minimum":1,"type":"integer"},"b":{"minItems":2}`, []string{"exclusiveMinimum", "maxItems", "maxLength", "minLength", "multipleOf"}},
		{"patterns", props(`"a":{"pattern":"^a+$"},"b":{"pattern":"(?<=x)y"},"c":{"pattern":"\\s"},"d":{"pattern":"("},"e":{"pattern":"[[:alpha:]]"}`), `"a":{"pattern":"^a+$"},"b":{},"c":{},"d":{},"e":{}`, []string{"pattern"}},
		{"tuple", props(`"a":{"type":"array","items":[{"type":"string"}]}`), `"a":{"prefixItems":[{"type":"string"}],"type":"array"}`, nil},
		{"true and false", props(`"a":true,"b":false`), `"a":{},"b":false`, nil},
		{"no schema", props(`"a":"string"`), `"a":{}`, []string{"what is no schema"}},
		{"not and if", props(`"a":{"not":{"type":"string"},"if":{},"then":{"type":"null"}}`), `"a":{}`, []string{"if", "not", "then"}},
		{"pattern properties", props(`"a":{"type":"object","patternProperties":{"^x":{}},"additionalProperties":false}`), `"a":{"type":"object"}`, []string{"additionalProperties", "patternProperties"}},
		{"nested", props(`"edits":{"type":"array","items":{"type":"object","required":["old"],"properties":{"old":{"type":"string","description":"d"},"n":{"type":"integer"}},"additionalProperties":false}}`),
			`"edits":{"description":"(list of {n?: integer, old: string})","items":{"additionalProperties":false,"properties":{"n":{"type":"integer"},"old":{"type":"string"}},"required":["old"],"type":"object"},"type":"array"}`, nil},
		{"parts of the parameters", `{"type":"object","allOf":[{"properties":{"a":{"type":"string"}}},{"$ref":"#/$defs/b"}],"$defs":{"b":{"properties":{"b":{}}}}}`, `"a":{"type":"string"},"b":{}`, nil},
		{"two meanings", `{"anyOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"a":{"type":"integer"}}}]}`, `"a":{"description":""}`, []string{"anyOf of the parameters", "parameters with two meanings"}},
		{"names", props(`"file-path":{},"$top":{},"9":{},"class":{}`), `"_top":{},"_9":{},"class_":{},"file_path":{}`, nil},
	} {
		got, err := schema.Flatten(tt.in)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		want := `{"type":"object","required":[],"properties":{` + strings.ReplaceAll(tt.want, `"description":"string",`, "") + `}}`
		if got.Text != want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got.Text, want)
		}
		if d := cmp.Diff(tt.widens, got.Widens); d != "" {
			t.Errorf("%s: widens -want +got\n%s", tt.name, d)
		}
		if _, err := bridge.ParseSchema([]byte(got.Text)); err != nil {
			t.Errorf("%s: the bridge: %v", tt.name, err)
		}
	}
}

func TestRequiredParametersComeFirst(t *testing.T) {
	got, err := schema.Flatten(`{"allOf":[{"required":["z"]}],"anyOf":[{"required":["a"]}],"required":["y","z","none"],"properties":{"a":{},"y":{},"z":{}}}`)
	if want := `{"type":"object","required":["y","z"],"properties":{"y":{},"z":{},"a":{}}}`; err != nil || got.Text != want {
		t.Errorf("got %s, %v, want %s", got.Text, err, want)
	}
}

func TestNamesAreRememberedForTheServer(t *testing.T) {
	got, err := schema.Flatten(props(`"file-path":{},"from":{},"plain":{}`))
	want := map[string]string{"file_path": "file-path", "from_": "from"}
	if d := cmp.Diff(want, got.Wire); err != nil || d != "" {
		t.Errorf("%v: -want +got\n%s", err, d)
	}
}

func TestSchemasThatAreRefused(t *testing.T) {
	var many []string
	for i := range 129 {
		many = append(many, fmt.Sprintf(`"p%d":{}`, i))
	}
	for _, tt := range []struct{ in, want string }{
		{`{`, "unexpected end"},
		{`[]`, "no object"},
		{`null`, "no object"},
		{props(strings.Join(many, ",")), "129 parameters, over 128"},
		{props(`"a\u202e":{}`), `a parameter is called a\u{202e}`},
		{props(`"` + strings.Repeat("a", 65) + `":{}`), "a parameter is called"},
		{props(`"` + strings.Repeat("9", 64) + `":{}`), "too long a name"},
		{props(`"a-b":{},"a_b":{}`), "two of its parameters would be called a_b"},
	} {
		if _, err := schema.Flatten(tt.in); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Flatten(%.80s): %v, want %q", tt.in, err, tt.want)
		}
	}
}

// References that double at each step would be some 2^40 schemas.
func TestAReferenceBombIsBounded(t *testing.T) {
	defs := []string{`"d0":{"type":"string"}`}
	for i := 1; i <= 20; i++ {
		defs = append(defs, fmt.Sprintf(`"d%d":{"properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"},"c":{"$ref":"#/$defs/d%d"}}}`, i, i-1, i-1, i-1))
	}
	got, err := schema.Flatten(props(`"x":{"$ref":"#/$defs/d20"}`, `"$defs":{`+strings.Join(defs, ",")+`}`))
	if err != nil || !slices.Contains(got.Widens, "size") || len(got.Text) > 1<<20 {
		t.Errorf("%v: %d bytes, widens %v", err, len(got.Text), got.Widens)
	}
	deep := strings.Repeat(`{"allOf":[`, 2000) + `{}` + strings.Repeat(`]}`, 2000)
	if got, err := schema.Flatten(deep); err != nil || !slices.Contains(got.Widens, "size") {
		t.Errorf("a deep top: %v, widens %v", err, got.Widens)
	}
	defs = defs[:1]
	for i := 1; i <= 20; i++ {
		defs = append(defs, fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i-1, i-1, i-1))
	}
	got, err = schema.Flatten(`{"allOf":[{"$ref":"#/$defs/d20"}],"$defs":{` + strings.Join(defs, ",") + `}}`)
	if err != nil || !slices.Contains(got.Widens, "size") {
		t.Errorf("parameters in parts of parts: %v, widens %v", err, got.Widens)
	}
}

func TestFirstLine(t *testing.T) {
	for in, want := range map[string]string{
		"":                        "",
		"\n\n a \nb":              "a",
		"a\x1b[8mb\u202e":         `a\x1b[8mb\u{202e}`,
		"a\tb\rc":                 `a\tb\x0dc`,
		"\xff":                    `\xff`,
		strings.Repeat("a", 1000): strings.Repeat("a", 400) + "…(+600 bytes)",
	} {
		if got := schema.FirstLine(in); got != want {
			t.Errorf("FirstLine(%.20q) = %q, want %q", in, got, want)
		}
	}
}

// generator draws schemas, mostly of the kind that servers have, together with
// values that often fit them.
type generator struct{ t *rapid.T }

func (g generator) value(depth int) any {
	kinds := 5
	if depth > 2 {
		kinds = 3
	}
	switch rapid.IntRange(0, kinds).Draw(g.t, "kind") {
	case 0:
		return rapid.SampledFrom([]string{"", "a", "ab", "x y"}).Draw(g.t, "text")
	case 1:
		return rapid.SampledFrom([]float64{-1, 0, 1, 2.5}).Draw(g.t, "number")
	case 2:
		return rapid.Bool().Draw(g.t, "bool")
	case 3:
		return nil
	case 4:
		return []any{g.value(depth + 1), g.value(depth + 1)}[:rapid.IntRange(0, 2).Draw(g.t, "n")]
	}
	m := map[string]any{}
	for _, k := range []string{"a", "b"} {
		if rapid.Bool().Draw(g.t, k) {
			m[k] = g.value(depth + 1)
		}
	}
	return m
}

func (g generator) schema(depth int) any {
	if depth > 3 || rapid.IntRange(0, 9).Draw(g.t, "bare") == 0 {
		return rapid.Bool().Draw(g.t, "trivial")
	}
	s := map[string]any{}
	sub := func() any { return g.schema(depth + 1) }
	subs := func() []any { return []any{sub(), sub()} }
	for range rapid.IntRange(0, 3).Draw(g.t, "keywords") {
		switch rapid.IntRange(0, 17).Draw(g.t, "keyword") {
		case 0, 1, 2:
			s["type"] = rapid.SampledFrom([]string{"string", "number", "integer", "boolean", "null", "array", "object"}).Draw(g.t, "type")
		case 3:
			s["type"] = []any{"string", "null", "object"}
		case 4:
			s["enum"] = []any{g.value(1), g.value(1)}
		case 5:
			s["properties"] = map[string]any{"a": sub(), "b": sub()}
		case 6:
			s["required"] = []any{"a"}
		case 7:
			s["items"] = sub()
		case 8:
			s["additionalProperties"] = sub()
		case 9:
			s["anyOf"] = subs()
		case 10:
			s["oneOf"] = subs()
		case 11:
			s["allOf"] = subs()
		case 12:
			s["not"] = sub()
		case 13:
			s["minLength"], s["pattern"] = 1, rapid.SampledFrom([]string{"^a", `\s`, "b$"}).Draw(g.t, "pattern")
		case 14:
			s["minimum"], s["maxItems"] = 0, 1
		case 15:
			s["$ref"] = rapid.SampledFrom([]string{"#/$defs/x", "#/$defs/y"}).Draw(g.t, "ref")
		case 16:
			s["patternProperties"] = map[string]any{"^b": sub()}
		case 17:
			s["if"], s["then"], s["const"] = sub(), sub(), g.value(1)
		}
	}
	return s
}

// What the server would accept the bridge accepts too: it must not refuse a call
// that is right.
func TestFlatteningOnlyWidens(t *testing.T) {
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		g := generator{t}
		top := map[string]any{"type": "object", "properties": map[string]any{"p": g.schema(0), "q": g.schema(0)},
			"$defs": map[string]any{"x": g.schema(2), "y": g.schema(2)}}
		args := map[string]any{"p": g.value(0)}
		if rapid.Bool().Draw(t, "q given") {
			args["q"] = g.value(0)
		}
		text, err := schema.Canonical(top)
		if err != nil {
			t.Fatal(err)
		}
		flat, err := schema.Flatten(text)
		if err != nil {
			t.Fatalf("Flatten(%s): %v", text, err)
		}
		if _, err := bridge.ParseSchema([]byte(flat.Text)); err != nil {
			t.Fatalf("the bridge refuses %s: %v", flat.Text, err)
		}
		ok, terminates := accepts(text, args)
		if terminates && ok {
			accepted++
			if also, _ := accepts(flat.Text, args); !also {
				t.Fatalf("%s accepts %v, and %s does not", text, args, flat.Text)
			}
		}
	})
	if accepted == 0 {
		t.Error("no value fitted its schema: the test said nothing")
	}
}

// accepts reports whether a schema accepts a value, and whether it can be asked: one
// whose references lead back to themselves cannot.
func accepts(text string, v any) (ok, terminates bool) {
	if strings.Contains(text, "$ref") && cyclic(text) {
		return false, false
	}
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return false, false
	}
	r, err := s.Resolve(nil)
	if err != nil {
		return false, false
	}
	return r.Validate(v) == nil, true
}

// cyclic reports whether x or y refers to one of them.
func cyclic(text string) bool {
	var top struct {
		Defs map[string]any `json:"$defs"`
	}
	_ = json.Unmarshal([]byte(text), &top)
	defs, _ := schema.Canonical(top.Defs)
	return strings.Contains(defs, "$ref")
}

func FuzzFlatten(f *testing.F) {
	for _, s := range []string{
		props(`"a":{"$ref":"#/properties/a"}`), props(`"a":{"type":["string","null"],"pattern":"("}`),
		`{"allOf":[{"$ref":"#"}],"required":["a"],"properties":{"a":{"enum":[1e400]}}}`, `{"properties":{"a":{"const":null,"items":[{}],"minLength":1e30}}}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		flat, err := schema.Flatten(text)
		if err != nil {
			return
		}
		if _, err := bridge.ParseSchema([]byte(flat.Text)); err != nil {
			t.Fatalf("the bridge refuses %s: %v", flat.Text, err)
		}
		if strings.Contains(flat.Text, "$ref\":") && !strings.Contains(text, "enum") && !strings.Contains(text, "const") {
			t.Fatalf("a reference is left in %s", flat.Text)
		}
	})
}
