package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/codeact-dev/codeact/bridge/sandbox"
	"github.com/codeact-dev/codeact/engine/store"
	"github.com/codeact-dev/codeact/engine/taskfile"
	"github.com/codeact-dev/codeact/interp"
)

// A finding is one thing that doctor tried, and what came of it.
type finding struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
}

func newDoctor(s *sys) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "doctor", Short: "Try what a run needs, and report what was really enforced", Args: none,
		RunE: func(c *cobra.Command, _ []string) error { return doctor(c.Context(), s, asJSON) }}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func doctor(ctx context.Context, s *sys, asJSON bool) error {
	checks := []func(context.Context, *sys) finding{checkHome, checkConfig, checkTraces, checkWorker, checkBox, checkShell, checkMemory, checkTime, checkTerminal}
	var findings []finding
	bad := false
	for _, check := range checks {
		f := check(ctx, s)
		bad = bad || !f.OK
		findings = append(findings, f)
	}
	if asJSON {
		if err := writeJSON(s, findings); err != nil {
			return err
		}
	} else {
		for _, f := range findings {
			word := "ok    "
			if !f.OK {
				word = "FAILED"
			}
			fmt.Fprintf(s.stdout, "%s %-12s %s\n", word, f.Check, s.show(f.Detail))
			if f.Hint != "" {
				fmt.Fprintf(s.stdout, "       %-12s hint: %s\n", "", s.show(f.Hint))
			}
		}
	}
	if bad {
		return exitCode(exitPrecondition)
	}
	return nil
}

// found turns an error into a finding.
func found(check, detail string, err error, hint string) finding {
	if err != nil {
		return finding{Check: check, Detail: err.Error(), Hint: hint}
	}
	return finding{Check: check, OK: true, Detail: detail}
}

// checkHome writes into the home and looks at who else may.
func checkHome(_ context.Context, s *sys) finding {
	home, err := s.home()
	if err == nil {
		err = os.MkdirAll(home, 0o700)
	}
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(home, ".doctor-*"); err == nil {
			_, err = f.Write(make([]byte, 4096)) // a full disk takes an empty file
			err = errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
		}
	}
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(home); err == nil && info.Mode().Perm()&0o077 != 0 {
			err = fmt.Errorf("%s may be entered by others (%v)", home, info.Mode().Perm())
		}
	}
	return found("home", home, err, "chmod 700 the directory, or set CODEACT_HOME to one of your own")
}

func checkConfig(_ context.Context, s *sys) finding {
	home, err := s.home()
	if err != nil {
		return found("config", "", err, "")
	}
	h, err := taskfile.LoadHome(filepath.Join(home, "config.yaml"))
	detail := "no loosening is permitted"
	if err == nil && len(h.Permit) > 0 {
		detail = "permits " + strings.Join(h.Permit, ", ")
	}
	return found("config", detail, err, "mend config.yaml")
}

// checkTraces appends to a trace of its own and verifies it.
func checkTraces(_ context.Context, s *sys) finding {
	home, err := s.home()
	if err != nil {
		return found("trace", "", err, "")
	}
	dir, err := os.MkdirTemp(home, ".doctor-*") // where the traces are, so that it is their disk that is tried
	if err != nil {
		return found("trace", "", err, "make room for the home and let it be written, or set CODEACT_HOME to another directory")
	}
	defer os.RemoveAll(dir)
	st, err := store.Open(filepath.Join(dir, "traces"))
	if err != nil {
		return found("trace", "", err, "")
	}
	t, err := st.Create("doctor")
	if err != nil {
		return found("trace", "", err, "")
	}
	start := time.Now()
	_, err = t.Append("doctor", map[string]any{}, start, true)
	took := time.Since(start)
	err = errors.Join(err, t.Close())
	if err == nil {
		_, err = store.Verify(t.Path())
	}
	return found("trace", fmt.Sprintf("one durable line takes %v", took.Round(time.Microsecond)), err, "")
}

// block runs one block in a worker of its own.
func block(ctx context.Context, s *sys, l interp.Limits, code string) (held []string, err error) {
	in, err := interp.New(interp.Config{Worker: s.worker, Limits: l})
	if err != nil {
		return nil, err
	}
	defer in.Close()
	session, err := in.Session(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	_, err = session.Exec(ctx, code, nil)
	return session.Sandbox(), err
}

func checkWorker(ctx context.Context, s *sys) finding {
	held, err := block(ctx, s, interp.Limits{}, "1 + 1")
	return found("worker", "confined by "+strings.Join(held, ", "), err, "the interpreter does not start with less confinement than it requires")
}

// checkBox lets workers try what they must not be able to do. What is asked for
// says nothing; what was stopped does.
func checkBox(ctx context.Context, s *sys) finding {
	canaries, err := interp.Probe(ctx, interp.Config{Worker: s.worker})
	var stopped, done []string
	for _, c := range canaries {
		if c.Stopped {
			stopped = append(stopped, fmt.Sprintf("%s (%s)", c.Action, c.By))
		} else {
			done = append(done, c.Action)
		}
	}
	if err == nil && done != nil {
		err = fmt.Errorf("a worker did what it must not be able to do: %s", strings.Join(done, ", "))
	}
	return found("box", "tried and stopped: "+strings.Join(stopped, ", "), err, "use Linux 6.12 or later with landlock and seccomp")
}

// checkShell opens the box that commands would run in: a canary in it tries to get
// out, and what it saw is told. Without a box nothing but tasks with shell is refused.
func checkShell(ctx context.Context, s *sys) finding {
	home, err := s.home()
	if err != nil {
		return found("shell", "", err, "")
	}
	dir, err := os.MkdirTemp(home, ".doctor-*")
	if err == nil {
		defer os.RemoveAll(dir)
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return found("shell", "", err, "make room for the home and let it be written, or set CODEACT_HOME to another directory")
	}
	box, err := sandbox.Open(ctx, sandbox.Config{Dir: dir})
	if errors.Is(err, sandbox.ErrUnavailable) {
		return finding{Check: "shell", OK: true, Detail: "no box for commands, so a task with shell is refused: " + err.Error(), Hint: "install bubblewrap 0.8 or later"}
	}
	if err != nil {
		return found("shell", "", err, "")
	}
	defer box.Close()
	r := box.Report()
	detail := "commands run in " + r.Kind + "; tried and stopped: " + strings.Join(r.Enforced, ", ")
	for _, list := range []struct {
		what  string
		texts []string
	}{{"not stopped", r.Missed}, {"not used", r.Tried}} {
		if len(list.texts) > 0 {
			detail += "; " + list.what + ": " + strings.Join(list.texts, ", ")
		}
	}
	return finding{Check: "shell", OK: true, Detail: detail}
}

// neverEnds hashes a tuple whose parts are shared 2^60 times: no step of the
// interpreter ends in it.
const neverEnds = "t = (1,)\nfor i in range(60):\n  t = (t, t)\n{t: 1}"

// checkMemory and checkTime see that the limits end a block, not that they are
// set.
func checkMemory(ctx context.Context, s *sys) finding {
	_, err := block(ctx, s, interp.Limits{}, "x = [0] * ((1 << 30) - 1)")
	return mustEnd("memory", err, interp.ErrMemory)
}

func checkTime(ctx context.Context, s *sys) finding {
	_, err := block(ctx, s, interp.Limits{Wall: 200 * time.Millisecond}, neverEnds)
	return mustEnd("time", err, interp.ErrWall)
}

func mustEnd(check string, err, want error) finding {
	if errors.Is(err, want) {
		return finding{Check: check, OK: true, Detail: "a block that takes too much is ended: " + want.Error()}
	}
	return finding{Check: check, Detail: fmt.Sprintf("a block that takes too much ended with %v, not with %v", err, want)}
}

func checkTerminal(_ context.Context, s *sys) finding {
	if s.inTTY && s.errTTY {
		return finding{Check: "terminal", OK: true, Detail: "there is one: questions are asked"}
	}
	return finding{Check: "terminal", OK: true, Detail: "there is none: questions pause the run (exit 8)"}
}
