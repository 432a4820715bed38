package worker

import (
	"errors"
	"math"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/codeact-dev/codeact/interp/wire"
)

// firstForeign is the first descriptor that a worker has no use for: 0 to 2 are null and stderr, 3 is the host.
const firstForeign = 4

// Confined closes inherited descriptors at once and returns the rest of the confinement.
// Preconditions: this process has opened nothing of its own yet, but for what the Go poller needs.
func Confined() Confine {
	// os/exec lets descriptors without CLOEXEC through, so the host's may be open here.
	errClose := closeForeign()
	return func(limits wire.Limits) Confinement {
		c := apply([]feature{
			{"fds", func(wire.Limits) error { return errClose }},
			{"runtime", boundRuntime},
			{"no_new_privs", func(wire.Limits) error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }},
			{"non_dumpable", func(wire.Limits) error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }},
			{"rlimit_core", fixed(unix.RLIMIT_CORE, 0)},
			{"rlimit_fsize", fixed(unix.RLIMIT_FSIZE, 0)},
			{"rlimit_nofile", fixed(unix.RLIMIT_NOFILE, 8)}, // 0 to 3, and the poller's two or those it has already
			// RLIMIT_DATA and not AS: Starlark maps 4 GiB of read-only address space for its small integers.
			{"rlimit_data", func(l wire.Limits) error { return fixed(unix.RLIMIT_DATA, uint64(l.Memory))(l) }},
			{"rlimit_cpu", func(l wire.Limits) error { return errors.Join(dieOfSIGXCPU(), slice(l.CPU)) }},
			// Filters of paths and system calls belong here, last: what stands above needs the calls that they refuse.
		}, limits)
		c.Slice, c.Used = slice, used
		return c
	}
}

// closeForeign closes what was inherited. The poller's own descriptors stay: a program with many packages may have started
// it before main, and dies without them. They are private to the process that made them and lead nowhere.
func closeForeign() error {
	dir, err := unix.Open("/proc/self/fd", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	names, err := list(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		fd, err := strconv.Atoi(name)
		if err != nil || fd < firstForeign || fd == dir || isPoller(name) {
			continue
		}
		errs = append(errs, unix.Close(fd))
	}
	return errors.Join(append(errs, unix.Close(dir))...)
}

// list reads a directory without package os, which would start the poller.
func list(dir int) (names []string, err error) {
	buf := make([]byte, 4096)
	for {
		n, err := unix.ReadDirent(dir, buf)
		if n <= 0 || err != nil {
			return names, err
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

func isPoller(fd string) bool {
	var target [32]byte
	n, err := unix.Readlink("/proc/self/fd/"+fd, target[:])
	return err == nil && (string(target[:n]) == "anon_inode:[eventpoll]" || string(target[:n]) == "anon_inode:[eventfd]")
}

// Features are the names that Confined can report, and what a host requires by default.
func Features() []string {
	return []string{"fds", "runtime", "no_new_privs", "non_dumpable", "rlimit_core", "rlimit_fsize", "rlimit_nofile",
		"rlimit_data", "rlimit_cpu"}
}

// fixed sets the soft and the hard limit, so that the process cannot raise it again.
func fixed(resource int, value uint64) func(wire.Limits) error {
	return func(wire.Limits) error {
		return unix.Setrlimit(resource, &unix.Rlimit{Cur: value, Max: value})
	}
}

// dieOfSIGXCPU restores the default action, death. Go catches the signal and, unless told otherwise, drops it.
func dieOfSIGXCPU() error {
	// A zero struct sigaction is SIG_DFL with no flags, on every architecture; none is longer than this.
	var action [64]byte
	const maskSize = 8 // bytes of the kernel's signal set
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGXCPU), uintptr(unsafe.Pointer(&action)), 0, maskSize, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// slice allows cpu more processor time. The kernel counts whole seconds. The hard limit stays where it was, since each
// block raises the soft one; the host's wall clock is what a worker cannot move.
func slice(cpu time.Duration) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CPU, &limit); err != nil {
		return err
	}
	seconds := math.Ceil((used() + cpu).Seconds())
	limit.Cur = min(uint64(seconds), limit.Max)
	return unix.Setrlimit(unix.RLIMIT_CPU, &limit)
}

// used is the processor time of this process, 0 if the kernel does not say.
func used() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
