package egress

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestTheSocketIsCheckedToo calls what the dialer calls just before it connects, with an address that never went through resolve.
func TestTheSocketIsCheckedToo(t *testing.T) {
	c, err := New(Config{Allow: []string{"site.test:80"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []struct {
		host, address string
		ok            bool
	}{
		{"x.test", "8.8.8.8:80", true},
		{"x.test", "127.0.0.1:80", false},
		{"x.test", "[::ffff:127.0.0.1]:80", false},
		{"x.test", "[fe80::1%lo]:80", false},
		{"x.test", "not an address", false},
		{"site.test", "127.0.0.1:80", true},
	} {
		err := c.control(a.host, "80")(t.Context(), "tcp", a.address, nil)
		if (err == nil) != a.ok || err != nil && !errors.Is(err, ErrRefused) {
			t.Errorf("%s at %s: %v", a.host, a.address, err)
		}
	}
	if _, err := c.dial(t.Context(), "tcp", "no port"); err == nil {
		t.Error("dialled without a port")
	}
}

func TestAnExceptionIsOneHostAndPort(t *testing.T) {
	s, other := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello") }), serve(t, func(w http.ResponseWriter, r *http.Request) {})
	resp := mustDo(t, s.cfg, s.url("/"))
	if string(resp.Body) != "hello" || resp.Status != 200 || resp.RemoteIP != "127.0.0.1" {
		t.Errorf("%+v", resp)
	}
	for _, raw := range []string{"http://127.0.0.1:" + s.port, "http://site.test:" + other.port, "http://sub.site.test:" + s.port} {
		cfg := s.cfg
		cfg.Resolver = &answers{lists: map[string][]string{"site.test": {"127.0.0.1"}, "sub.site.test": {"127.0.0.1"}}}
		if _, err := do(t, cfg, raw); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "ask the operator to allow") {
			t.Errorf("%s: %v", raw, err)
		}
	}
	if other.hits.Load() != 0 {
		t.Error("the other port was reached")
	}
}

func TestAllowPrivateReachesThisMachineButNoMetadata(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello") })
	cfg := Config{AllowPrivate: true}
	if resp := mustDo(t, cfg, "http://127.0.0.1:"+s.port); string(resp.Body) != "hello" {
		t.Errorf("%+v", resp)
	}
	if _, err := do(t, cfg, "http://169.254.169.254/latest/meta-data"); !errors.Is(err, ErrRefused) {
		t.Errorf("metadata: %v", err)
	}
}

func TestAllowedDomains(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {})
	for domain, ok := range map[string]bool{"site.test": true, "test": true, "*.TEST": true, "other.test": false, "te.test": false} {
		cfg := s.cfg
		cfg.AllowedDomains = []string{domain}
		if _, err := do(t, cfg, s.url("/")); (err == nil) != ok || err != nil && (!errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), domain)) {
			t.Errorf("%s: %v", domain, err)
		}
	}
}

// TestProxiesOfTheEnvironmentAreIgnored relies on TestMain: net/http reads the environment once a process.
func TestProxiesOfTheEnvironmentAreIgnored(t *testing.T) {
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: "http", Host: "site.test"}}); proxy == nil || err != nil {
		t.Fatalf("the environment names no proxy, so this tests nothing: %v", err)
	}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {})
	if mustDo(t, s.cfg, s.url("/")); s.hits.Load() != 1 {
		t.Errorf("%d requests arrived", s.hits.Load())
	}
}

func TestHeadersAreCapped(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-A", strings.Repeat("a", 70<<10))
	})
	if _, err := do(t, s.cfg, s.url("/")); err == nil || errors.Is(err, ErrRefused) {
		t.Errorf("70 KiB of 64: %v", err)
	}
	s.cfg.MaxHeader = 80 << 10
	mustDo(t, s.cfg, s.url("/"))
}

func TestTLSIsVerifiedAgainstTheHost(t *testing.T) {
	var sni string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { sni = r.TLS.ServerName }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	port := server.URL[strings.LastIndex(server.URL, ":")+1:]
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	cfg := Config{
		RootCAs: roots, Timeout: 5 * time.Second, Allow: []string{"example.com:" + port, "other.test:" + port},
		Resolver: &answers{lists: map[string][]string{"example.com": {"127.0.0.1"}, "other.test": {"127.0.0.1"}}},
	}
	mustDo(t, cfg, "https://example.com:"+port) // the certificate of httptest is for this name
	if sni != "example.com" {
		t.Errorf("SNI %q", sni)
	}
	if _, err := do(t, cfg, "https://other.test:"+port); err == nil || !strings.Contains(err.Error(), "certificate is valid for") {
		t.Errorf("another name: %v", err)
	}
	cfg.RootCAs = nil
	if _, err := do(t, cfg, "https://example.com:"+port); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown authority: %v", err)
	}
}

func TestLookups(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {})
	cfg := s.cfg
	cfg.Resolver = &answers{lists: map[string][]string{"empty.test": {""}, "site.test": {"127.0.0.9 ::ffff:127.0.0.1"}}}
	for host, want := range map[string]string{"absent.test": "no such host", "empty.test": "no address"} {
		if _, err := do(t, cfg, "http://"+host); err == nil || errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", host, err)
		}
	}
	// the first address refuses the connection, since the server listens on the second only
	if resp := mustDo(t, cfg, s.url("/")); resp.RemoteIP != "127.0.0.1" {
		t.Errorf("answered from %s", resp.RemoteIP)
	}
}
