package mcp

import (
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codeact-dev/codeact/bridge/scan"
)

// The bounds of a server's process.
const (
	maxStderr = 64 << 10    // bytes that are kept of its standard error: the last ones
	lastWords = 1 << 10     // bytes of them that an error quotes
	waitDelay = time.Second // for what it leaves behind to let go of its pipes
	grace     = time.Second // between closing its input, asking it to end, and ending it
)

// A process is a running stdio server.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *os.File
	stderr *tail
	done   chan struct{} // closed when it has ended and was reaped
}

// run starts the server. One goroutine waits for its end, which close brings about.
func (s *Server) run() (*process, sdk.Transport, error) {
	p := &process{cmd: exec.Command(s.Command, s.Args...), stderr: &tail{max: maxStderr}, done: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env = s.Cwd, environ(s.Env)
	p.cmd.Stderr, p.cmd.WaitDelay = p.stderr, waitDelay
	detach(p.cmd)
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	// Not StdoutPipe: Wait would close it before its last line is read.
	stdout, w, err := os.Pipe()
	if err != nil {
		return nil, nil, errors.Join(err, stdin.Close())
	}
	p.stdin, p.stdout, p.cmd.Stdout = stdin, stdout, w
	if err := p.cmd.Start(); err != nil {
		return nil, nil, errors.Join(err, stdout.Close(), w.Close()) // Start closed stdin
	}
	go p.wait()
	return p, &sdk.IOTransport{Reader: stdout, Writer: stdin, MaxLineLength: maxLine}, w.Close()
}

// wait reaps the server and ends what it left behind in its process group, which
// could hold the pipes open for ever.
func (p *process) wait() {
	_ = p.cmd.Wait() // how it ended is in ProcessState
	_ = killGroup(p.cmd.Process)
	if err := p.stdout.SetReadDeadline(time.Now().Add(waitDelay)); err != nil {
		_ = p.stdout.Close() // a pipe without deadlines: what was not read yet is lost
	}
	close(p.done)
}

// close ends the server as MCP asks: by the end of its input, then by a signal,
// then by force.
func (p *process) close() {
	ends := []func() error{p.stdin.Close, func() error { return terminateGroup(p.cmd.Process) }, func() error { return killGroup(p.cmd.Process) }}
	for _, end := range ends {
		_ = end() // it may have ended by itself
		select {
		case <-p.done:
			return
		case <-time.After(grace):
		}
	}
	<-p.done // nothing outlives a kill
}

// inherited are the variables of our own environment that a server sees: secrets
// stand in others.
var inherited = []string{"PATH", "HOME", "LANG", "TMPDIR"}

func environ(declared map[string]string) []string {
	var env []string
	for _, name := range slices.Concat(inherited, systemVars) {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		env = append(env, name+"="+declared[name]) // the last of two holds
	}
	return env
}

// A tail keeps the last max bytes that are written to it. It is safe for
// concurrent use.
type tail struct {
	max int

	mu  sync.Mutex
	buf []byte // guarded by mu; at most 2*max bytes
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p[max(0, len(p)-t.max):]...)
	if over := len(t.buf) - t.max; over > t.max/2 {
		t.buf = slices.Delete(t.buf, 0, over)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf[max(0, len(t.buf)-t.max):])
}

// words are the last words of the server, fit to be shown. All that was kept is
// redacted before it is cut: half a secret would not be found.
func (c *Config) words(p *process) string {
	if p == nil {
		return ""
	}
	text := strings.ToValidUTF8(p.stderr.String(), "\ufffd")
	if c.Redact != nil {
		text = c.Redact(text)
	}
	if cut := len(text) - lastWords; cut > 0 {
		text = "…" + strings.ToValidUTF8(text[cut:], "")
	}
	return oneLine(scan.Visible(text))
}
