package taskfile

import (
	"embed"
	"fmt"
	"sync"

	"github.com/codeact-dev/codeact/engine/taskfile/strictyaml"
)

//go:embed *.schema.json
var schemaFiles embed.FS

// schemas are parsed when first needed; a mistake in an embedded schema cannot be
// reported to anyone but its author.
var schemas = map[string]func() *strictyaml.Schema{}

func init() {
	for _, kind := range kinds {
		schemas[kind] = sync.OnceValue(func() *strictyaml.Schema { return mustSchema(kind) })
	}
}

// kinds maps the `kind` of a document to the name of its schema.
var kinds = map[string]string{"Task": "task", "MockTools": "mock", "ModelScript": "script", "Home": "home"}

func mustSchema(kind string) *strictyaml.Schema {
	data, err := Schema(kind)
	if err != nil {
		panic(err)
	}
	s, err := strictyaml.ParseSchema(data)
	if err != nil {
		panic(fmt.Sprintf("taskfile: %s: %v", kind, err))
	}
	return s
}

// Schema returns the JSON Schema of a kind of file: task, mock, script or home.
func Schema(kind string) ([]byte, error) {
	data, err := schemaFiles.ReadFile(kind + ".schema.json")
	if err != nil {
		return nil, fmt.Errorf("taskfile: schema %q: want one of task, mock, script, home", kind)
	}
	return data, nil
}
