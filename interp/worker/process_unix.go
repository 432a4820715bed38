//go:build unix

package worker

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/codeact-dev/codeact/interp/wire"
)

// maxStderr bounds what is kept of a worker's standard error, in bytes.
const maxStderr = 8 << 10

// exitGrace is how long a worker that closed its socket may take to exit before it is killed.
const exitGrace = 2 * time.Second

// environ is all that a worker knows of its host: nothing. Two threads of Go let the collector run beside the script.
var environ = []string{"GOMAXPROCS=2", "GOTRACEBACK=none"}

// Process is a running worker. Kill and Wait may be called by any goroutine; the Conn belongs to one.
type Process struct {
	conn   *wire.Conn
	sock   *os.File
	cmd    *exec.Cmd
	stderr *head
	killed atomic.Bool
	exited chan struct{} // closed once the process is reaped
}

// Spawn starts command with Marker appended and the socket as descriptor 3. It does not wait for the worker to speak.
// The process lives until it exits or is killed; a goroutine reaps it, and Kill ends that too.
func Spawn(command []string) (*Process, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, fmt.Errorf("worker: socket: %w", err)
	}
	defer theirs.Close()
	p := &Process{conn: wire.NewConn(ours), sock: ours, stderr: &head{}, exited: make(chan struct{})}
	if err := p.start(command, theirs, waysToStart()); err != nil {
		ours.Close()
		return nil, fmt.Errorf("worker: start: %w", err)
	}
	go func() { // ends with the process
		defer close(p.exited)
		_ = p.cmd.Wait() // the status is in cmd.ProcessState
	}()
	return p, nil
}

// noNamespaces remembers that this system granted a worker no namespaces of its own, and started it without.
var noNamespaces atomic.Bool

// waysToStart returns the attributes to try: with namespaces, and without for a system that grants none.
func waysToStart() []*syscall.SysProcAttr {
	if own := isolated(); own != nil && !noNamespaces.Load() {
		return []*syscall.SysProcAttr{own, attributes()}
	}
	return []*syscall.SysProcAttr{attributes()}
}

// start runs the command in the first of the ways that succeeds.
func (p *Process) start(command []string, theirs *os.File, ways []*syscall.SysProcAttr) error {
	var err error
	for i, attr := range ways {
		p.cmd = &exec.Cmd{
			Path:        command[0],
			Args:        append(append([]string{}, command...), Marker),
			Env:         environ,
			Dir:         "/",
			Stderr:      p.stderr,
			ExtraFiles:  []*os.File{theirs},
			SysProcAttr: attr,
			WaitDelay:   exitGrace,
		}
		if err = p.cmd.Start(); err == nil {
			noNamespaces.CompareAndSwap(false, i > 0)
			return nil
		}
	}
	return err
}

// attributes keep a terminal's ^C from the worker: it is the host's to handle.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// socketPair returns the host's end, usable with the Go poller, and the worker's, which blocks.
func socketPair() (ours, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, err
	}
	if err := syscall.SetNonblock(fds[0], true); err != nil {
		syscall.Close(fds[0])
		syscall.Close(fds[1])
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "worker"), os.NewFile(uintptr(fds[1]), "host"), nil
}

// Conn is the connection to the worker.
func (p *Process) Conn() *wire.Conn { return p.conn }

// Kill ends the process with SIGKILL. A read that waits for it returns.
func (p *Process) Kill() {
	select {
	case <-p.exited: // it ended by itself: that stays the cause
	default:
		p.killed.Store(true)
		_ = p.cmd.Process.Kill() // fails only when the process has ended
	}
}

// Wait waits for the process to end, kills it if that takes over two seconds, closes the socket and says how it ended.
func (p *Process) Wait() Death {
	timer := time.NewTimer(exitGrace)
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-timer.C:
		p.Kill()
		<-p.exited
	}
	p.sock.Close()
	return p.death()
}

func (p *Process) death() Death {
	d := Death{Killed: p.killed.Load(), Stderr: p.stderr.String()}
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok {
		return d
	}
	if status.Signaled() {
		d.Signal = int(status.Signal())
		d.BadCall = status.Signal() == syscall.SIGSYS
	} else {
		d.Code = status.ExitStatus()
	}
	if usage, ok := p.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		d.MaxRSS = int64(usage.Maxrss)
		if runtime.GOOS != "darwin" && runtime.GOOS != "ios" {
			d.MaxRSS *= 1024 // the others count in KiB
		}
	}
	return d
}

// connect makes a datagram socket that leads to this machine. It sends nothing.
func connect() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrInet4{Port: 9, Addr: [4]byte{127, 0, 0, 1}})
}

// head keeps the first maxStderr bytes written to it.
type head struct {
	mu  sync.Mutex
	buf bytes.Buffer // guarded by mu
}

func (h *head) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.buf.Write(b[:min(len(b), maxStderr-h.buf.Len())])
	return len(b), nil
}

func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.buf.String()
}
