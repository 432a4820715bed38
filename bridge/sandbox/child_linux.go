package sandbox

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// marker is the first argument of a process of this program that is part of a box; its role follows.
const marker = "codeact-sandbox"

const (
	roleLimited   = "limited"   // first of a pid namespace: limits its processes, and becomes bubblewrap
	roleSupervise = "supervise" // runs a confined process, and sees that none is left of it
	roleConfine   = "confine"   // confines itself, and becomes the command
	roleLaunch    = "launch"    // starts the next and ends, so that the command is not its parent
	roleForward   = "forward"   // passes connections on loopback to the host's proxy
	roleCanary    = "canary"    // is the command, when the box is tried
)

// reachable says that MaybeChild was called. Without it, this program started again would not be part of a box but all of itself.
var reachable atomic.Bool

// exitBroken is the exit status of a process that could not do its part. Its reason is in the status or on standard error.
const exitBroken = 125

// MaybeChild runs a process that is part of a box and does not return from it; in all others it does nothing. It is to be called first
// in main, and in TestMain.
func MaybeChild() {
	if len(os.Args) < 3 || os.Args[1] != marker {
		reachable.Store(true)
		return
	}
	roles := map[string]func() error{roleLimited: limited, roleSupervise: supervise, roleConfine: confine, roleLaunch: launch,
		roleForward: forward, roleCanary: canary}
	role, ok := roles[os.Args[2]]
	if !ok {
		os.Exit(exitBroken)
	}
	runtime.LockOSThread() // what a process does to itself here, it does to this thread: the one that starts what comes next
	if err := role(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %s: %v\n", marker, os.Args[2], err)
		unix.Exit(exitBroken)
	}
	unix.Exit(0) // and not os.Exit: under the race detector that sleeps for a second, each time
}

// limited bounds the number of processes in its new pid namespace, and becomes the program that the arguments name. The kernel does not
// hold root to RLIMIT_NPROC.
func limited() error {
	if len(os.Args) < 5 {
		return errors.New("want a limit and a program")
	}
	n, err := strconv.Atoi(os.Args[3])
	if err != nil {
		return err
	}
	_ = limitPids(n) // the canary sees whether it held
	return unix.Exec(os.Args[4], os.Args[4:], os.Environ())
}

// reservedPids are the numbers that the kernel gives out once, and after that only above them; so a limit is up to so much more.
const reservedPids = 300

// limitPids bounds the processes of this process's pid namespace.
func limitPids(n int) error {
	if unix.Getpid() != 1 {
		return errors.New("not in a pid namespace of its own")
	}
	if !pidMaxIsOwn() {
		return errors.New("before Linux 6.14 this limit would be the whole machine's")
	}
	return os.WriteFile("/proc/sys/kernel/pid_max", []byte(strconv.Itoa(n+reservedPids)), 0)
}

// pidMaxIsOwn says whether pid_max is of a pid namespace.
func pidMaxIsOwn() bool {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return false
	}
	var major, minor int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &major, &minor); err != nil {
		return false
	}
	return major > 6 || major == 6 && minor >= 14
}

// confine does what the plan says to this process, and becomes the command. It returns only if it cannot even say why it failed:
// standard error is the command's.
func confine() error {
	p, err := readPlan()
	if err == nil {
		err = p.apply()
	}
	if err != nil {
		return tell(string(statusFailed) + err.Error())
	}
	if err := tell(string(statusReady)); err != nil {
		return err
	}
	path := p.Argv[0]
	if !strings.ContainsRune(path, '/') {
		path, err = exec.LookPath(path) // here, since it is what the box shows that counts
	}
	if err == nil {
		err = unix.Exec(path, p.Argv, p.Env)
	}
	var lookup *exec.Error
	if errors.As(err, &lookup) {
		err = lookup.Err
	}
	return tell(err.Error())
}

// tell writes to the host what is not to be seen by the command. Nothing is left to do then but to end.
func tell(text string) error {
	_, err := unix.Write(fdStatus, []byte(text))
	return err
}

// apply does to this process all that the plan says, in this order: each step may need what the next ones take.
func (p plan) apply() error {
	if len(p.Argv) == 0 {
		return errors.New("no command")
	}
	if err := unix.CloseRange(fdPlan, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close what was inherited: %w", err)
	}
	os.Clearenv()
	for _, e := range p.Env {
		name, value, _ := strings.Cut(e, "=")
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	steps := []func() error{
		func() error { return startForwarder(p.Proxy) },
		func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) },
		func() error { return os.Chdir(p.Dir) },
		p.Limits.set,
		p.restrictFiles,
		func() error { return dropCapabilities(p.Calls != nil) },
		p.restrictCalls,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (p plan) restrictFiles() error {
	if p.Files == nil {
		return nil
	}
	return p.Files.Apply()
}

func (p plan) restrictCalls() error {
	if p.Calls == nil {
		return nil
	}
	return p.Calls.Apply()
}

// dropCapabilities takes root's powers away for good: the bounding set is empty, so that no program brings them back.
func dropCapabilities(wanted bool) error {
	if !wanted {
		return nil
	}
	for c := 0; c <= unix.CAP_LAST_CAP; c++ {
		have, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, uintptr(c), 0, 0, 0)
		if err == nil && have == 1 {
			if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err != nil && err != unix.EPERM {
				return fmt.Errorf("drop capability %d: %w", c, err)
			}
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}
