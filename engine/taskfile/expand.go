package taskfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/codeact-dev/codeact/engine/taskfile/strictyaml"
	"github.com/codeact-dev/codeact/spelling"
)

// A zone says what references a part of a task may hold.
type zone uint8

const (
	inText   zone = iota // ${param:x} of parameters that are not sensitive
	verbatim             // text that may hold ${ for reasons of its own: read as it is
	fixed                // what runs, or is compiled: no reference may stand there
	inHeader             // ${param:x} and ${secret:X}, kept apart in a Template
	inEnv                // as inHeader, and ${env:X}
)

// zones are looked up from top to bottom; "*" is one step and a last "**" any
// number, also none. What is not listed is inText.
//
// fixed keeps parameters, which may come from a build's input, out of shell
// lines and expressions: an exec form's args and policyParams carry them safely.
var zones = []struct {
	path string
	zone zone
}{
	{"parameters.**", verbatim},
	{"apiVersion", verbatim},
	{"kind", verbatim},
	{"metadata.**", verbatim},
	{"output.schema.**", verbatim},
	{"redact.patterns.*", verbatim},
	{"model.script.*.**", verbatim},
	{"model.roles.*.script.*.**", verbatim},
	{"leases.*.when", fixed},
	{"hooks.*.*.matcher", fixed},
	{"hooks.*.*.hooks.*.command", fixed},
	{"approvals.notify.*.command", fixed},
	{"mcpServers.*.command", fixed},
	{"secrets.**", fixed},
	{"security.allowPrivate.**", fixed},
	{"mcpServers.*.headers.*", inHeader},
	{"mcpServers.*.env.*", inEnv},
}

func zoneOf(path []string) zone {
	for _, z := range zones {
		if matches(strings.Split(z.path, "."), path) {
			return z.zone
		}
	}
	return inText
}

func matches(pattern, path []string) bool {
	for i, p := range pattern {
		if p == "**" {
			return true
		}
		if i >= len(path) || p != "*" && p != path[i] {
			return false
		}
	}
	return len(pattern) == len(path)
}

// An expander replaces references in the tree of a task and records those that
// may not stand where they do.
type expander struct {
	src    *strictyaml.Source
	params *parameters
}

// tree expands every string under n in place. Templates are only checked.
func (x expander) tree(n *strictyaml.Node, path []string) {
	switch n.Kind {
	case strictyaml.Map:
		for _, f := range n.Fields {
			x.tree(f.Value, append(path, f.Key.Text))
		}
	case strictyaml.List:
		for _, item := range n.Items {
			x.tree(item, append(path, "0"))
		}
	case strictyaml.String:
		z := zoneOf(path)
		text := x.text(n, n.Text, z)
		if z == inText {
			n.Text = text
		}
	}
}

// text returns text with its parameters in place. It goes over the text once: a
// value that looks like a reference stays a value.
func (x expander) text(n *strictyaml.Node, text string, z zone) string {
	if z == verbatim {
		return text
	}
	seen := make(map[string]int)
	return reference.ReplaceAllStringFunc(text, func(ref string) string {
		kind, name := splitReference(ref)
		if msg := x.refusal(ref, kind, name, z); msg != "" {
			x.src.AddIn(n, ref, seen[ref], "%s", msg)
			seen[ref]++
			return ref
		}
		seen[ref]++
		if kind != "param" {
			return ref
		}
		return x.params.text(name)
	})
}

// refusal says why a reference may not stand in a zone, or "".
func (x expander) refusal(ref, kind, name string, z zone) string {
	switch {
	case !strings.HasSuffix(ref, "}"):
		return fmt.Sprintf("%q is not closed: want ${param:NAME}", ref)
	case kind == "":
		return fmt.Sprintf("%q: want ${param:NAME}; nothing else is expanded, and there is no shell", ref)
	case z == fixed:
		return fmt.Sprintf("%s may not stand here: what runs is written out; use args or policyParams", ref)
	case kind == "secret" && z == inText:
		return fmt.Sprintf("%s may stand only in env and headers of mcpServers", ref)
	case kind == "env" && z != inEnv:
		return fmt.Sprintf("%s may stand only in env of mcpServers; give a parameter fromEnv instead", ref)
	case kind == "param":
		return x.params.refusal(name, z)
	}
	return ""
}

// refusal says why a parameter cannot be expanded in a zone, or "".
func (p *parameters) refusal(name string, z zone) string {
	names := slices.Sorted(maps.Keys(p.declared))
	switch d, known := p.declared[name]; {
	case p.broken:
		return "" // the faults of the declarations say enough
	case !known:
		return fmt.Sprintf("no parameter %q%s", name, spelling.DidYouMean(name, names))
	case d.Sensitive && z == inText:
		return fmt.Sprintf("parameter %s is sensitive: it may stand only in env and headers of mcpServers, where no model reads it", name)
	case d.Required || d.faulty:
		return "" // a missing one was reported where it is declared
	}
	if _, ok := p.values[name]; !ok {
		return fmt.Sprintf("parameter %s has no value: give -p %s=VALUE or a default", name, name)
	}
	return ""
}
