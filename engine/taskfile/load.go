package taskfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"reflect"

	"github.com/codeact-dev/codeact/engine/taskfile/strictyaml"
)

// Load reads the task file at path and everything that it names. The path "-"
// reads opt.Stdin. The error is a multierror with every [Fault] that was found;
// then there is no task.
func Load(path string, opt Options) (*Task, error) {
	l, data, err := open(path, opt)
	if err != nil {
		return nil, err
	}
	l.src = strictyaml.Parse(l.name, data)
	l.folder.src = l.src
	if l.root = only(l.src, "Task"); l.root == nil {
		return nil, l.src.Err()
	}
	sum := sha256.Sum256(data)
	l.task = &Task{Path: path, Dir: l.dir, SHA256: hex.EncodeToString(sum[:]), src: l.src, root: l.root}
	l.params = bindParameters(l.src, l.root, l.dir, opt)
	expander{l.src, l.params}.tree(l.root, nil)
	decoder{l.src}.fill(reflect.ValueOf(l.task).Elem(), l.root)
	l.src.Check(l.root, schemas["task"]())
	l.finish()
	l.rules()
	l.task.Files = l.sorted()
	if err := strictyaml.Join(append(l.others, l.src.Err())...); err != nil {
		return nil, err
	}
	return l.task, nil
}

// A loader carries one Load.
type loader struct {
	folder
	name   string
	root   *strictyaml.Node
	task   *Task
	params *parameters
	others []error // of the files that the task names
}

func open(path string, opt Options) (*loader, []byte, error) {
	l := &loader{name: path, folder: folder{base: filepath.Dir(path), home: opt.Home}}
	read := func() ([]byte, error) { return readFile(path, maxFile) }
	if path == "-" {
		l.name, l.base = "stdin", opt.Cwd
		read = func() ([]byte, error) {
			if opt.Stdin == nil {
				return nil, nil
			}
			return readAll(opt.Stdin, maxFile)
		}
	}
	data, err := read()
	if err != nil {
		return nil, nil, fileFault(l.name, err)
	}
	if l.dir, err = filepath.Abs(l.base); err != nil {
		return nil, nil, fileFault(l.name, err)
	}
	return l, data, nil
}

// fileFault is the error of a file that cannot be read at all.
func fileFault(name string, err error) error {
	return strictyaml.Join(&Fault{File: name, Path: "$", Msg: cause(err).Error()})
}

// only returns the one document of a source, or nil with a fault recorded.
func only(src *strictyaml.Source, kind string) *strictyaml.Node {
	switch {
	case len(src.Docs) > 1:
		src.Addf(src.Docs[1], "a second document: want one %s a file", kind)
	case len(src.Docs) == 1:
		return src.Docs[0]
	case src.Err() == nil:
		src.AddAt(1, 1, "$", "empty: want a %s", kind)
	}
	return nil
}

// finish sets what the decoder cannot: what is written the other way round,
// paths, and the contents of other files.
func (l *loader) finish() {
	t, root := l.task, l.root
	t.Params, t.SensitiveParams = l.params.values, l.params.sensitive()
	t.Security.PrivateIPs = isFalse(root.At("security", "blockPrivateIPs"))
	t.Security.Unmarked = isFalse(root.At("security", "markUntrusted"))
	t.Workspace.Sandbox.Optional = isFalse(root.At("workspace", "sandbox", "required"))

	t.Workspace.Dir, t.Trace.Dir = l.abs(t.Workspace.Dir), l.abs(t.Trace.Dir)
	for i := range t.Workspace.Read {
		t.Workspace.Read[i].Path = l.abs(t.Workspace.Read[i].Path)
	}
	for i := range t.Secrets {
		at := items(root.At("secrets"))[i]
		t.Secrets[i].File = l.abs(t.Secrets[i].File)
		if c := at.At("command"); c != nil && c.Kind == strictyaml.List {
			l.argv(c, t.Secrets[i].Command)
		}
	}
	l.goal()
	for _, n := range items(root.At("instructions")) {
		if in, ok := l.instruction(n); ok {
			t.Instructions = append(t.Instructions, in)
		}
	}
	l.model(&t.Model, root.At("model"))
	l.mock(root.At("tools", "mock"))
	l.servers()
	t.Policies = l.policies(root.At("policies"))
	l.hooks(t.Hooks, root.At("hooks"))
	l.commands(t.Approvals.Notify, root.At("approvals", "notify"))
}

func isFalse(n *strictyaml.Node) bool {
	return n != nil && n.Kind == strictyaml.Bool && !n.Bool
}

func isText(n *strictyaml.Node) bool { return n != nil && n.Kind == strictyaml.String }

func (l *loader) goal() {
	n := l.root.At("goalFile")
	if !isText(n) {
		return
	}
	l.task.GoalFile = l.abs(n.Text)
	if inside, err := within(l.dir, l.task.GoalFile); err == nil && !inside {
		l.src.Addf(n, "file %q lies outside the task's directory: copy it there", n.Text)
		return
	}
	text, ok := l.text(n)
	if !ok {
		return
	}
	if len(bytes.TrimSpace([]byte(text))) == 0 {
		l.src.Addf(n, "file %q is empty: want the goal", n.Text)
	}
	src, at := strictyaml.Text(l.shown(n.Text), []byte(text))
	l.task.Goal = expander{src, l.params}.text(at, text, inText)
	l.others = append(l.others, src.Err())
}

// model reads the script of m, and those of its roles.
func (l *loader) model(m *Model, n *strictyaml.Node) {
	switch script := n.At("script"); {
	case script == nil:
	case script.Kind == strictyaml.List:
		m.Script = newScript(l.src, script)
		l.src.Check(script, schemas["script"]().Defs["steps"])
	case script.Kind == strictyaml.String && l.ref(script, script.Text):
		s, err := LoadScript(l.shown(script.Text))
		m.Script, l.others = s, append(l.others, err)
	}
	if trace := n.At("trace"); isText(trace) && l.ref(trace, trace.Text) {
		m.Trace = l.abs(trace.Text)
	}
	if m.Provider == "replay" && n.At("trace") == nil {
		l.src.Addf(n, "missing key \"trace\": replay reads a recorded run")
	}
	if m.MaxOutputTokens < 0 {
		l.src.Addf(n.At("maxOutputTokens"), "%d: want at least 1", m.MaxOutputTokens)
	}
	roles := n.At("roles")
	for _, name := range roles.Keys() {
		role := m.Roles[name]
		l.model(&role, roles.At(name))
		m.Roles[name] = role
	}
}

func (l *loader) mock(n *strictyaml.Node) {
	if isText(n) && l.ref(n, n.Text) {
		m, err := LoadMock(l.shown(n.Text))
		l.task.Tools.Mock, l.others = m, append(l.others, err)
	}
}

func (l *loader) servers() {
	for name, s := range l.task.Servers {
		n := l.root.At("mcpServers", name)
		s.Cwd = l.abs(s.Cwd)
		if s.Command != "" {
			if s.Cwd == "" {
				s.Cwd = l.dir
			}
			s.File = l.program(n.At("command"), append([]string{s.Command}, s.Args...), s.Cwd)
		}
		for k, v := range s.Env {
			s.Env[k] = v.bind(l.params)
		}
		for k, v := range s.Headers {
			s.Headers[k] = v.bind(l.params)
		}
		l.task.Servers[name] = s
	}
}

// Fault returns a fault of the setting at path, for those who can judge what
// this package cannot, as an expression. The position is that of the nearest
// part of path that was written.
func (t *Task) Fault(path, format string, args ...any) *Fault {
	f := t.src.FaultAt(find(t.root, path), fmt.Sprintf(format, args...))
	f.Path = path
	return f
}

// find returns the deepest node on the way to path.
func find(n *strictyaml.Node, path string) *strictyaml.Node {
	best := n
	next := append([]*strictyaml.Node(nil), n.Items...)
	for _, f := range n.Fields {
		next = append(next, f.Value)
	}
	for _, c := range next {
		if rest := len(c.Path); rest <= len(path) && path[:rest] == c.Path && (rest == len(path) || path[rest] == '.' || path[rest] == '[') {
			best = find(c, path)
		}
	}
	return best
}
