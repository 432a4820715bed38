package egress

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain names a proxy that no request could get through.
func TestMain(m *testing.M) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY"} {
		if err := os.Setenv(name, "http://127.0.0.1:1"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// answers is a resolver: each lookup of a name takes the next of its lists, the last one again and again.
type answers struct {
	lists map[string][]string
	asked atomic.Int64
}

func (a *answers) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	n := int(a.asked.Add(1)) - 1
	lists, ok := a.lists[host]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	var addrs []netip.Addr
	for text := range strings.FieldsSeq(lists[min(n, len(lists)-1)]) {
		addrs = append(addrs, netip.MustParseAddr(text))
	}
	return addrs, nil
}

// site is a server on loopback, reached as http://site.test:PORT through an exception.
type site struct {
	port string
	hits atomic.Int64
	cfg  Config
}

func serve(t *testing.T, handler http.HandlerFunc) *site {
	t.Helper()
	s := &site{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.hits.Add(1)
		handler(w, r)
	}))
	t.Cleanup(server.Close)
	s.port = server.URL[strings.LastIndex(server.URL, ":")+1:]
	s.cfg = Config{
		Resolver: &answers{lists: map[string][]string{"site.test": {"127.0.0.1"}}},
		Allow:    []string{"site.test:" + s.port},
		Timeout:  5 * time.Second,
	}
	return s
}

func (s *site) url(path string) string { return "http://site.test:" + s.port + path }

func do(t *testing.T, cfg Config, raw string, change ...func(*Request)) (*Response, error) {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	u, err := ParseURL(raw)
	if err != nil {
		t.Fatal(err)
	}
	req := Request{URL: u}
	for _, f := range change {
		f(&req)
	}
	return c.Do(t.Context(), req)
}

func mustDo(t *testing.T, cfg Config, raw string, change ...func(*Request)) *Response {
	t.Helper()
	resp, err := do(t, cfg, raw, change...)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func TestRedirectsAreToldNotFollowed(t *testing.T) {
	trap := serve(t, func(w http.ResponseWriter, r *http.Request) {})
	for location, want := range map[string]string{
		"http://169.254.169.254/latest/": "http://169.254.169.254/latest/",
		"http://127.0.0.1:" + trap.port:  "http://127.0.0.1:" + trap.port,
		"/next?a=b":                      "/next?a=b",
		"other":                          "/dir/other",
		"//evil.test/x":                  "http://evil.test/x",
		"file:///etc/passwd":             "file:///etc/passwd",
		"http://[bad":                    "",
		"":                               "",
	} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if location != "" {
					w.Header().Set("Location", location)
				}
				w.WriteHeader(status)
				fmt.Fprint(w, "moved")
			})
			if strings.HasPrefix(want, "/") {
				want = s.url(want)
			}
			resp := mustDo(t, s.cfg, s.url("/dir/a"), func(r *Request) { r.Method, r.Body = "POST", []byte("x") })
			if resp.Status != status || resp.Location != want || string(resp.Body) != "moved" || s.hits.Load() != 1 {
				t.Errorf("%d to %s: %+v, %d requests", status, location, resp, s.hits.Load())
			}
			want = strings.TrimPrefix(want, s.url(""))
		}
	}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Location", "/made"); w.WriteHeader(201) })
	if resp := mustDo(t, s.cfg, s.url("/")); resp.Location != "" {
		t.Errorf("201 is no redirect: %+v", resp)
	}
	if trap.hits.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

func TestB33BodiesAreCapped(t *testing.T) {
	chunk := bytes.Repeat([]byte("x"), 64<<10)
	var sent atomic.Int64
	fiveGB := func(w http.ResponseWriter, r *http.Request) {
		for range 5 << 30 / len(chunk) {
			n, err := w.Write(chunk)
			if err != nil {
				return
			}
			sent.Add(int64(n))
		}
	}
	bomb := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		for range 64 << 20 / len(chunk) {
			if _, err := z.Write(chunk); err != nil {
				return
			}
		}
		z.Close()
	}
	text := func(size int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { w.Write(bytes.Repeat([]byte("y"), size)) }
	}
	for _, c := range []struct {
		name      string
		handler   http.HandlerFunc
		max, want int64
		truncated bool
	}{
		{"5 GB in chunks", fiveGB, 0, 5 << 20, true},
		{"gzip bomb", bomb, 1 << 20, 1 << 20, true},
		{"just enough", text(1000), 1000, 1000, false},
		{"one too many", text(1001), 1000, 1000, true},
		{"empty", text(0), 1000, 0, false},
		{"a length that lies", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1099511627776")
			w.Write(chunk)
		}, 1000, 1000, true},
	} {
		s := serve(t, c.handler)
		s.cfg.MaxBody = c.max
		resp := mustDo(t, s.cfg, s.url("/"))
		if int64(len(resp.Body)) != c.want || resp.Truncated != c.truncated {
			t.Errorf("%s: %d bytes, truncated %v", c.name, len(resp.Body), resp.Truncated)
		}
	}
	if n := sent.Load(); n > 100<<20 {
		t.Errorf("the server could send %d MiB", n>>20)
	}
}

// raw serves bytes as they are, and hangs up when the client does.
func raw(t *testing.T, write func(net.Conn)) Config {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				buf := make([]byte, 4096)
				if _, err := conn.Read(buf); err == nil {
					write(conn)
				}
				io.Copy(io.Discard, conn)
			}()
		}
	}()
	t.Cleanup(func() { l.Close(); <-ended })
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return Config{
		Resolver: &answers{lists: map[string][]string{"raw.test": {"127.0.0.1"}}}, Allow: []string{"raw.test:" + port}, Timeout: 500 * time.Millisecond,
	}
}

func (c Config) rawURL() string { return "http://" + c.Allow[0] + "/?q=s3cret" }

// trickle writes one byte at a time, until the client gives up.
func trickle(conn net.Conn, head string) {
	fmt.Fprint(conn, head)
	for {
		if _, err := conn.Write([]byte("a")); err != nil {
			return
		}
		time.Sleep(10 * time.Millisecond) // the pace of the attack: nothing waits for it
	}
}

func TestHostileServers(t *testing.T) {
	for _, c := range []struct {
		name  string
		write func(net.Conn)
		want  string
	}{
		{"slow header", func(c net.Conn) { trickle(c, "HTTP/1.1 200 OK\r\nX: ") }, "deadline exceeded"},
		{"slow body", func(c net.Conn) { trickle(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n") }, "deadline exceeded"},
		{"silence", func(c net.Conn) {}, "deadline exceeded"},
		{"endless header", func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\n")
			for err := error(nil); err == nil; {
				_, err = fmt.Fprintf(c, "X-A: %01000d\r\n", 0)
			}
		}, "headers exceeded"},
		{"not HTTP", func(c net.Conn) { fmt.Fprint(c, "SSH-2.0-x\r\n\r\n") }, "malformed"},
		{"half a body", func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
			c.Close()
		}, "unexpected EOF"},
		{"bad gzip", func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd")
		}, "gzip|unexpected EOF"},
		{"another protocol", func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
		}, "protocol"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := raw(t, c.write)
			began := time.Now()
			resp, err := do(t, cfg, cfg.rawURL())
			if err == nil {
				t.Fatalf("got %+v", resp)
			}
			found := false
			for want := range strings.SplitSeq(c.want, "|") {
				found = found || strings.Contains(err.Error(), want)
			}
			if !found || errors.Is(err, ErrRefused) || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "GET raw.test") {
				t.Errorf("got %v", err)
			}
			if took := time.Since(began); took > 4*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestASilentHandshakeEnds(t *testing.T) {
	cfg := raw(t, func(net.Conn) {})
	if _, err := do(t, cfg, strings.Replace(cfg.rawURL(), "http", "https", 1)); err == nil || errors.Is(err, ErrRefused) {
		t.Errorf("got %v", err)
	}
}

func TestWhatTheCallerCancelsEnds(t *testing.T) {
	cfg := raw(t, func(net.Conn) {})
	cfg.Timeout = time.Minute
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	u, _ := ParseURL(cfg.rawURL())
	if _, err := c.Do(ctx, Request{URL: u}); !errors.Is(err, context.Canceled) || errors.Is(err, ErrRefused) {
		t.Errorf("got %v", err)
	}
}

func TestNewReportsEveryFault(t *testing.T) {
	_, err := New(Config{
		Allow:          []string{"example.com", "example.com:80/x", "a b:80", "user@example.com:80", "example.com:80/", ":80", "example.com:99999"},
		AllowedDomains: []string{"", "*", "http://example.com", "a b", "2130706433"},
		MaxBody:        -1,
	})
	if err == nil {
		t.Fatal("accepted")
	}
	if n := strings.Count(err.Error(), "egress:"); n != 13 {
		t.Errorf("%d faults of 13:\n%v", n, err)
	}
	if c, err := New(Config{Allow: []string{"[::1]:8080", "LOCALHOST:80"}}); err != nil || !c.excepted("::1", "8080") || !c.excepted("localhost", "80") || c.excepted("localhost", "81") {
		t.Errorf("%v", err)
	}
	c, err := New(Config{})
	if err != nil || c.cfg.Timeout != 30*time.Second || c.cfg.MaxBody != 5<<20 || c.cfg.MaxHeader != 64<<10 || c.cfg.Resolver != net.DefaultResolver {
		t.Errorf("defaults: %+v %v", c.cfg, err)
	}
}
