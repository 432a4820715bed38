package workspacetest

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Secret stands in every file that no operation may show, Inside in every other.
const (
	Secret = "OUTSIDE"
	Inside = "inside\n"
)

// What a World's workspace is to be opened with. The globs are relative to it.
var (
	Writable = []string{"**"}
	ReadDeny = []string{"secrets/**", "*.pem", "private/", "deep/new/key", ".env*"}
)

// A World is a workspace and what lies around it, on the disk.
//
//	base/ws        the workspace, or base/real with base/ws a link to it
//	base/out       what lies outside
//	base/ws-evil   the same, whose name begins like the workspace's
//	base/docs      an extra root, "@docs"
//	base/spill/own this conversation's spill, and base/spill/other another's
//	base/ws/task.yaml, base/ws/policy, base/ws/hooks/pre.sh  what configures the run
type World struct {
	Base string
	Dir  string // the workspace, as it is given to the run
	real string // where Dir is
}

// New plants the world that an attack needs. With linked, the workspace is a link to where its files are.
func New(t testing.TB, a Attack, linked bool) World {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	w := World{Base: base, Dir: filepath.Join(base, "ws"), real: filepath.Join(base, "ws")}
	if linked {
		w.real = filepath.Join(base, "real")
		must(t, os.Symlink("real", w.Dir))
	}
	for name, text := range map[string]string{
		"out/secret": Secret, "out/dir/secret": Secret, "ws-evil/secret": Secret, "docs/manual": Inside, "docs/k.pem": Secret, "spill/other/r2.txt": Secret,
	} {
		w.plant(t, base, name, text)
	}
	must(t, os.Mkdir(filepath.Join(base, "spill/own"), 0o700))
	for name, text := range map[string]string{"task.yaml": Inside, "policy/p.yaml": Inside, "hooks/pre.sh": Inside, "drafts/": "", "other": Inside} {
		w.plant(t, w.real, name, text)
	}
	for _, late := range []bool{false, true} { // another name of a file needs the file
		for name, text := range a.Files {
			if strings.HasPrefix(text, "=> ") == late {
				w.plant(t, w.real, name, text)
			}
		}
	}
	return w
}

// Spill is this conversation's spill, Docs the extra root "@docs".
func (w World) Spill() string { return filepath.Join(w.Base, "spill/own") }

// Docs is the directory of the extra root "@docs".
func (w World) Docs() string { return filepath.Join(w.Base, "docs") }

// Protected is what configures the run.
func (w World) Protected() []string {
	return []string{filepath.Join(w.Dir, "task.yaml"), filepath.Join(w.Dir, "policy"), filepath.Join(w.Dir, "hooks")}
}

// Path is an attack's path with the places of this world in it.
func (w World) Path(text string) string {
	return strings.NewReplacer("%OUT", filepath.Join(w.Base, "out"), "%WS", w.Dir, "%BASE", w.Base).Replace(text)
}

// plant makes one file: "-> x" is a link to x, "=> x" another name of the file x, "|" a FIFO, "socket", "device", and a name that
// ends in "/" a directory.
func (w World) plant(t testing.TB, dir, name, text string) {
	t.Helper()
	at := filepath.Join(dir, name)
	if strings.HasSuffix(name, "/") {
		must(t, os.MkdirAll(at, 0o755))
		return
	}
	must(t, os.MkdirAll(filepath.Dir(at), 0o755))
	if to, ok := strings.CutPrefix(text, "-> "); ok {
		must(t, os.Symlink(w.Path(to), at))
		return
	}
	if to, ok := strings.CutPrefix(text, "=> "); ok {
		must(t, os.Link(w.Path(to), at))
		return
	}
	if make, ok := special[text]; ok {
		make(t, at)
		return
	}
	must(t, os.WriteFile(at, []byte(text), 0o644))
}

// Outside is a digest of everything that no operation may change: all outside the workspace but this conversation's spill, and in
// it what is denied and what configures the run.
func (w World) Outside(t testing.TB) string {
	t.Helper()
	h := sha256.New()
	must(t, filepath.WalkDir(w.Base, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == w.Spill() {
			return fs.SkipDir
		}
		if in, ok := strings.CutPrefix(path, w.real+"/"); ok && !guarded(in) {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := ""
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			text, err = os.Readlink(path)
		case d.Type().IsRegular():
			var data []byte
			data, err = os.ReadFile(path)
			text = string(data)
		}
		fmt.Fprintf(h, "%q %v %q\n", path, info.Mode(), text)
		return err
	}))
	return fmt.Sprintf("%x", h.Sum(nil))
}

// guarded is the paths below the workspace that ReadDeny and Protected name.
func guarded(rel string) bool {
	top, _, _ := strings.Cut(rel, "/")
	switch top {
	case "secrets", "private", "task.yaml", "policy", "hooks":
		return true
	}
	return rel == "deep/new/key" || strings.HasSuffix(rel, ".pem") || strings.HasPrefix(filepath.Base(rel), ".env")
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
