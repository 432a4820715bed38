package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/codeact-dev/codeact/bridge/sandbox/boxproxy"
	"github.com/codeact-dev/codeact/bridge/sandbox/restrict"
)

// Where a box of namespaces has what is ours.
const (
	stagePath = "/run/codeact/stage" // this program
	proxyPath = "/run/codeact/proxy" // the host's socket
	boxHome   = "/tmp"
)

// bwrapBox starts commands by bubblewrap.
type bwrapBox struct {
	cfg  Config
	path string // of bwrap
	self string // of this program
	pids bool   // root: a pid namespace around it has the limit of processes, to which the kernel does not hold root otherwise
}

func (b *bwrapBox) program() string { return stagePath }

func (b *bwrapBox) prepare(ctx context.Context, j job, status *os.File) (*process, error) {
	masks, err := b.cfg.masks(b.cfg.roots(j.read))
	if err != nil {
		return nil, err
	}
	p := &process{}
	if b.cfg.Network == Allowlist {
		if p.proxy, err = boxproxy.New(b.cfg.Dial); err != nil {
			return nil, fmt.Errorf("proxy: %w", err)
		}
		j.socket, j.plan.Proxy = p.proxy.Socket(), proxyPath
	}
	args, err := b.arguments(j, append(masks, j.masked...))
	if err != nil {
		return p, err
	}
	j.plan.Calls, j.plan.Env = &restrict.Calls{Network: b.cfg.Network == HostNet}, b.cfg.environment(boxHome)
	planFile, argsFile := p.own(j.plan.file()), p.own(memfile("args", []byte(strings.Join(args, "\x00")+"\x00")))
	command := []string{b.path, "--args", strconv.Itoa(fdArgs), "--", stagePath, marker, roleConfine}
	p.command(ctx, command, planFile, status, argsFile)
	p.cmd.SysProcAttr.Pdeathsig = unix.SIGKILL
	if b.pids {
		// The first process of that namespace is the one to be killed, and is not reaped before all others are gone.
		p.cmd.Path = b.self
		p.cmd.Args = append([]string{b.self, marker, roleLimited, strconv.Itoa(b.cfg.Limits.Processes)}, command...)
		p.cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWPID
	} else {
		p.watchInit()
	}
	return p, p.err
}

// arguments are bubblewrap's options. Later mounts cover earlier ones.
func (b *bwrapBox) arguments(j job, masks []string) ([]string, error) {
	writable, kept, hold, err := b.held(j)
	if err != nil {
		return nil, err
	}
	a := []string{"--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL",
		"--hostname", "codeact"}
	if b.cfg.Network == HostNet {
		a = append(a, "--share-net")
	}
	if !b.pids {
		a = append(a, "--info-fd", strconv.Itoa(fdInfo))
	}
	size := strconv.FormatInt(b.cfg.Limits.Tmp, 10)
	a = append(a, systemMounts()...)
	a = append(a, "--proc", "/proc", "--dev", "/dev", "--size", size, "--tmpfs", "/dev/shm", "--remount-ro", "/dev",
		"--perms", "1777", "--size", size, "--tmpfs", boxHome, "--perms", "1777", "--size", size, "--tmpfs", "/var/tmp", "--ro-bind", b.self, stagePath)
	for _, p := range slices.Concat(existing(b.cfg.Read), j.read, []string{b.cfg.Dir}) {
		a = append(a, "--ro-bind", p, p)
	}
	for _, p := range slices.Concat(writable, pins(writable, slices.Concat(masks, kept))) {
		a = append(a, "--bind", p, p)
	}
	a = append(a, hold...)
	for _, p := range masks {
		m, err := mask(p)
		if err != nil {
			return nil, &MaskError{p, err.Error()}
		}
		a = append(a, m...)
	}
	if j.socket != "" {
		a = append(a, "--ro-bind", j.socket, proxyPath)
	}
	return append(a, "--remount-ro", "/"), nil
}

// held divides what is writable from what is to stay as it is, and returns the mounts for that.
func (b *bwrapBox) held(j job) (writable, kept, mounts []string, err error) {
	if writable, err = b.cfg.writable(); err != nil {
		return nil, nil, nil, err
	}
	writable, kept = b.cfg.readOnly(writable)
	mounts, err = holds(append(kept, j.kept...))
	return append(writable, j.writable...), append(kept, j.kept...), mounts, err
}

func systemMounts() (a []string) {
	for _, dir := range []string{"/etc", "/etc/ssl", "/run", "/run/codeact", "/var"} {
		a = append(a, "--perms", "0755", "--dir", dir)
	}
	for _, p := range slices.Concat(existing(systemDirs), existing(systemFiles)) {
		if target, err := os.Readlink(p); err == nil && slices.Contains(systemDirs, p) {
			a = append(a, "--symlink", target, p)
		} else {
			a = append(a, "--ro-bind-try", p, p)
		}
	}
	return a
}

// pins are the directories between a writable path and what is masked, or read-only, in it. As mounts they cannot be renamed, which would
// take a masked file to a path that the next command does not mask, and let another stand where a read-only one was.
func pins(writable, masks []string) (out []string) {
	for _, m := range masks {
		for _, w := range writable {
			for d := filepath.Dir(m); within(w, d) && d != w; d = filepath.Dir(d) {
				out = append(out, d)
			}
		}
	}
	slices.Sort(out) // parents first
	return slices.Compact(out)
}

// mask covers a path with what cannot be opened: a device on a mount without devices, or a directory without permissions.
func mask(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return []string{"--perms", "0000", "--size", "4096", "--tmpfs", path, "--remount-ro", path}, nil
	}
	return []string{"--ro-bind", os.DevNull, path}, nil
}

// killPatience is how long a kill waits to hear what is to be killed, and an end until nothing is left. Both take milliseconds.
const killPatience = 10 * time.Second

// watchInit makes the first process inside the box known, which bubblewrap's own end leaves to the kernel to kill, a moment later.
// Killed before that process is set up, bubblewrap would leave it behind.
func (p *process) watchInit() {
	info, write, err := os.Pipe()
	if p.own(write, err); err != nil {
		return
	}
	p.cmd.ExtraFiles = append(p.cmd.ExtraFiles, write)
	inside := make(chan int, 1)
	go func() { // ends when bubblewrap has written, or has ended, or never started
		defer info.Close()
		inside <- readInit(info)
	}()
	first := sync.OnceValue(func() int {
		select {
		case fd := <-inside:
			return fd
		case <-time.After(killPatience):
			return -1
		}
	})
	p.kill = func() error {
		first()
		return p.cmd.Process.Kill()
	}
	p.gone = func() error {
		fd := first()
		if fd < 0 {
			return nil
		}
		defer unix.Close(fd)
		if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && err != unix.ESRCH {
			return fmt.Errorf("kill the box: %w", err)
		}
		return waitPidfd(fd)
	}
}

// readInit returns a descriptor of the process that bubblewrap names, -1 if it names none or that is gone.
func readInit(info io.Reader) int {
	var said struct {
		Child int `json:"child-pid"`
	}
	if err := json.NewDecoder(info).Decode(&said); err != nil {
		return -1
	}
	fd, err := unix.PidfdOpen(said.Child, 0)
	if err != nil {
		return -1
	}
	return fd
}

// waitPidfd waits for a process that was killed. It is the first of its namespace, and ends after all others in it.
func waitPidfd(fd int) error {
	end := time.Now().Add(killPatience)
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(time.Until(end).Milliseconds()))
		switch {
		case n > 0:
			return nil
		case err != nil && err != unix.EINTR:
			return err
		case !time.Now().Before(end):
			return errors.New("the box was killed and is still there")
		}
	}
}
