package taskfile

import (
	"os"
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

// program records the files that a command line names. The first word is the
// program: named by a path it must be there and runnable, else it is looked up
// when it runs. Any other word is a file only if one is there: a script that an
// interpreter is given must not change unseen.
func (f *folder) program(n *strictyaml.Node, words []string) (file string) {
	if n == nil || n.Kind != strictyaml.String {
		return ""
	}
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
		w = strings.Trim(w, `'";|&()<>`)
		if info, err := os.Stat(f.abs(w)); w != "" && err == nil && info.Mode().IsRegular() {
			f.ref(n, w)
		}
	}
	return file
}
