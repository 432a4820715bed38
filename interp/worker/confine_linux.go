package worker

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
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
		runtime.LockOSThread() // no_new_privs and landlock are of a thread until they are spread
		defer runtime.UnlockOSThread()
		abi := 0
		slice := newSlice()
		c := apply([]feature{
			{"fds", func(wire.Limits) error { return errClose }},
			{"runtime", boundRuntime},
			{"namespaces", func(wire.Limits) error { return namespaced() }},
			{"no_new_privs", func(wire.Limits) error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }},
			{"non_dumpable", func(wire.Limits) error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }},
			{"rlimit_core", fixed(unix.RLIMIT_CORE, 0)},
			{"rlimit_fsize", fixed(unix.RLIMIT_FSIZE, 0)},
			// RLIMIT_DATA and not AS: Starlark maps 4 GiB of read-only address space for its small integers.
			{"rlimit_data", func(l wire.Limits) error { return fixed(unix.RLIMIT_DATA, uint64(l.Memory))(l) }},
			{"rlimit_cpu", func(l wire.Limits) error { return errors.Join(dieOfSIGXCPU(), slice(l.CPU)) }},
			{"landlock", func(wire.Limits) (err error) { abi, err = landlock(); return err }},
			{"rlimit_nofile", fixed(unix.RLIMIT_NOFILE, 8)},               // 0 to 3, and the poller's two or those it has already
			{"seccomp", func(wire.Limits) error { return filterCalls() }}, // last: what stands above needs what it kills
		}, limits)
		if abi > 0 {
			c.Held = append(c.Held, fmt.Sprintf("landlock_abi_%d", abi))
		}
		c.Slice, c.Used = slice, used
		return c
	}
}

// namespaced says whether this process is the first of its own namespaces: the host asks for all of them or for none.
func namespaced() error {
	if unix.Getpid() != 1 {
		return errors.New("this kernel or its settings grant none to this user")
	}
	return nil
}

// closeForeign closes what was inherited. The poller's own descriptors stay: a program with many packages may have started
// it before main, and dies without them. They are private to the process that made them and lead nowhere.
func closeForeign() error {
	if rebornInside() {
		return nil // done before: rebirth follows it, and the list cannot be read any more
	}
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

// Features are what a host requires by default: all that Confined reports, but for namespaces, which many systems do not
// grant, and the version of landlock.
func Features() []string {
	return []string{"fds", "runtime", "no_new_privs", "non_dumpable", "rlimit_core", "rlimit_fsize",
		"rlimit_data", "rlimit_cpu", "landlock", "rlimit_nofile", "seccomp"}
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

// newSlice returns a function that allows so much more processor time. The kernel counts whole seconds. The hard limit
// stays where it was, since each block raises the soft one; the host's clocks are what a worker cannot move.
func newSlice() func(time.Duration) error {
	var end atomic.Int64
	watch := sync.OnceFunc(func() { go exitAfter(&end) })
	return func(cpu time.Duration) error {
		var limit unix.Rlimit
		if err := unix.Prlimit(0, unix.RLIMIT_CPU, nil, &limit); err != nil {
			return err
		}
		end.Store(int64(used() + cpu))
		if unix.Getpid() == 1 {
			watch()
		}
		limit.Cur = min(uint64(math.Ceil(time.Duration(end.Load()).Seconds())), limit.Max)
		return unix.Prlimit(0, unix.RLIMIT_CPU, &limit, nil)
	}
}

// exitAfter ends this process once it has used the processor for end nanoseconds in all. The first process of a namespace
// needs it: it does not die of a default action, and its host may be gone. The goroutine ends with the process.
func exitAfter(end *atomic.Int64) {
	for {
		left := time.Duration(end.Load()) - used()
		if left <= 0 {
			os.Exit(exitCPU)
		}
		time.Sleep(max(left, time.Second))
	}
}

// used is the processor time of this process, 0 if the kernel does not say.
func used() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
