package models

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// roundTrip answers every request with the same stream, without a network.
type roundTrip []byte

func (r roundTrip) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK,
		Header:     http.Header{"Content-Type": {"text/event-stream"}},
		Body:       io.NopCloser(bytes.NewReader(r)),
		Request:    req,
	}, nil
}

// Any stream is a bounded reply or an *Error without secrets.
func FuzzStream(f *testing.F) {
	for _, file := range []string{
		"anthropic_text.sse", "anthropic_tool_use.sse", "anthropic_refusal.sse", "openai_text.sse",
		"openai_openrouter.sse", "openai_gemini.sse", "openai_filter.sse", "openai_tool_calls.sse",
	} {
		f.Add([]byte(recorded(f, file)))
	}
	f.Add([]byte("event: error\ndata: " + complain("overloaded_error", "key "+testKey) + "\n\n"))
	f.Add([]byte("data: {\"error\":{\"message\":[\"a\",\"" + testKey + "\"],\"code\":1}}\n\n"))
	f.Add([]byte("{\"error\": \"" + testDiary + "\"}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, provider := range providers {
			if fault := judgeStream(t.Context(), provider, data); fault != "" {
				t.Errorf("%s: %s", provider, fault)
			}
		}
	})
}

func TestDamagedStreamsAreRepliesOrErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/*.sse")
	if err != nil || len(files) == 0 {
		t.Fatal("no recorded streams", err)
	}
	rapid.Check(t, func(t *rapid.T) {
		data, err := os.ReadFile(rapid.SampledFrom(files).Draw(t, "file"))
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 4).Draw(t, "wounds") {
			from := rapid.IntRange(0, len(data)).Draw(t, "from")
			to := rapid.IntRange(from, min(from+20, len(data))).Draw(t, "to")
			put := rapid.SampledFrom([]string{"", "\n", "\x00", "null", "-1", "{", "[]", `"`, "\xff", "1e999", testKey}).Draw(t, "put")
			data = slices.Concat(data[:from], []byte(put), data[to:])
		}
		for _, provider := range providers {
			if fault := judgeStream(context.Background(), provider, data); fault != "" {
				t.Errorf("%s: %s", provider, fault)
			}
		}
	})
}

// judgeStream says what is wrong with what a provider's wire makes of data.
func judgeStream(ctx context.Context, provider string, data []byte) string {
	cfg := Config{Provider: provider, Name: "m", Key: testKey, Retries: -1, Timeout: 20 * time.Second}.withDefaults()
	base, err := cfg.check()
	if err != nil {
		return err.Error()
	}
	door := newWire(cfg, base)
	door.client.Transport = roundTrip(data)
	c := &client{cfg: cfg, wire: newAnthropic(cfg, base, door)}
	if provider == OpenAICompatible {
		c.wire = newOpenAI(cfg, base, door)
	}
	reply, err := c.Complete(ctx, ask(testDiary))
	var e *Error
	switch {
	case err == nil && (len(reply.Text) > maxText || !utf8.ValidString(reply.Text) || reply.Usage.Input < 0 || reply.Usage.Output < 0):
		return fmt.Sprintf("bad reply of %d bytes, usage %+v", len(reply.Text), reply.Usage)
	case err == nil:
		return ""
	case !errors.As(err, &e) || e.Kind == "":
		return fmt.Sprintf("error of type %T", err)
	case holdsSecret(err) != "":
		return fmt.Sprintf("error shows %q: %v", holdsSecret(err), err)
	}
	return ""
}

// Any error body is sorted, and what it says is fit to be shown.
func FuzzErrorBody(f *testing.F) {
	for _, body := range []string{
		complain("x", testKey), `[{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}]`, `{"error":"text"}`,
		`{"detail":[{"msg":"m"}]}`, `{"message":null}`, `[]`, `null`, "\x00", `{"error":{"message":{"a":1},"code":1e999}}`,
	} {
		f.Add(500, []byte(body))
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		c := parseComplaint(body)
		if said := heard(c.message, testKey); len(said) > maxHeard || strings.Contains(said, testKey) {
			t.Errorf("said %q", said)
		}
		for _, kind := range []string{first(byStatus(status, c)), first(byType(c))} {
			if kind == "" {
				t.Error("no kind")
			}
		}
	})
}

func first(kind string, _ bool) string { return kind }

func TestErrorBodiesOfAllShapesAreRead(t *testing.T) {
	for body, want := range map[string]complaint{
		complain("api_error", "m"): {kind: "api_error", message: "m"},
		`[{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}]`: {code: "400", message: "m"},
		`{"error":{"message":"m","type":"t","code":"c"}}`:                    {kind: "t", code: "c", message: "m"},
		`{"error":"m"}`:                    {message: "m"},
		`{"object":"error","message":"m"}`: {message: "m"},
		`{"detail":"m"}`:                   {message: "m"},
		`{"detail":[{"msg":"m"}]}`:         {},
		`{"input":"secret"}`:               {},
		`plain text`:                       {},
		`[]`:                               {},
		``:                                 {},
	} {
		if got := parseComplaint([]byte(body)); got != want {
			t.Errorf("parseComplaint(%s) = %+v, want %+v", body, got, want)
		}
	}
}
