package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/engine/store"
)

// A stage is a directory with a home, a task and its tools, in which tests run the
// built program.
type stage struct {
	t         *testing.T
	dir, home string
}

const header = `apiVersion: codeact.dev/v1
kind: Task
metadata: {name: staged}
goal: Do the work for bob.
workspace: {dir: ., writable: ["**"]}
`

// newStage writes the files; the task's begins with header.
func newStage(t *testing.T, task string, files ...string) *stage {
	t.Helper()
	s := &stage{t: t, dir: filepath.Join(t.TempDir(), "t")}
	s.home = filepath.Join(filepath.Dir(s.dir), "home")
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s.write("task.yaml", header+task)
	for i := 0; i < len(files); i += 2 {
		s.write(files[i], files[i+1])
	}
	return s
}

func (s *stage) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) command(args ...string) *exec.Cmd {
	c := exec.Command(program, args...)
	c.Dir = s.dir
	c.Env = append(os.Environ(), "HOME="+filepath.Dir(s.dir)+"/user", "CODEACT_HOME="+s.home, "NO_COLOR=1")
	return c
}

// run runs the program to its end.
func (s *stage) run(args ...string) (stdout, stderr string, code int) {
	s.t.Helper()
	var out, log bytes.Buffer
	c := s.command(args...)
	c.Stdout, c.Stderr = &out, &log
	if err := c.Run(); c.ProcessState == nil {
		s.t.Fatal(err)
	}
	return out.String(), log.String(), c.ProcessState.ExitCode()
}

// trace is the only trace of the home, verified.
func (s *stage) trace() string {
	s.t.Helper()
	paths, err := filepath.Glob(filepath.Join(s.home, "traces", "*.jsonl"))
	if err != nil || len(paths) != 1 {
		s.t.Fatalf("traces %q, %v; want one", paths, err)
	}
	r, err := store.Verify(paths[0])
	if err != nil || r.Torn {
		s.t.Fatalf("%s: %v, torn %v", paths[0], err, r.Torn)
	}
	data, err := os.ReadFile(paths[0])
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}

// last is the last line of a text.
func last(text string) string {
	text = strings.TrimRight(text, "\n")
	return text[strings.LastIndexByte(text, '\n')+1:]
}
