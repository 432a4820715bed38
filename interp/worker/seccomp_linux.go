package worker

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/codeact-dev/codeact/interp/kernel"
)

// allowed is what the Go runtime, and the C library where one is linked, needs to compute and to talk over open
// descriptors. None of it opens, names or reaches anything; every other call kills the process.
var allowed = []string{
	"read", "write", "close",
	"munmap", "madvise", "brk",
	"futex", "nanosleep", "clock_nanosleep", "clock_gettime", "gettimeofday", "sched_yield", "sched_getaffinity",
	"epoll_pwait", "restart_syscall",
	"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "gettid", "getpid",
	"rseq", "set_robust_list", "getrandom", "getrusage", "exit", "exit_group",
}

// filter allows more with some arguments only. What it does not name kills the process.
func filter(pid int) kernel.Filter {
	allow, noCode := kernel.Action{Allow: true}, kernel.HasNone(2, unix.PROT_EXEC)
	return kernel.Filter{Rules: []kernel.Rule{
		{Names: allowed, Action: allow},
		{Names: []string{"mmap", "mprotect"}, If: []kernel.Condition{noCode}, Action: allow},
		{Names: []string{"clone"}, If: []kernel.Condition{kernel.HasAny(0, unix.CLONE_THREAD)}, Action: allow},
		{Names: []string{"tgkill"}, If: []kernel.Condition{kernel.Is(0, uint64(pid))}, Action: allow}, // preemption signals its own threads
		{Names: []string{"prlimit64"}, If: []kernel.Condition{kernel.Is(0, 0), kernel.Is(1, unix.RLIMIT_CPU)}, Action: allow},
		// These have a fallback in the runtime or the C library, which only this error leads to.
		{Names: []string{"clone3", "prctl"}, Action: kernel.Action{Errno: unix.ENOSYS}},
	}}
}

// filterCalls kills the process at the first system call that is not allowed, on every thread.
// Preconditions: no_new_privs is set.
func filterCalls() error {
	time.Sleep(time.Microsecond) // starts the Go poller, whose first calls the filter would kill
	return filter(unix.Getpid()).RestrictProcess()
}
