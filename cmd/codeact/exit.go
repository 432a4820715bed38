package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/codeact-dev/codeact/engine/assembly"
)

// The exit codes. 8 and the refusals' 3 are told apart from success on purpose: a
// script that only looks at 0 must not take a refusal for an answer.
const (
	exitOK           = 0
	exitFailed       = 1
	exitUsage        = 2
	exitRefusals     = 3
	exitCredential   = 4
	exitLimit        = 5
	exitPrecondition = 6
	exitPaused       = 8
	exitInterrupt    = 130
	exitTerminated   = 143
)

// An exitCode ends the program with a code and says nothing more.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// A usageError is a fault of the command line or of a file.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usage(err error) error { return usageError{err} }

// codeOf is the exit code of a command that ended with err.
func codeOf(ctx context.Context, err error) int {
	var code exitCode
	var use usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		if sig, ok := context.Cause(ctx).(signalError); ok && code == exitInterrupt && sig.Signal == syscall.SIGTERM {
			return exitTerminated
		}
		return int(code)
	case errors.Is(err, assembly.ErrCredential):
		return exitCredential
	case errors.Is(err, assembly.ErrPrecondition):
		return exitPrecondition
	case errors.As(err, &use):
		return exitUsage
	}
	return exitFailed
}
