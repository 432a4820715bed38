package taskfile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// reference matches ${…} up to its brace, or to the end of its line without one.
var reference = regexp.MustCompile(`\$\{[^}\n]*\}?`)

// A Template is a text with references that are resolved only where the text is
// used, so that no secret stands in a Task. The zero Template is the empty text.
type Template struct{ parts []part }

// A part has one of its fields, but that a sensitive parameter that was bound
// has its text beside its name.
type part struct{ text, param, secret, env string }

// UnmarshalText splits text at its references. A form that is not known stays as
// it is: expansion has reported it.
func (t *Template) UnmarshalText(text []byte) error {
	t.parts = nil
	at := 0
	for _, m := range reference.FindAllIndex(text, -1) {
		kind, name := splitReference(string(text[m[0]:m[1]]))
		p := part{text: string(text[m[0]:m[1]])}
		switch kind {
		case "param":
			p = part{param: name}
		case "secret":
			p = part{secret: name}
		case "env":
			p = part{env: name}
		}
		t.parts = append(t.parts, part{text: string(text[at:m[0]])}, p)
		at = m[1]
	}
	t.parts = append(t.parts, part{text: string(text[at:])})
	return nil
}

// splitReference returns the two halves of ${kind:name}, and "" for any other
// form.
func splitReference(ref string) (kind, name string) {
	inner, ok := strings.CutSuffix(strings.TrimPrefix(ref, "${"), "}")
	kind, name, colon := strings.Cut(inner, ":")
	if !ok || !colon || name == "" || (kind != "param" && kind != "secret" && kind != "env") {
		return "", ""
	}
	return kind, name
}

// bind replaces references to parameters by their text, which is not read for
// references again.
func (t Template) bind(p *parameters) Template {
	bound := Template{parts: make([]part, len(t.parts))}
	for i, part := range t.parts {
		if d := p.declared[part.param]; d != nil {
			part.text = p.text(part.param)
			if !d.Sensitive {
				part.param = ""
			}
		}
		bound.parts[i] = part
	}
	return bound
}

// Secrets returns the names of the secrets that t needs.
func (t Template) Secrets() []string {
	var names []string
	for _, p := range t.parts {
		if p.secret != "" {
			names = append(names, p.secret)
		}
	}
	return names
}

// private reports whether t holds more than the file says: a secret, a variable or a
// sensitive parameter.
func (t Template) private() bool {
	return slices.ContainsFunc(t.parts, func(p part) bool { return p.secret != "" || p.env != "" || p.param != "" })
}

// Resolve returns the text with every secret and variable in its place.
func (t Template) Resolve(secret func(name string) (string, error), env func(name string) (string, bool)) (string, error) {
	var b strings.Builder
	for _, p := range t.parts {
		switch {
		case p.secret != "":
			s, err := secret(p.secret)
			if err != nil {
				return "", fmt.Errorf("taskfile: secret %s: %w", p.secret, err)
			}
			b.WriteString(s)
		case p.env != "":
			s, ok := env(p.env)
			if !ok {
				return "", fmt.Errorf("taskfile: variable %s is not set", p.env)
			}
			b.WriteString(s)
		default:
			b.WriteString(p.text)
		}
	}
	return b.String(), nil
}

// String returns the text with its references to secrets, variables and
// sensitive parameters, and so is safe to print.
func (t Template) String() string {
	var b strings.Builder
	for _, p := range t.parts {
		switch {
		case p.secret != "":
			b.WriteString("${secret:" + p.secret + "}")
		case p.env != "":
			b.WriteString("${env:" + p.env + "}")
		case p.param != "":
			b.WriteString("${param:" + p.param + "}")
		default:
			b.WriteString(p.text)
		}
	}
	return b.String()
}
