package taskfile

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/codeact-dev/codeact/engine/taskfile/strictyaml"
)

// Sizes that a file may have, in bytes.
const (
	maxFile   = 1 << 20
	maxScript = 8 << 20 // a recorded model may have said a lot
)

// A folder is where the relative paths of one file lead, and what was found there.
type folder struct {
	src  *strictyaml.Source
	base string // as the person gave it, for messages
	dir  string // absolute
	home string // of the user; "" leaves ~/ as it is
	refs []Ref
}

// abs returns the path that was written as p; "" stays "".
func (f *folder) abs(p string) string {
	if p == "" {
		return ""
	}
	if rest, ok := strings.CutPrefix(p, "~/"); ok && f.home != "" {
		return filepath.Join(f.home, rest)
	}
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(f.dir, p)
}

// shown is the path as messages give it.
func (f *folder) shown(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(f.base, p)
}

// ref records the file written at n as p, and reports whether it can be read.
func (f *folder) ref(n *strictyaml.Node, p string) bool {
	sum, err := hashFile(f.abs(p))
	if err != nil {
		f.src.Addf(n, "file %q: %v", p, cause(err))
		return false
	}
	rel, err := filepath.Rel(f.dir, f.abs(p))
	if err != nil { // no relative path leads there, as between two volumes
		rel = f.abs(p)
	}
	f.refs = append(f.refs, Ref{Path: filepath.ToSlash(rel), SHA256: sum, Why: n.Path})
	return true
}

// sorted returns the files by path, each once with the first reason.
func (f *folder) sorted() []Ref {
	slices.SortStableFunc(f.refs, func(a, b Ref) int { return cmp.Compare(a.Path, b.Path) })
	return slices.CompactFunc(f.refs, func(a, b Ref) bool { return a.Path == b.Path })
}

// policies lists the files that entries name. A directory stands for its policy
// files without their tests.
func (f *folder) policies(n *strictyaml.Node) []string {
	var files []string
	for _, entry := range items(n) {
		if entry.Kind != strictyaml.String {
			continue
		}
		for _, p := range f.policyFiles(entry) {
			if f.ref(entry, p) {
				files = append(files, f.abs(p))
			}
		}
	}
	return files
}

func (f *folder) policyFiles(entry *strictyaml.Node) []string {
	info, err := os.Stat(f.abs(entry.Text))
	if err != nil || !info.IsDir() {
		return []string{entry.Text} // a missing file is reported where it is read
	}
	dir, err := os.ReadDir(f.abs(entry.Text))
	if err != nil {
		f.src.Addf(entry, "directory %q: %v", entry.Text, cause(err))
		return nil
	}
	var files []string
	for _, e := range dir {
		ext := filepath.Ext(e.Name())
		if !e.IsDir() && (ext == ".yaml" || ext == ".yml") && !strings.Contains(e.Name(), "_test.") {
			files = append(files, filepath.Join(entry.Text, e.Name()))
		}
	}
	if len(files) == 0 {
		f.src.Addf(entry, "directory %q holds no policy: want *.yaml or *.yml that is no *_test file", entry.Text)
	}
	return files
}

// instruction reads text for the system prompt. It must not lie outside dir,
// also not behind a link: a task could otherwise show the model any file.
func (f *folder) instruction(n *strictyaml.Node) (Instruction, bool) {
	if n.Kind != strictyaml.String {
		return Instruction{}, false
	}
	inside, err := within(f.dir, f.abs(n.Text))
	switch {
	case err != nil:
		f.src.Addf(n, "file %q: %v", n.Text, cause(err))
		return Instruction{}, false
	case !inside:
		f.src.Addf(n, "file %q lies outside the task's directory: copy it there", n.Text)
		return Instruction{}, false
	}
	text, ok := f.text(n)
	return Instruction{Path: n.Text, Text: text}, ok
}

// text reads the text file written at n.
func (f *folder) text(n *strictyaml.Node) (string, bool) {
	if !f.ref(n, n.Text) {
		return "", false
	}
	data, err := readFile(f.abs(n.Text), maxFile)
	if err != nil {
		f.src.Addf(n, "file %q: %v", n.Text, cause(err))
		return "", false
	}
	src, _ := strictyaml.Text(f.shown(n.Text), data)
	if err := src.Err(); err != nil {
		f.src.Addf(n, "file %q: not valid UTF-8", n.Text)
		return "", false
	}
	return string(data), true
}

// within reports whether path lies in dir when every link is followed.
func within(dir, path string) (bool, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false, err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return false, err
	}
	return contains(dir, path), nil
}

var (
	errNotRegular = errors.New("want a regular file")
	errIsDir      = errors.New("want a file, have a directory")
)

// openRegular looks before it opens, since opening a pipe would wait.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errIsDir
	case !info.Mode().IsRegular():
		return nil, errNotRegular
	}
	return os.Open(path)
}

func readFile(path string, most int64) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, most)
}

func readAll(r io.Reader, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("larger than %d MiB", most>>20)
	}
	return data, err
}

func hashFile(path string) (string, error) {
	f, err := openRegular(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// cause drops the path and the name of the system call, which messages give in
// their own words.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

func items(n *strictyaml.Node) []*strictyaml.Node {
	if n == nil {
		return nil
	}
	return n.Items
}

// contains reports whether path is dir or lies in it, by their names.
func contains(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
