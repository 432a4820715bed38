package models

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const (
	testKey    = "sk-test-0123456789abcdefghijklmnop"
	testDiary  = "the diary of Ada, page 12, that nobody may read"
	testSystem = "You are the secretary of Ada Lovelace; answer in Starlark."
)

var providers = []string{Anthropic, OpenAICompatible}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A seen is one request as a server got it.
type seen struct {
	path   string
	header http.Header
	body   string
}

// A server answers the n-th request with the n-th of its answers, and the rest with the last.
type server struct {
	*httptest.Server
	mu   sync.Mutex
	seen []seen // guarded by mu
}

func newServer(t *testing.T, answers ...http.HandlerFunc) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.seen = append(s.seen, seen{r.URL.Path, r.Header.Clone(), string(body)})
		n := len(s.seen)
		s.mu.Unlock()
		answers[min(n, len(answers))-1](w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func (s *server) requests() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// naps is a clock that only notes how long it was asked to sleep.
type naps []time.Duration

func (n *naps) sleep(ctx context.Context, d time.Duration) error {
	*n = append(*n, d)
	return ctx.Err()
}

func newModel(t *testing.T, provider, baseURL string, change ...func(*Config)) (Model, *naps) {
	t.Helper()
	slept := &naps{}
	cfg := Config{
		Provider: provider,
		Name:     "test-model",
		BaseURL:  baseURL,
		Key:      testKey,
		Backoff:  func(n int) time.Duration { return time.Duration(n+1) * time.Second },
		Sleep:    slept.sleep,
	}
	for _, f := range change {
		f(&cfg)
	}
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m, slept
}

func ask(text string) Prompt {
	return Prompt{System: testSystem, Messages: []Message{{Role: RoleUser, Text: text}}}
}

// replay answers with a recorded stream.
func replay(t *testing.T, file string) http.HandlerFunc {
	t.Helper()
	return stream(recorded(t, file))
}

func recorded(t testing.TB, file string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func stream(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		io.WriteString(w, text)
	}
}

// cutAfter sends text and then breaks the connection.
func cutAfter(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		stream(text)(w, r)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

// hangAfter sends text and then nothing, until the client gives up.
func hangAfter(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		stream(text)(w, r)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

func silent(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// reset closes the connection without an answer.
func reset(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func status(code int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

// textFile is the recorded stream of a plain reply.
func textFile(provider string) string {
	if provider == Anthropic {
		return "anthropic_text.sse"
	}
	return "openai_text.sse"
}
