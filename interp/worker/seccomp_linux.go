package worker

import (
	"time"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"golang.org/x/sys/unix"
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

// conditional is what is allowed with these arguments only.
func conditional() []seccomp.NameWithConditions {
	is := func(arg uint32, v uint64) seccomp.Condition {
		return seccomp.Condition{Argument: arg, Operation: seccomp.Equal, Value: v}
	}
	noCode := []seccomp.Condition{{Argument: 2, Operation: seccomp.BitsNotSet, Value: unix.PROT_EXEC}}
	return []seccomp.NameWithConditions{
		{Name: "mmap", Conditions: noCode},
		{Name: "mprotect", Conditions: noCode},
		{Name: "clone", Conditions: []seccomp.Condition{{Argument: 0, Operation: seccomp.BitsSet, Value: unix.CLONE_THREAD}}},
		{Name: "tgkill", Conditions: []seccomp.Condition{is(0, uint64(unix.Getpid()))}}, // preemption signals its own threads
		{Name: "prlimit64", Conditions: []seccomp.Condition{is(0, 0), is(1, unix.RLIMIT_CPU)}},
	}
}

// filterCalls kills the process at the first system call that is not allowed, on every thread.
func filterCalls() error {
	time.Sleep(time.Microsecond) // starts the Go poller, whose first calls the filter would kill
	policy := seccomp.Policy{DefaultAction: seccomp.ActionKillProcess, Syscalls: []seccomp.SyscallGroup{
		{Action: seccomp.ActionAllow, Names: allowed, NamesWithCondtions: conditional()},
		// These have a fallback in the runtime or the C library, which only this error leads to.
		{Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS), Names: []string{"clone3", "prctl"}},
	}}
	return seccomp.LoadFilter(seccomp.Filter{NoNewPrivs: true, Flag: seccomp.FilterFlagTSync, Policy: policy})
}
