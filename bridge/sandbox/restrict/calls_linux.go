package restrict

import (
	"fmt"
	"slices"
	"unsafe"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Calls are the system calls that a command may make. The zero value is for a box of namespaces.
type Calls struct {
	Bare    bool // without namespaces: calls are refused, too, that reach other processes of the user, or past landlock
	Network bool // without namespaces: sockets for the network of this machine
}

// Apply refuses all others on this thread.
// Preconditions: no_new_privs is set.
func (c Calls) Apply() error {
	program, err := c.program()
	if err != nil {
		return err
	}
	return install(program)
}

// refused are the calls that no command needs and that reach past a box, or deep into the kernel. The list began with what Docker
// refuses by default (docs.docker.com/engine/security/seccomp) for a container without capabilities, and adds what its namespaces and
// io_uring allow.
var refused = []string{
	"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd", "kcmp", // other processes
	"mount", "umount2", "pivot_root", "chroot", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "open_tree", "open_tree_attr",
	"mount_setattr", "open_by_handle_at", "name_to_handle_at", "fanotify_init", "quotactl", "quotactl_fd", "swapon", "swapoff", "acct",
	"unshare", "setns", // new namespaces bring back the powers that this one took
	"bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register",
	"keyctl", "add_key", "request_key", // keys are of the user, not of the box
	"kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "create_module", "reboot",
	"settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "sethostname", "setdomainname", "syslog", "vhangup",
	"iopl", "ioperm", "modify_ldt", "lookup_dcookie", "nfsservctl", "uselib", "ustat", "sysfs", "_sysctl",
	"migrate_pages", "move_pages", "mbind", "set_mempolicy",
}

// refusedBare are more, where a box has no namespaces: what landlock does not govern. It lets a process change the mode, the owner and
// the attributes of every file that it can name, and share memory and queues with all of its user's processes.
var refusedBare = []string{
	"chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "utime", "utimes", "futimesat",
	"setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr", "removexattrat", "file_setattr",
	"shmget", "shmat", "shmctl", "shmdt", "semget", "semop", "semtimedop", "semctl", "msgget", "msgsnd", "msgrcv", "msgctl",
	"mq_open", "mq_unlink",
}

// conditional are refused with some arguments only.
func conditional() []seccomp.NameWithConditions {
	const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWTIME
	return []seccomp.NameWithConditions{
		{Name: "clone", Conditions: []seccomp.Condition{{Argument: 0, Operation: seccomp.BitsSet, Value: namespaces}}},
		{Name: "ioctl", Conditions: equal32(1, unix.TIOCSTI)},   // types on a terminal
		{Name: "ioctl", Conditions: equal32(1, unix.TIOCLINUX)}, // pastes on the console
	}
}

// conditionalBare are more, where a box has no namespaces: what reaches the user's other processes.
func conditionalBare() []seccomp.NameWithConditions {
	other := func(arg uint32) []seccomp.Condition {
		return []seccomp.Condition{{Argument: arg, Operation: seccomp.NotEqual, Value: 0}}
	}
	kinds := map[string][]seccomp.Condition{
		"setpriority": {{Argument: 0, Operation: seccomp.NotEqual, Value: unix.PRIO_PROCESS}},
		"ioprio_set":  {{Argument: 0, Operation: seccomp.NotEqual, Value: 1}}, // IOPRIO_WHO_PROCESS
	}
	list := []seccomp.NameWithConditions{{Name: "utimensat", Conditions: other(1)}} // by name; by descriptor it was opened, so judged
	for _, name := range []string{"prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"} {
		list = append(list, seccomp.NameWithConditions{Name: name, Conditions: other(0)})
	}
	for _, name := range []string{"setpriority", "ioprio_set"} {
		list = append(list, seccomp.NameWithConditions{Name: name, Conditions: other(1)},
			seccomp.NameWithConditions{Name: name, Conditions: kinds[name]}) // 0 is this process, but for groups and users
	}
	return list
}

// equal32 matches an argument of 32 bits. The kernel drops the upper half of the register, so a comparison of all 64 bits would let
// the same number through with a bit set there (CVE-2019-10063).
func equal32(arg, v uint32) []seccomp.Condition {
	conditions := []seccomp.Condition{{Argument: arg, Operation: seccomp.BitsNotSet, Value: uint64(^v)}}
	for bit := range uint32(32) {
		if v&(1<<bit) != 0 {
			conditions = append(conditions, seccomp.Condition{Argument: arg, Operation: seccomp.BitsSet, Value: 1 << bit})
		}
	}
	return conditions
}

// sockets are the families of which a command may make sockets. Netlink is how a C library lists the interfaces. In a box of namespaces
// others are refused since not all of them belong to one: AF_VSOCK reaches the host of a virtual machine from anywhere.
func (c Calls) sockets() []uint64 {
	switch {
	case !c.Bare:
		return []uint64{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
	case c.Network:
		return []uint64{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
	}
	return nil // without AF_UNIX, too: landlock before version 9 lets every socket with a path be connected, a container engine's
}

// socketRule refuses all families but these. Of socketpair's, none leads out.
func socketRule(families []uint64) seccomp.NameWithConditions {
	rule := seccomp.NameWithConditions{Name: "socket"}
	for _, f := range families {
		rule.Conditions = append(rule.Conditions, seccomp.Condition{Argument: 0, Operation: seccomp.NotEqual, Value: f})
	}
	if len(families) == 0 { // something that always holds
		rule.Conditions = []seccomp.Condition{{Argument: 0, Operation: seccomp.GreaterOrEqual, Value: 0}}
	}
	return rule
}

// program compiles the list.
func (c Calls) program() ([]bpf.RawInstruction, error) {
	info, err := arch.GetInfo("")
	if err != nil {
		return nil, err
	}
	names, rules := slices.Clone(refused), conditional()
	if c.Bare {
		names, rules = append(names, refusedBare...), append(rules, conditionalBare()...)
	}
	known := func(name string) bool { _, ok := info.SyscallNames[name]; return ok }
	names = slices.DeleteFunc(names, func(n string) bool { return !known(n) }) // what this architecture does not have
	errno := func(e unix.Errno) seccomp.Action { return seccomp.ActionErrno | seccomp.Action(e) }
	policy := seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: []seccomp.SyscallGroup{
		{Action: errno(unix.EPERM), Names: names, NamesWithCondtions: rules},
		{Action: errno(unix.EACCES), NamesWithCondtions: []seccomp.NameWithConditions{socketRule(c.sockets())}},
		{Action: errno(unix.ENOSYS), Names: []string{"clone3"}}, // its flags are in memory, where no filter can see them; clone is used then
	}}
	if known("socketcall") {
		return nil, fmt.Errorf("seccomp: %s: sockets cannot be told apart here", info.Name)
	}
	program, err := policy.Assemble()
	if err != nil {
		return nil, err
	}
	// The library lets every call of a foreign architecture through, so those of 32-bit programs.
	guard := []bpf.Instruction{
		bpf.LoadAbsolute{Off: 4, Size: 4}, // seccomp_data.arch
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(info.ID), SkipTrue: 1},
		bpf.RetConstant{Val: uint32(seccomp.ActionKillProcess)},
	}
	return bpf.Assemble(append(guard, program...))
}

func install(program []bpf.RawInstruction) error {
	fprog := unix.SockFprog{Len: uint16(len(program)), Filter: (*unix.SockFilter)(unsafe.Pointer(&program[0]))}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&fprog)))
	return nonzero(errno)
}

// nonzero is errno as an error, nil if it is none.
func nonzero(errno unix.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}
