package boxproxy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	maxConns     = 64               // at once in a box; npm opens up to 50
	maxHeader    = 64 << 10         // bytes of a request's head
	idleTime     = 2 * time.Minute  // without a byte in either direction
	maxBytes     = 4 << 30          // of one connection, one way
	proxySocket  = "proxy"          // the name of the socket in its directory
	proxyTimeout = 30 * time.Second // to connect
)

// CanaryHost is answered by the proxy itself, with status 204. No name in .invalid resolves (RFC 6761).
const CanaryHost = "canary.invalid"

// HeaderTime is how long the head of a request, or of an answer to CanaryHost, may take.
const HeaderTime = 10 * time.Second

// A Proxy is the only way out of a box with an allow-list, for one command. It speaks HTTP to the box, and dials by the operator's checks. It is safe for
// concurrent use; Close ends all its goroutines.
type Proxy struct {
	dir      string // holds the socket; only this user may enter it
	listener net.Listener
	dial     func(ctx context.Context, network, hostport string) (net.Conn, error)
	ctx      context.Context // ends the dialling; of the proxy's life, not of a call
	cancel   context.CancelFunc
	all      sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool // guarded by mu; nil after Close
	sent  map[string]int64  // guarded by mu; bytes
}

// New starts a proxy that dials so. An error of dial that is neither a *net.OpError nor a *net.DNSError is a refusal, and its text is
// shown.
func New(dial func(ctx context.Context, network, hostport string) (net.Conn, error)) (*Proxy, error) {
	dir, err := os.MkdirTemp("", "codeact-proxy-")
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("unix", filepath.Join(dir, proxySocket))
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	p := &Proxy{dir: dir, listener: listener, dial: dial, conns: map[net.Conn]bool{}, sent: map[string]int64{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.all.Go(p.accept)
	return p, nil
}

// Socket is the path at which it listens.
func (p *Proxy) Socket() string { return filepath.Join(p.dir, proxySocket) }

// Close ends all connections.
func (p *Proxy) Close() error {
	p.cancel()
	err := p.listener.Close()
	p.mu.Lock()
	for c := range p.conns {
		c.Close()
	}
	p.conns = nil
	p.mu.Unlock()
	p.all.Wait()
	return errors.Join(err, os.RemoveAll(p.dir))
}

// Sent is how many bytes went to each host, heads of requests and what TLS adds included. It is complete after Close.
func (p *Proxy) Sent() map[string]int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.sent)
}

func (p *Proxy) count(host string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent[host] += int64(n)
}

// keep remembers a connection, so that Close ends it, and says whether there is room for it.
func (p *Proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns == nil || len(p.conns) >= 2*maxConns { // each of the box's has one to a host
		c.Close()
		return false
	}
	p.conns[c] = true
	return true
}

func (p *Proxy) drop(c net.Conn) {
	c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		if p.keep(c) {
			p.all.Go(func() {
				defer p.drop(c)
				p.serve(c)
			})
		}
	}
}

// serve answers one request: a connection to another host is another connection.
func (p *Proxy) serve(c net.Conn) {
	_ = c.SetDeadline(time.Now().Add(HeaderTime)) // a connection that is gone fails below
	head := &io.LimitedReader{R: c, N: maxHeader}
	in := bufio.NewReader(head)
	r, err := http.ReadRequest(in)
	if err != nil {
		answer(c, http.StatusBadRequest, "this proxy speaks HTTP: "+err.Error())
		return
	}
	head.N = maxBytes
	target, refusal := destination(r)
	switch {
	case refusal != "":
		answer(c, http.StatusBadRequest, refusal)
	case r.URL.Hostname() == CanaryHost:
		answer(c, http.StatusNoContent, "")
	default:
		p.connect(c, in, r, target)
	}
}

// destination is the host and port that a request asks for.
func destination(r *http.Request) (hostport, refusal string) {
	if r.Method == http.MethodConnect {
		if _, _, err := net.SplitHostPort(r.RequestURI); err != nil {
			return "", "CONNECT: want host:port"
		}
		return r.RequestURI, ""
	}
	if r.URL.Scheme != "http" || r.URL.Hostname() == "" {
		return "", fmt.Sprintf("%s %s: want a whole http URL, or CONNECT", r.Method, r.URL.Scheme)
	}
	port := r.URL.Port()
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(r.URL.Hostname(), port), ""
}

func (p *Proxy) connect(c net.Conn, in *bufio.Reader, r *http.Request, target string) {
	ctx, cancel := context.WithTimeout(p.ctx, proxyTimeout)
	defer cancel()
	host, err := p.dial(ctx, "tcp", target)
	if err != nil {
		answer(c, statusOf(err), fmt.Sprintf("%s: %v", target, err))
		return
	}
	if !p.keep(host) {
		answer(c, http.StatusServiceUnavailable, "too many connections at once")
		return
	}
	defer p.drop(host)
	name, _, err := net.SplitHostPort(target)
	if err != nil {
		return // destination has seen to it
	}
	a, b := newIdle(c, host)
	b.wrote = func(n int) { p.count(strings.ToLower(name), n) }
	if r.Method == http.MethodConnect {
		if _, err := io.WriteString(a, "HTTP/1.1 200 Connection established\r\n\r\n"); err == nil {
			pass(&buffered{a, in}, b)
		}
		return
	}
	if forwardRequest(b, r) == nil {
		_, _ = io.Copy(a, b) // until the host closes, as it was asked to; who fails has closed
	}
}

// forwardRequest sends the request as its host wants it. The connection serves this request only, so that no second one can go to
// the same place under another name.
func forwardRequest(to io.Writer, r *http.Request) error {
	for _, name := range []string{"Proxy-Connection", "Proxy-Authorization", "Connection", "Keep-Alive", "Te", "Upgrade"} {
		r.Header.Del(name)
	}
	if _, ok := r.Header["User-Agent"]; !ok {
		r.Header.Set("User-Agent", "") // none, rather than Go's
	}
	r.Close = true // and r.Host is that of the URL already
	return r.Write(to)
}

// statusOf tells a refusal, which is what an error is unless the network says otherwise, from a host that does not answer.
func statusOf(err error) int {
	var op *net.OpError
	var dns *net.DNSError
	if errors.As(err, &op) || errors.As(err, &dns) || errors.Is(err, context.DeadlineExceeded) {
		return http.StatusBadGateway
	}
	return http.StatusForbidden
}

// answer ends a connection that goes nowhere.
func answer(c net.Conn, code int, text string) {
	var b bytes.Buffer
	if text != "" {
		text = "codeact: " + text + "\n"
	}
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		code, http.StatusText(code), len(text), text)
	_, _ = c.Write(b.Bytes()) // who does not read it has gone
}

// buffered reads what was read ahead first.
type buffered struct {
	*idle
	in *bufio.Reader
}

func (b *buffered) Read(p []byte) (int, error) {
	n, err := b.in.Read(p)
	b.extend()
	return n, err
}

// idle is one side of a pair of connections. A byte on either side gives both idleTime more.
type idle struct {
	net.Conn
	other net.Conn
	read  int64       // bytes; one goroutine reads
	wrote func(n int) // is told what was written; may be nil
}

func newIdle(a, b net.Conn) (x, y *idle) {
	x, y = &idle{Conn: a, other: b}, &idle{Conn: b, other: a}
	x.extend()
	return x, y
}

func (i *idle) extend() {
	end := time.Now().Add(idleTime)
	_, _ = i.Conn.SetDeadline(end), i.other.SetDeadline(end) // one that is closed says so when it is used
}

func (i *idle) Read(p []byte) (int, error) {
	n, err := i.Conn.Read(p)
	i.extend()
	if i.read += int64(n); i.read > maxBytes {
		return n, fmt.Errorf("more than %d bytes", int64(maxBytes))
	}
	return n, err
}

func (i *idle) Write(p []byte) (int, error) {
	n, err := i.Conn.Write(p)
	if i.wrote != nil {
		i.wrote(n)
	}
	i.extend()
	return n, err
}

// CloseWrite ends one way of it.
func (i *idle) CloseWrite() error {
	if half, ok := i.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return i.Conn.Close()
}
