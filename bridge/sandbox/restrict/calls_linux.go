package restrict

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/codeact-dev/codeact/interp/kernel"
)

// Calls are the system calls that a command may make. The zero value is for a box of namespaces.
type Calls struct {
	Bare    bool // without namespaces: calls are refused, too, that reach other processes of the user, or past landlock
	Network bool // sockets for the network of this machine; in a box of namespaces, also those that have a path
}

// Apply refuses all others on this thread.
// Preconditions: no_new_privs is set.
func (c Calls) Apply() error {
	if kernel.Known("socketcall") {
		return errors.New("seccomp: sockets cannot be told apart on this architecture")
	}
	return c.filter().RestrictThread()
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
func conditional() []kernel.Rule {
	const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWTIME
	request := func(v uint64) kernel.Condition { return kernel.Condition{Arg: 1, Mask: 1<<32 - 1, Value: v} } // an unsigned int
	return []kernel.Rule{
		refuse("clone", kernel.HasAny(0, namespaces)),
		refuse("ioctl", request(unix.TIOCSTI)),   // types on a terminal
		refuse("ioctl", request(unix.TIOCLINUX)), // pastes on the console
	}
}

// conditionalBare are more, where a box has no namespaces: what reaches the user's other processes.
func conditionalBare() []kernel.Rule {
	list := []kernel.Rule{
		refuse("utimensat", kernel.IsNot(1, 0)), // by name; by descriptor it was opened, so judged
		// 0 is this process, but for groups and users.
		refuse("setpriority", kernel.IsNot(0, unix.PRIO_PROCESS)), refuse("setpriority", kernel.IsNot(1, 0)),
		refuse("ioprio_set", kernel.IsNot(0, ioprioProcess)), refuse("ioprio_set", kernel.IsNot(1, 0)),
	}
	for _, name := range []string{"prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"} {
		list = append(list, refuse(name, kernel.IsNot(0, 0)))
	}
	return list
}

const ioprioProcess = 1 // IOPRIO_WHO_PROCESS: ioprio_set(2)

func refuse(name string, when ...kernel.Condition) kernel.Rule {
	return kernel.Rule{Names: []string{name}, If: when, Action: kernel.Action{Errno: unix.EPERM}}
}

// sockets are the families of which a command may make sockets. Netlink is how a C library lists the interfaces. In a box of namespaces
// others are refused since not all of them belong to one: AF_VSOCK reaches the host of a virtual machine from anywhere, and so does
// AF_UNIX what listens in a directory that is shown: a container engine, an agent for keys. Landlock before version 9 lets each be connected.
func (c Calls) sockets() []uint64 {
	switch {
	case c.local():
		return []uint64{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
	case !c.Bare || c.Network:
		return []uint64{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
	}
	return nil
}

// local says whether a command may reach the sockets of this machine that have a path.
func (c Calls) local() bool { return !c.Bare && c.Network }

// socketRules refuse all other families, and the pairs that lead out: a datagram can be sent from one of a pair to any address. One of a
// pair of streams stays connected to the other.
func (c Calls) socketRules() []kernel.Rule {
	const kind = 0xf // SOCK_TYPE_MASK of the kernel's net.h; the other bits are flags
	deny := func(name string, when ...kernel.Condition) kernel.Rule {
		return kernel.Rule{Names: []string{name}, If: when, Action: kernel.Action{Errno: unix.EACCES}}
	}
	var other []kernel.Condition
	for _, f := range c.sockets() {
		other = append(other, kernel.IsNot(0, f))
	}
	rules := []kernel.Rule{deny("socket", other...), deny("socketpair", kernel.IsNot(0, unix.AF_UNIX))}
	if !c.local() {
		rules = append(rules, deny("socketpair", kernel.Condition{Arg: 1, Mask: kind, Value: unix.SOCK_STREAM, Not: true},
			kernel.Condition{Arg: 1, Mask: kind, Value: unix.SOCK_SEQPACKET, Not: true}))
	}
	return rules
}

// filter is the whole list. What this architecture does not have is left out.
func (c Calls) filter() kernel.Filter {
	names, rules := slices.Clone(refused), conditional()
	if c.Bare {
		names, rules = append(names, refusedBare...), append(rules, conditionalBare()...)
	}
	rules = append(rules, c.socketRules()...)
	names = slices.DeleteFunc(names, func(n string) bool { return !kernel.Known(n) })
	return kernel.Filter{Default: kernel.Action{Allow: true}, Rules: append([]kernel.Rule{
		{Names: names, Action: kernel.Action{Errno: unix.EPERM}},
		// The flags of clone3 are in memory, where no filter can see them. Without it, clone is used.
		{Names: []string{"clone3"}, Action: kernel.Action{Errno: unix.ENOSYS}},
	}, rules...)}
}
