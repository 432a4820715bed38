package restrict

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/codeact-dev/codeact/interp/kernel"
)

// Files are what a process may use. All else is refused.
type Files struct {
	Read, Write []string // files, and directories with what is in them; what is not there is left out
	Network     bool     // TCP and UDP may be used
}

// Apply restricts this thread.
// Preconditions: no_new_privs is set.
func (f Files) Apply() error {
	version, err := kernel.Landlock()
	if err != nil {
		return err
	}
	if version < kernel.Truncates {
		return fmt.Errorf("landlock: version %d of the kernel's interface, want %d", version, kernel.Truncates)
	}
	rules := kernel.Ruleset{Network: f.Network}
	for _, p := range f.Read {
		rules.Allow = append(rules.Allow, kernel.Access{Path: p, Rights: kernel.Read})
	}
	for _, p := range f.Write {
		rules.Allow = append(rules.Allow, kernel.Access{Path: p, Rights: kernel.Write})
	}
	return rules.RestrictThread()
}

// Signals takes from this thread, and what it starts, the power to signal processes that it did not start.
func Signals() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return kernel.RestrictSignals()
}
