package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/codeact-dev/codeact/engine/assembly"
)

// The exit codes. 129, 130 and 143 are a hang-up, an interrupt and a termination. 8 and the refusals' 3 are told apart from success on purpose: a
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
	exitHangup       = 129
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
	case errors.As(err, &code) && code != exitInterrupt:
		return int(code)
	case ctx.Err() != nil:
		return signalled(ctx)
	case errors.Is(err, assembly.ErrCredential):
		return exitCredential
	case errors.Is(err, assembly.ErrPrecondition):
		return exitPrecondition
	case errors.As(err, &use):
		return exitUsage
	}
	return exitFailed
}

// signalled is the exit code of what the end of ctx stopped: 128 and the number of
// the signal, as a shell counts.
func signalled(ctx context.Context) int {
	var s signalError
	if !errors.As(context.Cause(ctx), &s) {
		return exitInterrupt
	}
	switch s.Signal {
	case syscall.SIGTERM:
		return exitTerminated
	case syscall.SIGHUP:
		return exitHangup
	}
	return exitInterrupt
}
