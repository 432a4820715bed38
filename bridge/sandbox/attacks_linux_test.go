package sandbox_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attacks are what this program does in a box when it is the attacker. No error means that the attack succeeded.
var attacks = map[string]func([]string) error{
	"connect":    connect,
	"datagram":   sendDatagram,
	"raw":        rawSockets,
	"ptrace":     trace,
	"forks":      forks,
	"linger":     linger,
	"whoami":     whoami,
	"signal":     signal,
	"limits":     raiseLimits,
	"namespaces": newNamespaces,
	"terminal":   typeOnTerminal,
	"foreign":    foreignCalls,
	"fetch":      fetch,
	"host":       beHost,
	"fds":        inherited,
}

func connect(args []string) error {
	c, err := net.DialTimeout(args[0], args[1], 5*time.Second)
	if err != nil {
		return err
	}
	return c.Close()
}

// sendDatagram sends to a socket from one of a pair, with an address or after connecting it anew.
func sendDatagram(args []string) error {
	to := &unix.SockaddrUnix{Name: args[0]}
	var errs []error
	for _, kind := range []int{unix.SOCK_DGRAM, unix.SOCK_RAW, unix.SOCK_STREAM, unix.SOCK_SEQPACKET} {
		pair, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if err = unix.Connect(pair[0], to); err != nil && kind != unix.SOCK_SEQPACKET { // which ignores the address
			err = unix.Sendto(pair[0], []byte("x"), 0, to)
		}
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// rawSockets succeeds if one of the sockets can be made that no command is to have.
func rawSockets([]string) error {
	var errs []error
	for _, s := range [][3]int{{unix.AF_PACKET, unix.SOCK_RAW, 0}, {unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP}, {unix.AF_VSOCK, unix.SOCK_STREAM, 0},
		{unix.AF_ALG, unix.SOCK_SEQPACKET, 0}, {unix.AF_BLUETOOTH, unix.SOCK_RAW, 1}} {
		_, err := unix.Socket(s[0], s[1], s[2])
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	if fd, _, errno := unix.Syscall(unix.SYS_SOCKET, unix.AF_VSOCK|1<<40, unix.SOCK_STREAM, 0); errno == 0 {
		unix.Close(int(fd)) // the kernel ignores the upper half
		return nil
	}
	return errors.Join(errs...)
}

// trace succeeds if a process can be traced, or its memory read: its own child, the weakest case.
func trace([]string) error {
	child := exec.Command("sleep", "1000")
	if err := child.Start(); err != nil {
		return err
	}
	defer child.Wait()
	defer child.Process.Kill()
	buf := make([]byte, 8)
	local := []unix.Iovec{{Base: &buf[0], Len: 8}}
	_, readErr := unix.ProcessVMReadv(child.Process.Pid, local, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
	if err := unix.PtraceAttach(child.Process.Pid); err == nil || readErr != unix.EPERM {
		return nil
	}
	return readErr
}

// forks starts processes until it cannot, and prints how many there were. They stay until they are killed. There is no room for
// another thread then, so nothing of Go is used that could want one.
func forks([]string) error {
	const enough = 4000
	said := make([]byte, 0, 64)
	for n := range enough {
		pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if errno != 0 {
			said = append(strconv.AppendInt(said, int64(n), 10), '\n')
			unix.RawSyscall(unix.SYS_WRITE, 1, uintptr(unsafe.Pointer(&said[0])), uintptr(len(said)))
			unix.RawSyscall(unix.SYS_EXIT_GROUP, exitRefused, 0, 0)
		}
		if pid == 0 {
			for {
				unix.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
			}
		}
	}
	return nil
}

// linger leaves a process behind, in a session of its own and without the outputs, or with them.
func linger(args []string) error {
	child := exec.Command("sleep", "1000."+args[0])
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if len(args) > 1 {
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
	}
	return child.Start()
}

func whoami([]string) error {
	if os.Geteuid() == os.Getuid() {
		return fmt.Errorf("nothing gained: %d", os.Geteuid())
	}
	return nil
}

func signal(args []string) error {
	pid, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	return unix.Kill(pid, 0)
}

func raiseLimits([]string) error {
	for _, r := range []int{unix.RLIMIT_DATA, unix.RLIMIT_FSIZE, unix.RLIMIT_CPU, unix.RLIMIT_NOFILE, unix.RLIMIT_CORE} {
		var old unix.Rlimit
		if err := unix.Getrlimit(r, &old); err != nil {
			return err
		}
		if err := unix.Setrlimit(r, &unix.Rlimit{Cur: old.Max + 1, Max: old.Max + 1}); err == nil {
			return nil
		}
	}
	return unix.EPERM
}

// newNamespaces succeeds if one can be made, by any of the calls.
func newNamespaces([]string) error {
	if unix.Unshare(unix.CLONE_NEWUSER) == nil {
		return nil
	}
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.CLONE_NEWUSER|int(unix.SIGCHLD)), 0, 0, 0, 0, 0)
	if errno == 0 {
		if pid == 0 {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
		return nil
	}
	args := make([]uint64, 11)
	args[0], args[4] = unix.CLONE_NEWUSER, uint64(unix.SIGCHLD) // flags and exit_signal of struct clone_args
	pid, errno = clone3(args)
	if errno == 0 {
		if pid == 0 {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
		return nil
	}
	return errno
}

// typeOnTerminal succeeds if the call that types on a terminal gets as far as looking at the descriptor.
func typeOnTerminal([]string) error {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	for _, request := range []uintptr{unix.TIOCSTI, unix.TIOCSTI | 1<<32, unix.TIOCLINUX} {
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, null.Fd(), request, 0); errno != unix.EPERM {
			return nil
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, null.Fd(), unix.TCGETS, 0); errno != unix.ENOTTY {
		return fmt.Errorf("the control: %w", errno) // others must get through, or this proves nothing
	}
	return unix.EPERM
}

// fetch gets a URL by the proxy of the environment, and prints its status and body.
func fetch(args []string) error {
	transport := &http.Transport{Proxy: func(r *http.Request) (*url.URL, error) { return url.Parse(os.Getenv("HTTPS_PROXY")) },
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	r, err := (&http.Client{Transport: transport}).Get(args[0])
	if err != nil {
		return err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	fmt.Println(r.StatusCode, strings.TrimSpace(string(body)))
	return err
}

// inherited succeeds if this process was given more than its three streams. Opening one itself, a program gets the lowest number free.
func inherited([]string) error {
	var extra []string
	for fd := 3; fd < 100; fd++ {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC == 0 { // all of Go's own have it
			extra = append(extra, strconv.Itoa(fd))
		}
	}
	if extra == nil {
		return errors.New("only the streams")
	}
	fmt.Println(extra)
	return nil
}

// beHost opens a box in the kind and directory, runs a command that lingers, and waits to be killed.
func beHost(args []string) error {
	box, err := openFor(args[0], args[1])
	if err != nil {
		return err
	}
	_, err = box.Run(context.Background(), lingering(args[1]))
	return err
}
