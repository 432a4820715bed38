package interp

import (
	"bytes"
	"context"
	"errors"
	osexec "os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/codeact-dev/codeact/interp/wire"
	"github.com/codeact-dev/codeact/interp/worker"
)

func TestNewReturnsEveryFault(t *testing.T) {
	_, err := New(Config{Limits: Limits{Source: -1, CPU: time.Hour, Memory: 1}})
	for _, want := range []string{"Source is -1", "CPU is 1h0m0s, want 1ms to 1m0s", "Memory is 1,", "call interp.MaybeWorker first thing in main"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if _, err := New(Config{Worker: []string{""}}); err == nil || !strings.Contains(err.Error(), "command is empty") {
		t.Errorf("got %v", err)
	}
}

func TestMaybeWorkerReturnsInAHost(t *testing.T) {
	defer maybeWorkerCalled.Store(false)
	MaybeWorker()
	in, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" && in.cfg.Worker[0] != "/proc/self/exe" {
		t.Errorf("worker %q", in.cfg.Worker)
	}
}

func TestAMissingFeatureFailsClosed(t *testing.T) {
	in, err := New(Config{Worker: []string{workerPath}, Require: []string{"fds", "moat"}})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := in.Session(t.Context(), nil); !errors.Is(err, ErrSandbox) || !strings.Contains(err.Error(), "moat") {
		t.Errorf("got %v, want ErrSandbox", err)
	}
}

func TestTheSandboxIsReported(t *testing.T) {
	s := open(t, Config{Worker: []string{workerPath}})
	for _, f := range worker.Features() {
		if got := s.Sandbox(); !slices.Contains(got, f) {
			t.Errorf("no %s in %q", f, got)
		}
	}
}

func TestAWorkerThatIsNoneSaysSo(t *testing.T) {
	for _, command := range []string{"/no/such/program", "/bin/true"} {
		in, err := New(Config{Worker: []string{command}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := in.Session(t.Context(), nil); err == nil {
			t.Errorf("%s: a session without a worker", command)
		}
		in.Close()
	}
}

func TestASpareWorkerServesTheNextSession(t *testing.T) {
	in, err := New(Config{Worker: []string{workerPath}})
	if err != nil {
		t.Fatal(err)
	}
	first, err := in.Session(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	spare := in.spare
	second, err := in.Session(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if spare == nil || second.proc != spare || in.spare == spare {
		t.Error("the second session must take the spare worker, and a new one must stand ready")
	}
	second.Close()
	in.Close()
	if _, err := in.Session(t.Context(), nil); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: got %v", err)
	}
	if r := mustExec(t, first, "1"); !r.HasValue {
		t.Error("a session must outlive its Interp")
	}
}

func TestADeadSpareIsReplaced(t *testing.T) {
	in, err := New(Config{Worker: []string{workerPath}})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	in.refill()
	in.spare.Kill()
	in.spare.Wait()
	s, err := in.Session(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

// late is a worker that died after its hello, which still waits in the socket. It takes what is sent to it unless deaf.
type late struct {
	hello bytes.Buffer
	deaf  error
}

func (l *late) Conn() *wire.Conn            { return wire.NewConn(l) }
func (l *late) Read(b []byte) (int, error)  { return l.hello.Read(b) }
func (l *late) Write(b []byte) (int, error) { return len(b), l.deaf }
func (l *late) Kill()                       {}
func (l *late) CPU() (time.Duration, bool)  { return 0, false }
func (l *late) Wait() worker.Death          { return worker.Death{Signal: int(syscall.SIGKILL)} }

// A hello can outlive its sender, and death takes a moment in which the socket is open: neither may cost a session.
func TestADyingSpareIsReplaced(t *testing.T) {
	in, err := New(Config{Worker: []string{workerPath}})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for _, deaf := range []error{nil, syscall.EPIPE} {
		spare := &late{deaf: deaf}
		if err := wire.NewConn(&spare.hello).Send(wire.Hello{Version: wire.Version, Held: worker.Features()}); err != nil {
			t.Fatal(err)
		}
		if in.spare != nil {
			in.spare.Kill()
			in.spare.Wait()
		}
		in.spare = spare
		s, err := in.Session(t.Context(), testTools)
		if err != nil {
			t.Fatal(err)
		}
		if r := mustExec(t, s, "echo(1)"); r.Value != int64(1) || spare.hello.Len() > 0 {
			t.Errorf("got %v, and the spare worker was heard: %v", r.Value, spare.hello.Len() == 0)
		}
		s.Close()
	}
}

func TestWithoutASpareEachSessionStartsItsWorker(t *testing.T) {
	in, err := New(Config{Worker: []string{workerPath}, NoSpare: true})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s, err := in.Session(t.Context(), testTools)
		if err != nil {
			t.Fatal(err)
		}
		if mustExec(t, s, "echo(1)"); in.spare != nil {
			t.Error("a worker stands idle")
		}
		s.Close()
	}
	in.Close()
	if _, err := in.Session(t.Context(), nil); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: got %v", err)
	}
}

func TestAStartThatIsCancelledLeavesNothing(t *testing.T) {
	in, err := New(Config{Worker: []string{"/bin/sleep", "60"}})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := in.Session(ctx, nil); !errors.Is(err, context.Canceled) && !errors.Is(err, ErrWorkerCrash) {
		t.Errorf("got %v, %v", s, err)
	}
}

func TestToolsAreChecked(t *testing.T) {
	in, err := New(Config{Unsafe: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = in.Session(t.Context(), []Signature{{Name: "a b"}, {Name: "print"}, {Name: "final"}, {Name: "if"}, {Name: "x"}, {Name: "x"},
		{Name: "y", Params: []Param{{Name: "p", Type: "float"}, {Name: "p"}, {Name: ""}}}, {Name: "z", Params: make([]Param, 300)}})
	for _, want := range []string{`"a b": not an identifier`, `"print": the name of a builtin`, `"final": the name of a builtin`, `"if": a word`,
		`tool 5, "x": the name is taken`, `unknown type "float"`, `parameter 1, "p": the name is taken`, "300 parameters"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}

func TestTheWorkerProgramAloneRefuses(t *testing.T) {
	if err := osexec.Command(workerPath).Run(); err == nil {
		t.Error("started by hand it must fail")
	}
	if err := osexec.Command(workerPath, worker.Marker).Run(); err == nil {
		t.Error("without its socket it must fail")
	}
}

func BenchmarkWarmBlock(b *testing.B) {
	s := open(b, Config{Worker: []string{workerPath}})
	for b.Loop() {
		if _, err := s.Exec(b.Context(), "x = 1", testCaller); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	s := open(b, Config{Worker: []string{workerPath}, Limits: Limits{Steps: 1 << 50, Wall: 10 * time.Minute, CPU: time.Minute}})
	calls := 0
	none := callerFunc(func(context.Context, Call) (any, error) { calls++; return "ok", nil })
	for b.Loop() {
		if _, err := s.Exec(b.Context(), "for i in range(100):\n  read('a/path', start=i, lines=20)", none); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(calls), "ns/call")
}

// BenchmarkPooledSession measures a session on a worker that has been waiting, with its first block.
func BenchmarkPooledSession(b *testing.B) {
	in, err := New(Config{Worker: []string{workerPath}})
	if err != nil {
		b.Fatal(err)
	}
	defer in.Close()
	in.refill()
	for b.Loop() {
		b.StopTimer()
		time.Sleep(50 * time.Millisecond) // the spare confines itself
		b.StartTimer()
		s, err := in.openSpare(b.Context(), nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Exec(b.Context(), "1", nil); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		s.Close()
		in.refill()
		b.StartTimer()
	}
}

// BenchmarkLargeResult measures a result of 64 KiB.
func BenchmarkLargeResult(b *testing.B) {
	s := open(b, Config{Worker: []string{workerPath}})
	text := strings.Repeat("x", 64<<10)
	large := callerFunc(func(context.Context, Call) (any, error) { return text, nil })
	for b.Loop() {
		if _, err := s.Exec(b.Context(), "x = echo(1)", large); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRebuild executes 20 blocks with 200 results of 2 KB again, as after a pause.
func BenchmarkRebuild(b *testing.B) {
	text := strings.Repeat("x", 2<<10)
	caller := callerFunc(func(context.Context, Call) (any, error) { return text, nil })
	s := open(b, Config{Worker: []string{workerPath}})
	for b.Loop() {
		for range 20 {
			if _, err := s.Exec(b.Context(), "x = [echo(i) for i in range(10)]", caller); err != nil {
				b.Fatal(err)
			}
		}
	}
}
