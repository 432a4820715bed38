package egress

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codeact-dev/codeact/bridge/egress/egresstest"
)

// roundTripper is that of a client, closed with the test.
func newRoundTripper(t *testing.T, cfg Config) http.RoundTripper {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	rt := c.RoundTripper()
	t.Cleanup(func() { (&http.Client{Transport: rt}).CloseIdleConnections() })
	return rt
}

// closed is a body that knows whether it was closed.
type closed struct {
	io.Reader
	yes bool
}

func (c *closed) Close() error { c.yes = true; return nil }

func TestWhatRoundTripperRefuses(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	rt := newRoundTripper(t, s.cfg)
	for name, change := range map[string]func(*http.Request){
		"another Host header":        func(r *http.Request) { r.Host = "evil.test" },
		"a user name":                func(r *http.Request) { r.URL.User = url.User("site.test") },
		"an opaque URL":              func(r *http.Request) { r.URL = &url.URL{Scheme: "http", Opaque: "//user@site.test:" + s.port} },
		"a host with a path":         func(r *http.Request) { r.URL.Host, r.Host = r.URL.Host+"/x@evil.test", "" },
		"a host with a line break":   func(r *http.Request) { r.URL.Host, r.Host = r.URL.Host+"\r\nX: y", "" },
		"no host":                    func(r *http.Request) { r.URL.Host, r.Host = "", "" },
		"another scheme":             func(r *http.Request) { r.URL.Scheme = "ftp" },
		"CONNECT":                    func(r *http.Request) { r.Method = "CONNECT" },
		"a method split":             func(r *http.Request) { r.Method = "GET / HTTP/1.1\r\nX: y" },
		"a redirect":                 func(r *http.Request) { r.Response = &http.Response{StatusCode: 307} },
		"a path that climbs":         func(r *http.Request) { r.URL.Path = "/a/../b" },
		"a port that is not allowed": func(r *http.Request) { r.URL.Host, r.Host = "site.test:1", "" },
	} {
		body := &closed{Reader: strings.NewReader("x")}
		req, err := http.NewRequestWithContext(t.Context(), "POST", s.url("/"), body)
		if err != nil {
			t.Fatal(err)
		}
		change(req)
		if resp, err := rt.RoundTrip(req); resp != nil || !errors.Is(err, ErrRefused) || !body.yes {
			t.Errorf("%s: %v, body closed: %v", name, err, body.yes)
		}
	}
	if s.hits.Load() != 0 {
		t.Errorf("%d requests arrived", s.hits.Load())
	}
}

// TestRoundTripperStreams: a server writes on only when the client has read what is there, over a connection that is kept.
func TestRoundTripperStreams(t *testing.T) {
	heard := make(chan string)
	var from atomic.Pointer[string]
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		from.Store(&r.RemoteAddr)
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %s\n", r.Method, r.Host, r.Header.Get("Authorization"), body)
		w.(http.Flusher).Flush()
		fmt.Fprintf(w, "and %s\n", <-heard)
	})
	client := &http.Client{Transport: newRoundTripper(t, s.cfg)}
	ports := map[string]bool{}
	for range 3 {
		req, err := http.NewRequestWithContext(t.Context(), "POST", s.url("/x?q=1"), strings.NewReader("hello"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer t")
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(resp.Body)
		if !lines.Scan() || lines.Text() != "POST site.test:"+s.port+" Bearer t hello" {
			t.Errorf("first %q", lines.Text())
		}
		heard <- "more"
		if !lines.Scan() || lines.Text() != "and more" || lines.Scan() {
			t.Errorf("then %q", lines.Text())
		}
		resp.Body.Close()
		ports[*from.Load()] = true
	}
	if len(ports) != 1 {
		t.Errorf("three requests came over %d connections", len(ports))
	}
}

func TestRoundTripperReachesAnInternationalHost(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Host, r.RequestURI) })
	cfg := Config{Resolver: &egresstest.Resolver{Answers: []string{"127.0.0.1"}}, Allow: []string{"bücher.example:" + s.port}}
	resp, err := (&http.Client{Transport: newRoundTripper(t, cfg)}).Get("http://bücher.example:" + s.port + "/a%2Fb?q=ü")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); string(body) != "xn--bcher-kva.example:"+s.port+"/a%2Fb?q=ü" || err != nil {
		t.Errorf("%s, %v", body, err)
	}
}

// TestRoundTripperBoundsHeads: bodies are the caller's, all before them is not.
func TestRoundTripperBoundsHeads(t *testing.T) {
	for name, write := range map[string]func(net.Conn){
		"headers exceeded": func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\n")
			for err := error(nil); err == nil; {
				_, err = fmt.Fprintf(c, "X-A: %01000d\r\n", 0)
			}
		},
		"protocol":  func(c net.Conn) { fmt.Fprint(c, "HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n") },
		"malformed": func(c net.Conn) { fmt.Fprint(c, "SSH-2.0-x\r\n\r\n") },
	} {
		cfg := raw(t, write)
		req, err := http.NewRequestWithContext(t.Context(), "GET", cfg.rawURL(), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = newRoundTripper(t, cfg).RoundTrip(req)
		if err == nil || errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestARequestMayHaveItsOwnLimits, for an answer that is stored.
func TestARequestMayHaveItsOwnLimits(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(5<<30))
		w.Write(make([]byte, 3000))
		w.(http.Flusher).Flush()
		<-r.Context().Done() // the rest of the 5 GB never comes
	})
	s.cfg.MaxBody = 1000
	for most, want := range map[int64]int{0: 1000, 10: 10, 2999: 2999} {
		resp := mustDo(t, s.cfg, s.url("/"), func(r *Request) { r.MaxBody = most })
		if len(resp.Body) != want || !resp.Truncated {
			t.Errorf("%d: %d bytes, truncated %v", most, len(resp.Body), resp.Truncated)
		}
	}
	s.cfg.Timeout = time.Hour
	if _, err := do(t, s.cfg, s.url("/"), func(r *Request) { r.MaxBody, r.Timeout = 1<<20, 100*time.Millisecond }); err == nil || errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "deadline exceeded") {
		t.Errorf("a time of its own: %v", err)
	}
	before := s.hits.Load()
	for name, change := range map[string]func(*Request){
		"negative": func(r *Request) { r.MaxBody = -1 }, "over 1 GiB": func(r *Request) { r.MaxBody = 1<<30 + 1 }, "no time": func(r *Request) { r.Timeout = -1 },
	} {
		if _, err := do(t, s.cfg, s.url("/"), change); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "limit") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s.hits.Load() != before {
		t.Error("a request with a limit that is none was sent")
	}
}
