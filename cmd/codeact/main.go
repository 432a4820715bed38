// Command codeact runs agents that act by writing Starlark, through one door that
// decides and records every effect.
//
// It is the only part that reads flags, the environment and the terminal. What it
// gets wrong can hide a question from the person who must answer it, or call a
// refusal a success; the exit codes are in exit.go.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"os/user"
	"strings"
	"syscall"

	"github.com/hashicorp/go-multierror"
	"golang.org/x/term"

	"github.com/codeact-dev/codeact/bridge/sandbox"
	"github.com/codeact-dev/codeact/engine/taskfile"
	"github.com/codeact-dev/codeact/interp"
	"github.com/codeact-dev/codeact/policy/rules"
)

func main() {
	interp.MaybeWorker()
	sandbox.MaybeChild()
	ctx, stop := withSignals(context.Background())
	code := execute(ctx, system(), os.Args[1:])
	stop()
	os.Exit(code)
}

// A signalError is the cause of a context that a signal ended.
type signalError struct{ os.Signal }

func (e signalError) Error() string { return "stopped by " + e.Signal.String() }

// withSignals ends the context at the first interrupt, termination or hang-up, so
// that the run can write its end. A second one ends the process at once. stop ends
// the goroutine.
func withSignals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		select {
		case s := <-ch:
			cancel(signalError{s})
			signal.Stop(ch)
		case <-done:
		}
	}()
	return ctx, func() { signal.Stop(ch); close(done); cancel(nil) }
}

// execute runs the command line and returns the exit code.
func execute(ctx context.Context, sys *sys, args []string) int {
	out := &stickyWriter{Writer: sys.stdout}
	sys.stdout = out
	root := newRoot(sys)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil && out.err != nil {
		err = fmt.Errorf("the result could not be written: %w", out.err)
	}
	var code exitCode
	if err != nil && !errors.As(err, &code) {
		fmt.Fprintln(sys.stderr, sys.show(message(err)))
	}
	return codeOf(ctx, err)
}

// message is the text of an error for people. A fault of a file begins with its
// place, as compilers write it, so that an editor can go there; anything else says
// who speaks.
func message(err error) string {
	var use usageError
	if errors.As(err, &use) {
		err = use.error
	}
	list := []error{err}
	if many, ok := err.(*multierror.Error); ok {
		list = many.Errors
	}
	var lines []string
	for _, err := range list {
		text := strings.TrimRight(err.Error(), "\n")
		if !atPlace(err) {
			text = "codeact: " + text
		}
		lines = append(lines, text)
	}
	return strings.Join(lines, "\n")
}

// atPlace reports whether the text of an error begins with a file.
func atPlace(err error) bool {
	switch err.(type) {
	case *taskfile.Fault, *rules.FileError:
		return true
	}
	return false
}

// system is the process's own surroundings.
func system() *sys {
	s := &sys{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, env: os.LookupEnv, userHome: userHome()}
	s.ownHome, _ = os.UserHomeDir() // without one CODEACT_HOME must be set
	s.outTTY = term.IsTerminal(int(os.Stdout.Fd()))
	s.errTTY = term.IsTerminal(int(os.Stderr.Fd()))
	s.inTTY = term.IsTerminal(int(os.Stdin.Fd()))
	return s
}

// userHome is the user's own directory, which no workspace may hold: what HOME says,
// or else what the system knows, so that an empty HOME turns no check off.
func userHome() string {
	if home, err := os.UserHomeDir(); err == nil && home != "" {
		return home
	}
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return ""
}

// A stickyWriter remembers the first error, so that a result which could not be
// written is no success.
type stickyWriter struct {
	io.Writer
	err error
}

func (w *stickyWriter) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	if w.err == nil {
		w.err = err
	}
	return n, err
}
