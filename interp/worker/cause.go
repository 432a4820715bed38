package worker

import "strings"

// Cause is why a worker process ended.
type Cause uint8

// The zero Cause is the one that explains nothing away.
const (
	CauseCrash   Cause = iota // none of the below
	CauseKilled               // by the host
	CauseCPU                  // processor time limit
	CauseMemory               // memory limit or stack limit
	CauseSandbox              // a forbidden system call
)

// Signal numbers, the same on every system that has workers; SIGSYS differs and stands in process_unix.go.
const (
	sigABRT = 6
	sigKILL = 9
	sigSEGV = 11
	sigXCPU = 24
)

// Death is how a worker process ended, as the host saw it. All but Stderr comes from the kernel.
type Death struct {
	Killed  bool   // the host sent SIGKILL
	Signal  int    // the signal that ended it, 0 if it exited
	BadCall bool   // the signal was SIGSYS
	Code    int    // exit status, if Signal is 0
	MaxRSS  int64  // bytes; includes what the host held when it forked, so it may be too high
	Stderr  string // the worker's own words, at most 8 KiB
}

// Cause reads the wait status, and the worker's words only to tell apart deaths with Go's exit status 2.
func (d Death) Cause(memory int64) Cause {
	nearLimit := d.MaxRSS >= mostOf(memory)
	switch {
	case d.Killed:
		return CauseKilled
	case d.BadCall:
		return CauseSandbox
	case d.Signal == sigXCPU, d.Signal == 0 && d.Code == exitCPU:
		return CauseCPU
	case d.Signal == sigKILL || d.Signal == sigSEGV || d.Signal == sigABRT:
		if nearLimit { // SIGKILL that is not ours: the kernel ran out of memory
			return CauseMemory
		}
	case d.Signal == 0 && d.Code == exitRuntime:
		return d.runtimeCause(nearLimit)
	}
	return CauseCrash
}

// mostOf is three quarters of the memory limit: from there on the collector works
// harder, and a death is taken to be for want of memory.
func mostOf(memory int64) int64 { return memory / 4 * 3 }

// runtimeCause tells apart what the Go runtime ends with status 2.
func (d Death) runtimeCause(nearLimit bool) Cause {
	switch {
	case containsAny(d.Stderr, "out of memory", "cannot allocate", "stack exceeds", "failed to create new OS thread", "stack overflow"):
		return CauseMemory
	case strings.Contains(d.Stderr, "SIGSEGV") && strings.Contains(d.Stderr, "goroutine 0 "):
		// The collector runs on goroutine 0 and faults when RLIMIT_DATA refuses it memory. A script cannot make Go code
		// without unsafe fault there otherwise, and the memory was never touched, so that MaxRSS does not show it.
		return CauseMemory
	case nearLimit && containsAny(d.Stderr, "SIGSEGV", "unexpected signal", "SIGABRT"):
		return CauseMemory
	}
	return CauseCrash
}

func containsAny(s string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}
