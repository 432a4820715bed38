package wire

import (
	"fmt"
	"strings"
)

// Param is one parameter of a tool.
type Param struct {
	Name     string `cbor:"1,keyasint"`
	Type     string `cbor:"2,keyasint"` // JSON type: string, integer, number, boolean, array, object; "" takes any
	Required bool   `cbor:"3,keyasint"`
	Doc      string `cbor:"4,keyasint"`
}

// Signature is a tool as the script sees it.
type Signature struct {
	Name   string  `cbor:"1,keyasint"`
	Doc    string  `cbor:"2,keyasint"`
	Params []Param `cbor:"3,keyasint"`
}

// String renders the call: fs_read(path, start=, lines=).
func (s Signature) String() string {
	parts := make([]string, len(s.Params))
	for i, p := range s.Params {
		parts[i] = p.Name
		if !p.Required {
			parts[i] += "="
		}
	}
	return s.Name + "(" + strings.Join(parts, ", ") + ")"
}

// pythonTypes maps JSON types to the names that a script writer knows.
var pythonTypes = map[string]string{"string": "str", "integer": "int", "number": "float", "boolean": "bool",
	"array": "list", "object": "dict", "": "any"}

// KnownType says whether t is a JSON type that Param.Type may have.
func KnownType(t string) bool { return pythonTypes[t] != "" }

// Stub renders a Python-like definition with the docs, for a prompt.
func (s Signature) Stub() string {
	parts := make([]string, len(s.Params))
	var docs strings.Builder
	for i, p := range s.Params {
		parts[i] = p.Name + ": " + pythonTypes[p.Type]
		if !p.Required {
			parts[i] += " = None"
		}
		if p.Doc != "" {
			fmt.Fprintf(&docs, "\n    # %s: %s", p.Name, oneLine(p.Doc))
		}
	}
	stub := "def " + s.Name + "(" + strings.Join(parts, ", ") + "): ..."
	if s.Doc != "" {
		stub += "  # " + oneLine(s.Doc)
	}
	return stub + docs.String()
}

// oneLine keeps a doc from starting a line of its own in the prompt.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
