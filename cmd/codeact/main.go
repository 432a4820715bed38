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
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"github.com/codeact-dev/codeact/interp"
)

func main() {
	interp.MaybeWorker()
	ctx, stop := withSignals(context.Background())
	code := execute(ctx, system(), os.Args[1:])
	stop()
	os.Exit(code)
}

// A signalError is the cause of a context that a signal ended.
type signalError struct{ os.Signal }

func (e signalError) Error() string { return "stopped by " + e.Signal.String() }

// withSignals ends the context at the first interrupt, so that the run can write
// its end. A second one ends the process at once. stop ends the goroutine.
func withSignals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
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
	root := newRoot(sys)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var code exitCode
	if err != nil && !errors.As(err, &code) {
		fmt.Fprintln(sys.stderr, "codeact: "+sys.show(err.Error()))
	}
	return codeOf(ctx, err)
}

// system is the process's own surroundings.
func system() *sys {
	home, _ := os.UserHomeDir()
	s := &sys{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, env: os.LookupEnv, userHome: home}
	s.errTTY = term.IsTerminal(int(os.Stderr.Fd()))
	s.inTTY = term.IsTerminal(int(os.Stdin.Fd()))
	return s
}
