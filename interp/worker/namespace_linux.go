package worker

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// nobody is the worker's user inside its namespace. It is not 0, so that exec leaves it no capability even there.
const nobody = 65534

// isolated are attributes with namespaces of every kind that hides something of the host: an empty network, no other
// processes to signal, no shared memory. The user namespace is what lets an unprivileged host make the others.
func isolated() *syscall.SysProcAttr {
	attr := attributes()
	attr.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNET | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWNS
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Geteuid(), Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Getegid(), Size: 1}}
	return attr
}

// CPU is the processor time that the process has used, as the kernel counts it: the worker cannot move it.
func (p *Process) CPU() (time.Duration, bool) {
	const cpuClock = 2 // the kernel's CPUCLOCK_SCHED, of a process and not of a thread
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^p.cmd.Process.Pid<<3|cpuClock), &t); err != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}
