package taskfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/codeact-dev/codeact/engine/taskfile/strictyaml"
)

// A Home is the user's own configuration. The zero Home permits nothing.
type Home struct {
	Permit   []string `yaml:"permit"` // names of what tasks may loosen
	Security struct {
		AllowPrivate []string `yaml:"allowPrivate"` // host:port
	} `yaml:"security"`
	Policies []string `yaml:"-"`     // files; always added
	Hooks    Hooks    `yaml:"hooks"` // always added
	Model    *Model   `yaml:"model"` // for tasks that name none; nil names none
	Files    []Ref    `yaml:"-"`     // what the configuration names, relative to its directory

	limits *strictyaml.Node
}

// Permits reports whether the home allows tasks the named loosening.
func (h *Home) Permits(name string) bool { return slices.Contains(h.Permit, name) }

// LoadHome reads the configuration at path. Without a file it is the zero Home.
// A file that others than its owner may write is refused: it would let them
// loosen every task.
func LoadHome(path string) (*Home, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return new(Home), nil
	case err != nil:
		return nil, fileFault(path, err)
	case info.Mode().Perm()&0o022 != 0:
		return nil, fileFault(path, errors.New("others than its owner may write it: chmod go-w it"))
	}
	data, err := readFile(path, maxFile)
	if err != nil {
		return nil, fileFault(path, err)
	}
	src := strictyaml.Parse(path, data)
	root := only(src, "Home")
	if root == nil {
		return nil, src.Err()
	}
	h := &Home{limits: root.At("limits")}
	d := decoder{src}
	d.fill(reflect.ValueOf(h).Elem(), root)
	probe := new(Limits) // for the faults of values; Default reads them again
	d.set(reflect.ValueOf(probe).Elem(), h.limits, "")
	src.Check(root, schemas["home"]())
	matchers(src, root.At("hooks"))
	others := h.files(src, root, path)
	if err := strictyaml.Join(others, src.Err()); err != nil {
		return nil, err
	}
	return h, nil
}

// files reads what the configuration names.
func (h *Home) files(src *strictyaml.Source, root *strictyaml.Node, path string) error {
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return fileFault(path, err)
	}
	l := loader{folder: folder{src: src, base: filepath.Dir(path), dir: dir}}
	h.Policies = l.policies(root.At("policies"))
	l.hooks(h.Hooks, root.At("hooks"))
	if h.Model != nil {
		l.model(h.Model, root.At("model"))
	}
	h.Files = l.sorted()
	return strictyaml.Join(l.others...)
}

// Default gives t what h has and the task does not write: its model, and each
// limit. Policies, hooks and permits are for the engine to add.
func (t *Task) Default(h *Home) {
	if t.Model.Provider == "" && h.Model != nil {
		t.Model = *h.Model
	}
	d := decoder{t.src}
	limits := reflect.ValueOf(&t.Limits).Elem()
	t.Limits.defaults()
	d.set(limits, h.limits, "")
	d.set(limits, t.root.At("limits"), "")
}
