package sandbox_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/codeact-dev/codeact/bridge/sandbox"
)

var everyKind = []string{sandbox.Bwrap, sandbox.Landlock, sandbox.None}

func openFor(kind, dir string) (*sandbox.Box, error) {
	return sandbox.Open(context.Background(), sandbox.Config{Kind: kind, Dir: dir, Writable: []string{filepath.Join(dir, "drafts")}})
}

// lingering holds the pipe drafts/fifo open, in a session of its own too, until it is killed.
func lingering(dir string) sandbox.Command {
	return sandbox.Command{Timeout: time.Hour, Argv: []string{"sh", "-c", "exec 9> " + dir + "/drafts/fifo; setsid sleep 1000.1 & exec sleep 1000.2"}}
}

// bound is how long something may take that must happen, before the test fails instead of waiting for ever.
const bound = time.Minute

// opened opens a pipe for reading once a command has it open. Reading it is bounded, too.
func opened(t *testing.T, path string) *os.File {
	t.Helper()
	late := time.AfterFunc(bound, func() {
		if f, err := os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0); err == nil {
			f.Close() // whoever waits for a command now reads the end
			t.Error("no command opened it")
		}
	})
	defer late.Stop()
	f, err := os.Open(path)
	if err == nil {
		err = f.SetReadDeadline(time.Now().Add(bound))
	}
	if err != nil {
		t.Error(err)
	}
	return f
}

// fifo makes drafts/fifo. Reading it waits until someone writes, and ends when nobody can write any more.
func (w *world) fifo(t *testing.T) string {
	t.Helper()
	path := w.path("ws/drafts/fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWhatACommandLeavesBehindIsKilled(t *testing.T) {
	for i, kind := range everyKind {
		w := newWorld(t)
		box := w.open(t, sandbox.Config{Kind: kind})
		mark := strconv.Itoa(os.Getpid()) + strconv.Itoa(i)
		for _, args := range [][]string{{mark}, {mark, "with the outputs"}} {
			r := run(t, box, append([]string{w.program(kind), attackMarker, "linger"}, args...)...)
			if r.ExitCode != 0 {
				t.Fatalf("%s: %s", kind, r.Stdout.Text)
			}
			if left := alive(t, "1000."+mark); left != nil {
				t.Errorf("%s: %s", kind, left)
			}
		}
		r := run(t, box, "sh", "-c", "sleep 1000."+mark+" & (setsid sleep 1000."+mark+" &) ; echo done")
		if left := alive(t, "1000."+mark); left != nil || string(r.Stdout.Text) != "done\n" {
			t.Errorf("%s: %s, %s", kind, left, r.Stdout.Text)
		}
	}
}

// The command kills everything that it can reach, its supervisor if that is one.
func TestWhoKillsAllOthersDoesNotSurvive(t *testing.T) {
	for i, kind := range confining {
		w := newWorld(t)
		mark := strconv.Itoa(os.Getpid()) + "9" + strconv.Itoa(i)
		run(t, w.open(t, sandbox.Config{Kind: kind}), "sh", "-c", "setsid sh -c 'kill -9 -1; exec sleep 1000."+mark+"' & wait")
		if left := alive(t, "1000."+mark); left != nil {
			t.Errorf("%s: %s", kind, left)
		}
	}
}

func TestATimeLimitEndsAll(t *testing.T) {
	for _, kind := range everyKind {
		w := newWorld(t)
		mark := "77" + strconv.Itoa(os.Getpid())
		r, err := w.open(t, sandbox.Config{Kind: kind}).Run(t.Context(), sandbox.Command{Timeout: 300 * time.Millisecond,
			Argv: []string{"sh", "-c", "trap '' TERM INT HUP; echo begun; setsid sleep 1000." + mark + " & sleep 1000." + mark}})
		if err != nil || !r.TimedOut || r.ExitCode != -1 {
			t.Errorf("%s: %+v, %v", kind, r, err)
		}
		if left := alive(t, "1000."+mark); left != nil {
			t.Errorf("%s: %s", kind, left)
		}
	}
}

func TestACancelledCommandIsGone(t *testing.T) {
	for _, kind := range everyKind {
		w := newWorld(t)
		box := w.open(t, sandbox.Config{Kind: kind})
		fifo := w.fifo(t)
		ctx, cancel := context.WithCancel(t.Context())
		var reader sync.WaitGroup
		reader.Go(func() {
			f := opened(t, fifo)
			cancel()
			if _, err := io.ReadAll(f); err != nil { // waits for its end
				t.Error(err)
			}
			f.Close()
		})
		if _, err := box.Run(ctx, lingering(w.dir)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", kind, err)
		}
		reader.Wait()
		if _, err := box.Run(ctx, sandbox.Command{Argv: []string{"true"}}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v for a call that was cancelled before", kind, err)
		}
	}
}

// However early it comes: bubblewrap, for one, has moments in which its own end leaves a process behind.
func TestACancelIsNeverTooEarly(t *testing.T) {
	for _, kind := range everyKind {
		w := newWorld(t)
		real, err := exec.LookPath("bwrap")
		if err == nil {
			err = errors.Join(os.Mkdir(w.path("bin"), 0o755), os.Symlink(real, w.path("bin/bwrap")))
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", w.path("bin")+":/usr/bin:/bin") // so that its processes name this world
		box := w.open(t, sandbox.Config{Kind: kind})
		mark := "55" + strconv.Itoa(os.Getpid())
		for i := range 12 {
			r, err := box.Run(t.Context(), sandbox.Command{Argv: []string{"sleep", "1000." + mark}, Timeout: time.Duration(1+i*3) * time.Millisecond})
			if err == nil && !r.TimedOut {
				t.Errorf("%s: %+v", kind, r)
			}
			if left := append(alive(t, "1000."+mark), alive(t, w.base)...); left != nil {
				t.Errorf("%s, after %d ms: %s", kind, 1+i*3, left)
			}
		}
	}
}

func TestTheDeathOfTheHostIsTheDeathOfTheCommand(t *testing.T) {
	for _, kind := range everyKind {
		w := newWorld(t)
		fifo := w.fifo(t)
		t.Setenv("TMPDIR", w.path("tmp"))
		if err := os.Mkdir(w.path("tmp"), 0o700); err != nil {
			t.Fatal(err)
		}
		host := exec.Command(w.self, attackMarker, "host", kind, w.dir)
		if err := host.Start(); err != nil {
			t.Fatal(err)
		}
		f := opened(t, fifo)
		if err := host.Process.Kill(); err != nil {
			t.Error(err)
		}
		if b, err := io.ReadAll(f); err != nil || len(b) != 0 { // waits for the end of all that hold it
			t.Errorf("%s: %q, %v", kind, b, err)
		}
		f.Close()
		_ = host.Wait() // killed
	}
}

func TestWhatDidNotRunIsAnError(t *testing.T) {
	for _, kind := range everyKind {
		w := newWorld(t)
		box := w.open(t, sandbox.Config{Kind: kind})
		for want, c := range map[string]sandbox.Command{
			"not found":           {Argv: []string{"no-such-program"}},
			"no such file":        {Argv: []string{"/no/such/program"}},
			"permission denied":   {Argv: []string{"./src/main.go"}},
			"no command":          {},
			"want a clean path":   {Argv: []string{"true"}, Dir: w.home},
			"want a clean path i": {Argv: []string{"true"}, Dir: w.dir + "/../home"},
			"chdir":               {Argv: []string{"true"}, Dir: w.path("ws/none")},
			"a NUL byte":          {Argv: []string{"true", "a\x00b"}},
		} {
			r, err := box.Run(t.Context(), c)
			var start *sandbox.StartError
			if !errors.As(err, &start) || !strings.Contains(err.Error(), want) || r.Stderr.Total != 0 {
				t.Errorf("%s %q: got %v, want %s; it said %s", kind, c.Argv, err, want, r.Stderr.Text)
			}
		}
	}
}

func TestSignalsAreNamed(t *testing.T) {
	for _, kind := range everyKind {
		w := newWorld(t)
		if r := run(t, w.open(t, sandbox.Config{Kind: kind}), "sh", "-c", "kill -SEGV $$"); r.ExitCode != 139 || r.Signal != "SIGSEGV" {
			t.Errorf("%s: %d %s", kind, r.ExitCode, r.Signal)
		}
	}
}

func TestCommandsRunAtOnce(t *testing.T) {
	for _, kind := range everyKind {
		w := newWorld(t)
		box := w.open(t, sandbox.Config{Kind: kind})
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				r, err := box.Run(t.Context(), sandbox.Command{Argv: []string{"sh", "-c", "echo $0; exit $0", strconv.Itoa(i)}})
				if err != nil || r.ExitCode != i || string(r.Stdout.Text) != strconv.Itoa(i)+"\n" {
					t.Errorf("%s %d: %+v, %v", kind, i, r, err)
				}
			})
		}
		all.Wait()
	}
}
