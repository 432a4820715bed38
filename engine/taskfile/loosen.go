package taskfile

import (
	"fmt"
	"strings"

	"github.com/codeact-dev/codeact/engine/taskfile/strictyaml"
)

// A Permit is leave that the home configuration would have to give.
type Permit struct {
	Name    string // as it stands under `permit`
	Setting string // "security.trifecta: ask"
	Line    int    // of the setting in the task
}

// loosenings are the settings that ask for less than the default, with the
// permit that each needs; "" needs none, and is only shown.
var loosenings = []struct{ path, value, permit string }{
	{"security.trifecta", "ask", "trifecta.ask"},
	{"security.trifecta", "allow", "trifecta.allow"},
	{"security.interlock", "precise", "interlock.precise"},
	{"security.named", "off", "named.off"},
	{"workspace.sandbox.required", "false", "sandbox.optional"},
	{"workspace.sandbox.kind", "none", "sandbox.optional"},
	{"security.blockPrivateIPs", "false", "private-ips"},
	{"reflection.autoApply", "true", "autoapply"},
	{"security.markUntrusted", "false", ""},
	{"security.scanOutputs.injection", "off", ""},
	{"security.scanOutputs.secrets", "off", ""},
	{"workspace.sandbox.network", "host", ""},
	{"mcpServers.*.trustAnnotations", "true", ""},
	{"mcpServers.*.pin", "record", ""},
}

// Loosened lists the settings of t that are looser than the default, and those
// whose permit h does not give. A nil h gives none.
func (t *Task) Loosened(h *Home) (loosened []string, missing []Permit) {
	for _, l := range loosenings {
		for _, n := range written(t.root, strings.Split(l.path, ".")) {
			if fmt.Sprint(n.Value()) != l.value {
				continue
			}
			setting := fmt.Sprintf("%s: %s", strings.TrimPrefix(n.Path, "$."), l.value)
			loosened = append(loosened, setting)
			if l.permit != "" && (h == nil || !h.Permits(l.permit)) {
				missing = append(missing, Permit{Name: l.permit, Setting: setting, Line: n.Line})
			}
		}
	}
	return loosened, missing
}

// written returns the nodes on a path, where "*" is every key.
func written(n *strictyaml.Node, path []string) []*strictyaml.Node {
	switch {
	case n == nil:
		return nil
	case len(path) == 0:
		return []*strictyaml.Node{n}
	case path[0] != "*":
		return written(n.At(path[0]), path[1:])
	}
	var all []*strictyaml.Node
	for _, f := range n.Fields {
		all = append(all, written(f.Value, path[1:])...)
	}
	return all
}
