// Package defaults holds the policy that every run has besides its own: four rules
// about what people regret, as money that a model spends and files that run by
// themselves.
//
// The rules only ask, but for a command that nobody can read or that destroys a
// machine. No task can switch them off, as no task can widen anything; one that wants
// other rules adds them. They know files by their names: a program under a harmless
// name is not asked about.
package defaults

import (
	_ "embed"
	"slices"

	"github.com/codeact-dev/codeact/policy/rules"
)

//go:embed default.yaml
var text []byte

// Name is what warnings and decisions call the file.
const Name = "codeact:default.yaml"

// File is the policy. Its examples are checked when it is compiled, and it needs no
// parameters.
func File() rules.File { return rules.File{Name: Name, Data: slices.Clone(text), Standing: true} }
