package taskfile

import (
	"encoding/json"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/codeact-dev/codeact/engine/taskfile/strictyaml"
	"github.com/codeact-dev/codeact/spelling"
)

// rules checks what a schema cannot say, on the nodes, so that every fault has
// its place.
func (l *loader) rules() {
	root := l.root
	l.workspace(root.At("workspace"))
	for _, n := range items(root.At("leases")) {
		if tool := n.At("tool"); isText(tool) {
			if _, err := path.Match(tool.Text, ""); err != nil {
				l.src.Addf(tool, "%q: not a glob: close the bracket", tool.Text)
			}
		}
	}
	matchers(l.src, root.At("hooks"))
	if n := root.At("security", "allowPrivate"); n != nil {
		l.src.Addf(n, "only the home configuration may open private addresses: write it there")
	}
	for _, name := range root.At("mcpServers").Keys() {
		l.server(root.At("mcpServers", name))
	}
	l.secrets()
	checkSchema(l.src, root.At("output", "schema"))
}

func (l *loader) workspace(n *strictyaml.Node) {
	for _, key := range []string{"writable", "readDeny", "untrusted"} {
		for _, g := range items(n.At(key)) {
			if !isText(g) {
				continue
			}
			switch {
			case !doublestar.ValidatePattern(g.Text):
				l.src.Addf(g, "%q: not a glob", g.Text)
			case path.IsAbs(g.Text) || slices.Contains(strings.Split(g.Text, "/"), ".."):
				l.src.Addf(g, "%q: want a glob inside the workspace", g.Text)
			}
		}
	}
	first := make(map[string]*strictyaml.Node)
	for _, r := range items(n.At("read")) {
		as := r.At("as")
		if !isText(as) {
			continue
		}
		if at := first[as.Text]; at != nil {
			l.src.Addf(as, "%q names two roots: the other is on line %d", as.Text, at.Line)
			continue
		}
		first[as.Text] = as
	}
}

func matchers(src *strictyaml.Source, hooks *strictyaml.Node) {
	for _, event := range hooks.Keys() {
		for _, group := range items(hooks.At(event)) {
			m := group.At("matcher")
			if !isText(m) || m.Text == "*" {
				continue
			}
			if _, err := regexp.Compile("^(?:" + m.Text + ")$"); err != nil {
				src.Addf(m, "%q: want a regular expression: %v", m.Text, err)
			}
		}
	}
}

func (l *loader) server(n *strictyaml.Node) {
	needs := map[string]string{"args": "command", "env": "command", "cwd": "command", "headers": "url"}
	for _, f := range n.Fields {
		if other := needs[f.Key.Text]; other != "" && n.At(other) == nil {
			l.src.Addf(f.Key, "belongs to a server with %q", other)
		}
	}
	if kind := n.At("type"); isText(kind) && (kind.Text == "stdio") != (n.At("command") != nil) {
		l.src.Addf(kind, "%q: a server with a command is stdio, one with a url is http", kind.Text)
	}
	if u := n.At("url"); isText(u) {
		if parsed, err := url.Parse(u.Text); err == nil && parsed.Host != "" && parsed.Scheme != "https" && parsed.Scheme != "http" {
			l.src.Addf(u, "%q: want http or https", u.Text)
		}
	}
	if tier := n.At("tier"); tier != nil && tier.Kind == strictyaml.Int && tier.Int == 0 {
		l.src.Addf(tier, "a task may not free a server's tools of asking: want 1 or 2")
	}
}

// secrets checks that names are declared once, and that what is used is declared.
func (l *loader) secrets() {
	var names []string
	for i, s := range l.task.Secrets {
		n := items(l.root.At("secrets"))[i]
		if s.Name != "" && slices.Contains(names, s.Name) {
			l.src.Addf(n, "%s stands in the list twice", s.Name)
		}
		names = append(names, s.Name)
		if count(n, "env", "file", "command") > 1 {
			l.src.Addf(n, "want only one of the keys env, file, command")
		}
	}
	for name, s := range l.task.Servers {
		for key, values := range map[string]map[string]Template{"env": s.Env, "headers": s.Headers} {
			for k, v := range values {
				l.declared(l.root.At("mcpServers", name, key, k), v, names)
			}
		}
	}
}

func (l *loader) declared(n *strictyaml.Node, v Template, names []string) {
	for _, s := range v.Secrets() {
		if !slices.Contains(names, s) {
			l.src.AddIn(n, "${secret:"+s+"}", 0, "no secret %q: add it to secrets%s", s, spelling.DidYouMean(s, names))
		}
	}
}

func count(n *strictyaml.Node, keys ...string) (found int) {
	for _, k := range keys {
		if n.At(k) != nil {
			found++
		}
	}
	return found
}

// checkSchema reports a JSON Schema that cannot be used.
func checkSchema(src *strictyaml.Source, n *strictyaml.Node) {
	if n == nil || n.Kind != strictyaml.Map {
		return
	}
	var s jsonschema.Schema
	text, _ := n.MarshalJSON() // never fails
	err := json.Unmarshal(text, &s)
	if err == nil {
		_, err = s.Resolve(nil)
	}
	if err != nil {
		src.Addf(n, "not a JSON Schema: %v", err)
	}
}
