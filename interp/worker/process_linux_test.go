package worker

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/codeact-dev/codeact/interp/wire"
)

// greet starts a worker and lets it confine itself.
func greet(t *testing.T) (*Process, wire.Hello) {
	t.Helper()
	p, err := Spawn([]string{workerPath})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Kill(); p.Wait() })
	limits, _ := wire.Limits{CPU: time.Second}.WithDefaults()
	if err := p.Conn().Send(wire.Setup{Version: wire.Version, Limits: limits}); err != nil {
		t.Fatal(err)
	}
	var hello wire.Hello
	if err := receive(p.Conn(), &hello); err != nil {
		t.Fatal(err)
	}
	return p, hello
}

func TestAWorkerHoldsNothingOfItsHost(t *testing.T) {
	leak, err := os.Open("/dev/null") // CLOEXEC is cleared below, as a careless library does
	if err != nil {
		t.Fatal(err)
	}
	defer leak.Close()
	if err := clearCloseOnExec(leak); err != nil {
		t.Fatal(err)
	}
	p, hello := greet(t)
	for _, f := range Features() {
		if !slices.Contains(hello.Held, f) {
			t.Errorf("%s is absent: held %q, missed %q", f, hello.Held, hello.Missed)
		}
	}
	proc := fmt.Sprintf("/proc/%d/", p.cmd.Process.Pid)
	limits, err := os.ReadFile(proc + "limits")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Max data size 268435456 268435456", "Max core file size 0 0", "Max file size 0 0", "Max open files 8 8", "Max cpu time 2 "} {
		if !strings.Contains(strings.Join(strings.Fields(string(limits)), " "), want) {
			t.Errorf("no %q in\n%s", want, limits)
		}
	}
	status, err := os.ReadFile(proc + "status")
	for _, want := range []string{"NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000"} {
		if slices.Contains(hello.Held, "namespaces") || !strings.HasPrefix(want, "Cap") {
			if !strings.Contains(string(status), want) {
				t.Errorf("no %q in status %s, %v", want, status, err)
			}
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("the worker is not dumpable: only root sees the rest")
	}
	if env, err := os.ReadFile(proc + "environ"); err != nil || string(env) != "GOMAXPROCS=2\x00GOTRACEBACK=none\x00" {
		t.Errorf("environment %q, %v", env, err)
	}
	if dir, err := os.Readlink(proc + "cwd"); err != nil || dir != "/" {
		t.Errorf("working directory %q, %v", dir, err)
	}
	fds, err := os.ReadDir(proc + "fd")
	if err != nil {
		t.Fatal(err)
	}
	for i, fd := range fds {
		target, err := os.Readlink(proc + "fd/" + fd.Name())
		if i > 3 && !strings.HasPrefix(target, "anon_inode:[event") { // the poller's
			t.Errorf("descriptor %s is %s, %v", fd.Name(), target, err)
		}
	}
}

func TestASystemWithoutNamespacesIsRemembered(t *testing.T) {
	before := noNamespaces.Load()
	defer noNamespaces.Store(before)
	noNamespaces.Store(false)
	refused := attributes()
	refused.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_FS // no kernel grants both
	ours, theirs, err := socketPair()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	defer theirs.Close()
	p := &Process{sock: ours, stderr: &head{}, exited: make(chan struct{})}
	if err := p.start([]string{"/bin/true"}, theirs, []*syscall.SysProcAttr{refused}); err == nil || noNamespaces.Load() {
		t.Fatalf("got %v, remembered %v", err, noNamespaces.Load())
	}
	if _, err = Spawn([]string{"/no/such/program"}); err == nil || noNamespaces.Load() {
		t.Error("a program that is not there says nothing about namespaces")
	}
	noNamespaces.Store(true)
	if n := len(waysToStart()); n != 1 {
		t.Errorf("%d ways", n)
	}
	_, hello := greet(t)
	for _, f := range Features() {
		if !slices.Contains(hello.Held, f) {
			t.Errorf("%s is absent: %q", f, hello.Missed)
		}
	}
	if slices.Contains(hello.Held, "namespaces") || !strings.HasPrefix(strings.Join(hello.Missed, ";"), "namespaces: ") {
		t.Errorf("held %q, missed %q", hello.Held, hello.Missed)
	}
}

func TestTheFirstWayThatStartsIsTaken(t *testing.T) {
	before := noNamespaces.Load()
	defer noNamespaces.Store(before)
	noNamespaces.Store(false)
	refused := attributes()
	refused.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_FS
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	p := &Process{stderr: &head{}}
	if err := p.start([]string{"/bin/true"}, null, []*syscall.SysProcAttr{refused, attributes()}); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil || !noNamespaces.Load() {
		t.Errorf("got %v, remembered %v", err, noNamespaces.Load())
	}
}

func TestTheWorkerEndsItselfAtItsProcessorLimit(t *testing.T) {
	before := noNamespaces.Load()
	defer noNamespaces.Store(before)
	for _, without := range []bool{before, true} {
		noNamespaces.Store(without)
		p, hello := greet(t)
		if without == slices.Contains(hello.Held, "namespaces") {
			t.Errorf("without namespaces %v, held %q", without, hello.Held)
		}
		block := wire.Block{Source: "t = (1,)\nfor i in range(60):\n  t = (t, t)\n{t: 1}"}
		if err := errors.Join(p.Conn().Send(wire.Open{}), p.Conn().Send(block)); err != nil {
			t.Fatal(err)
		}
		<-p.exited // nobody kills it: its host may be gone
		if d := p.Wait(); d.Cause(256<<20) != CauseCPU {
			t.Errorf("without namespaces %v: got %+v", without, d)
		}
		if cpu, ok := p.CPU(); ok {
			t.Errorf("a process that is gone has used %v", cpu)
		}
	}
}

func TestTheKernelCountsTheWorkersTime(t *testing.T) {
	p, _ := greet(t)
	if cpu, ok := p.CPU(); !ok || cpu <= 0 || cpu > time.Minute {
		t.Errorf("got %v, %v", cpu, ok)
	}
}

func TestAnOrderlyEndIsStatusZero(t *testing.T) {
	p, _ := greet(t)
	p.sock.Close()
	if d := p.Wait(); d.Code != 0 || d.Signal != 0 || d.Killed || d.Cause(256<<20) != CauseCrash {
		t.Errorf("got %+v", d)
	}
	p.Kill() // after the end: no effect
	if p.death().Killed {
		t.Error("killed after its end")
	}
}

func TestAKilledWorkerSaysSo(t *testing.T) {
	p, _ := greet(t)
	p.Kill()
	if d := p.Wait(); !d.Killed || d.Cause(1) != CauseKilled {
		t.Errorf("got %+v", d)
	}
}

func TestAWorkerThatIgnoresItsEndIsKilled(t *testing.T) {
	p, err := Spawn([]string{"/bin/sh", "-c", "yes >&2"})
	if err != nil {
		t.Fatal(err)
	}
	if d := p.Wait(); !d.Killed || len(d.Stderr) != maxStderr {
		t.Errorf("killed %v, %d bytes of stderr, want %d", d.Killed, len(d.Stderr), maxStderr)
	}
}

func TestABadFrameEndsTheWorkerWithItsReason(t *testing.T) {
	p, _ := greet(t)
	if err := p.Conn().Send(wire.Hello{}); err != nil {
		t.Fatal(err)
	}
	if d := p.Wait(); d.Code != exitFailed || !strings.Contains(d.Stderr, "got hello, want open") {
		t.Errorf("got %+v", d)
	}
}

func TestSpawnSaysWhyNot(t *testing.T) {
	if _, err := Spawn([]string{"/no/such/program"}); err == nil || !strings.Contains(err.Error(), "worker: start: ") {
		t.Errorf("got %v", err)
	}
}
