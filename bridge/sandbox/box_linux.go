package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/codeact-dev/codeact/bridge/sandbox/boxproxy"
)

// A Box runs commands. It is safe for concurrent use.
type Box struct {
	cfg    Config
	back   backend
	report Report
}

// A backend knows how to start a process in its kind of box.
type backend interface {
	program() string                                                       // this program's path, as a command sees it
	prepare(ctx context.Context, j job, status *os.File) (*process, error) // a process that is not nil is to be given up, also with an error
}

// A job is what a process is started for.
type job struct {
	plan     plan
	read     []string // more that it may read: the canary's
	masked   []string // more that it may not
	writable []string // more that it may write
	kept     []string // in that, what is to stay as it is
	socket   string   // of the host's proxy; "" means none
}

// A process is one that is about to be started.
type process struct {
	cmd     *exec.Cmd
	err     error        // of own
	owned   []*os.File   // the child's, to be closed here once it has them
	kill    func() error // ends it before its time; nil means SIGKILL
	killed  atomic.Bool
	gone    func() error    // called when it has ended: returns when nothing is left of it; may be nil
	release func() error    // gives back what it used; may be nil
	proxy   *boxproxy.Proxy // nil without an allow-list
}

// own takes what a function that makes a file returns.
func (p *process) own(f *os.File, err error) *os.File {
	if err != nil {
		p.err = errors.Join(p.err, err)
		return nil
	}
	p.owned = append(p.owned, f)
	return f
}

// command makes the process, with the files from descriptor 3 on.
func (p *process) command(ctx context.Context, argv []string, files ...*os.File) {
	p.cmd = exec.CommandContext(ctx, argv[0])
	p.cmd.Args, p.cmd.Env, p.cmd.Dir, p.cmd.ExtraFiles = argv, []string{}, "/", files
	p.cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true} // a terminal's ^C is the host's to handle
	p.cmd.WaitDelay = waitDelay
	p.cmd.Cancel = func() error {
		p.killed.Store(true)
		if p.kill == nil {
			return p.cmd.Process.Kill()
		}
		return p.kill()
	}
}

// run returns what the process wrote to its status once it is gone.
func (p *process) run(status *os.File) (said string, err error) {
	heard := make(chan string, 1)
	go func() { // ends with the writers, or when status is closed
		b, _ := io.ReadAll(io.LimitReader(status, maxStatus))
		heard <- string(b)
	}()
	runtime.LockOSThread() // the kernel kills the child when the thread that started it ends
	defer runtime.UnlockOSThread()
	if err = p.cmd.Start(); err == nil {
		p.closeOwned()
		_ = p.cmd.Wait() // how it ended is in its state
		if p.gone != nil {
			err = p.gone()
		}
	}
	p.closeOwned()
	_ = status.SetReadDeadline(time.Now().Add(waitDelay)) // a pipe can have one
	return <-heard, err
}

// maxStatus bounds the reason why a command did not run, in bytes.
const maxStatus = 4 << 10

// giveUp frees all that the process was given.
func (p *process) giveUp() error {
	p.closeOwned()
	var errs []error
	if p.proxy != nil {
		errs = append(errs, p.proxy.Close())
	}
	if p.release != nil {
		errs = append(errs, p.release())
	}
	return errors.Join(errs...)
}

func (p *process) closeOwned() {
	for _, f := range p.owned {
		f.Close()
	}
	p.owned = nil
}

// Open finds a box that confines, and proves it with a canary. Without one the error is ErrUnavailable and says what was tried. Close
// must be called.
func Open(ctx context.Context, c Config) (*Box, error) {
	c, err := c.check()
	if err != nil {
		return nil, err
	}
	if !reachable.Load() {
		return nil, errors.New("sandbox: this program does not call MaybeChild first")
	}
	kinds := []string{c.Kind}
	if c.Kind == Auto {
		kinds = []string{Bwrap, Landlock}
	}
	var tried []string
	for _, kind := range kinds {
		c.Kind = kind
		b, err := open1(ctx, c)
		if err == nil {
			b.report.Tried = tried
			return b, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("sandbox: %w", ctx.Err())
		}
		tried = append(tried, kind+": "+err.Error())
	}
	return nil, &Unavailable{Tried: tried}
}

func open1(ctx context.Context, c Config) (*Box, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	b := &Box{cfg: c}
	pids := os.Geteuid() == 0 && canMakePids(self)
	switch {
	case c.Kind == Bwrap:
		path, err := exec.LookPath("bwrap")
		if err != nil {
			return nil, err
		}
		b.back = &bwrapBox{cfg: c, path: path, self: self, pids: pids}
	case c.Network == Allowlist:
		return nil, errors.New("the network allowlist needs bubblewrap")
	default:
		b.back = &bareBox{cfg: c, self: self, pids: pids}
	}
	if err := b.try(ctx); err != nil {
		return nil, err
	}
	return b, nil
}

// canMakePids says whether this process may make a pid namespace without a user namespace.
func canMakePids(self string) bool {
	cmd := &exec.Cmd{Path: self, Args: []string{self, marker, ""}, SysProcAttr: &unix.SysProcAttr{Cloneflags: unix.CLONE_NEWPID}}
	var exit *exec.ExitError
	return errors.As(cmd.Run(), &exit) && exit.ExitCode() == exitBroken
}

// Report says what was seen to hold when the box was opened.
func (b *Box) Report() Report { return b.report }

// Close gives back what a box holds between commands, which is nothing on this system: all that serves one ends with it.
func (b *Box) Close() error { return nil }

// Run runs a command and waits for its end, for its time limit or for ctx. A command that ran is no error, however it ended; a
// *MaskError, a *ReadOnlyError or a *StartError is one that did not run, and the error of ctx one that was killed.
//
// All of its processes are gone then, also those in a session of their own. Without a pid namespace, so for the kind none and for
// landlock on kernels before 6.12, a process that kills its supervisor and forks fast can survive this, confined as it was.
func (b *Box) Run(ctx context.Context, c Command) (Result, error) {
	dir := orDefault(c.Dir, b.cfg.Dir)
	switch {
	case len(c.Argv) == 0 || c.Argv[0] == "":
		return Result{}, &StartError{"", "no command"}
	case strings.ContainsRune(strings.Join(c.Argv, ""), 0):
		return Result{}, &StartError{c.Argv[0], "an argument holds a NUL byte"}
	case filepath.Clean(dir) != dir || !within(b.cfg.Dir, dir):
		return Result{}, &StartError{c.Argv[0], fmt.Sprintf("directory %s: want a clean path inside %s", dir, b.cfg.Dir)}
	}
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout
	}
	return b.run(ctx, c, job{plan: plan{Argv: c.Argv, Dir: dir}}, b.cfg.Limits)
}

// waitDelay is how long an output may stay open after the end. All who could hold it are killed, so it bounds nothing but surprises.
const waitDelay = 2 * time.Second

func (b *Box) run(ctx context.Context, c Command, j job, keep Limits) (r Result, err error) {
	status, write, err := os.Pipe()
	if err != nil {
		return r, fmt.Errorf("sandbox: %w", err)
	}
	defer status.Close()
	defer write.Close()
	limit, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	j.plan.Limits = b.cfg.Limits.rlimits()
	p, err := b.back.prepare(limit, j, write)
	if p == nil {
		return r, wrap(err)
	}
	said := ""
	stdout, stderr := newCapture(keep), newCapture(keep)
	if err == nil {
		p.owned = append(p.owned, write)
		p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = bytes.NewReader(c.Stdin), stdout, stderr
		said, err = p.run(status)
	}
	err = errors.Join(err, p.giveUp())
	if p.proxy != nil {
		r.Sent = p.proxy.Sent()
	}
	r.Stdout, r.Stderr = stdout.output(), stderr.output()
	switch {
	case p.killed.Load() && ctx.Err() != nil:
		return r, wrap(errors.Join(ctx.Err(), err))
	case err != nil:
		return r, wrap(err)
	case p.killed.Load():
		r.TimedOut, r.ExitCode = true, -1
		return r, nil
	}
	return r, r.ended(p.cmd.ProcessState, c.Argv[0], said)
}

func wrap(err error) error {
	var mask *MaskError
	var kept *ReadOnlyError
	if errors.As(err, &mask) || errors.As(err, &kept) {
		return err
	}
	return fmt.Errorf("sandbox: %w", err)
}

// ended fills in how a command ended that was not killed from here.
func (r *Result) ended(state *os.ProcessState, program, said string) error {
	text := strings.TrimSpace(string(r.Stderr.Text))
	switch {
	case said == "":
		return &StartError{program, "the box did not come up: " + orDefault(text, state.String())}
	case said[0] == statusFailed:
		return &StartError{program, "the box did not come up: " + said[1:]}
	case len(said) > 1:
		return &StartError{program, said[1:]}
	}
	r.ExitCode = state.ExitCode()
	if ws, ok := state.Sys().(unix.WaitStatus); ok && ws.Signaled() {
		r.ExitCode = 128 + int(ws.Signal())
	}
	if r.ExitCode > 128 {
		r.Signal = unix.SignalName(unix.Signal(r.ExitCode - 128)) // "" if there is no such signal
	}
	return nil
}
