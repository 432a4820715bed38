package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/codeact-dev/codeact/bridge/sandbox"
)

// attackMarker is the first argument of this program as an attacker in a box; the attack follows.
const attackMarker = "attack"

func TestMain(m *testing.M) {
	sandbox.MaybeChild()
	if len(os.Args) > 2 && os.Args[1] == attackMarker {
		if err := attacks[os.Args[2]](os.Args[3:]); err != nil {
			fmt.Println(refused, err)
			unix.Exit(exitRefused)
		}
		unix.Exit(0) // see MaybeChild
	}
	goleak.VerifyTestMain(m)
}

const (
	refused     = "refused:" // what an attack says that did not succeed
	exitRefused = 7
)

// secret is what no command may learn.
const secret = "correct-horse-battery"

// A world is a machine with something to lose: a workspace, and a home beside it.
type world struct {
	base, dir, home string
	self            string // this program, as the host sees it
}

func newWorld(t testing.TB) *world {
	t.Helper()
	base, err := os.MkdirTemp("", "world-") // not t.TempDir, which is too long for the path of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	if base, err = filepath.EvalSymlinks(base); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{base: base, dir: filepath.Join(base, "ws"), home: filepath.Join(base, "home"), self: self}
	for path, content := range map[string]string{
		"home/.ssh/planted": secret, "ws/src/main.go": "package main", "ws/.git/hooks/sample": "#!/bin/sh", "ws/drafts/note": "a draft",
		"ws/.git/config": "[core]",
	} {
		w.write(t, path, content)
	}
	return w
}

func (w *world) path(rel string) string { return filepath.Join(w.base, rel) }

func (w *world) write(t testing.TB, rel, content string) {
	t.Helper()
	err := errors.Join(os.MkdirAll(filepath.Dir(w.path(rel)), 0o755), os.WriteFile(w.path(rel), []byte(content), 0o644))
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) read(t testing.TB, rel string) string {
	t.Helper()
	b, err := os.ReadFile(w.path(rel))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// open opens a box with the workspace, in which drafts is writable.
func (w *world) open(t testing.TB, c sandbox.Config) *sandbox.Box {
	t.Helper()
	c.Dir = w.dir
	if c.Writable == nil {
		c.Writable = []string{filepath.Join(w.dir, "drafts")}
	}
	box, err := sandbox.Open(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	return box
}

// program is where this program stands in a box of that kind.
func (w *world) program(kind string) string {
	if kind == sandbox.Bwrap {
		return "/run/codeact/stage"
	}
	return w.self
}

// sh runs a script. OUT is the world's home; what the shell says about failures is of no interest.
func (w *world) sh(t testing.TB, box *sandbox.Box, script string) sandbox.Result {
	t.Helper()
	return run(t, box, "sh", "-c", "OUT="+w.home+"\nWS="+w.dir+"\nBASE="+w.base+"\n"+script)
}

func run(t testing.TB, box *sandbox.Box, argv ...string) sandbox.Result {
	t.Helper()
	r, err := box.Run(t.Context(), sandbox.Command{Argv: argv, Timeout: bound})
	if err != nil {
		t.Fatalf("%s: %v\n%s", argv, err, r.Stderr.Text)
	}
	if r.TimedOut {
		t.Fatalf("%s: timed out:\n%s%s", argv, r.Stdout.Text, r.Stderr.Text)
	}
	return r
}

// alive lists the processes with this word in their arguments.
func alive(t testing.TB, word string) (found []string) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(lines) == 0 {
		t.Fatalf("no processes: %v", err)
	}
	for _, path := range lines {
		if b, err := os.ReadFile(path); err == nil && bytes.Contains(b, []byte(word)) {
			found = append(found, path+" "+strings.ReplaceAll(string(b), "\x00", " "))
		}
	}
	return found
}
