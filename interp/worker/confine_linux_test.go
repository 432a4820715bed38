package worker

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"

	"github.com/codeact-dev/codeact/interp/kernel"
	"github.com/codeact-dev/codeact/interp/wire"
)

// confinedEnv makes this test program confine itself by one feature and then try what it forbids.
const confinedEnv = "CODEACT_TEST_CONFINED_BY"

func init() {
	if feature := os.Getenv(confinedEnv); feature != "" {
		fmt.Println(tryConfinedBy(feature))
		os.Exit(0)
	}
}

func tryConfinedBy(feature string) string {
	switch feature {
	case "landlock":
		if err := rebirth(); err != nil {
			return err.Error()
		}
		abi, err := landlock()
		if err != nil {
			return err.Error()
		}
		var threads sync.Map
		var wg sync.WaitGroup
		for range 50 { // threads from before and after
			wg.Go(func() {
				if f, err := os.Open("/dev/null"); err == nil {
					f.Close()
					threads.Store(unix.Gettid(), true)
				} else if !errors.Is(err, unix.EACCES) {
					threads.Store(err.Error(), true)
				}
			})
		}
		wg.Wait()
		out := fmt.Sprintf("landlock %d:", abi)
		for k := range threads.Range {
			out += fmt.Sprint(" ", k)
		}
		return out
	case "foreign", "x32", "argument", "upper":
		return tryCall(feature)
	case "seccomp":
		if err := filtered(); err != nil {
			return err.Error()
		}
		for range 1000 { // what is allowed stays possible
			_ = unix.Getpid()
		}
		unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	}
	return "still there"
}

// tryCall makes a call that a filter could take for another.
func tryCall(which string) string {
	foreign, err := call32()
	if err != nil {
		return err.Error()
	}
	calls := map[string]func(){
		"foreign": foreign,
		"x32":     func() { unix.RawSyscall(0x40000000|unix.SYS_GETPID, 0, 0, 0) },
		// Its third argument is the number of prctl, and has the bit of PROT_EXEC.
		"argument": func() { unix.RawSyscall6(unix.SYS_MMAP, 0, 4096, unix.SYS_PRCTL, unix.MAP_ANON|unix.MAP_PRIVATE, 0, 0) },
		"upper":    func() { unix.RawSyscall6(unix.SYS_PRLIMIT64, 0, 1<<32|unix.RLIMIT_CPU, 0, 0, 0, 0) },
	}
	if err := filtered(); err != nil {
		return err.Error()
	}
	calls[which]()
	return "still there"
}

func filtered() error {
	runtime.LockOSThread() // no_new_privs is of a thread
	return errors.Join(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), filterCalls())
}

// confined runs this program confined by the feature.
func confined(t *testing.T, feature string) (string, *os.ProcessState) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", Marker)
	cmd.Env = append(os.Environ(), confinedEnv+"="+feature)
	out, err := cmd.Output()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out)), cmd.ProcessState
}

func TestLandlockRefusesFilesOnEveryThread(t *testing.T) {
	out, _ := confined(t, "landlock")
	abi, err := kernel.Landlock()
	if err != nil {
		t.Fatal(err)
	}
	if out != fmt.Sprintf("landlock %d:", abi) {
		t.Errorf("got %q", out)
	}
}

func TestAForbiddenCallIsDeath(t *testing.T) {
	for _, call := range []string{"seccomp", "foreign", "x32", "argument", "upper"} {
		out, state := confined(t, call)
		if out != "" || !strings.Contains(state.String(), "bad system call") {
			t.Errorf("%s: got %q, %v", call, out, state)
		}
	}
}

func TestNothingThatReachesOutIsAllowed(t *testing.T) {
	for _, rule := range filter(1).Rules {
		for _, name := range rule.Names {
			if slices.Contains([]string{"openat", "socket", "connect", "execve", "ptrace", "kill", "io_uring_setup", "bpf", "mount"}, name) {
				t.Errorf("%s is allowed", name)
			}
		}
	}
	for i, name := range allowed {
		if slices.Contains(allowed[i+1:], name) {
			t.Errorf("%s stands twice", name)
		}
	}
}

func TestEveryFilteredCallHasItsNumberOnEverySystem(t *testing.T) {
	for _, name := range []string{"x86_64", "aarch64"} {
		info, err := arch.GetInfo(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range filter(1).Rules {
			for _, call := range rule.Names {
				if _, ok := info.SyscallNames[call]; !ok {
					t.Errorf("%s has no %s", name, call)
				}
			}
		}
	}
}

func TestACanaryThatIsNotStoppedSaysSo(t *testing.T) {
	limits, _ := wire.Limits{}.WithDefaults()
	limits.Memory = 32 << 20 // what this process may take without harm
	for _, name := range Canaries() {
		if d := tryForbidden(name, limits); d.Fault != nil {
			t.Errorf("%s: %+v", name, d.Fault)
		}
	}
	if d := tryForbidden("sing", limits); d.Fault == nil || !strings.Contains(d.Fault.Msg, `no canary "sing"`) {
		t.Errorf("got %+v", d)
	}
}
