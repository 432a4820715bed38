package mcp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/mcp"
	"github.com/codeact-dev/codeact/policy"
)

// nobody is a network that reaches nobody.
type nobody struct{}

func (nobody) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("refused by the guard")
}

// direct is a network without a guard, for servers of the test itself.
func direct(t testing.TB) http.RoundTripper {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

func remote(url string) mcp.Server {
	return mcp.Server{Name: "web", URL: url, Record: true, Headers: map[string]string{"Authorization": "Bearer s3cr3t"}}
}

// serveHTTP serves an SDK server, and checks that every request is let in.
func serveHTTP(t testing.TB, stateless bool, versions ...string) string {
	s := newSDKServer(versions...)
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: stateless})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cr3t" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(site.Close)
	return site.URL
}

func TestStreamableHTTP(t *testing.T) {
	for _, version := range sdk.SupportedProtocolVersions() {
		for _, stateless := range []bool{false, true} {
			if !stateless && version >= "2026" {
				continue // from then on there are no sessions
			}
			t.Run(fmt.Sprint(version, " stateless ", stateless), func(t *testing.T) {
				l := newLab(t, remote(serveHTTP(t, stateless, version)))
				l.cfg.Transport = direct(t)
				s, err := mcp.Connect(t.Context(), l.cfg)
				must(t, err)
				got := newRun(t, s.Tools()).value(t, "web_greet", args{"name": "Ada"})
				if m, _ := got.(map[string]any); m["text"] != "Hi Ada" {
					t.Errorf("got %v", got)
				}
				must(t, s.Close())
			})
		}
	}
}

func TestARemoteServerAlwaysSends(t *testing.T) {
	s := remote(serveHTTP(t, false))
	s.TrustAnnotations = true
	l := newLab(t, s)
	l.cfg.Transport = direct(t)
	if got := l.connect(t).Tools()[0].Caps; !got.Has(policy.ExternalSend | policy.UntrustedInput) {
		t.Errorf("capabilities %v: what is sent to another machine is sent, whatever it says", got)
	}
}

func TestRemoteServersThatAreRefused(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a redirect was followed, with %v", r.Header)
	}))
	t.Cleanup(elsewhere.Close)
	moved := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	t.Cleanup(moved.Close)
	for _, tt := range []struct{ name, url, want string }{
		{"redirect", moved.URL, "Temporary Redirect"},
		{"no MCP", httpSite(t, "text/html", "<h1>hello \x1b[31m</h1>"), "it did not start"},
		{"endless JSON", httpSite(t, "application/json", strings.Repeat("[", 9<<20)), "it did not start"},
		{"user in the url", "https://me:pass@a.test/", "without a user"},
		{"another scheme", "ftp://a.test/", "must be https"},
		{"no host", "https:///mcp", "must be https"},
		{"no url", "https://a b/%zz", "cannot be read"},
		{"in clear", "http://a.test/mcp", "unencrypted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, remote(tt.url))
			l.cfg.Transport = direct(t)
			if err := l.refused(t, tt.want); strings.Contains(err.Error(), "s3cr3t") || strings.Contains(err.Error(), "pass") {
				t.Errorf("%v: shows a secret", err)
			}
		})
	}
	l := newLab(t, remote("https://a.test/mcp"))
	l.cfg.Transport = nobody{}
	l.refused(t, "refused by the guard")
}

func httpSite(t *testing.T, media, body string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", media)
		io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// A site that breaks in the middle of a call: nobody knows what it did.
func TestARemoteCallThatBreaks(t *testing.T) {
	for name, breaks := range map[string]http.HandlerFunc{
		"gateway": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "bad gateway", http.StatusBadGateway) },
		"hang up": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"too much": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"`+strings.Repeat("x", 9<<20)+`"}]}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			s := newSDKServer()
			h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				var m struct{ Method string }
				_ = json.Unmarshal(body, &m)
				if m.Method == "tools/call" {
					calls.Add(1)
					breaks(w, r)
					return
				}
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				h.ServeHTTP(w, r)
			}))
			t.Cleanup(site.Close)
			l := newLab(t, remote(site.URL))
			l.cfg.Transport = direct(t)
			err := newRun(t, l.connect(t).Tools()).fails(t, "web_greet", args{"name": "Ada"}, "may have happened")
			if !errors.Is(err, bridge.ErrOutcomeUnknown) || calls.Load() != 1 {
				t.Errorf("%v after %d calls: want an unknown outcome of one call", err, calls.Load())
			}
		})
	}
}

// A site that answers with messages that nobody asked for is hung up on: it never
// gets rid of all 300,000.
func TestAFloodOfEventsIsNotRead(t *testing.T) {
	s := newSDKServer()
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	sent := make(chan int, 1)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct{ Method string }
		_ = json.Unmarshal(body, &m)
		if m.Method != "tools/call" {
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			h.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		n := 0
		for ; n < 300_000; n++ {
			if _, err := fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":%q}}\r\n\r\n", strings.Repeat("x", 200)); err != nil {
				break
			}
		}
		sent <- n
	}))
	t.Cleanup(site.Close)
	l := newLab(t, remote(site.URL))
	l.cfg.Transport = direct(t)
	newRun(t, l.connect(t).Tools()).fails(t, "web_greet", args{"name": "Ada"}, "may have happened")
	if n := <-sent; n == 300_000 {
		t.Error("all of it was read")
	}
}
