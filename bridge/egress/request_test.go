package egress

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestWhatIsSent(t *testing.T) {
	var got *http.Request
	var body []byte
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		http.SetCookie(w, &http.Cookie{Name: "id", Value: "1"})
		w.Header().Set("Content-Type", "Text/HTML; charset=ISO-8859-1")
	})
	c, err := New(s.cfg)
	if err != nil {
		t.Fatal(err)
	}
	u, err := ParseURL(s.url("/a%2Fb?q=1#frag"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(t.Context(), Request{Method: "PUT", URL: u, Header: map[string]string{"x-one": "1", "Authorization": "Bearer t"}, Body: []byte("body")})
	if err != nil {
		t.Fatal(err)
	}
	if got.Method != "PUT" || got.RequestURI != "/a%2Fb?q=1" || got.Host != "site.test:"+s.port || string(body) != "body" ||
		got.Header.Get("X-One") != "1" || got.Header.Get("Authorization") != "Bearer t" || got.UserAgent() != "codeact" {
		t.Errorf("%s %s %s %q %v", got.Method, got.RequestURI, got.Host, body, got.Header)
	}
	if resp.MediaType != "text/html" || resp.Charset != "ISO-8859-1" || resp.Header.Get("Set-Cookie") != "id=1" {
		t.Errorf("%+v", resp)
	}
	if _, err := c.Do(t.Context(), Request{URL: u, Header: map[string]string{"User-Agent": "mine"}}); err != nil || got.UserAgent() != "mine" {
		t.Errorf("%v %v", got.Header, err)
	}
	if got.Header.Get("Cookie") != "" || got.Method != "GET" {
		t.Errorf("a cookie came back: %v", got.Header)
	}
}

func TestNoMediaTypeIsEmpty(t *testing.T) {
	for _, header := range []string{"", ";;", "text/html; charset"} {
		cfg := raw(t, func(c net.Conn) {
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: 2\r\n\r\nok", header)
		})
		if resp := mustDo(t, cfg, cfg.rawURL()); resp.MediaType != "" || resp.Charset != "" || string(resp.Body) != "ok" {
			t.Errorf("%q: %+v", header, resp)
		}
	}
}

func TestRequestsThatAreNotSent(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {})
	header := func(name, value string) func(*Request) {
		return func(r *Request) { r.Header = map[string]string{name: value} }
	}
	for name, change := range map[string]func(*Request){
		"no URL": func(r *Request) {
			r.URL = URL{Raw: s.url("/"), Scheme: "http", Host: "site.test", Port: s.port, Path: "/"}
		},
		"CONNECT":           func(r *Request) { r.Method = "CONNECT" },
		"TRACE":             func(r *Request) { r.Method = "TRACE" },
		"lower case":        func(r *Request) { r.Method = "get" },
		"method split":      func(r *Request) { r.Method = "GET / HTTP/1.1\r\nX: y" },
		"value split":       header("X-A", "b\r\nHost: evil.test"),
		"value, LF":         header("X-A", "b\nc"),
		"value, NUL":        header("X-A", "b\x00"),
		"name split":        header("X-A: b\r\nX-B", "c"),
		"name, space":       header("X A", "b"),
		"name, trailing":    header("Host ", "b"),
		"name, empty":       header("", "b"),
		"Host":              header("host", "evil.test"),
		"Content-Length":    header("Content-Length", "5"),
		"Transfer-Encoding": header("transfer-encoding", "chunked"),
		"Connection":        header("Connection", "Authorization"),
		"Upgrade":           header("Upgrade", "h2c"),
		"TE":                header("TE", "trailers"),
		"Trailer":           header("Trailer", "X"),
		"Expect":            header("Expect", "100-continue"),
		"Keep-Alive":        header("Keep-Alive", "1"),
		"Proxy":             header("Proxy-Authorization", "x"),
		"Cookie":            header("Cookie", "a=b"),
		"Accept-Encoding":   header("Accept-Encoding", "br"),
		"HTTP2-Settings":    header("HTTP2-Settings", "x"),
		"twice":             func(r *Request) { r.Header = map[string]string{"x-a": "1", "X-A": "2"} },
		"too long":          header("X-A", strings.Repeat("a", maxRequestHeader)),
		"cannot be sent":    func(r *Request) { r.URL.parsed = &url.URL{Scheme: "http", Host: "a b"} },
	} {
		if _, err := do(t, s.cfg, s.url("/?q=s3cret"), change); !errors.Is(err, ErrRefused) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s.hits.Load() != 0 {
		t.Errorf("%d requests arrived", s.hits.Load())
	}
}
