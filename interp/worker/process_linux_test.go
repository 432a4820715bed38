package worker

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

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
	limits, _ := wire.Limits{}.WithDefaults()
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
	if !slices.Equal(hello.Held, Features()) || hello.Missed != nil {
		t.Errorf("held %q, missed %q, want %q", hello.Held, hello.Missed, Features())
	}
	proc := fmt.Sprintf("/proc/%d/", p.cmd.Process.Pid)
	limits, err := os.ReadFile(proc + "limits")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Max data size 268435456 268435456", "Max core file size 0 0", "Max file size 0 0", "Max open files 8 8", "Max cpu time 6 "} {
		if !strings.Contains(strings.Join(strings.Fields(string(limits)), " "), want) {
			t.Errorf("no %q in\n%s", want, limits)
		}
	}
	status, err := os.ReadFile(proc + "status")
	if err != nil || !strings.Contains(string(status), "NoNewPrivs:\t1") {
		t.Errorf("no NoNewPrivs in status: %v", err)
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
	if err != nil || len(fds) != 4 {
		t.Errorf("descriptors %v, %v: want 0 to 3", fds, err)
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
