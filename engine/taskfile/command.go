package taskfile

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/codeact-dev/codeact/engine/taskfile/strictyaml"
)

// hooks checks the commands of every event.
func (f *folder) hooks(h Hooks, n *strictyaml.Node) {
	for _, event := range n.Keys() {
		groups := items(n.At(event))
		for i := range h[event] {
			f.commands(h[event][i].Hooks, groups[i].At("hooks"))
		}
	}
}

func (f *folder) commands(cs []Command, n *strictyaml.Node) {
	for i := range cs {
		at := items(n)[i].At("command")
		words := append([]string{cs[i].Command}, cs[i].Args...)
		if len(cs[i].Args) == 0 {
			words = strings.Fields(cs[i].Command)
		}
		cs[i].File = f.program(at, words)
	}
}

// program is argv of a command that n holds as text.
func (f *folder) program(n *strictyaml.Node, words []string, dirs ...string) (file string) {
	if n == nil || n.Kind != strictyaml.String {
		return ""
	}
	return f.argv(n, words, dirs...)
}

// argv records the files that a command line names. The first word is the
// program: named by a path it must be there and runnable, else it is looked up
// when it runs. Any other word is a file only if one is there, in f.dir or in one
// of dirs, where the program may run: a script that an interpreter is given must
// not change unseen. A word with spaces may be a line for a shell.
func (f *folder) argv(n *strictyaml.Node, words []string, dirs ...string) (file string) {
	if len(words) == 0 {
		f.src.Addf(n, "empty: want a command")
		return ""
	}
	if strings.Contains(words[0], "/") && f.ref(n, words[0]) {
		file = f.abs(words[0])
		if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o111 == 0 {
			f.src.Addf(n, "file %q is not executable: chmod +x it", words[0])
		}
	}
	for _, w := range words[1:] {
		f.script(n, w, dirs)
		if line := strings.Fields(w); len(line) > 1 {
			for _, part := range line {
				f.script(n, part, dirs)
			}
		}
	}
	return file
}

// script records each file that a word of a command may name.
func (f *folder) script(n *strictyaml.Node, word string, dirs []string) {
	word = strings.Trim(word, `'";|&()<>`)
	if word == "" {
		return
	}
	paths := []string{word}
	for _, dir := range dirs {
		if !filepath.IsAbs(word) && dir != f.dir {
			paths = append(paths, filepath.Join(dir, word))
		}
	}
	for _, p := range paths {
		if info, err := os.Stat(f.abs(p)); err == nil && info.Mode().IsRegular() {
			f.ref(n, p)
		}
	}
}
