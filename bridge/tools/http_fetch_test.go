package tools_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/codeact-dev/codeact/bridge/egress"
)

// site is a server on loopback and the number of requests that it saw.
func site(t *testing.T, h http.HandlerFunc) (url string, seen *atomic.Int32) {
	t.Helper()
	seen = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { seen.Add(1); h(w, req) }))
	t.Cleanup(s.Close)
	return s.URL, seen
}

// reaching is a client that reaches a site, because the operator says so.
func reaching(t *testing.T, url string, cfg egress.Config) *egress.Client {
	t.Helper()
	cfg.Allow = []string{strings.TrimPrefix(url, "http://")}
	c, err := egress.New(cfg)
	must(t, err)
	return c
}

// web is a run that may reach a site.
func web(t *testing.T, h http.HandlerFunc, maxBody int64) (r *rig, url string, seen *atomic.Int32) {
	t.Helper()
	url, seen = site(t, h)
	return newRig(t, setup{http: reaching(t, url, egress.Config{MaxBody: maxBody})}), url, seen
}

// echo writes back what it was sent.
func echo(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintf(w, "%s %s type=%s x=%s %s", req.Method, req.URL.RequestURI(), req.Header.Get("Content-Type"), req.Header.Get("X-Y"), body)
}

func (r *rig) fetch(t *testing.T, a args) map[string]any {
	t.Helper()
	m, ok := r.value(t, "http_fetch", a).(map[string]any)
	if !ok {
		t.Fatalf("%v returned no record", a)
	}
	return m
}

func TestFetchSendsWhatItIsGiven(t *testing.T) {
	r, url, _ := web(t, echo, 0)
	for _, c := range []struct {
		args args
		want string
	}{
		{args{"url": url + "/a?q=1"}, "GET /a?q=1 type= x= "},
		{args{"url": url, "method": "DELETE"}, "DELETE / type= x= "},
		{args{"url": url, "method": "POST", "body": "a=1", "headers": args{"Content-Type": "text/x", "x-y": "z"}}, "POST / type=text/x x=z a=1"},
		{args{"url": url, "method": "POST", "body": ""}, "POST / type= x= "},
		{args{"url": url, "method": "PUT", "json": args{"b": int64(1), "a": []any{nil, true, "ü"}}}, `PUT / type=application/json x= {"a":[null,true,"ü"],"b":1}`},
		{args{"url": url, "method": "POST", "json": nil}, "POST / type=application/json x= null"},
		{args{"url": url, "method": "POST", "form": args{"b": "ü &=+", "a": "1"}}, "POST / type=application/x-www-form-urlencoded x= a=1&b=%C3%BC+%26%3D%2B"},
		{args{"url": url, "method": "PATCH", "form": args{"n": int64(-3), "f": 1.5, "y": true, "l": []any{"b", int64(2), false}}},
			"PATCH / type=application/x-www-form-urlencoded x= f=1.5&l=b&l=2&l=false&n=-3&y=true"},
		{args{"url": url, "method": "POST", "form": args{}}, "POST / type=application/x-www-form-urlencoded x= "},
		{args{"url": url, "method": "POST", "form": args{"a": []any{}}}, "POST / type=application/x-www-form-urlencoded x= "},
		{args{"url": url, "method": "HEAD"}, ""},
	} {
		m := r.fetch(t, c.args)
		if m["body"] != c.want || m["status"] != int64(200) || m["media_type"] != "text/plain" || m["url"] != c.args["url"] || m["truncated"] != false {
			t.Errorf("%v:\n got %v\nwant %q", c.args, m, c.want)
		}
		if _, redirected := m["location"]; redirected {
			t.Errorf("%v: %v", c.args, m)
		}
	}
}

// What is refused here was never sent, and its text is our own: it does not make
// the conversation untrusted.
func TestARefusedFetchIsLocal(t *testing.T) {
	r, url, seen := web(t, echo, 0)
	for _, c := range []struct {
		args args
		want string
	}{
		{args{"url": "http://127.0.0.1:1/"}, "tools must not reach"},
		{args{"url": "http://[::1]:1/"}, "tools must not reach"},
		{args{"url": "http://10.0.0.1/"}, "tools must not reach"},
		{args{"url": "http://169.254.169.254/latest/meta-data"}, "tools must not reach"},
		{args{"url": "http://[::ffff:7f00:1]:1/"}, "an IPv4 address must not be written as IPv6"},
		{args{"url": "file:///etc/passwd"}, "http"},
		{args{"url": "http://user:pw@example.com/"}, "user"},
		{args{"url": "http://0x7f.1/"}, ""},
		{args{"url": "/relative"}, ""},
		{args{"url": url, "method": "POST", "body": "a", "json": "a"}, "give only one of body and json"},
		{args{"url": url, "method": "POST", "body": "a", "form": args{}, "json": nil}, "give only one of body and form and json"},
		{args{"url": url, "form": args{"a": "b"}}, `a GET has no body: to send form, give method="POST"`},
		{args{"url": url, "method": "HEAD", "json": nil}, "a HEAD has no body"},
		{args{"url": url, "method": "POST", "form": args{"a": nil}}, "form"},
		{args{"url": url, "method": "POST", "form": args{"a": args{"b": "c"}}}, "form"},
		{args{"url": url, "method": "POST", "form": args{"a": []any{[]any{}}}}, "form"},
		{args{"url": url, "method": "POST", "form": "a=b"}, "form"},
		{args{"url": url, "method": "TRACE"}, "method"},
		{args{"url": url, "headers": args{"Host": "evil.test"}}, "the header Host is set by the client"},
		{args{"url": url, "headers": args{"X": "a\r\nY: b"}}, "line break"},
		{args{"url": url, "headers": args{"X": int64(1)}}, "headers"},
		{args{}, "url"},
	} {
		rep := r.fails(t, "http_fetch", c.args, c.want)
		if rep.outcome.External || rep.outcome.Taint.Untrusted() {
			t.Errorf("%v: it is told to come from outside: %v", c.args, rep.err)
		}
	}
	if seen.Load() != 0 {
		t.Errorf("the server saw %d requests", seen.Load())
	}
	r = newRig(t, setup{})
	if rep := r.fails(t, "http_fetch", args{"url": url}, "this run has no network"); rep.outcome.External {
		t.Error("without a network it comes from outside")
	}
}

// A redirect to a place that may not be reached is the reason why none is
// followed.
func TestARedirectIsToldAndNotFollowed(t *testing.T) {
	r, url, seen := web(t, func(w http.ResponseWriter, req *http.Request) { http.Redirect(w, req, "/inner?x=1", http.StatusFound) }, 0)
	m := r.fetch(t, args{"url": url + "/outer"})
	if m["status"] != int64(302) || m["location"] != url+"/inner?x=1" || seen.Load() != 1 {
		t.Errorf("%v after %d requests", m, seen.Load())
	}
}

func TestWhatTheNetworkSaysIsThirdPartyContent(t *testing.T) {
	external := func(what string, rep reply) {
		t.Helper()
		if !rep.outcome.External || !rep.outcome.Taint.Untrusted() {
			t.Errorf("%s: external %v, %v", what, rep.outcome.External, rep.outcome.Taint)
		}
	}
	r, url, _ := web(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "obey", http.StatusInternalServerError) }, 0)
	rep := r.call(t, "http_fetch", args{"url": url})
	external("an error page", rep)
	if m := rep.value.(map[string]any); m["status"] != int64(500) || m["body"] != "obey\n" {
		t.Errorf("an error page: %v", m)
	}
	r, url, _ = web(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0)
	external("a connection that breaks", r.fails(t, "http_fetch", args{"url": url}, "egress: GET 127.0.0.1"))

	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	closed := l.Addr().String()
	l.Close()
	c, err := egress.New(egress.Config{Allow: []string{closed}})
	must(t, err)
	external("a port where nobody listens", newRig(t, setup{http: c}).fails(t, "http_fetch", args{"url": "http://" + closed}, "refused"))
}

func TestABodyIsToldAsText(t *testing.T) {
	for _, c := range []struct{ name, kind, body, want string }{
		{"plain", "text/plain", "grün", "grün"},
		{"HTML as a reader sees it", "text/html; charset=utf-8", "<title>T</title><p>seen<p style='display:none'>obey</p><!-- obey --><script>obey</script>", "seen"},
		{"HTML that says what it is by itself", "-", "<!doctype html><p>seen</p><p hidden>obey</p>", "seen"},
		{"Latin-1, declared", "text/plain; charset=ISO-8859-1", "gr\xfcn", "grün"},
		{"Latin-1, declared, in HTML", "text/html; charset=latin1", "<p>gr\xfcn</p>", "grün"},
		{"Latin-1, declared in the page", "text/html", "<meta charset=iso-8859-1><p>gr\xfcn</p>", "grün"},
		{"text that is not declared and not UTF-8", "text/plain", "gr\xfcn", "grün"},
		{"UTF-16 with a mark", "text/plain", "\xff\xfeg\x00r\x00\xfc\x00n\x00", "grün"},
		{"UTF-8 with a mark", "application/json", "\xef\xbb\xbf[]", "[]"},
		{"UTF-16 that is valid UTF-8, declared", "text/plain; charset=utf-16le", "g\x00o\x00", "go"},
		{"Shift JIS", "text/plain; charset=Shift_JIS", "\x93\xfa", "日"},
		{"a character set that nobody knows", "text/plain; charset=x-unknown", "grün", "grün"},
		{"broken UTF-8, declared", "text/plain; charset=utf-8", "a\xffb", "a�b"},
		{"JSON", "application/problem+json", `{"a":"ü"}`, `{"a":"ü"}`},
		{"text under another type", "application/javascript", "let a = 1", "let a = 1"},
		{"text under another type, declared", "application/javascript; charset=latin1", "'\xfc'", "'ü'"},
		{"an image", "image/png", "\x89PNG\r\n\x1a\n\x00\x00", "[10 bytes of image/png, which is no text]"},
		{"an image with a character set", "image/png; charset=utf-8", "\x89PNG\x00", "[5 bytes of image/png, which is no text]"},
		{"not UTF-8", "application/octet-stream", "\xff\xfe\xfd", "[3 bytes of application/octet-stream, which is no text]"},
		{"of no type", "-", "\x00\x01\xff", "[3 bytes of an unknown type, which is no text]"},
		{"nothing", "text/plain", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, url, _ := web(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = []string{c.kind}
				if c.kind == "-" {
					w.Header()["Content-Type"] = nil // and no sniffing by the server
				}
				io.WriteString(w, c.body)
			}, 0)
			if got := r.fetch(t, args{"url": url})["body"].(string); strings.TrimPrefix(strings.TrimSpace(got), "T\n\n") != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// The cut goes through a character: what is before it is text all the same, and
// is not read as another character set.
func TestALongBodyIsCutAndSaysSo(t *testing.T) {
	body := "a" + strings.Repeat("ü", 600)
	for _, kind := range []string{"text/plain", "application/x-thing", "text/plain; charset=utf-8"} {
		r, url, _ := web(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			io.WriteString(w, body)
		}, 1024)
		if m := r.fetch(t, args{"url": url}); m["truncated"] != true || m["body"] != body[:1023] {
			t.Errorf("%s: truncated %v, %.40q", kind, m["truncated"], m["body"])
		}
	}
}
