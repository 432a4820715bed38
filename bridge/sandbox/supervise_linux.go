package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/codeact-dev/codeact/bridge/sandbox/restrict"
)

// supervise runs the command in a process that confines itself, and ends all that is left of it: when the command ends, and when the
// host closes its end of fdLife, as it does when it dies. What the command started is reparented to this process, whatever it did.
func supervise() error {
	p, err := readPlan()
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	makeThreads() // the command can fill the process table
	first := unix.Getpid() == 1
	if first {
		_ = limitPids(int(p.Limits.Processes)) // the canary sees whether it held
	}
	scoped := p.Scoped && restrict.Signals() == nil && unix.Kill(unix.Getppid(), 0) == unix.EPERM
	command, err := startConfined()
	if err != nil {
		return err
	}
	code := attend(command, first || scoped)
	if p.Home != "" {
		_ = removeAll(p.Home) // the host tries, too, if it lives
	}
	unix.Exit(code)
	return nil
}

// startConfined starts the next process, whose standard streams are the command's, and lets go of what is its.
func startConfined() (pid int, err error) {
	files := []*os.File{os.Stdin, os.Stdout, os.Stderr, os.NewFile(fdPlan, "plan"), os.NewFile(fdStatus, "status")}
	attr := &os.ProcAttr{Files: files, Env: []string{}, Sys: &unix.SysProcAttr{Setsid: true, Pdeathsig: unix.SIGKILL}}
	process, err := os.StartProcess("/proc/self/exe", []string{os.Args[0], marker, roleConfine}, attr)
	for _, f := range files {
		f.Close() // or the streams would not end with the command
	}
	if err != nil {
		return 0, err
	}
	return process.Pid, nil
}

// A death is a child that was reaped.
type death struct {
	pid    int
	status unix.WaitStatus
}

// attend waits for the command, kills what is left, and returns the exit status that tells how the command ended. Everything is killed
// by the goroutine, so by the thread, that called: see killTree.
func attend(command int, all bool) (code int) {
	hostGone, deaths := make(chan struct{}), make(chan death)
	go waitForEnd(hostGone) // both end with this process
	go reap(deaths)
	code, ending := exitBroken, false
	for {
		select {
		case <-hostGone:
			hostGone, ending = nil, true
		case d, ok := <-deaths:
			if !ok {
				return code
			}
			if d.pid == command {
				ending = true
				code = d.status.ExitStatus()
				if d.status.Signaled() {
					code = 128 + int(d.status.Signal())
				}
			}
		}
		if ending {
			killTree(all)
		}
	}
}

// waitForEnd closes gone once nobody holds the other end of fdLife.
func waitForEnd(gone chan struct{}) {
	defer close(gone)
	var b [1]byte
	for {
		n, err := unix.Read(fdLife, b[:])
		if n <= 0 && err != unix.EINTR && err != unix.EAGAIN {
			return
		}
	}
}

// reap closes deaths once there are no children.
func reap(deaths chan death) {
	defer close(deaths)
	for {
		var d death
		var err error
		if d.pid, err = unix.Wait4(-1, &d.status, 0, nil); err == nil {
			deaths <- d
		} else if err != unix.EINTR {
			return
		}
	}
}

// killTree ends all at once where the kernel can, so that nothing can be started meanwhile. Elsewhere it ends the children, and theirs
// when they are reparented: it is called again after each death.
// Preconditions: if all is set, this thread is the first of a pid namespace, or one whose signals are scoped; no other may call.
func killTree(all bool) {
	if all {
		_ = unix.Kill(-1, unix.SIGKILL) // fails only when there is nobody left
		return
	}
	for _, pid := range children(unix.Getpid()) {
		_ = unix.Kill(pid, unix.SIGKILL) // at worst it is reaped already, and its number not yet another's
	}
}

// children are the processes whose parent is this one.
func children(parent int) (pids []int) {
	for _, pid := range processes() {
		if ppid, err := parentOf(pid); err == nil && ppid == parent {
			pids = append(pids, pid)
		}
	}
	return pids
}

// processes lists all that /proc shows.
func processes() (pids []int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what can be read of it
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

var errStat = errors.New("unknown form of /proc/PID/stat")

// stat returns the fields after the program's name, which may hold anything: proc(5) counts them from 3.
func stat(pid int) ([][]byte, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 18 {
		return nil, errStat
	}
	return fields, nil
}

func parentOf(pid int) (int, error) {
	fields, err := stat(pid)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(fields[4-3])) // field 4, ppid
}

// threadsOf counts what RLIMIT_NPROC counts for this user where no namespace has a count of its own.
func threadsOf(uid int) (n uint64) {
	for _, pid := range processes() {
		var st unix.Stat_t
		if err := unix.Stat(fmt.Sprintf("/proc/%d", pid), &st); err != nil || int(st.Uid) != uid {
			continue
		}
		if fields, err := stat(pid); err == nil {
			threads, _ := strconv.ParseUint(string(fields[20-3]), 10, 32) // field 20, num_threads
			n += threads
		}
	}
	return n
}
