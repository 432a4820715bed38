package taskfile

import (
	"reflect"
	"strings"

	"github.com/codeact-dev/codeact/engine/taskfile/strictyaml"
	"github.com/codeact-dev/codeact/spelling"
)

// A Script is a model that was written in advance.
type Script struct {
	Steps []Step `yaml:"steps"`
}

// A Step is one reply.
type Step struct {
	Text   string `yaml:"text"`
	Code   string `yaml:"code"` // Starlark; "" is a reply without a block
	Expect Expect `yaml:"expect"`
	Usage  struct {
		Input  int64 `yaml:"input"`
		Output int64 `yaml:"output"`
	} `yaml:"usage"`
	Line int `yaml:"-"` // where the step stands, for messages
}

// Expect is what must hold before a reply is given.
type Expect struct {
	Contains string   `yaml:"contains"` // in the last observation; "" asks nothing
	Taint    []string `yaml:"taint"`    // labels that the conversation holds
}

// LoadScript reads the model script at path. A document of mock tools may stand
// in the same file, and is checked too.
func LoadScript(path string) (*Script, error) {
	src, n, err := document(path, "ModelScript")
	if err != nil {
		return nil, err
	}
	s := newScript(src, n.At("steps"))
	if err := src.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// newScript reads the list of steps.
func newScript(src *strictyaml.Source, steps *strictyaml.Node) *Script {
	s := new(Script)
	decoder{src}.set(reflect.ValueOf(&s.Steps).Elem(), steps, "")
	for i, n := range items(steps) {
		s.Steps[i].Line = n.Line
		if n.Kind == strictyaml.Map && n.At("text") == nil && n.At("code") == nil {
			src.Addf(n, "want a text, code or both")
		}
	}
	return s
}

// document reads the file of test doubles at path, checks every document in it,
// and returns the one of the given kind.
func document(path, kind string) (*strictyaml.Source, *strictyaml.Node, error) {
	data, err := readFile(path, maxScript)
	if err != nil {
		return nil, nil, fileFault(path, err)
	}
	src := strictyaml.Parse(path, data)
	found := make(map[string]*strictyaml.Node)
	for _, doc := range src.Docs {
		k := doc.At("kind")
		switch {
		case doc.Kind != strictyaml.Map:
			src.Addf(doc, "want a mapping with kind: %s", kind)
		case k == nil:
			src.Addf(doc, "missing key \"kind\": want MockTools or ModelScript")
		case k.Text != "MockTools" && k.Text != "ModelScript":
			src.Addf(k, "%q: want MockTools or ModelScript%s", k.Text, spelling.DidYouMean(k.Text, []string{"MockTools", "ModelScript"}))
		case found[k.Text] != nil:
			src.Addf(k, "a second %s: the first is on line %d", k.Text, found[k.Text].Line)
		default:
			found[k.Text] = doc
			src.Check(doc, schemas[kinds[k.Text]]())
		}
	}
	if found["MockTools"] != nil {
		mockRules(src, found["MockTools"])
	}
	if found[kind] == nil && src.Err() == nil {
		src.AddAt(1, 1, "$", "no document of kind %s%s", kind, elsewhere(found))
	}
	if found[kind] == nil {
		return nil, nil, src.Err()
	}
	return src, found[kind], nil
}

// elsewhere names what a file holds instead.
func elsewhere(found map[string]*strictyaml.Node) string {
	var kinds []string
	for k := range found {
		kinds = append(kinds, k)
	}
	if len(kinds) == 0 {
		return ""
	}
	return ": it holds " + strings.Join(kinds, " and ")
}
