package taskfile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
)

// Digest seals the task and every file that it names: "sha256:" and hex. Any
// changed byte, added file or moved path changes it.
func (t *Task) Digest() string {
	h := sha256.New()
	fmt.Fprintf(h, "task %s\n", t.SHA256)
	for _, f := range t.Files {
		fmt.Fprintf(h, "%q %s\n", f.Path, f.SHA256)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// NeedsTrust lists what the task would run on this machine besides tools: one
// line each, escaped, in a fixed order. An empty list needs no trust.
func (t *Task) NeedsTrust() []string {
	var list []string
	for _, event := range slices.Sorted(maps.Keys(t.Hooks)) {
		for _, g := range t.Hooks[event] {
			for _, c := range g.Hooks {
				list = append(list, fmt.Sprintf("hook %s: %q", event, append([]string{c.Command}, c.Args...)))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Servers)) {
		switch s := t.Servers[name]; {
		case s.Disabled:
		case s.Command != "":
			list = append(list, fmt.Sprintf("server %s: %q", name, append([]string{s.Command}, s.Args...)))
		case s.confides():
			list = append(list, fmt.Sprintf("server %s: sends secrets to %q", name, s.URL))
		}
	}
	for _, c := range t.Approvals.Notify {
		list = append(list, fmt.Sprintf("notify: %q", append([]string{c.Command}, c.Args...)))
	}
	for _, s := range t.Secrets {
		if len(s.Command) > 0 {
			list = append(list, fmt.Sprintf("secret %s: %q", s.Name, s.Command))
		}
	}
	return list
}
