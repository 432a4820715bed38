package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/codeact-dev/codeact/bridge/sandbox"
)

// program is the built command. It is not the test binary: the worker is a copy of
// the program, and one built with -race dies under the worker's memory limit.
var program string

func TestMain(m *testing.M) {
	sandbox.MaybeChild() // doctor starts a box of this binary
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if log := os.Getenv("FAKE_MCP_LOG"); log != "" {
		serveMCP(log)
		return 0
	}
	dir, err := os.MkdirTemp("", "codeact-cmd-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // other users run it too, in one test
		panic(err)
	}
	program = filepath.Join(dir, "codeact")
	cmd := exec.Command("go", "build", "-race=false", "-cover=false", "-o", program, ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("%v\n%s", err, out))
	}
	return m.Run()
}

// The scripts play the built program. Beside the usual commands they have:
//
//	codeact CODE ARG...   run it and want this exit code
//	traces N              the home holds N traces
//	trace FILE            copy the newest trace of the home
//	digest VAR TASK       put the digest of a task in a variable
//	drafts VAR...         put the ids of the staged drafts in variables
//	draftdigest VAR ID    put the digest of a draft in a variable
//	pindigest VAR TASK    put the digest of what the task's one server offers in a variable
//	lines N FILE          the file has N lines
//	flip FILE TEXT        change one bit of the first place where TEXT stands
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", filepath.Join(e.WorkDir, "user"))
			e.Setenv("CODEACT_HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("PROGRAM", program)
			return errors.Join(os.Mkdir(filepath.Join(e.WorkDir, "user"), 0o700), linkMCP(e))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"codeact": runCodeact, "traces": countTraces, "trace": copyTrace, "digest": setDigest, "flip": flip,
			"drafts": setDrafts, "draftdigest": setDraftDigest, "pindigest": setPinDigest, "lines": countLines,
		},
	})
}

func runCodeact(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: codeact CODE ARG...")
	}
	code := 0
	err := ts.Exec(program, args[1:]...)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

func traceFiles(ts *testscript.TestScript) []string {
	paths, err := filepath.Glob(filepath.Join(ts.Getenv("CODEACT_HOME"), "traces", "*.jsonl"))
	ts.Check(err)
	return paths
}

func countTraces(ts *testscript.TestScript, _ bool, args []string) {
	if n := len(traceFiles(ts)); fmt.Sprint(n) != args[0] {
		ts.Fatalf("%d traces, want %s", n, args[0])
	}
}

func copyTrace(ts *testscript.TestScript, _ bool, args []string) {
	newest, at := "", time.Time{}
	for _, p := range traceFiles(ts) {
		info, err := os.Stat(p)
		ts.Check(err)
		if info.ModTime().After(at) {
			newest, at = p, info.ModTime()
		}
	}
	data, err := os.ReadFile(newest)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o600))
}

func setDigest(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Exec(program, "trust", "--print", args[1]))
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

func setDrafts(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Exec(program, "outbox", "list", "--json"))
	var list []struct{ ID, State string }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &list))
	for _, d := range list {
		if d.State == "staged" && len(args) > 0 {
			ts.Setenv(args[0], d.ID)
			args = args[1:]
		}
	}
	if len(args) > 0 {
		ts.Fatalf("there are %d drafts too few: %v", len(args), list)
	}
}

func setDraftDigest(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Exec(program, "outbox", "show", args[1]))
	_, digest, _ := strings.Cut(ts.ReadFile("stdout"), "\ndigest: ")
	ts.Setenv(args[0], strings.TrimSpace(digest))
}

func setPinDigest(ts *testscript.TestScript, _ bool, args []string) {
	_ = ts.Exec(program, "tools", "pins", "diff", args[1]) // exits with 1 where it differs
	_, digest, _ := strings.Cut(ts.ReadFile("stdout"), "digest ")
	digest, _, _ = strings.Cut(digest, "\n")
	ts.Setenv(args[0], digest)
}

func countLines(ts *testscript.TestScript, _ bool, args []string) {
	if n := strings.Count(ts.ReadFile(args[1]), "\n"); fmt.Sprint(n) != args[0] {
		ts.Fatalf("%s has %d lines, want %s", args[1], n, args[0])
	}
}

func flip(ts *testscript.TestScript, _ bool, args []string) {
	data := []byte(ts.ReadFile(args[0]))
	at := strings.Index(string(data), args[1])
	if at < 0 {
		ts.Fatalf("%s does not hold %q", args[0], args[1])
	}
	data[at] ^= 1
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o600))
}
