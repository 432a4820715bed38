package taskfile

import (
	"path/filepath"
	"reflect"
	"slices"

	"go.starlark.net/syntax"

	"github.com/codeact-dev/codeact/engine/taskfile/strictyaml"
	"github.com/codeact-dev/codeact/policy"
	"github.com/codeact-dev/codeact/spelling"
)

// MockTools are tools that answer from a list instead of the world.
type MockTools struct {
	Tools   []MockTool `yaml:"tools"`
	Effects string     `yaml:"effects"` // absolute path of the file that effects are appended to, which ends in .jsonl; "" keeps none
}

// A MockTool declares itself as a tool does. What it does not declare is the
// strictest.
type MockTool struct {
	Name         string              `yaml:"name"`
	Description  string              `yaml:"description"`
	Params       *strictyaml.Node    `yaml:"params"`       // a JSON Schema with its keys in order; nil is no parameters
	Tier         policy.Tier         `yaml:"tier"`         // AlwaysAsk unless written
	Capabilities policy.Capabilities `yaml:"capabilities"` // undeclared unless written
	Destinations []string            `yaml:"destinations"`
	Paths        []string            `yaml:"paths"`
	URLs         []string            `yaml:"urls"`
	Sensitive    []string            `yaml:"sensitive"`
	Idempotent   bool                `yaml:"idempotent"`
	Record       *Record             `yaml:"record"`
	Directory    bool                `yaml:"directory"`
	Opaque       bool                `yaml:"opaque"` // its results name nothing
	Labels       []string            `yaml:"labels"`
	Rate         Rate                `yaml:"rate"`
	Effect       string              `yaml:"effect"` // "append" writes each call to Effects
	Responses    []Response          `yaml:"responses"`
}

// ParamNames returns the parameters in the declared order.
func (t *MockTool) ParamNames() []string { return t.Params.At("properties").Keys() }

// A Response is one answer of a mock tool.
type Response struct {
	When      map[string]any `yaml:"when"`     // contained in the arguments; empty matches every call
	Value     any            `yaml:"value"`    // plain data, with int64 and float64
	Error     string         `yaml:"error"`    // "" succeeds
	Times     int            `yaml:"times"`    // 0 is any number of times
	External  bool           `yaml:"external"` // a third party can influence the answer; true unless written
	MediaType string         `yaml:"mediaType"`
}

func (r *Response) defaults() { r.External = true }

// LoadMock reads the mock tools at path. A model script may stand in the same
// file, and is checked too.
func LoadMock(path string) (*MockTools, error) {
	src, n, err := document(path, "MockTools")
	if err != nil {
		return nil, err
	}
	m := new(MockTools)
	decoder{src}.fill(reflect.ValueOf(m).Elem(), n)
	if m.Effects != "" {
		if filepath.Ext(m.Effects) != ".jsonl" {
			src.Addf(n.At("effects"), "file %q: want a name that ends in .jsonl: lines are appended to it", m.Effects)
		}
		if !filepath.IsAbs(m.Effects) {
			if m.Effects, err = filepath.Abs(filepath.Join(filepath.Dir(path), m.Effects)); err != nil {
				src.Addf(n.At("effects"), "%v", err)
			}
		}
	}
	if err := src.Err(); err != nil {
		return nil, err
	}
	return m, nil
}

// mockRules checks what the schema cannot say.
func mockRules(src *strictyaml.Source, doc *strictyaml.Node) {
	first := make(map[string]*strictyaml.Node)
	for _, tool := range items(doc.At("tools")) {
		if name := tool.At("name"); isText(name) {
			if at := first[name.Text]; at != nil {
				src.Addf(name, "%q: the tool is declared on line %d too", name.Text, at.Line)
			} else {
				first[name.Text] = name
			}
			if !src.Reported(name) && !isIdentifier(name.Text) {
				src.Addf(name, "%q is a word of the language: choose another name", name.Text)
			}
		}
		mockParams(src, tool)
		for _, r := range items(tool.At("responses")) {
			if count(r, "value", "error") > 1 {
				src.Addf(r, "want only one of the keys value, error")
			}
		}
		if tool.At("effect") != nil && doc.At("effects") == nil {
			src.Addf(tool.At("effect"), "needs the key effects at the top of the document: the file to append to")
		}
	}
}

// mockParams checks the schema of the parameters, and that what the tool says of
// a parameter is said of one it has.
func mockParams(src *strictyaml.Source, tool *strictyaml.Node) {
	params := tool.At("params")
	checkSchema(src, params)
	if params != nil && params.Kind == strictyaml.Map {
		if typ := params.At("type"); typ == nil || typ.Text != "object" {
			src.Addf(params, "want type: object, since arguments are given by name")
		}
	}
	names := params.At("properties").Keys()
	for _, key := range []string{"destinations", "paths", "urls", "sensitive"} {
		for _, p := range items(tool.At(key)) {
			if isText(p) && !slices.Contains(names, p.Text) {
				src.Addf(p, "%q is no parameter%s", p.Text, spelling.DidYouMean(p.Text, names))
			}
		}
	}
	for _, r := range items(tool.At("responses")) {
		for _, f := range whenFields(r) {
			if !slices.Contains(names, f.Key.Text) {
				src.Addf(f.Key, "%q is no parameter%s", f.Key.Text, spelling.DidYouMean(f.Key.Text, names))
			}
		}
	}
}

func whenFields(response *strictyaml.Node) []strictyaml.Field {
	when := response.At("when")
	if when == nil {
		return nil
	}
	return when.Fields
}

// isIdentifier reports whether Starlark reads name as one, and not as a keyword.
func isIdentifier(name string) bool {
	e, err := new(syntax.FileOptions).ParseExpr("name", name, 0)
	if err != nil {
		return false
	}
	_, ok := e.(*syntax.Ident)
	return ok
}
