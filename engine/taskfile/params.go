package taskfile

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/codeact-dev/codeact/engine/taskfile/strictyaml"
	"github.com/codeact-dev/codeact/spelling"
)

// A parameter is a declaration under `parameters`.
type parameter struct {
	Type      string   `yaml:"type"`
	Required  bool     `yaml:"required"`
	Default   any      `yaml:"default"`
	Enum      []any    `yaml:"enum"`
	Minimum   *float64 `yaml:"minimum"`
	Maximum   *float64 `yaml:"maximum"`
	Pattern   string   `yaml:"pattern"`
	Sensitive bool     `yaml:"sensitive"`
	FromEnv   string   `yaml:"fromEnv"`

	pattern *regexp.Regexp
	faulty  bool // its value was refused
}

// parameters are the declarations of a task and the values that hold in a run.
type parameters struct {
	declared map[string]*parameter
	values   map[string]any
	dir      string // what a file is relative to
	broken   bool   // the declarations do not fit the schema
}

// text is the value as it is expanded.
func (p *parameters) text(name string) string {
	v, ok := p.values[name]
	if !ok {
		return ""
	}
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// bindParameters reads the declarations under n, which may be nil, and gives
// each parameter its value: from -p, else its variable, else its default.
func bindParameters(src *strictyaml.Source, root *strictyaml.Node, dir string, opt Options) *parameters {
	p := &parameters{declared: make(map[string]*parameter), values: make(map[string]any), dir: dir}
	n := root.At("parameters")
	if n != nil {
		probe := strictyaml.Source{Name: src.Name}
		probe.Check(n, schemas["task"]().Properties["parameters"])
		if p.broken = probe.Err() != nil; p.broken {
			return p // Check of the whole document reports it
		}
		decoder{src}.set(reflect.ValueOf(&p.declared).Elem(), n, "")
	}
	for _, name := range slices.Sorted(maps.Keys(opt.Params)) {
		if p.declared[name] == nil {
			at := root
			if n != nil {
				at = n
			}
			src.AddAt(at.Line, at.Col, "$.parameters", "-p %s: no such parameter%s", name, spelling.DidYouMean(name, n.Keys()))
		}
	}
	for _, name := range n.Keys() {
		p.bind(src, n.At(name), name, opt)
	}
	return p
}

func (p *parameters) bind(src *strictyaml.Source, at *strictyaml.Node, name string, opt Options) {
	d := p.declared[name]
	fail := func(at *strictyaml.Node, format string, args ...any) {
		d.faulty = true
		src.Addf(at, format, args...)
	}
	if d.Pattern != "" {
		var err error
		if d.pattern, err = regexp.Compile(d.Pattern); err != nil {
			fail(at.At("pattern"), "%v", err)
		}
	}
	for i, choice := range d.Enum {
		if _, err := d.typed(choice); err != nil {
			fail(at.At("enum").Items[i], "%v", err)
		}
	}
	origin, raw, at := d.source(at, name, opt)
	if origin == "" {
		if d.Required && !d.faulty {
			fail(at, "%s", missing(name, d.FromEnv))
		}
		return
	}
	v, err := p.value(d, raw)
	if err != nil {
		if d.Sensitive {
			err = fmt.Errorf("the value is refused by the declared type, enum, range or pattern") // and stays unsaid
		}
		fail(at, "%s: %v", origin, err)
		return
	}
	p.values[name] = v
}

func missing(name, fromEnv string) string {
	if fromEnv != "" {
		return fmt.Sprintf("missing: give -p %s=VALUE, or set %s", name, fromEnv)
	}
	return fmt.Sprintf("missing: give -p %s=VALUE", name)
}

// source finds the value of a parameter and where a fault of it is shown. The
// text of -p and of a variable is a string, to be read as the declared type.
func (d *parameter) source(at *strictyaml.Node, name string, opt Options) (origin string, raw any, shown *strictyaml.Node) {
	if s, ok := opt.Params[name]; ok {
		return "-p " + name, given(s), at
	}
	if d.FromEnv != "" && opt.Env != nil {
		if s, ok := opt.Env(d.FromEnv); ok {
			return "variable " + d.FromEnv, given(s), at
		}
	}
	if n := at.At("default"); n != nil {
		return "default", d.Default, n
	}
	return "", nil, at
}

// given is a value that came as text.
type given string

func (p *parameters) value(d *parameter, raw any) (any, error) {
	var v any
	var err error
	if s, ok := raw.(given); ok {
		v, err = d.parse(string(s))
	} else {
		v, err = d.typed(raw)
	}
	if err != nil {
		return nil, err
	}
	if err := d.allows(v); err != nil {
		return nil, err
	}
	if d.Type == "file" {
		return p.file(v.(string))
	}
	return v, nil
}

// parse reads text as the declared type.
func (d *parameter) parse(s string) (any, error) {
	if !utf8.ValidString(s) {
		return nil, fmt.Errorf("%q: not valid UTF-8", s)
	}
	switch d.Type {
	case "integer":
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q: want an integer", s)
		}
		return n, nil
	case "number":
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("%q: want a number", s)
		}
		return f, nil
	case "boolean":
		if s != "true" && s != "false" {
			return nil, fmt.Errorf("%q: want true or false", s)
		}
		return s == "true", nil
	}
	return s, nil
}

// typed checks a value that was written in the file.
func (d *parameter) typed(v any) (any, error) {
	ok := false
	switch x := v.(type) {
	case string:
		ok = d.Type == "string" || d.Type == "file"
	case int64:
		if d.Type == "number" {
			return float64(x), nil
		}
		ok = d.Type == "integer"
	case float64:
		ok = d.Type == "number"
	case bool:
		ok = d.Type == "boolean"
	}
	if !ok {
		return nil, fmt.Errorf("%v: want the type %s", v, d.Type)
	}
	return v, nil
}

func (d *parameter) allows(v any) error {
	if s, ok := v.(string); ok && d.pattern != nil && !d.pattern.MatchString(s) {
		return fmt.Errorf("%q does not match %s", s, d.Pattern)
	}
	if f, ok := number(v); ok {
		if d.Minimum != nil && f < *d.Minimum {
			return fmt.Errorf("%v: want at least %v", v, *d.Minimum)
		}
		if d.Maximum != nil && f > *d.Maximum {
			return fmt.Errorf("%v: want at most %v", v, *d.Maximum)
		}
	}
	same := func(choice any) bool {
		typed, err := d.typed(choice)
		return err == nil && typed == v
	}
	if d.Enum != nil && !slices.ContainsFunc(d.Enum, same) {
		return fmt.Errorf("%v: want one of %v", v, d.Enum)
	}
	return nil
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func (p *parameters) file(name string) (any, error) {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.dir, path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("file %q: %w", name, cause(err))
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("file %q: want a regular file", name)
	}
	return path, nil
}

// sensitive returns the text of the sensitive values.
func (p *parameters) sensitive() map[string]string {
	m := make(map[string]string)
	for name := range p.values {
		if p.declared[name].Sensitive {
			m[name] = p.text(name)
		}
	}
	return m
}
