package models

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func asError(t *testing.T, err error) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("want an *Error, got %T: %v", err, err)
	}
	return e
}

// holdsSecret returns what of the key, the prompt or the URL is in err, however printed.
func holdsSecret(err error) string {
	for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)} {
		for _, secret := range []string{testKey, testDiary, testSystem} {
			for i := range len(secret) - minPromptRun {
				if piece := secret[i : i+minPromptRun]; strings.Contains(text, piece) {
					return piece
				}
			}
		}
		for _, secret := range []string{"Bearer", "/v1/", "?k="} {
			if strings.Contains(text, secret) {
				return secret
			}
		}
	}
	return ""
}

// complain is an error as either API words it.
func complain(kind, message string) string {
	return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q,"code":null,"param":null},"request_id":"req_9"}`, kind, message)
}

// event is that error within a stream.
func event(kind, message string) http.HandlerFunc {
	// OpenAI's servers send data alone; its client skips the event's name.
	return stream("event: error\ndata: " + strings.Replace(complain(kind, message), `"type":"error",`, "", 1) + "\n\n")
}

func text(provider string) string {
	if provider == Anthropic {
		return "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"some text\"}}\n\n"
	}
	return "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"some text\"}}]}\n\n"
}

func big(provider string, n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		filler := strings.Replace(text(provider), "some text", strings.Repeat("x", 1000), 1)
		stream(strings.Repeat(filler, n/len(filler)+1))(w, r)
	}
}

// comments is a stream that says nothing, at length.
func comments(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	line := []byte(": " + strings.Repeat("z", 1021) + "\n")
	for range maxStream/len(line) + 100 {
		if _, err := w.Write(line); err != nil {
			return
		}
	}
}

type faultCase struct {
	name      string
	answer    func(provider string) http.HandlerFunc
	kind      string
	status    int
	retryable bool
	says      string // must stand in the error's text
	change    func(*Config)
}

func always(h http.HandlerFunc) func(string) http.HandlerFunc {
	return func(string) http.HandlerFunc { return h }
}

func quick(c *Config) { c.IdleTimeout = 150 * time.Millisecond }

var hostile = complain("x", "key "+testKey+" ("+testKey[:20]+"…) asked "+testDiary+" under "+testSystem)

var faults = []faultCase{
	{name: "wrong key, echoed", answer: always(status(401, complain("authentication_error", "Incorrect API key provided: "+testKey))),
		kind: KindAuth, status: 401, says: "Incorrect API key provided: [key]"},
	{name: "forbidden", answer: always(status(403, hostile)), kind: KindAuth, status: 403, says: "[request]"},
	{name: "account empty", answer: always(status(402, complain("billing_error", "Add credit"))), kind: KindAuth, status: 402},
	{name: "unknown model", answer: always(status(404, complain("not_found_error", "model: test-model"))),
		kind: KindBadRequest, status: 404, says: "check the model's name and the base URL"},
	{name: "request echoed", answer: always(status(400, hostile)), kind: KindBadRequest, status: 400, says: "key [key] ([key]…) asked [request]"},
	{name: "request echoed in another shape", answer: always(status(400, `{"input":`+fmt.Sprintf("%q", testDiary)+`}`)), kind: KindBadRequest, status: 400},
	{name: "request echoed as text", answer: always(status(413, testDiary+testKey)), kind: KindBadRequest, status: 413},
	{name: "rate limit", answer: always(status(429, complain("rate_limit_error", "slow down"), "Request-Id", "req_7")),
		kind: KindRateLimit, status: 429, retryable: true, says: "request req_7"},
	{name: "no quota", answer: always(status(429, complain("insufficient_quota", "You exceeded your quota"))), kind: KindRateLimit, status: 429},
	{name: "server", answer: always(status(500, complain("api_error", "Internal server error"), "X-Request-Id", "req-8")),
		kind: KindServer, status: 500, retryable: true, says: "request req-8"},
	{name: "server that echoes the request", answer: always(status(500, hostile)), kind: KindServer, status: 500, retryable: true, says: "[request]"},
	{name: "bad gateway", answer: always(status(502, "<html>bad gateway</html>")), kind: KindServer, status: 502, retryable: true},
	{name: "unavailable", answer: always(status(503, `{"error":"loading the model"}`)), kind: KindOverloaded, status: 503, retryable: true, says: "loading the model"},
	{name: "gateway timeout", answer: always(status(504, "")), kind: KindServer, status: 504, retryable: true},
	{name: "origin down", answer: always(status(521, "")), kind: KindServer, status: 521, retryable: true},
	{name: "overloaded", answer: always(status(529, complain("overloaded_error", "Overloaded"))), kind: KindOverloaded, status: 529, retryable: true},
	{name: "request timeout", answer: always(status(408, `{"detail":"late"}`)), kind: KindTimeout, status: 408, retryable: true, says: "late"},
	{name: "not implemented", answer: always(status(501, `{"message":"no"}`)), kind: KindServer, status: 501},
	{name: "hostile request id", answer: always(status(400, "", "Request-Id", "<b> "+testKey)), kind: KindBadRequest, status: 400},
	{name: "key as request id", answer: always(status(400, "", "Request-Id", testKey)), kind: KindBadRequest, status: 400},
	{name: "a page instead of a stream", answer: always(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>Sign in</html>") }),
		kind: KindMalformed, status: 200, says: "check the base URL"},
	{name: "a whole reply instead of a stream", answer: always(status(200, `{"choices":[]}`)), kind: KindMalformed, status: 200},
	{name: "nothing", answer: always(status(204, "")), kind: KindMalformed, status: 204},
	{name: "redirect elsewhere", answer: always(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://evil.test/v1/x?k="+testKey, http.StatusTemporaryRedirect)
	}), kind: KindBadRequest, says: "redirect to evil.test"},
	{name: "overloaded in the stream", answer: always(event("overloaded_error", "Overloaded")), kind: KindOverloaded, retryable: true, says: "Overloaded"},
	{name: "rate limit in the stream", answer: always(event("rate_limit_exceeded", "slow")), kind: KindRateLimit, retryable: true},
	{name: "bad request in the stream", answer: always(event("invalid_request_error", "too long")), kind: KindBadRequest},
	{name: "hostile event", answer: always(event("strange_error", "key "+testKey+" asked "+testDiary)), kind: KindServer, retryable: true, says: "[request]"},
	{name: "event without a code", answer: always(stream("event: error\ndata: {\"error\":{\"type\":\"timeout_error\",\"message\":\"m\"}}\n\n")), kind: KindTimeout, retryable: true},
	{name: "event without a message", answer: always(stream("event: error\ndata: {\"error\":{\"type\":\"x\"}}\n\ndata: {}\n\n")), kind: KindServer, retryable: true},
	{name: "error of a gateway in the stream", answer: always(stream("event: error\ndata: {\"id\":\"1\", \"error\":{\"code\":429,\"message\":\"later\"}}\n\n")),
		kind: KindRateLimit, retryable: true, says: "later"},
	{name: "unreadable event", answer: func(p string) http.HandlerFunc {
		return stream(text(p) + "event: x\ndata: {\"type\":\"" + testKey + "\n\n")
	},
		kind: KindMalformed, says: "not the JSON"},
	{name: "closed before the end", answer: func(p string) http.HandlerFunc { return stream(text(p)) }, kind: KindCutStream, retryable: true},
	{name: "closed before the text", answer: always(stream("")), kind: KindCutStream, retryable: true},
	{name: "cut within an event", answer: func(p string) http.HandlerFunc { s := text(p); return cutAfter(s + s[:len(s)/2]) }, kind: KindCutStream, retryable: true},
	{name: "reset before the answer", answer: always(reset), kind: KindNetwork, retryable: true, says: "EOF"},
	{name: "silent before the answer", answer: always(silent), kind: KindTimeout, retryable: true, says: "no byte within 150ms", change: quick},
	{name: "silent within the stream", answer: func(p string) http.HandlerFunc { return hangAfter(text(p)) }, kind: KindTimeout, retryable: true, change: quick},
	{name: "silent within an error", answer: always(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(400)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}), kind: KindTimeout, retryable: true, change: quick},
	{name: "no end of text", answer: func(p string) http.HandlerFunc { return big(p, maxText+maxText/2) }, kind: KindMalformed, says: "1 MiB"},
	{name: "no end of stream", answer: always(comments), kind: KindMalformed, says: "8 MiB"},
	{name: "slow on the whole", answer: func(p string) http.HandlerFunc { return hangAfter(text(p)) }, kind: KindTimeout,
		says: "no whole reply within 200ms", change: func(c *Config) { c.Timeout = 200 * time.Millisecond }},
}

func TestEveryFaultHasItsKindAndShowsNoSecret(t *testing.T) {
	for _, provider := range providers {
		for _, f := range faults {
			t.Run(provider+" "+f.name, func(t *testing.T) {
				t.Parallel()
				s := newServer(t, f.answer(provider))
				m, slept := newModel(t, provider, s.URL, func(c *Config) {
					c.Retries = 1
					if f.change != nil {
						f.change(c)
					}
				})
				_, err := m.Complete(t.Context(), ask(testDiary))
				e := asError(t, err)
				if e.Kind != f.kind || e.Status != f.status || e.Retryable != f.retryable || e.Provider != provider {
					t.Errorf("got kind %s, status %d, retryable %v of %s: %v", e.Kind, e.Status, e.Retryable, e.Provider, err)
				}
				if !strings.Contains(err.Error(), f.says) {
					t.Errorf("error %q does not say %q", err, f.says)
				}
				if piece := holdsSecret(err); piece != "" {
					t.Errorf("error shows %q: %#v", piece, err)
				}
				if len(err.Error()) > 2*maxSaid {
					t.Errorf("error of %d bytes", len(err.Error()))
				}
				want := 1
				if f.retryable {
					want = 2
				}
				if len(*slept) != want-1 {
					t.Errorf("%d pauses, want %d attempts", len(*slept), want)
				}
				// On a busy machine a timeout may come before the server sees the request.
				if n := len(s.requests()); f.change == nil && n != want {
					t.Errorf("%d requests, want %d", n, want)
				}
			})
		}
	}
}

func TestOnlyAnthropicsRefusalsAndOpenAIsFiltersAreRefusals(t *testing.T) {
	for file, provider := range map[string]string{
		"anthropic_refusal.sse": Anthropic, "openai_refusal.sse": OpenAICompatible, "openai_filter.sse": OpenAICompatible,
	} {
		s := newServer(t, replay(t, file))
		m, _ := newModel(t, provider, s.URL)
		_, err := m.Complete(t.Context(), ask("hello"))
		if e := asError(t, err); e.Kind != KindRefused || e.Retryable || len(s.requests()) != 1 {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestPassingFaultsAreRepeated(t *testing.T) {
	late := time.Now().UTC()
	for _, tt := range []struct {
		name   string
		faults func(provider string) []http.HandlerFunc
		want   naps
	}{
		{"rate limit that says how long", func(string) []http.HandlerFunc {
			return []http.HandlerFunc{status(429, "", "Retry-After", "17"), status(429, "", "Retry-After", "0.5")}
		}, naps{17 * time.Second, 2 * time.Second}},
		{"rate limit that says until when", func(string) []http.HandlerFunc {
			return []http.HandlerFunc{status(429, "", "Date", late.Format(http.TimeFormat), "Retry-After", late.Add(time.Minute).Format(http.TimeFormat))}
		}, naps{time.Minute}},
		{"rate limit that talks nonsense", func(string) []http.HandlerFunc {
			return []http.HandlerFunc{status(429, "", "Retry-After", "soon"), status(429, "", "Retry-After", "-3")}
		}, naps{time.Second, 2 * time.Second}},
		{"overload, then failure, then a cut", func(p string) []http.HandlerFunc {
			return []http.HandlerFunc{status(529, ""), status(500, ""), cutAfter(text(p)), reset}
		}, naps{time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second}},
	} {
		for _, provider := range providers {
			t.Run(provider+" "+tt.name, func(t *testing.T) {
				s := newServer(t, append(tt.faults(provider), replay(t, textFile(provider)))...)
				m, slept := newModel(t, provider, s.URL)
				got, err := m.Complete(t.Context(), ask("hello"))
				if err != nil {
					t.Fatal(err)
				}
				if got.Text != "Grüße, 世界 👩‍💻!" || got.Retries != len(tt.want) {
					t.Errorf("text %q after %d retries", got.Text, got.Retries)
				}
				if !slices.Equal(*slept, tt.want) {
					t.Errorf("paused %v, want %v", *slept, tt.want)
				}
			})
		}
	}
}

func TestRepetitionsEnd(t *testing.T) {
	for _, provider := range providers {
		for retries, want := range map[int]int{-1: 1, 0: 5, 2: 3} {
			s := newServer(t, status(500, ""))
			m, _ := newModel(t, provider, s.URL, func(c *Config) { c.Retries = retries })
			_, err := m.Complete(t.Context(), ask("hello"))
			if n := len(s.requests()); n != want || asError(t, err).Kind != KindServer {
				t.Errorf("retries %d: %d attempts, want %d: %v", retries, n, want, err)
			}
			if says := strings.Contains(err.Error(), fmt.Sprintf("%d attempts", want)); says != (want > 1) {
				t.Errorf("%d attempts: %v", want, err)
			}
		}
	}
}

func TestAWaitBeyondTheDeadlineIsNotSlept(t *testing.T) {
	s := newServer(t, status(429, "", "Retry-After", "3600"))
	m, slept := newModel(t, Anthropic, s.URL)
	_, err := m.Complete(t.Context(), ask("hello"))
	if asError(t, err).Kind != KindRateLimit || len(*slept) != 0 || !strings.Contains(err.Error(), "the wait of 1h0m0s is longer than the call may take") {
		t.Errorf("slept %v: %v", *slept, err)
	}
}

func TestCancellingEndsACallAtOnce(t *testing.T) {
	for _, provider := range providers {
		t.Run(provider+" within the stream", func(t *testing.T) {
			s := newServer(t, hangAfter(text(provider)))
			m, _ := newModel(t, provider, s.URL)
			ctx, cancel := context.WithCancel(t.Context())
			p := ask("hello")
			p.OnText = func(string) { cancel() }
			_, err := m.Complete(ctx, p)
			if e := asError(t, err); e.Kind != KindCanceled || e.Retryable || !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		})
		t.Run(provider+" while waiting", func(t *testing.T) {
			s := newServer(t, status(500, ""))
			ctx, cancel := context.WithCancel(t.Context())
			m, _ := newModel(t, provider, s.URL, func(c *Config) {
				c.Backoff = func(int) time.Duration { cancel(); return time.Minute }
				c.Sleep = nil // the real one must not wait a minute
			})
			_, err := m.Complete(ctx, ask("hello"))
			if e := asError(t, err); e.Kind != KindCanceled || !strings.Contains(err.Error(), "repeat after server") {
				t.Errorf("%v", err)
			}
		})
		t.Run(provider+" by the caller's deadline", func(t *testing.T) {
			s := newServer(t, silent)
			m, _ := newModel(t, provider, s.URL)
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
			defer cancel()
			_, err := m.Complete(ctx, ask("hello"))
			if e := asError(t, err); e.Kind != KindTimeout || e.Retryable || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestARefusedTemperatureSaysWhatToChange(t *testing.T) {
	half := 0.5
	for _, tt := range []struct {
		provider, model string
		sent            int
	}{
		{Anthropic, "m", 1}, {OpenAICompatible, "m", 1},
		{OpenAICompatible, "gpt-5-mini", 0}, // the library knows better than to ask
	} {
		s := newServer(t, status(400, complain("invalid_request_error", "temperature: Extra inputs are not permitted")))
		m, _ := newModel(t, tt.provider, s.URL, func(c *Config) { c.Name = tt.model })
		p := ask("hello")
		p.Temperature = &half
		_, err := m.Complete(t.Context(), p)
		if asError(t, err).Kind != KindBadRequest || !strings.Contains(err.Error(), "remove model.temperature") || len(s.requests()) != tt.sent {
			t.Errorf("%s %s: %v", tt.provider, tt.model, err)
		}
	}
}

func TestAModelThatCannotChatIsRefusedByTheLibrary(t *testing.T) {
	s := newServer(t, replay(t, "openai_text.sse"))
	m, _ := newModel(t, OpenAICompatible, s.URL, func(c *Config) { c.Name = "text-davinci-003" })
	_, err := m.Complete(t.Context(), ask("hello"))
	if asError(t, err).Kind != KindBadRequest || len(s.requests()) != 0 {
		t.Errorf("%v", err)
	}
}

func TestWhatBreaksAfterAWholeOpenAIReplyCostsTheUsageOnly(t *testing.T) {
	whole, _, _ := strings.Cut(recorded(t, "openai_text.sse"), `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"gpt-test-1","system_fingerprint":"fp_1","choices":[],`)
	for name, answer := range map[string]http.HandlerFunc{"cut": cutAfter(whole), "closed": stream(whole), "silent": hangAfter(whole)} {
		s := newServer(t, answer)
		m, _ := newModel(t, OpenAICompatible, s.URL, quick)
		got, err := m.Complete(t.Context(), ask("hello"))
		if err != nil || got.Text != "Grüße, 世界 👩‍💻!" || got.Usage != (Usage{}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
