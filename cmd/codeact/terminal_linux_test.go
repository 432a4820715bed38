package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A terminal is the program on a terminal of 80 columns and 24 lines.
type terminal struct {
	t      *testing.T
	master *os.File
	cmd    *exec.Cmd
	ended  chan struct{}

	mu   sync.Mutex
	text string // everything that was shown; guarded by mu
	read int    // how much of it expect has seen; guarded by mu
}

// onTerminal starts the program; typed is what stands in the terminal's buffer
// before it does.
func (s *stage) onTerminal(typed string, args ...string) *terminal {
	s.t.Helper()
	master, slave, err := openPTY()
	if err != nil {
		s.t.Fatal(err)
	}
	tty := &terminal{t: s.t, master: master, ended: make(chan struct{})}
	s.t.Cleanup(func() { master.Close() })
	tty.keys(typed)
	tty.cmd = s.command(args...)
	tty.cmd.Stdin, tty.cmd.Stdout, tty.cmd.Stderr = slave, slave, slave
	tty.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := tty.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	slave.Close()
	go func() { tty.watch(); _ = tty.cmd.Wait(); close(tty.ended) }()
	s.t.Cleanup(func() { _ = tty.cmd.Process.Kill(); <-tty.ended })
	return tty
}

func openPTY() (master, slave *os.File, err error) {
	// Not blocking: a file that blocks is not closed while something reads it.
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	return os.NewFile(uintptr(fd), "/dev/ptmx"), slave, err
}

// watch collects what is shown until the terminal is closed.
func (y *terminal) watch() {
	buf := make([]byte, 4096)
	for {
		n, err := y.master.Read(buf)
		y.mu.Lock()
		y.text += string(buf[:n])
		y.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (y *terminal) screen() string {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.text
}

func (y *terminal) keys(text string) {
	y.t.Helper()
	if _, err := y.master.WriteString(text); err != nil {
		y.t.Fatal(err)
	}
}

// expect waits until one of the texts is shown behind what was expected before, and
// returns it.
func (y *terminal) expect(texts ...string) (shown string) {
	y.t.Helper()
	found := func() bool {
		y.mu.Lock()
		defer y.mu.Unlock()
		for _, want := range texts {
			if i := strings.Index(y.text[y.read:], want); i >= 0 {
				y.read += i + len(want)
				shown = want
				return true
			}
		}
		return false
	}
	defer func() {
		if y.t.Failed() {
			y.t.Logf("on the terminal:\n%q", y.screen())
		}
	}()
	eventually(y.t, fmt.Sprintf("%q is shown", texts), func() bool {
		select {
		case <-y.ended: // whatever was to be shown has been
			if !found() {
				y.t.Fatalf("it ended, and %q was not shown", texts)
			}
			return true
		default:
			return found()
		}
	})
	return shown
}

// code waits for the program and returns its exit code.
func (y *terminal) code() int {
	y.t.Helper()
	eventually(y.t, "it ended", func() bool {
		select {
		case <-y.ended:
			return true
		default:
			return false
		}
	})
	return y.cmd.ProcessState.ExitCode()
}
