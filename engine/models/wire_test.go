package models

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestAKeyDoesNotFollowARedirect(t *testing.T) {
	for _, provider := range providers {
		for _, code := range []int{301, 302, 303, 307, 308} {
			other := newServer(t, replay(t, textFile(provider)))
			s := newServer(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL+"/v1/x", code) })
			m, _ := newModel(t, provider, s.URL)
			_, err := m.Complete(t.Context(), ask(testDiary))
			if len(other.requests()) != 0 || len(s.requests()) != 1 || asError(t, err).Kind != KindBadRequest {
				t.Errorf("%s, %d: the other host was asked %d times: %v", provider, code, len(other.requests()), err)
			}
		}
	}
}

func TestNothingOfTheEnvironmentCounts(t *testing.T) {
	trap := newServer(t, status(500, ""))
	for name, value := range map[string]string{
		"ANTHROPIC_BASE_URL": trap.URL, "OPENAI_BASE_URL": trap.URL, "OPENAI_API_BASE": trap.URL,
		"ANTHROPIC_API_KEY": "env-key", "ANTHROPIC_AUTH_TOKEN": "env-key", "OPENAI_API_KEY": "env-key",
		"ANTHROPIC_CUSTOM_HEADERS": "X-Env: env-key", "ANTHROPIC_PROFILE": "missing", "ANTHROPIC_CONFIG_DIR": t.TempDir(),
		"OPENAI_ORGANIZATION": "env-key", "OPENAI_ORG_ID": "env-key",
		"HTTP_PROXY": trap.URL, "HTTPS_PROXY": trap.URL, "ALL_PROXY": trap.URL, "NO_PROXY": "",
	} {
		t.Setenv(name, value)
	}
	for _, provider := range providers {
		for _, key := range []string{testKey, ""} {
			s := newServer(t, replay(t, textFile(provider)))
			m, _ := newModel(t, provider, s.URL, func(c *Config) { c.Key = key })
			if _, err := m.Complete(t.Context(), ask("hello")); err != nil {
				t.Fatalf("%s with key %q: %v", provider, key, err)
			}
			got := s.requests()[0]
			if all := fmt.Sprint(got); strings.Contains(all, "env-key") {
				t.Errorf("%s sent what the environment holds: %s", provider, all)
			}
			want := ""
			if key != "" {
				want = "Bearer " + key
			}
			if have := got.header.Get("Authorization"); have != want {
				t.Errorf("%s with key %q: Authorization %q", provider, key, have)
			}
		}
	}
	if n := len(trap.requests()); n != 0 {
		t.Errorf("the host of the environment was asked %d times", n)
	}
	// Loopback is never proxied, so the calls above cannot show this.
	if newTransport().Proxy != nil {
		t.Error("the transport asks for a proxy")
	}
}

func TestNoRequestGoesToAnotherHost(t *testing.T) {
	s := newServer(t, replay(t, "openai_text.sse"))
	base, _ := url.Parse("https://api.test/v1")
	w := newWire(Config{Provider: OpenAICompatible, IdleTimeout: time.Second, Key: testKey}, base)
	for _, to := range []string{s.URL, "http://api.test/v1", "https://api.test:8443/"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Do(req); err == nil || asError(t, err).Kind != KindBadRequest {
			t.Errorf("%s: %v", to, err)
		}
	}
	if len(s.requests()) != 0 {
		t.Error("the request was sent")
	}
}

func TestAServerThatCannotBeTrustedIsAskedOnce(t *testing.T) {
	secure := httptest.NewUnstartedServer(replay(t, "openai_text.sse"))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	clear := newServer(t, replay(t, "openai_text.sse"))
	for _, provider := range providers {
		for name, base := range map[string]string{"certificate": secure.URL, "HTTPS": strings.Replace(clear.URL, "http:", "https:", 1)} {
			m, slept := newModel(t, provider, base)
			_, err := m.Complete(t.Context(), ask(testDiary))
			if e := asError(t, err); e.Kind != KindNetwork || e.Retryable || len(*slept) != 0 || !strings.Contains(err.Error(), name) {
				t.Errorf("%s, %s: %v", provider, name, err)
			}
			if piece := holdsSecret(err); piece != "" {
				t.Errorf("error shows %q: %v", piece, err)
			}
		}
	}
}

func TestNetworkErrorsKeepTheURLToThemselves(t *testing.T) {
	c := &client{cfg: Config{Key: testKey}}
	for _, tt := range []struct {
		cause     error
		retryable bool
	}{
		{&net.DNSError{Err: "no such host", Name: "api.test", IsNotFound: true}, false},
		{&net.DNSError{Err: "server misbehaving", Name: "api.test", IsTemporary: true}, true},
		{&tls.CertificateVerificationError{Err: errors.New("expired")}, false},
		{tls.RecordHeaderError{Msg: "not TLS"}, false},
		{http.ErrSchemeMismatch, false},
		{errors.New("connection reset by peer; key " + testKey), true},
	} {
		e := c.sort(&url.Error{Op: "Post", URL: "https://api.test/v1/?k=" + testKey, Err: tt.cause})
		if e.Kind != KindNetwork || e.Retryable != tt.retryable {
			t.Errorf("%v: kind %s, retryable %v", tt.cause, e.Kind, e.Retryable)
		}
		if piece := holdsSecret(e); piece != "" {
			t.Errorf("error shows %q: %v", piece, e)
		}
	}
	if e := c.sort(errors.New("odd " + testKey)); e.Kind != KindMalformed || holdsSecret(e) != "" {
		t.Errorf("an unknown error became %v", e)
	}
}

func TestBackoffGrowsToHalfAMinute(t *testing.T) {
	for n, most := range []time.Duration{
		500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second,
		30 * time.Second, 30 * time.Second,
	} {
		for range 100 {
			if d := backoff(n); d > most || d < most/2 {
				t.Fatalf("backoff(%d) = %s, want %s to %s", n, d, most/2, most)
			}
		}
	}
	if d := backoff(1 << 40); d > 30*time.Second {
		t.Errorf("backoff grew to %s", d)
	}
}

func TestSleepEndsByTheClockOrTheContext(t *testing.T) {
	if err := sleep(t.Context(), time.Nanosecond); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestManyCommentsDoNotEndAStream(t *testing.T) {
	s := newServer(t, stream(strings.Repeat(": OPENROUTER PROCESSING\n\nid: 7\nretry: 10\n\n", 1000)+recorded(t, "openai_text.sse")))
	m, _ := newModel(t, OpenAICompatible, s.URL)
	if got, err := m.Complete(t.Context(), ask("hello")); err != nil || got.Text == "" {
		t.Errorf("%q, %v", got.Text, err)
	}
}
