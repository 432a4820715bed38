package sandbox

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/codeact-dev/codeact/bridge/sandbox/restrict"
)

// A plan is what a process of this program, started again, does to itself before it becomes the command. It travels in a file in memory:
// arguments and environments can be read by others.
type plan struct {
	Argv, Env []string
	Dir       string
	Limits    rlimits
	Files     *restrict.Files // nil in a box of namespaces
	Calls     *restrict.Calls // nil for the kind none
	Proxy     string          // path of the host's socket; "" means no proxy
	Scoped    bool            // the supervisor is to scope signals
	Home      string          // a directory for the supervisor to remove; "" means none
}

// rlimits are limits as setrlimit has them.
type rlimits struct {
	Data, FileSize, CPU, Files, Processes uint64
}

func (l Limits) rlimits() rlimits {
	return rlimits{Data: uint64(l.Memory), FileSize: uint64(l.FileSize), CPU: max(uint64(l.CPU.Seconds()), 1),
		Files: uint64(l.Files), Processes: uint64(l.Processes)}
}

// table is in the order in which they are set.
func (r rlimits) table() []struct {
	name  string
	which int
	value uint64
} {
	return []struct {
		name  string
		which int
		value uint64
	}{
		{"core", unix.RLIMIT_CORE, 0}, {"data", unix.RLIMIT_DATA, r.Data}, {"file size", unix.RLIMIT_FSIZE, r.FileSize},
		{"cpu", unix.RLIMIT_CPU, r.CPU}, {"files", unix.RLIMIT_NOFILE, r.Files}, {"processes", unix.RLIMIT_NPROC, r.Processes},
	}
}

// set lowers the soft and the hard limits, so that the command cannot raise them again.
func (r rlimits) set() error {
	for _, l := range r.table() {
		var old unix.Rlimit
		if err := unix.Getrlimit(l.which, &old); err != nil {
			return err
		}
		v := min(l.value, old.Max)
		if err := unix.Setrlimit(l.which, &unix.Rlimit{Cur: v, Max: v}); err != nil {
			return fmt.Errorf("limit of %s: %w", l.name, err)
		}
	}
	return nil
}

// The descriptors of a process that is started again. The last two mean different things to bubblewrap and to the supervisor.
const (
	fdPlan   = 3
	fdStatus = 4 // see status
	fdArgs   = 5 // bubblewrap: its arguments
	fdInfo   = 6 // bubblewrap: where it says what it started
	fdLife   = 5 // supervisor: ends when this process does, or wants the command to
)

// memfile is a file in memory with this content.
func memfile(name string, content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err = f.Write(content); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (p plan) file() (*os.File, error) {
	b, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return memfile("plan", b)
}

// readPlan leaves the descriptor where it was: the supervisor passes it on.
func readPlan() (p plan, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(fdPlan, &st); err != nil {
		return p, fmt.Errorf("plan: %w", err)
	}
	b := make([]byte, st.Size)
	if _, err := unix.Pread(fdPlan, b, 0); err != nil {
		return p, fmt.Errorf("plan: %w", err)
	}
	return p, json.Unmarshal(b, &p)
}

// What a process writes to fdStatus: the first letter, and the rest is a reason. Nothing at all means that it never got there.
const (
	statusReady  = 'r' // all holds, and the command is next; what follows is why it could not be run
	statusFailed = 'f' // the process could not confine itself
)
