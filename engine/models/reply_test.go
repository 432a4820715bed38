package models

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRecordedStreamsYieldTheirReplies(t *testing.T) {
	prices := &Prices{Input: 2, CachedInput: 0.2, Output: 10}
	for _, tt := range []struct {
		file, provider string
		want           Reply
	}{
		{"anthropic_text.sse", Anthropic, Reply{Text: "Grüße, 世界 👩‍💻!", Model: "claude-test-1", StopReason: "end_turn",
			Usage: Usage{Input: 135, CachedInput: 100, Output: 15, Known: true, CostUSD: (35*2 + 100*0.2 + 15*10) / 1e6, CostKnown: true}}},
		{"anthropic_max_tokens.sse", Anthropic, Reply{Text: "One two", Model: "claude-test-1", StopReason: "max_tokens",
			Usage: Usage{Input: 13, CachedInput: 4, Output: 2, Known: true, CostUSD: (9*2 + 4*0.2 + 2*10) / 1e6, CostKnown: true}}},
		{"anthropic_tool_use.sse", Anthropic, Reply{Text: "Let me look.", Model: "claude-test-1", StopReason: "tool_use",
			Usage: Usage{Input: 47, Output: 89, Known: true, CostUSD: (47*2 + 89*10) / 1e6, CostKnown: true}}},
		{"anthropic_empty.sse", Anthropic, Reply{Model: "test-model", StopReason: "end_turn",
			Usage: Usage{Input: 11, Output: 3, Known: true, CostUSD: (11*2 + 3*10) / 1e6, CostKnown: true}}},
		{"anthropic_no_usage.sse", Anthropic, Reply{Text: "hi", Model: "gateway-1", StopReason: "end_turn"}},
		{"openai_text.sse", OpenAICompatible, Reply{Text: "Grüße, 世界 👩‍💻!", Model: "gpt-test-1", StopReason: "stop",
			Usage: Usage{Input: 135, CachedInput: 100, Output: 15, Known: true, CostUSD: (35*2 + 100*0.2 + 15*10) / 1e6, CostKnown: true}}},
		{"openai_ollama.sse", OpenAICompatible, Reply{Text: "hi", Model: "qwen-test", StopReason: "stop"}},
		{"openai_openrouter.sse", OpenAICompatible, Reply{Text: "One two", Model: "vendor/model", StopReason: "length",
			Usage: Usage{Input: 13, Output: 2, Known: true, CostUSD: (13*2 + 2*10) / 1e6, CostKnown: true}}},
		{"openai_gemini.sse", OpenAICompatible, Reply{Text: "One two", Model: "gemini-test", StopReason: "stop",
			Usage: Usage{Input: 7, Output: 2, Known: true, CostUSD: (7*2 + 2*10) / 1e6, CostKnown: true}}},
		{"openai_tool_calls.sse", OpenAICompatible, Reply{Text: "Let me look.", Model: "gpt-test-1", StopReason: "tool_calls"}},
		{"openai_empty.sse", OpenAICompatible, Reply{Model: "test-model", StopReason: "stop"}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			s := newServer(t, replay(t, tt.file))
			m, _ := newModel(t, tt.provider, s.URL, func(c *Config) { c.Prices = prices })
			var streamed strings.Builder
			p := ask("hello")
			p.OnText = func(delta string) { streamed.WriteString(delta) }
			got, err := m.Complete(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			approx := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-12 && b-a < 1e-12 })
			if diff := cmp.Diff(tt.want, got, approx); diff != "" {
				t.Errorf("reply (-want +got):\n%s", diff)
			}
			if streamed.String() != got.Text {
				t.Errorf("OnText saw %q, want %q", streamed.String(), got.Text)
			}
			wantCut := tt.want.StopReason == "max_tokens" || tt.want.StopReason == "length"
			if got.Truncated() != wantCut {
				t.Errorf("Truncated() = %v with stop reason %s", got.Truncated(), got.StopReason)
			}
		})
	}
}

func TestAReplySentByteByByteIsTheSame(t *testing.T) {
	for _, provider := range providers {
		t.Run(provider, func(t *testing.T) {
			text := recorded(t, textFile(provider))
			s := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				for i := range len(text) {
					w.Write([]byte{text[i]})
					w.(http.Flusher).Flush()
				}
			})
			m, _ := newModel(t, provider, s.URL)
			got, err := m.Complete(t.Context(), ask("hello"))
			if err != nil || got.Text != "Grüße, 世界 👩‍💻!" {
				t.Errorf("got %q, %v", got.Text, err)
			}
		})
	}
}

func TestRequestsSayWhatThePromptSays(t *testing.T) {
	zero, one := 0.0, 1.0
	talk := []Message{{RoleUser, "hello"}, {RoleAssistant, "hi"}, {RoleUser, "go on"}, {RoleAssistant, ""}, {RoleUser, "well?"}}
	const system = `"system":[{"text":"Be brief.","type":"text"}]`
	for _, tt := range []struct {
		name, provider, model, path string
		prompt                      Prompt
		want                        string // JSON
	}{
		{"bare", Anthropic, "m", "", Prompt{Messages: talk[:1]},
			`{"model":"m","max_tokens":8192,"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"hello"}]}]}`},
		{"full", Anthropic, "m", "/v1/", Prompt{System: "Be brief.", Messages: talk, MaxOutputTokens: 7, Temperature: &zero},
			`{"model":"m","max_tokens":7,"stream":true,"temperature":0,` + system + `,"messages":[
			{"role":"user","content":[{"type":"text","text":"hello"}]},{"role":"assistant","content":[{"type":"text","text":"hi"}]},
			{"role":"user","content":[{"type":"text","text":"go on"}]},{"role":"user","content":[{"type":"text","text":"well?"}]}]}`},
		{"bare", OpenAICompatible, "m", "/v1", Prompt{Messages: talk[:1]},
			`{"model":"m","max_tokens":8192,"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hello"}]}`},
		{"full", OpenAICompatible, "m", "/v1/", Prompt{System: "Be brief.", Messages: talk, MaxOutputTokens: 7, Temperature: &one},
			`{"model":"m","max_tokens":7,"stream":true,"stream_options":{"include_usage":true},"temperature":1,"messages":[
			{"role":"system","content":"Be brief."},{"role":"user","content":"hello"},{"role":"assistant","content":"hi"},
			{"role":"user","content":"go on"},{"role":"user","content":"well?"}]}`},
		{"zero temperature", OpenAICompatible, "m", "/v1", Prompt{Messages: talk[:1], Temperature: &zero},
			`{"model":"m","max_tokens":8192,"stream":true,"stream_options":{"include_usage":true},"temperature":1e-45,"messages":[{"role":"user","content":"hello"}]}`},
		{"reasoning model", OpenAICompatible, "gpt-5-mini", "/v1", Prompt{Messages: talk[:1]},
			`{"model":"gpt-5-mini","max_completion_tokens":8192,"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hello"}]}`},
	} {
		t.Run(tt.provider+" "+tt.name, func(t *testing.T) {
			s := newServer(t, replay(t, textFile(tt.provider)))
			m, _ := newModel(t, tt.provider, s.URL+tt.path, func(c *Config) { c.Name = tt.model })
			if _, err := m.Complete(t.Context(), tt.prompt); err != nil {
				t.Fatal(err)
			}
			got := s.requests()[0]
			var gotBody, wantBody any
			if err := json.Unmarshal([]byte(tt.want), &wantBody); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(got.body), &gotBody); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(wantBody, gotBody); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			wantPath := map[string]string{Anthropic: "/v1/messages", OpenAICompatible: "/v1/chat/completions"}[tt.provider]
			if got.path != wantPath {
				t.Errorf("path %s, want %s", got.path, wantPath)
			}
		})
	}
}

func TestOpenAIsOwnServerGetsTheNewNameOfTheLimit(t *testing.T) {
	cfg := Config{Provider: OpenAICompatible, Name: "some-new-model", Key: testKey}
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	req, err := m.(*client).wire.(*openAIWire).request(ask("hello"))
	old := req.MaxTokens //lint:ignore SA1019 that it is not sent is what is tested
	if err != nil || old != 0 || req.MaxCompletionTokens != defaultMaxOutput {
		t.Errorf("max_tokens %d, max_completion_tokens %d, %v", old, req.MaxCompletionTokens, err)
	}
}

func TestNoTokenCountOfAServerBecomesACredit(t *testing.T) {
	p := &Prices{Input: 1, Output: 1}
	for _, u := range []Usage{
		{Known: true, Input: -5}, {Known: true, Output: -5}, {Known: true, CachedInput: -5},
		{Known: true, Input: 1, CachedInput: 2}, {Input: 5},
	} {
		if got := p.price(u); got != (Usage{}) {
			t.Errorf("price(%+v) = %+v, want none", u, got)
		}
	}
	cached := p.price(Usage{Known: true, Input: 2e6, CachedInput: 1e6})
	if cached.CostUSD != 2 || !cached.CostKnown {
		t.Errorf("without a price for cached tokens they cost %v, want the price of others", cached.CostUSD)
	}
}

func TestBadPromptsAreNotSent(t *testing.T) {
	hot := 2.5
	user := Message{RoleUser, "hello"}
	for name, p := range map[string]Prompt{
		"no message":       {},
		"reply first":      {Messages: []Message{{RoleAssistant, "hi"}, user}},
		"reply last":       {Messages: []Message{user, {RoleAssistant, "hi"}}},
		"unknown role":     {Messages: []Message{user, {"system", "obey"}, user}},
		"empty message":    {Messages: []Message{{RoleUser, ""}}},
		"negative limit":   {Messages: []Message{user}, MaxOutputTokens: -1},
		"high temperature": {Messages: []Message{user}, Temperature: &hot},
	} {
		for _, provider := range providers {
			s := newServer(t, replay(t, textFile(provider)))
			m, _ := newModel(t, provider, s.URL)
			_, err := m.Complete(context.Background(), p)
			if e := asError(t, err); e.Kind != KindBadRequest || e.msg == "" || len(s.requests()) != 0 {
				t.Errorf("%s, %s: %v after %d requests", provider, name, err, len(s.requests()))
			}
		}
	}
}
