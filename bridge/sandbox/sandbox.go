// Package sandbox runs commands that nobody trusts in a box: bubblewrap's, or one of landlock and seccomp where there is no bubblewrap.
//
// A command in a box may read the system's programs and the workspace, write the writable parts of the workspace and a /tmp of its own,
// and reach no network, or only the hosts that the operator listed. What it writes there stays: a box does not protect the writable
// parts from the command, nor anybody from what the command left in them. Nor does it bound what all processes of a command use
// together: limits of memory and processor time are of a process. And the kernel is trusted: a hole in it is a hole in the box.
//
// A box is not believed for its configuration. Open sends a canary into it, and what the canary could not see held is not reported.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// The kinds of boxes.
const (
	Auto     = "auto"     // bubblewrap, else landlock
	Bwrap    = "bwrap"    // namespaces, by the program bwrap (0.8 or later)
	Landlock = "landlock" // landlock and seccomp, in a process of this program
	None     = "none"     // no box: limits and an end of all processes, and nothing else
)

// The networks of a box.
const (
	NoNetwork = "none"      // loopback of its own, or not even that
	Allowlist = "allowlist" // a proxy on loopback, which dials by Config.Dial; needs bubblewrap
	HostNet   = "host"      // the network of this machine; with bubblewrap also the Unix sockets in the directories that are shown
)

// Config is what a box shows and allows. The zero values are the strictest.
type Config struct {
	Kind     string   // "" means auto
	Network  string   // "" means none
	Dir      string   // the workspace: absolute and without symbolic links, seen at the same path, where commands run
	Writable []string // absolute paths inside Dir that commands may write; the rest of Dir is read-only. One that is not there is left out
	ReadOnly []string // absolute paths that stay as they are though they lie in what is writable: see ReadOnlyError for those that cannot
	Read     []string // absolute paths that can be read besides Dir and the system's programs
	Env      []string // NAME=VALUE. Of our own environment only PATH and LANG are passed on

	// Masked lists, anew before each command, the absolute paths of files and directories that must not be readable. A path that the
	// box does not show anyway is of no account. Nil means none. A hard link of a masked file has a path of its own: list it too.
	Masked func() ([]string, error)

	// Dial connects to a host of the allow-list, and checks that it is one; only the network "allowlist" uses it. An error that is
	// neither a *net.OpError nor a *net.DNSError is a refusal, and its text is shown to the command.
	Dial func(ctx context.Context, network, hostport string) (net.Conn, error)

	Limits Limits
}

// Limits bound a command. They hold for each of its processes, but for those that say otherwise.
type Limits struct {
	Memory    int64         // bytes of data (RLIMIT_DATA); 0 means 1 GiB, in which a compiler and its linker fit
	Processes int           // processes and threads of a command at once; 0 means 128
	Files     int           // open files; 0 means 1024, what most systems give
	FileSize  int64         // bytes of one written file; 0 means 1 GiB
	CPU       time.Duration // processor time; 0 means 10 minutes; counted in whole seconds
	Tmp       int64         // bytes of a command's /tmp, where the box has one (bubblewrap); 0 means 512 MiB
	Head      int           // bytes kept of the start of an output; 0 means 16 KiB
	Tail      int           // bytes kept of its end; 0 means 16 KiB
	Whole     int           // bytes up to which an output is kept whole; 0 means 8 MiB
}

func (l Limits) withDefaults() Limits {
	for _, d := range []struct {
		v   *int64
		def int64
	}{{&l.Memory, 1 << 30}, {&l.FileSize, 1 << 30}, {&l.Tmp, 512 << 20}, {(*int64)(&l.CPU), int64(10 * time.Minute)}} {
		if *d.v == 0 {
			*d.v = d.def
		}
	}
	for _, d := range []struct {
		v   *int
		def int
	}{{&l.Processes, 128}, {&l.Files, 1024}, {&l.Head, 16 << 10}, {&l.Tail, 16 << 10}, {&l.Whole, 8 << 20}} {
		if *d.v == 0 {
			*d.v = d.def
		}
	}
	return l
}

// A Report says what was seen to hold.
type Report struct {
	Kind     string   // of the box in use
	Network  string   // as configured
	Confined bool     // files, writes and network are confined; false for the kind none
	Enforced []string // what the canary saw: see the names below
	Missed   []string // what it did not see to hold, each with the reason
	Tried    []string // the kinds that were tried before this one, each with why it would not do
}

// What a canary looks for. The first five are required of every box, network but for the network "host".
const (
	SawFiles      = "files"           // a file outside cannot be read
	SawWrites     = "writes"          // nothing can be written but what is writable
	SawNetwork    = "network"         // a listener of this machine cannot be reached, by IPv4, IPv6 or a Unix socket, abstract or in a directory that is shown
	SawNoNewPrivs = "no_new_privs"    // setuid programs gain nothing
	SawSeccomp    = "seccomp"         // system calls are filtered
	SawMasks      = "masks"           // a masked file cannot be read
	SawReadOnly   = "read_only"       // a read-only file in a writable directory cannot be changed, moved or replaced
	SawProcesses  = "processes"       // no more processes than the limit
	SawLimits     = "rlimits"         // the other limits
	SawSignals    = "signals"         // this process cannot be signalled
	SawEnviron    = "environ"         // nor can its environment be read
	SawCapless    = "no_capabilities" // root's powers are gone
	SawProxy      = "proxy"           // the proxy answers, where there is one
)

// A Command is one program to run.
type Command struct {
	Argv    []string
	Dir     string // absolute, inside Config.Dir; "" means Config.Dir
	Stdin   []byte
	Timeout time.Duration // 0 means 2 minutes
}

const defaultTimeout = 2 * time.Minute

// A Result is how a command ended. When Run returns it, all processes of the command are gone, but for what Box.Run says of the kind none.
type Result struct {
	ExitCode       int    // 128 + n after signal n, as shells have it; -1 if it was killed for its time
	Signal         string // the name of that signal
	TimedOut       bool
	Stdout, Stderr Output
	Sent           map[string]int64 // bytes that went to each host of the allow-list, by its name in lower case; nil without an allow-list
}

// ErrUnavailable is what Open's error is (errors.Is) when there is no box to be had.
var ErrUnavailable = errors.New("sandbox: unavailable")

// An Unavailable error says what was tried.
type Unavailable struct {
	Tried []string // kind: reason
}

func (e *Unavailable) Error() string {
	return "sandbox: unavailable: no box that confines: " + strings.Join(e.Tried, "; ") +
		"; install bubblewrap 0.8 or later, and allow it user namespaces"
}

// Is reports that target is ErrUnavailable.
func (e *Unavailable) Is(target error) bool { return target == ErrUnavailable }

// A MaskError is the refusal to run a command, since a path that must not be readable would be.
type MaskError struct {
	Path   string // the first such path; "" if they could not even be listed
	Reason string
}

func (e *MaskError) Error() string {
	return strings.Join(strings.Fields(fmt.Sprintf("sandbox: refused: masked path %s: %s", e.Path, e.Reason)), " ")
}

// A ReadOnlyError is the refusal to run a command, since it could change or replace a path of Config.ReadOnly: one that is not there yet,
// that has a symbolic link in it or a second name, or, with landlock, any in a writable directory. The files of a directory are not
// looked at: one that has a second name outside of it can be written by that.
type ReadOnlyError struct{ Path, Reason string }

func (e *ReadOnlyError) Error() string {
	return fmt.Sprintf("sandbox: refused: read-only path %s: %s", e.Path, e.Reason)
}

// A StartError is a command that never ran.
type StartError struct {
	Program string
	Reason  string
}

func (e *StartError) Error() string { return fmt.Sprintf("sandbox: start %s: %s", e.Program, e.Reason) }
