package kernel

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// restrictedEnv makes this test program restrict itself and say what came of it.
const restrictedEnv = "CODEACT_TEST_RESTRICTED_BY"

func TestMain(m *testing.M) {
	if how := os.Getenv(restrictedEnv); how != "" {
		runtime.LockOSThread() // no_new_privs is of a thread
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			fmt.Println(err)
			unix.Exit(1)
		}
		fmt.Println(restrictions[how]())
		unix.Exit(0) // os.Exit would want to write a profile of coverage, which the restriction forbids
	}
	os.Exit(m.Run())
}

var noUname = Filter{Default: Action{Allow: true}, Rules: []Rule{{Names: []string{"uname"}, Action: Action{Errno: unix.EDOM}}}}

var restrictions = map[string]func() string{
	"thread": func() string {
		other := another()
		err := noUname.RestrictThread()
		return fmt.Sprint(err, " ", unix.Uname(&unix.Utsname{}), " ", other(func() error { return unix.Uname(&unix.Utsname{}) }))
	},
	"process": func() string {
		other := another()
		err := noUname.RestrictProcess()
		return fmt.Sprint(err, " ", unix.Uname(&unix.Utsname{}), " ", other(func() error { return unix.Uname(&unix.Utsname{}) }))
	},
	"process with a filter on one thread": func() string {
		other := another()
		first := other(func() error {
			if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
				return err
			}
			return Filter{Default: Action{Allow: true}}.RestrictThread()
		})
		return fmt.Sprint(first, " ", noUname.RestrictProcess(), " ", unix.Uname(&unix.Utsname{}))
	},
	"files": func() string {
		err := Ruleset{Allow: []Access{{"/dev", Read}, {"/dev/null", Write}, {"/not there", Write}}}.RestrictThread()
		return fmt.Sprint(err, " ", try("/dev/zero", os.O_RDONLY), " ", try("/dev/null", os.O_WRONLY), " ", try("/dev/zero", os.O_WRONLY), " ", try("/etc/passwd", os.O_RDONLY))
	},
	"files of every thread": func() string {
		other := another()
		err := Ruleset{}.RestrictProcess()
		read := func() error { return try("/dev/null", os.O_RDONLY) }
		return fmt.Sprint(err, " ", read(), " ", other(read))
	},
	"network":        func() string { return dial(Ruleset{}) },
	"network, given": func() string { return dial(Ruleset{Network: true}) },
	"signals": func() string {
		err := RestrictSignals()
		return fmt.Sprint(err, " ", unix.Kill(os.Getppid(), 0), " ", try("/dev/null", os.O_WRONLY))
	},
}

// dial restricts this thread, and then connects to itself by TCP.
func dial(r Ruleset) string {
	var ends [2]int // without package net, which brings C code
	for i := range ends {
		var err error
		if ends[i], err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
			return err.Error()
		}
	}
	err := errors.Join(unix.Bind(ends[0], &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(ends[0], 1))
	address, errName := unix.Getsockname(ends[0])
	if err := errors.Join(err, errName); err != nil {
		return err.Error()
	}
	err = r.RestrictThread()
	return fmt.Sprint(err, " ", unix.Connect(ends[1], address))
}

// try opens a file.
func try(path string, flag int) error {
	fd, err := unix.Open(path, flag|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// another returns a function that runs others on a thread that is there already. It ends with the process.
func another() func(func() error) error {
	work, done, ready := make(chan func() error), make(chan error), make(chan bool)
	go func() {
		runtime.LockOSThread()
		ready <- true
		for f := range work {
			done <- f()
		}
	}()
	<-ready
	return func(f func() error) error { work <- f; return <-done }
}

func TestWhatIsRestricted(t *testing.T) {
	const domain, access, kill = "numerical argument out of domain", "permission denied", "operation not permitted"
	everyThread := "<nil> " + access + " " + access
	if !ReachesThreads() { // a test with the race detector has C code
		everyThread = "landlock: " + strings.ReplaceAll(errCgo.Error(), "8", "N") + " <nil> <nil>"
	}
	for how, want := range map[string]string{
		"thread":                              "<nil> " + domain + " <nil>",
		"process":                             "<nil> " + domain + " " + domain,
		"process with a filter on one thread": "<nil> seccomp: thread N has a filter of its own <nil>",
		"files":                               "<nil> <nil> <nil> " + access + " " + access,
		"files of every thread":               everyThread,
		"network":                             "<nil> " + access,
		"network, given":                      "<nil> <nil>",
		"signals":                             "<nil> " + kill + " <nil>",
	} {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), restrictedEnv+"="+how)
		out, err := cmd.CombinedOutput()
		words := strings.Fields(string(out))
		for i, w := range words {
			if strings.Trim(w, "0123456789") == "" {
				words[i] = "N"
			}
		}
		if got := strings.Join(words, " "); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", how, got, err, want)
		}
	}
}

func TestAnOlderKernelIsAskedForNoMoreThanItKnows(t *testing.T) {
	var last unix.LandlockRulesetAttr
	for version := 1; version <= 11; version++ {
		now := rights(version)
		if now.Handled_access_fs&last.Handled_access_fs != last.Handled_access_fs ||
			now.Handled_access_net&last.Handled_access_net != last.Handled_access_net || now.Scoped&last.Scoped != last.Scoped {
			t.Errorf("version %d refuses less than the one before", version)
		}
		last = now
	}
	if one := rights(1); one.Handled_access_fs != 1<<13-1 || one.Handled_access_net != 0 || one.Scoped != 0 {
		t.Errorf("version 1: %+v", one)
	}
	if three := rights(Truncates); three.Handled_access_fs != 1<<15-1 {
		t.Errorf("version 3: %+v", three)
	}
	if six := rights(Scopes); six.Handled_access_fs != 1<<16-1 || six.Handled_access_net != 3 || six.Scoped != 3 {
		t.Errorf("version 6: %+v", six)
	}
}
