package boxproxy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// A recorder is a host that keeps what it is sent, and answers with one line.
type recorder struct {
	mu      sync.Mutex
	targets []string // guarded by mu
	got     bytes.Buffer
	done    sync.WaitGroup
}

func (h *recorder) dial(_ context.Context, network, hostport string) (net.Conn, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.targets = append(h.targets, network+" "+hostport)
	ours, theirs := net.Pipe()
	h.done.Go(func() {
		defer theirs.Close()
		in := bufio.NewReader(io.TeeReader(theirs, &h.got))
		if r, err := http.ReadRequest(in); err == nil {
			_, _ = io.Copy(io.Discard, r.Body)
		}
		_, _ = io.WriteString(theirs, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	})
	return ours, nil
}

// What was sent is what the host got, each way to ask it.
func TestWhatIsSentIsCounted(t *testing.T) {
	for _, request := range []string{
		"POST http://A.test/p HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody",
		"CONNECT a.TEST:443 HTTP/1.1\r\n\r\nPOST / HTTP/1.1\r\nHost: b.test\r\nContent-Length: 4\r\n\r\nbody",
		"GET ftp://a.test/ HTTP/1.1\r\n\r\n",
	} {
		h := &recorder{}
		p, err := New(h.dial)
		if err != nil {
			t.Fatal(err)
		}
		askOf(t, p, h, []byte(request))
		want := map[string]int64{}
		if n := h.got.Len(); n > 0 {
			want["a.test"] = int64(n)
		}
		if got := p.Sent(); !maps.Equal(got, want) || (len(want) == 0) != strings.HasPrefix(request, "GET") {
			t.Errorf("%.30q: counted %v, the host got %v", request, got, want)
		}
	}
}

// ask sends bytes to a proxy, and returns the answer when the proxy closes.
func ask(t testing.TB, h *recorder, request []byte) string {
	t.Helper()
	p, err := New(h.dial)
	if err != nil {
		t.Fatal(err)
	}
	return askOf(t, p, h, request)
}

// askOf closes the proxy.
func askOf(t testing.TB, p *Proxy, h *recorder, request []byte) string {
	t.Helper()
	defer h.done.Wait()
	defer p.Close()
	c, err := net.Dial("unix", p.Socket())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go func() { // ends when the proxy closes
		_, _ = c.Write(request)
		_ = c.(*net.UnixConn).CloseWrite()
	}()
	answer, _ := io.ReadAll(c) // a reset is an end, too
	return string(answer)
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestARequestIsPassedOnAsItsHostWantsIt(t *testing.T) {
	h := &recorder{}
	answer := ask(t, h, []byte("POST http://a.test/p?q HTTP/1.1\r\nHost: b.test\r\nProxy-Authorization: Basic x\r\nConnection: keep-alive\r\nX: y\r\nContent-Length: 4\r\n\r\nbodyGET http://c.test/ HTTP/1.1\r\n\r\n"))
	if want := "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"; answer != want {
		t.Errorf("got %q", answer)
	}
	if want := "POST /p?q HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nContent-Length: 4\r\nX: y\r\n\r\nbody"; h.got.String() != want {
		t.Errorf("the host got %q", h.got.String())
	}
	if len(h.targets) != 1 || h.targets[0] != "tcp a.test:80" {
		t.Errorf("dialled %q", h.targets)
	}
}

func TestWhatTheProxyRefuses(t *testing.T) {
	for request, want := range map[string]string{
		"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n":       "400 ",
		"GET https://a.test/ HTTP/1.1\r\n\r\n":         "400 ",
		"GET ftp://a.test/ HTTP/1.1\r\n\r\n":           "400 ",
		"CONNECT a.test HTTP/1.1\r\n\r\n":              "400 ",
		"CONNECT / HTTP/1.1\r\nHost: a.test:1\r\n\r\n": "400 ",
		"\x16\x03\x01": "400 ",
		"GET http://a.test/ HTTP/1.1\r\nX: " + strings.Repeat("x", maxHeader):          "400 ",
		"GET http://" + CanaryHost + "/ HTTP/1.1\r\nHost: x\r\n\r\n":                   "204 ",
		"CONNECT a.test:1 HTTP/1.1\r\nHost: evil.test:2\r\n\r\nGET / HTTP/1.0\r\n\r\n": "200 Connection established",
	} {
		h := &recorder{}
		answer := ask(t, h, []byte(request))
		if !strings.HasPrefix(answer, "HTTP/1.1 "+want) {
			t.Errorf("%.60q: got %.60q, want %s", request, answer, want)
		}
		if dialled := len(h.targets) > 0; dialled != strings.HasPrefix(want, "200") {
			t.Errorf("%.60q: dialled %q", request, h.targets)
		}
		if strings.HasPrefix(want, "200") && h.targets[0] != "tcp a.test:1" {
			t.Errorf("dialled %q", h.targets)
		}
	}
}

func TestARefusalIsToldFromANetworkThatFails(t *testing.T) {
	for err, want := range map[error]int{
		errors.New("not listed"):           http.StatusForbidden,
		&net.OpError{Op: "dial"}:           http.StatusBadGateway,
		&net.DNSError{Name: "x"}:           http.StatusBadGateway,
		context.DeadlineExceeded:           http.StatusBadGateway,
		errors.Join(errors.New("private")): http.StatusForbidden,
	} {
		if got := statusOf(err); got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
}

func TestAProxyThatIsFullTakesNoMore(t *testing.T) {
	p, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	var pipes []net.Conn
	for i := range 2*maxConns + 1 {
		a, b := net.Pipe()
		pipes = append(pipes, a, b)
		if kept := p.keep(a); kept != (i < 2*maxConns) {
			t.Errorf("connection %d kept: %v", i, kept)
		}
	}
	p.drop(pipes[0])
	if !p.keep(pipes[1]) {
		t.Error("no room after one has gone")
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if p.keep(pipes[2]) {
		t.Error("kept after Close")
	}
	if _, err := pipes[3].Read(make([]byte, 1)); err == nil {
		t.Error("Close left a connection open")
	}
	for _, c := range pipes {
		c.Close()
	}
	if _, err := os.Stat(p.dir); !os.IsNotExist(err) {
		t.Errorf("the directory is left: %v", err)
	}
}

// Whatever a box sends, the proxy answers HTTP or nothing, and dials only what a host and a port can be told of.
func FuzzProxy(f *testing.F) {
	for _, s := range []string{"GET http://a.test/ HTTP/1.1\r\nHost: a\r\n\r\n", "CONNECT a:1 HTTP/1.1\r\n\r\nhello", "GET http://[::1]:80 HTTP/1.0\r\n\r\n",
		"POST http://a/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, request []byte) {
		h := &recorder{}
		answer := ask(t, h, request)
		if answer != "" && !strings.HasPrefix(answer, "HTTP/1.1 ") {
			t.Errorf("answered %q", answer)
		}
		if len(h.targets) > 1 {
			t.Errorf("one request, dialled %q", h.targets)
		}
		for _, target := range h.targets {
			if _, _, err := net.SplitHostPort(strings.TrimPrefix(target, "tcp ")); err != nil {
				t.Errorf("dialled %q: %v", target, err)
			}
		}
	})
}
