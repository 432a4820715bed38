// Package models asks a language model for its next reply: Anthropic's, that of any
// server that speaks OpenAI's chat completions, or a script.
//
// What it sends leaves the machine: prompts go out as they are given, so secrets must be
// taken out before. What comes back is a stranger's text, bounded in size and nothing
// more. The key goes to the configured host only, over TLS or to this machine, never
// along a redirect, and never into an error. The package reads no environment: neither
// keys, base URLs nor proxies (a proxy of HTTPS_PROXY is not used).
package models

import (
	"context"
	"math"
)

// The roles of a message.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
)

// A Message is one turn of the conversation.
type Message struct {
	Role string // RoleUser or RoleAssistant
	Text string
}

// A Prompt is what the model is asked.
type Prompt struct {
	System   string
	Messages []Message // the first and the last are the user's
	// MaxOutputTokens bounds the reply; 0 means 8,192.
	MaxOutputTokens int
	// Temperature is sent only when set: newer models refuse a request that holds it.
	Temperature *float64
	// Taint names the labels that the conversation carries. It is never sent; a script's
	// ExpectTaint is held against it.
	Taint []string
	// OnText, if set, sees the reply as it arrives, in the goroutine of Complete. It is for
	// progress only: an attempt that breaks off is repeated, and its text starts again.
	OnText func(delta string)
}

// Usage counts the tokens of one reply. Attempts that failed are not in it: no provider
// says what they cost.
type Usage struct {
	Input       int64 // all input tokens, with the cached ones
	CachedInput int64 // the part of Input that the provider read from its cache
	Output      int64
	Known       bool // false if the server reported no plausible usage; the counts are 0 then
	CostUSD     float64
	CostKnown   bool // false without Known and prices; CostUSD is 0 then
}

// A Reply is what the model said.
type Reply struct {
	Text       string
	Usage      Usage
	Model      string // as the server names it
	StopReason string // as the server names it
	Retries    int    // attempts that failed before this reply
}

// Truncated reports whether the reply ended at a length limit rather than by itself.
func (r Reply) Truncated() bool {
	switch r.StopReason {
	case "max_tokens", "length", "model_context_window_exceeded":
		return true
	}
	return false
}

// A Model completes prompts. It is safe for concurrent use.
type Model interface {
	// Complete returns the whole reply or an error: an *Error from a provider, which says
	// whether the same call may work later, or ErrScriptEnd or ErrExpectation from a script.
	Complete(ctx context.Context, p Prompt) (Reply, error)
	// Name is provider/name, as in --model.
	Name() string
}

// defaultMaxOutput, in tokens, fits the replies of a model that writes short blocks of
// code, with room to think.
const defaultMaxOutput = 8192

// check says what no provider would take, before anything is sent.
func (p Prompt) check() string {
	n := len(p.Messages)
	if n == 0 || p.Messages[0].Role != RoleUser || p.Messages[n-1].Role != RoleUser {
		return "the first and the last message of a prompt must be the user's"
	}
	for _, m := range p.Messages {
		if m.Role != RoleUser && m.Role != RoleAssistant {
			return "a message's role must be user or assistant"
		}
		if m.Role == RoleUser && m.Text == "" {
			return "a user's message must not be empty"
		}
	}
	if p.MaxOutputTokens < 0 {
		return "maxOutputTokens must be positive"
	}
	if t := p.Temperature; t != nil && (math.IsNaN(*t) || *t < 0 || *t > 2) {
		return "temperature must be between 0 and 2"
	}
	return ""
}

// turns returns the messages to send: an empty reply is legal to receive, not to send back.
func (p Prompt) turns() []Message {
	out := make([]Message, 0, len(p.Messages))
	for _, m := range p.Messages {
		if m.Text != "" {
			out = append(out, m)
		}
	}
	return out
}

func (p Prompt) maxOutput() int {
	if p.MaxOutputTokens == 0 {
		return defaultMaxOutput
	}
	return p.MaxOutputTokens
}
