package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/bridge/sandbox"
)

var errNotListed = errors.New("not in the allow-list; allowed: good.test")

func refuseAll(context.Context, string, string) (net.Conn, error) { return nil, errNotListed }

// allow dials the address for the hosts listed.
func allow(hosts map[string]string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, hostport string) (net.Conn, error) {
		if to, ok := hosts[hostport]; ok {
			return (&net.Dialer{}).DialContext(ctx, network, to)
		}
		return nil, errNotListed
	}
}

func TestABoxWithAnAllowlistReachesItsHostsAndNoOther(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s %q", r.Host, r.URL, r.Header.Get("Proxy-Connection"))
	})
	plain, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	defer plain.Close()
	defer secure.Close()
	dead, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead.Close()
	w := newWorld(t)
	box := w.open(t, sandbox.Config{Network: sandbox.Allowlist, Dial: allow(map[string]string{
		"good.test:80": plain.Listener.Addr().String(), "good.test:8080": plain.Listener.Addr().String(),
		"good.test:443": secure.Listener.Addr().String(), "dead.test:80": dead.Addr().String(),
	})})
	if r := box.Report(); !r.Confined || r.Network != sandbox.Allowlist || !strings.Contains(strings.Join(r.Enforced, " "), sandbox.SawNetwork) ||
		!strings.Contains(strings.Join(r.Enforced, " "), sandbox.SawProxy) {
		t.Errorf("got %+v", r)
	}
	for url, want := range map[string]string{
		"http://good.test/a?b=c":                         `200 good.test /a?b=c ""`,
		"http://good.test:8080/":                         `200 good.test:8080 / ""`,
		"https://good.test/a":                            `200 good.test /a ""`,
		"http://bad.test/":                               "403 codeact: bad.test:80: not in the allow-list; allowed: good.test",
		"https://bad.test/":                              "refused:",
		"http://dead.test/":                              "502 codeact: dead.test:80: dial tcp",
		"http://good.test:81/":                           "403 ",
		"http://" + plain.Listener.Addr().String() + "/": "403 ",
		"http://[::1]:80/":                               "403 ",
	} {
		r := run(t, box, "/run/codeact/stage", attackMarker, "fetch", url)
		if !strings.HasPrefix(string(r.Stdout.Text), want) {
			t.Errorf("%s: got %s, want %s", url, r.Stdout.Text, want)
		}
	}
	for _, attack := range [][]string{{"connect", "tcp4", plain.Listener.Addr().String()}, {"raw"}, {"fds"},
		{"connect", "unix", listen(t, "unix", w.path("ws/drafts/sock"))}, {"datagram", listenDatagrams(t, w.path("ws/drafts/log"))}} {
		if r := run(t, box, append([]string{"/run/codeact/stage", attackMarker}, attack...)...); r.ExitCode != exitRefused {
			t.Errorf("%s: %s", attack, r.Stdout.Text)
		}
	}
	for script, want := range map[string]int64{`exit 0`: 0, `printf 'POST http://good.test/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n%01000d' 0 >&3; cat <&3`: 1000} {
		r := run(t, box, "bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/3128; "+script)
		if n := r.Sent["good.test"]; r.Sent == nil || n < want || n > 2*want || len(r.Sent) != int(min(want, 1)) {
			t.Errorf("%s: sent %v: %s%s", script, r.Sent, r.Stdout.Text, r.Stderr.Text)
		}
	}
	// The forwarder is not the command's child, and what waits for all children does not wait for it.
	if r := run(t, box, "perl", "-e", "print wait()"); string(r.Stdout.Text) != "-1" {
		t.Errorf("the command has a child: %s", r.Stdout.Text)
	}
}
