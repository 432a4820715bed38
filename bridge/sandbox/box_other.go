//go:build !linux

package sandbox

import (
	"context"
	"runtime"
)

// A Box runs commands; on this system there is none.
type Box struct{}

// MaybeChild does nothing here.
func MaybeChild() {}

// Open finds faults of the configuration, and no box.
func Open(_ context.Context, c Config) (*Box, error) {
	if _, err := c.check(); err != nil {
		return nil, err
	}
	return nil, &Unavailable{Tried: []string{runtime.GOOS + ": boxes are made of what Linux has: namespaces, landlock and seccomp"}}
}

// Report says that nothing holds.
func (*Box) Report() Report { return Report{Kind: None, Network: HostNet} }

// Run refuses.
func (*Box) Run(context.Context, Command) (Result, error) { return Result{}, ErrUnavailable }

// Close does nothing.
func (*Box) Close() error { return nil }
