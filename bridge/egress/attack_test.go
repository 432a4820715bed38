package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/codeact-dev/codeact/bridge/egress/egresstest"
)

// A way is one way out of the package. It gets as far as it can with a URL.
type way struct {
	name string
	try  func(t *testing.T, c *Client, raw string) error
}

// hostPort is what a client of a proxy makes of a URL.
func hostPortOf(raw string) string {
	hostport, _ := egresstest.Attack{URL: raw}.HostPort()
	return hostport
}

var ways = []way{
	{"Do", func(t *testing.T, c *Client, raw string) error {
		u, err := ParseURL(raw)
		if err != nil {
			return err
		}
		_, err = c.Do(t.Context(), Request{URL: u})
		return err
	}},
	{"RoundTripper", func(t *testing.T, c *Client, raw string) error {
		req, err := http.NewRequestWithContext(t.Context(), "GET", raw, nil)
		if err != nil {
			return refuse("", "net/url: "+err.Error()) // it never gets to our part
		}
		rt := c.RoundTripper()
		client := &http.Client{Transport: rt}
		defer client.CloseIdleConnections()
		resp, err := client.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}},
	{"DialContext", func(t *testing.T, c *Client, raw string) error {
		conn, err := c.DialContext(t.Context(), "tcp", hostPortOf(raw))
		if err == nil {
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(5 * time.Second))
			fmt.Fprint(conn, "GET / HTTP/1.0\r\n\r\n")
			conn.Read(make([]byte, 1)) // the server has counted it by then
		}
		return err
	}},
}

// TestNoAttackGetsOut runs every attack through every way out against a server that listens where most of them lead.
func TestNoAttackGetsOut(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	attacks := egresstest.Attacks(s.port)
	if len(attacks) < 60 {
		t.Fatalf("%d attacks are too few", len(attacks))
	}
	for _, w := range ways {
		tried := 0
		for _, a := range attacks {
			if w.name == "DialContext" {
				if _, ok := a.HostPort(); !ok {
					continue
				}
				a = dialled(a, s.port)
			}
			tried++
			r := a.Resolver()
			c, err := New(Config{Resolver: r, Timeout: 5 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			err = w.try(t, c, a.URL)
			switch {
			case !errors.Is(err, ErrRefused):
				t.Errorf("%s, %s: %q gives %v", w.name, a.Name, a.URL, err)
			case w.name == "RoundTripper" && a.Name == "port that is empty": // net/http takes the colon away before we see it
			case !strings.Contains(err.Error(), a.Reason) && !strings.Contains(err.Error(), "net/url"):
				t.Errorf("%s, %s: %v, want %q", w.name, a.Name, err, a.Reason)
			case strings.Contains(err.Error(), "s3cret") && w.name == "Do": // the others show what http.Client adds
				t.Errorf("%s, %s shows the query: %v", w.name, a.Name, err)
			}
			if r.Asked() > 1 {
				t.Errorf("%s, %s: the name was resolved %d times", w.name, a.Name, r.Asked())
			}
		}
		if tried < 60 {
			t.Errorf("%s: only %d attacks", w.name, tried)
		}
	}
	if s.hits.Load() != 0 {
		t.Errorf("%d requests arrived", s.hits.Load())
	}
}

// dialled is an attack with the port of the web, since DialContext reaches no other one: its address alone may stop it.
func dialled(a egresstest.Attack, port string) egresstest.Attack {
	if a.Reason != "port" {
		a.URL = strings.Replace(a.URL, ":"+port, ":80", 1)
	}
	return a
}

// TestTheAttacksWork: where this machine may be reached, those that lead here get here. So what stops them above is the check.
func TestTheAttacksWork(t *testing.T) {
	for _, w := range ways {
		s := serve(t, func(http.ResponseWriter, *http.Request) {})
		want := 0
		for _, a := range egresstest.Attacks(s.port) {
			if !a.Home {
				continue
			}
			want++
			u, err := ParseURL(a.URL)
			if err != nil {
				t.Fatal(err)
			}
			cfg := Config{Resolver: a.Resolver(), AllowPrivate: true}
			if w.name == "DialContext" {
				cfg.Allow = []string{net.JoinHostPort(u.Host, u.Port)} // the port is not of the web
			}
			c, err := New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.try(t, c, a.URL); err != nil {
				t.Errorf("%s, %s: %v", w.name, a.Name, err)
			}
		}
		if want < 10 || int(s.hits.Load()) != want {
			t.Errorf("%s: %d of %d attacks arrived", w.name, s.hits.Load(), want)
		}
	}
}

// TestARebindingNameIsResolvedOnce: the second answer would lead to the server, so there must be no second question.
func TestARebindingNameIsResolvedOnce(t *testing.T) {
	for _, w := range ways {
		s := serve(t, func(http.ResponseWriter, *http.Request) {})
		// An exception, since no test may leave the machine: nothing listens at the first answer.
		r := &egresstest.Resolver{Answers: []string{"127.0.0.9", "127.0.0.1"}}
		c, err := New(Config{Resolver: r, Timeout: 5 * time.Second, Allow: []string{"rebind.test:" + s.port}})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.try(t, c, "http://rebind.test:"+s.port); err == nil || errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", w.name, err)
		}
		if r.Asked() != 1 || s.hits.Load() != 0 {
			t.Errorf("%s: resolved %d times, %d requests arrived", w.name, r.Asked(), s.hits.Load())
		}
		c.allow = nil // each request is checked anew; port 80, so that the address alone stops DialContext
		if err := w.try(t, c, "http://rebind.test:80"); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "tools must not reach") {
			t.Errorf("%s, again: %v", w.name, err)
		}
	}
}

func TestEveryWayKeepsToTheAllowedDomains(t *testing.T) {
	for _, w := range ways {
		for host, ok := range map[string]bool{"site.test": true, "a.site.test": true, "SITE.test.": true, "site.test.evil.test": false, "evilsite.test": false, "127.0.0.1": false} {
			s := serve(t, func(http.ResponseWriter, *http.Request) {})
			cfg := Config{Resolver: &egresstest.Resolver{Answers: []string{"127.0.0.1"}}, AllowedDomains: []string{"site.test"}}
			cfg.Allow = []string{strings.TrimSuffix(host, ".") + ":" + s.port}
			c, err := New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			err = w.try(t, c, "http://"+host+":"+s.port+"/")
			if (err == nil) != ok || err != nil && (!errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "allowed domains: site.test")) {
				t.Errorf("%s to %s: %v", w.name, host, err)
			}
			if arrived := s.hits.Load() == 1; arrived != ok {
				t.Errorf("%s to %s: arrived %v", w.name, host, arrived)
			}
		}
	}
}

// TestNoLocationIsFollowed by any way that could.
func TestNoLocationIsFollowed(t *testing.T) {
	trap := serve(t, func(http.ResponseWriter, *http.Request) {})
	for _, location := range egresstest.Locations(trap.port) {
		for _, status := range []int{301, 302, 303, 307, 308} {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", location)
				w.WriteHeader(status)
			})
			cfg := s.cfg
			cfg.AllowPrivate = true // the redirect itself must be what stops it
			for _, w := range ways[:2] {
				c, err := New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				before := s.hits.Load()
				if err := w.try(t, c, s.url("/")); w.name == "Do" && err != nil || w.name != "Do" && err == nil {
					t.Errorf("%s, %d to %q: %v", w.name, status, location, err)
				}
				if n := s.hits.Load() - before; n != 1 {
					t.Errorf("%s, %d to %q: %d requests", w.name, status, location, n)
				}
			}
		}
	}
	if trap.hits.Load() != 0 {
		t.Errorf("%d redirects were followed", trap.hits.Load())
	}
}

func TestDialContextReachesTheWebAlone(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	cfg := Config{Resolver: &egresstest.Resolver{Answers: []string{"127.0.0.1"}}, AllowPrivate: true, Allow: []string{"site.test:" + s.port}}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ network, hostport, reason string }{
		{"tcp", "site.test:22", "not for the web"},
		{"tcp", "site.test:25", "not for the web"},
		{"tcp", "site.test:8080", "not for the web"},
		{"tcp", "other.test:" + s.port, "not for the web"},
		{"udp", "site.test:80", "only TCP"},
		{"unix", "/run/docker.sock", "only TCP"},
		{"", "site.test:80", "only TCP"},
		{"tcp", "site.test", "host:port"},
		{"tcp", "", "host:port"},
		{"tcp", "http://site.test:80", "host:port"},
		{"tcp", "site.test:80/x", "host:port"},
		{"tcp", "site.test:http", "port must be a number"},
		{"tcp", ":80", "not a valid domain name"},
		{"tcp", "[::1]", "host:port"},
		{"tcp", strings.Repeat("a", maxURL+1) + ":80", "8 KiB"},
	} {
		if conn, err := c.DialContext(t.Context(), tt.network, tt.hostport); conn != nil || !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), tt.reason) {
			t.Errorf("%s %.40q: %v, want %q", tt.network, tt.hostport, err, tt.reason)
		}
	}
	for _, hostport := range []string{"site.test:" + s.port, "SITE.test.:" + s.port} {
		conn, err := c.DialContext(t.Context(), "tcp", hostport)
		if err != nil {
			t.Fatalf("%s: %v", hostport, err)
		}
		conn.Close()
	}
	// nobody listens there: the check lets the ports of the web pass, and the network fails
	for _, port := range webPorts {
		c.cfg.Resolver = &egresstest.Resolver{Answers: []string{"127.0.0.9"}}
		if _, err := c.DialContext(t.Context(), "tcp4", "web.test:"+port); err == nil || errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "web.test") {
			t.Errorf("port %s: %v", port, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.DialContext(ctx, "tcp", "site.test:"+s.port); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
