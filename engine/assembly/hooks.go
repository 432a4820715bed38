package assembly

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/hooks"
	"github.com/codeact-dev/codeact/engine/taskfile"
	"github.com/codeact-dev/codeact/engine/taskfile/strictyaml"
)

// hooks compiles the commands of the home and of the task, for the calls and for
// the other turns of a run. One that can match no tool is refused: it would never
// fire, and nobody would know.
func (r *Run) hooks(ts []bridge.Tool) ([]bridge.Hook, error) {
	var names []string
	for _, t := range ts {
		names = append(names, t.Name)
	}
	r.turns = nil // they are compiled before the servers' tools are known, and again after
	var hs []bridge.Hook
	for _, from := range []struct {
		file, dir string
		hooks     taskfile.Hooks
	}{{"config.yaml", r.opt.Home, r.Home.Hooks}, {r.File.Path, r.File.Dir, r.File.Hooks}} {
		list, err := commands(from.hooks, from.dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", from.file, err)
		}
		if from.file == r.File.Path {
			more, err := r.notify()
			if err != nil {
				return nil, err
			}
			list = append(list, more...)
		}
		if len(list) == 0 {
			continue
		}
		set, err := hooks.Compile(list, r.dir)
		if err != nil {
			return nil, err
		}
		if from.file == r.File.Path {
			for _, h := range set.Unmatched(names) {
				if r.unseen(h.Matcher) {
					continue
				}
				return nil, fmt.Errorf("%s: hooks.%s: matcher %q fits none of this task's tools, so the hook would never run: the tools are %s",
					from.file, h.Event, h.Matcher, strings.Join(names, ", "))
			}
		}
		set = set.WithTranscript(func(run string) string { return filepath.Join(r.traceDir(), run+".jsonl") })
		hs = append(hs, bridge.CommandHooks(set, ""))
		r.turns = append(r.turns, set)
	}
	return hs, nil
}

// commands is the hooks of one file, which stands in dir.
func commands(hs taskfile.Hooks, dir string) ([]hooks.Hook, error) {
	var list []hooks.Hook
	var faults []error
	for _, event := range hooks.Events() {
		for _, g := range hs[event] {
			for _, c := range g.Hooks {
				h, err := command(event, g.Matcher, c, dir)
				if err != nil {
					faults = append(faults, fmt.Errorf("hooks.%s: %w", event, err))
				}
				list = append(list, h)
			}
		}
	}
	return list, strictyaml.Join(faults...)
}

// command is one command of a file, which stands in dir.
func command(event, matcher string, c taskfile.Command, dir string) (h hooks.Hook, err error) {
	h = hooks.Hook{Event: event, Matcher: matcher, Name: cmp.Or(c.Name, c.Command), Timeout: c.Timeout, OnFailure: c.OnFailure,
		ReceivesSecrets: c.Receives == "secrets"}
	h.Command, h.Args, err = anchored(c, dir)
	return h, err
}

// anchored names the files of a command by their whole paths. They are relative to
// the file that names them, and it is there that trust looked at them; but a hook
// runs in the workspace, where the run could put others of the same names.
func anchored(c taskfile.Command, dir string) (command string, args []string, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", nil, err
	}
	if c.Args != nil {
		args = make([]string, len(c.Args))
		for i, a := range c.Args {
			args[i] = a
			if isFile(dir, a) {
				args[i] = filepath.Join(dir, a)
			}
		}
		if c.File != "" {
			return c.File, args, nil
		}
		return c.Command, args, nil
	}
	words := strings.Fields(c.Command)
	for _, w := range words[1:] {
		if isFile(dir, strings.Trim(w, "'\";|&()<>")) {
			return "", nil, fmt.Errorf("%q names the file %s in a line for the shell, which would look for it in the workspace: give command and args, or the whole path", c.Command, w)
		}
	}
	if c.File == "" {
		return c.Command, nil, nil
	}
	return "'" + strings.ReplaceAll(c.File, "'", `'\''`) + "'" + strings.TrimPrefix(strings.TrimSpace(c.Command), words[0]), nil, nil
}

// isFile reports whether word names a file relative to dir.
func isFile(dir, word string) bool {
	if word == "" || filepath.IsAbs(word) {
		return false
	}
	info, err := os.Stat(filepath.Join(dir, word))
	return err == nil && info.Mode().IsRegular()
}
