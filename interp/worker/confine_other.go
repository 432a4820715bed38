//go:build !linux

package worker

import (
	"errors"

	"github.com/codeact-dev/codeact/interp/wire"
)

var errNoSupport = errors.New("not available on this system")

// Confined confines little outside Linux: the worker is its own process with an empty environment, and nothing bounds
// its memory, its processor time, its files or its network. The host's wall clock still kills it.
func Confined() Confine {
	missing := func(wire.Limits) error { return errNoSupport }
	return func(limits wire.Limits) Confinement {
		return apply([]feature{
			{"runtime", boundRuntime},
			{"fds", missing}, {"namespaces", missing}, {"no_new_privs", missing}, {"non_dumpable", missing},
			{"rlimit_core", missing}, {"rlimit_fsize", missing}, {"rlimit_data", missing}, {"rlimit_cpu", missing},
			{"landlock", missing}, {"rlimit_nofile", missing}, {"seccomp", missing},
		}, limits)
	}
}

// Features are what a host requires by default: only what this system can give.
func Features() []string { return []string{"runtime"} }

// rebirth is for landlock, which is Linux's.
func rebirth() error { return nil }
