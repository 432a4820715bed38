package worker

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"

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
	case "seccomp":
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return err.Error()
		}
		if err := filterCalls(); err != nil {
			return err.Error()
		}

		for range 1000 { // what is allowed stays possible
			_ = unix.Getpid()
		}
		unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	}
	return "still there"
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
	abi, err := landlockABI()
	if err != nil {
		t.Skip(err)
	}
	if out != fmt.Sprintf("landlock %d:", abi) {
		t.Errorf("got %q", out)
	}
}

func TestAForbiddenCallIsDeath(t *testing.T) {
	out, state := confined(t, "seccomp")
	if out != "" || !strings.Contains(state.String(), "bad system call") {
		t.Errorf("got %q, %v", out, state)
	}
}

func TestAnOlderKernelIsAskedForNoMoreThanItKnows(t *testing.T) {
	var last unix.LandlockRulesetAttr
	for abi := 1; abi <= 11; abi++ {
		now := rights(abi)
		if now.Handled_access_fs&last.Handled_access_fs != last.Handled_access_fs ||
			now.Handled_access_net&last.Handled_access_net != last.Handled_access_net || now.Scoped&last.Scoped != last.Scoped {
			t.Errorf("version %d refuses less than the one before", abi)
		}
		last = now
	}
	if one := rights(1); one.Handled_access_fs != 1<<13-1 || one.Handled_access_net != 0 || one.Scoped != 0 {
		t.Errorf("version 1: %+v", one)
	}
	if six := rights(6); six.Handled_access_fs != 1<<16-1 || six.Handled_access_net != 3 || six.Scoped != 3 {
		t.Errorf("version 6: %+v", six)
	}
}

func TestEveryFilteredCallHasItsNumberOnEverySystem(t *testing.T) {
	for _, name := range []string{"x86_64", "aarch64"} {
		info, err := arch.GetInfo(name)
		if err != nil {
			t.Fatal(err)
		}
		calls := append(slices.Clone(allowed), "clone3", "prctl")
		for _, c := range conditional() {
			calls = append(calls, c.Name)
		}
		for _, call := range calls {
			if _, ok := info.SyscallNames[call]; !ok {
				t.Errorf("%s has no %s", name, call)
			}
		}
	}
	for i, name := range allowed {
		if slices.Contains(allowed[i+1:], name) {
			t.Errorf("%s stands twice", name)
		}
	}
	for _, name := range []string{"openat", "socket", "connect", "execve", "ptrace", "kill", "io_uring_setup", "bpf", "mount"} {
		if slices.Contains(allowed, name) {
			t.Errorf("%s is allowed", name)
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
