package store

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// When set, the test binary is the other process: its value is "job|directory of the store".
const childEnv = "STORE_TEST_CHILD"

func TestMain(m *testing.M) {
	if job, dir, ok := strings.Cut(os.Getenv(childEnv), "|"); ok {
		if err := runChild(job, dir); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// runChild does what another codeact process would, says "ready", and waits for the end of its input.
func runChild(job, dir string) error {
	s, err := Open(dir)
	if err != nil {
		return err
	}
	switch job {
	case "write":
		tr, err := s.Create("r1")
		if err != nil {
			return err
		}
		if _, err := tr.Append("run.started", body{"n": 1}, noon, true); err != nil {
			return err
		}
	case "mark":
		for i := range 200 {
			if err := s.MarkUntrusted(hashLine([]byte{byte(i), byte(os.Getpid()), byte(os.Getpid() >> 8)})); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("unknown job %q", job)
	}
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

type child struct {
	*exec.Cmd
	in io.Closer
}

// startChild returns once the child is ready.
func startChild(t *testing.T, job string, s *Store) child {
	t.Helper()
	cmd := exec.Command(must[string](t)(os.Executable()))
	cmd.Env = append(os.Environ(), childEnv+"="+job+"|"+s.dir)
	cmd.Stderr = os.Stderr
	in := must[io.WriteCloser](t)(cmd.StdinPipe())
	out := must[io.ReadCloser](t)(cmd.StdoutPipe())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the other process said %q, %v", line, err)
	}
	return child{cmd, in}
}

// Two writers made glued records. (B51)
func TestB51ASecondProcessIsRefusedWithTheOwnersPID(t *testing.T) {
	s := newStore(t)
	owner := startChild(t, "write", s)
	_, err1 := s.Create("r1")
	_, _, err2 := s.Resume("r1")
	for i, err := range []error{err1, err2} {
		var locked *LockedError
		if !errors.As(err, &locked) || *locked != (LockedError{RunID: "r1", PID: owner.Process.Pid}) {
			t.Errorf("entry %d: %v", i, err)
		}
	}
	if r, err := Verify(s.file("r1", traceExt)); err != nil || r.Lines != 1 {
		t.Errorf("reading while it is written: %+v, %v", r, err)
	}

	// A process that dies without a word loses its lock, and its durable line is there.
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait()
	tr, lines, err := s.Resume("r1")
	if err != nil || len(lines) != 1 {
		t.Fatalf("after the owner died: %d lines, %v", len(lines), err)
	}
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	if left := must[[]os.DirEntry](t)(os.ReadDir(s.dir)); len(left) != 1 {
		t.Errorf("files left behind: %v", left)
	}
}

func TestASecondWriterInTheSameProcessIsRefused(t *testing.T) {
	s := newStore(t)
	tr := must[*Trace](t)(s.Create("r1"))
	must[Line](t)(tr.Append("a.b", body{}, noon, false))
	_, _, err := s.Resume("r1")
	if want := fmt.Sprintf("store: run r1 is being written by process %d; wait until it ends or stop it", os.Getpid()); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	must[*Trace](t)(s.Create("r2")).Close() // another run is free
	tr.Close()
	again, _, err := s.Resume("r1")
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

func TestALockWithoutAPIDHasAnUnknownOwner(t *testing.T) {
	s := newStore(t)
	tr := must[*Trace](t)(s.Create("r1"))
	defer tr.Close()
	for _, text := range []string{"", "x", "-5"} {
		if err := os.WriteFile(s.file("r1", lockExt), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := s.Resume("r1")
		if want := "store: run r1 is being written by another process; wait until it ends"; err == nil || err.Error() != want {
			t.Errorf("pid %q: %v", text, err)
		}
	}
}

func TestALockIsHeldByOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock := must[func() error](t)(Lock(path))
	var held *HeldError
	_, err := Lock(path)
	if !errors.As(err, &held) || held.PID != os.Getpid() || !strings.Contains(err.Error(), fmt.Sprintf("held by process %d", os.Getpid())) {
		t.Errorf("a second one: %v", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(path); err == nil || !strings.HasSuffix(err.Error(), "held by another process") {
		t.Errorf("without a pid: %v", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if err := must[func() error](t)(Lock(path))(); err != nil {
		t.Errorf("after it was free: %v", err)
	}
	if _, err := Lock(filepath.Join(path, "none", "lock")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("in no directory: %v", err)
	}
}

func TestALockFileThatCannotBeOpenedIsAnError(t *testing.T) {
	s := newStore(t)
	if err := os.Mkdir(s.file("r1", lockExt), 0o700); err != nil {
		t.Fatal(err)
	}
	var locked *LockedError
	if _, err := s.Create("r1"); err == nil || errors.As(err, &locked) {
		t.Errorf("got %v", err)
	}
}

// The lock file is removed at release, so that another may lock a file that no longer has a name.
func TestHandingOverTheLockNeverGivesItToTwo(t *testing.T) {
	s := newStore(t)
	path := s.file("r1", lockExt)
	held := make(chan struct{}, 1) // full while somebody holds the lock
	done := make(chan error)
	end := time.Now().Add(300 * time.Millisecond)
	for range 4 {
		go func() {
			var failed error
			for failed == nil && time.Now().Before(end) {
				l, err := s.lockRun("r1")
				var locked *LockedError
				if errors.As(err, &locked) {
					continue
				}
				if err != nil {
					failed = err
					break
				}
				select {
				case held <- struct{}{}:
				default:
					failed = errors.New("two hold the lock")
				}
				<-held
				failed = errors.Join(failed, l.release())
			}
			done <- failed
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", filepath.Base(path), err)
	}
}

func TestSeveralProcessesShareTheUntrustedIndex(t *testing.T) {
	s := newStore(t)
	children := []child{startChild(t, "mark", s), startChild(t, "mark", s)}
	for _, c := range children {
		pid := c.Process.Pid
		for i := range 200 {
			if !s.Untrusted(hashLine([]byte{byte(i), byte(pid), byte(pid >> 8)})) {
				t.Fatalf("mark %d of process %d is lost", i, pid)
			}
		}
		if err := errors.Join(c.in.Close(), c.Wait()); err != nil {
			t.Error(err)
		}
	}
	if s.Untrusted(zeroPrev) {
		t.Error("a digest that nobody marked")
	}
}
