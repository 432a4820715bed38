package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/codeact-dev/codeact/bridge/sandbox/boxproxy"
)

// probes is what a canary is to try. All but Inside must fail.
type probes struct {
	Inside    string // a file that it must be able to read, or nothing that it says counts
	Outside   []string
	Masked    string
	Kept      string // in a writable directory, and to stay as it is
	Write     []string
	Dial      [][2]string // network, address
	Proxy     bool
	Host      int    // the pid of the host
	HostSpace string // its pid namespace
	Environ   []byte // the digest of its environment
	Limits    rlimits
	Processes int // how many it should not be able to start
}

// sightings is what it saw.
type sightings struct {
	Inside string            // the content of that file
	Not    map[string]string // what does not hold, and how that was seen; holds if it is ""
}

// canary tries the probes.
func canary() error {
	var p probes
	if err := json.NewDecoder(os.Stdin).Decode(&p); err != nil {
		return err
	}
	inside, err := os.ReadFile(p.Inside)
	if err != nil {
		return err
	}
	s := sightings{Inside: string(inside), Not: map[string]string{
		SawFiles: p.readable(p.Outside...), SawMasks: p.readable(p.Masked), SawWrites: p.writable(), SawNetwork: p.reachable(),
		SawNoNewPrivs: privileges(), SawSeccomp: calls(), SawCapless: capabilities(), SawLimits: p.limits(), SawSignals: p.signals(),
		SawEnviron: p.environ(), SawReadOnly: changeable(p.Kept),
	}}
	if p.Proxy {
		s.Not[SawProxy] = askProxy()
	}
	s.Not[SawProcesses] = p.processes()
	return json.NewEncoder(os.Stdout).Encode(s)
}

func (p probes) readable(paths ...string) string {
	for _, path := range paths {
		if _, err := os.ReadFile(path); err == nil {
			return "read " + path
		}
	}
	return ""
}

func (p probes) writable() string {
	for _, path := range p.Write {
		if err := os.WriteFile(path, nil, 0o600); err == nil {
			os.Remove(path)
			return "wrote " + path
		}
	}
	return ""
}

func (p probes) reachable() string {
	for _, d := range p.Dial {
		if reach(d[0], d[1]) == nil {
			return "connected to " + d[0] + " " + d[1]
		}
	}
	return ""
}

func reach(network, address string) error {
	if network == "unixgram" {
		return sendFromPair(address)
	}
	c, err := net.DialTimeout(network, address, time.Second)
	if err != nil {
		return err
	}
	return c.Close()
}

// sendFromPair sends to a socket that it need not make one for: one of a pair of datagrams can send to any.
func sendFromPair(path string) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	return unix.Sendto(pair[0], []byte{0}, unix.MSG_DONTWAIT, &unix.SockaddrUnix{Name: path})
}

func privileges() string {
	if v, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || v != 1 {
		return fmt.Sprintf("no_new_privs is %d, %v", v, err)
	}
	return ""
}

// calls tries one that does nothing, and would succeed.
func calls() string {
	if err := unix.Unshare(0); err != unix.EPERM {
		return fmt.Sprintf("unshare: %v", err)
	}
	return ""
}

func capabilities() string {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil || data != [2]unix.CapUserData{} {
		return fmt.Sprintf("capabilities %x, %v", data, err)
	}
	return ""
}

func (p probes) limits() string {
	for _, l := range p.Limits.table() {
		var have unix.Rlimit
		if err := unix.Getrlimit(l.which, &have); err != nil || have.Max > l.value && l.which != unix.RLIMIT_NPROC {
			return fmt.Sprintf("%s: %d, %v", l.name, have.Max, err)
		}
	}
	return ""
}

// elsewhere says that this pid namespace is another than the host's, where its processes have no numbers.
func (p probes) elsewhere() bool {
	space, err := os.Readlink("/proc/self/ns/pid")
	return err == nil && space != p.HostSpace
}

func (p probes) signals() string {
	if p.elsewhere() {
		return ""
	}
	if err := unix.Kill(p.Host, 0); err == nil {
		return fmt.Sprintf("process %d of the host can be signalled", p.Host)
	}
	return ""
}

func (p probes) environ() string {
	if digest := digestOf(fmt.Sprintf("/proc/%d/environ", p.Host)); digest != nil && bytes.Equal(digest, p.Environ) {
		return fmt.Sprintf("read /proc/%d/environ", p.Host)
	}
	return ""
}

// digestOf is that of a file, nil if it cannot be read.
func digestOf(path string) []byte {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	sum := sha256.Sum256(b)
	return sum[:]
}

func askProxy() string {
	c, err := net.DialTimeout("tcp", forwardAddr, time.Second)
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(boxproxy.HeaderTime)) // if it fails, so does what follows
	fmt.Fprintf(c, "GET http://%s/ HTTP/1.1\r\nHost: %[1]s\r\n\r\n", boxproxy.CanaryHost)
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err.Error()
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusNoContent {
		return r.Status
	}
	return ""
}

// processes has a child start others. While there is room for none, this process must not need another thread: so it has made what it
// could want, and waits in the plainest way.
func (p probes) processes() string {
	makeThreads()
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return errno.Error()
	}
	if pid == 0 {
		startMany(p.Processes)
	}
	var status unix.WaitStatus
	_, _, errno = unix.RawSyscall6(unix.SYS_WAIT4, pid, uintptr(unsafe.Pointer(&status)), 0, 0, 0, 0)
	if errno != 0 || !status.Exited() || status.ExitStatus() != 0 {
		return fmt.Sprintf("%d processes could be started (%#x, %d)", p.Processes, status, errno)
	}
	return ""
}

// startMany ends this process with status 0 when no process can be started any more, and 1 when n could. It runs in a copy of a
// process of which only this thread was copied: no more of Go can be used than this. Its children end at once, and count until it has
// waited for them, at the end: left to others to wait for, they would fill the table after this has ended.
//
//go:norace
//go:nosplit
func startMany(n int) {
	status := uintptr(1)
	for range n {
		pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if errno == 0 && pid == 0 {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
		if errno != 0 {
			status = 0
			break
		}
	}
	for errno := unix.Errno(0); errno == 0 || errno == unix.EINTR; { // until there are none
		_, _, errno = unix.RawSyscall6(unix.SYS_WAIT4, ^uintptr(0), 0, 0, 0, 0, 0)
	}
	unix.RawSyscall(unix.SYS_EXIT_GROUP, status, 0, 0)
}

// canaryTime bounds the trial of a box.
const canaryTime = 30 * time.Second

// errLost is a canary that did not come back. A box that only claims to be one loses each. One that holds should lose none: but while a
// canary fills the process table, nothing can be started, and who needs to may die.
var errLost = errors.New("the canary did not come back")

// canaries is how many are sent before a box counts as one that loses them.
const canaries = 4

// try sends canaries into the box until one comes back.
func (b *Box) try(ctx context.Context) (err error) {
	for range canaries {
		if err = b.send(ctx); !errors.Is(err, errLost) {
			break
		}
	}
	return err
}

// send sends a canary into the box and writes the report. A box that does not hold what is required of it is an error.
func (b *Box) send(ctx context.Context) error {
	p, done, err := plant(b.cfg)
	if err != nil {
		return err
	}
	defer done()
	j := job{read: []string{filepath.Dir(p.Inside)}, plan: plan{Argv: []string{b.back.program(), marker, roleCanary}, Dir: b.cfg.Dir}}
	if b.cfg.Kind == Bwrap {
		j.masked, j.writable, j.kept = []string{p.Masked}, []string{filepath.Dir(filepath.Dir(p.Kept))}, []string{p.Kept}
	}
	p.Proxy = b.cfg.Network == Allowlist
	in, err := json.Marshal(p)
	if err != nil {
		return err
	}
	r, err := b.run(ctx, Command{Argv: j.plan.Argv, Stdin: in, Timeout: canaryTime}, j, Limits{}.withDefaults())
	if err != nil {
		return err
	}
	want, err := os.ReadFile(p.Inside)
	if err != nil {
		return err
	}
	var s sightings
	if err := json.Unmarshal(r.Stdout.Whole, &s); err != nil || s.Inside != string(want) {
		return fmt.Errorf("%w: it said %q and %q (exit %d)", errLost, clip(r.Stdout.Text), clip(r.Stderr.Text), r.ExitCode)
	}
	for _, path := range p.Write {
		if _, err := os.Lstat(path); err == nil {
			s.Not[SawWrites] = path + " was written"
		}
	}
	return b.judge(s)
}

// clip is the start of a text for an error.
func clip(b []byte) []byte { return b[:min(len(b), 400)] }

// judge fills in the report.
func (b *Box) judge(s sightings) error {
	b.report = Report{Kind: b.cfg.Kind, Network: b.cfg.Network}
	required := []string{SawFiles, SawWrites, SawNoNewPrivs, SawSeccomp}
	if b.cfg.Kind == None {
		b.report.Network, required = HostNet, nil
	}
	if b.report.Network == HostNet {
		s.Not[SawNetwork] = "it is this machine's"
	} else {
		required = append(required, SawNetwork)
	}
	if b.cfg.Kind == Bwrap {
		required = append(required, SawMasks, SawReadOnly, SawCapless)
	} else {
		delete(s.Not, SawMasks) // there, commands are refused instead
		delete(s.Not, SawReadOnly)
	}
	if b.cfg.Network == Allowlist {
		required = append(required, SawProxy)
	}
	for name, not := range s.Not {
		if not == "" {
			b.report.Enforced = append(b.report.Enforced, name)
		} else {
			b.report.Missed = append(b.report.Missed, name+": "+not)
		}
	}
	slices.Sort(b.report.Enforced)
	slices.Sort(b.report.Missed)
	for _, r := range required {
		if !slices.Contains(b.report.Enforced, r) {
			return fmt.Errorf("it does not confine: %s", strings.Join(b.report.Missed, ", "))
		}
	}
	b.report.Confined = b.cfg.Kind != None
	return nil
}
