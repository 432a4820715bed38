package models

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
)

// anthropicWire speaks Anthropic's Messages API.
type anthropicWire struct {
	client anthropic.Client
	name   string
	door   *wire
}

func newAnthropic(cfg Config, base *url.URL, door *wire) *anthropicWire {
	// The library adds /v1 itself, and people copy the URL with it.
	root := *base
	root.Path = strings.TrimSuffix(strings.TrimSuffix(root.Path, "/"), "/v1")
	opts := []option.RequestOption{
		// Otherwise ANTHROPIC_BASE_URL, _AUTH_TOKEN, _CUSTOM_HEADERS and a profile on disk count.
		option.WithoutEnvironmentDefaults(),
		// Otherwise a span of the process's tracer may hold the prompt.
		option.WithoutOpenTelemetry(),
		option.WithOpenTelemetryPropagation(false),
		option.WithBaseURL(root.String()),
		option.WithHTTPClient(door),
		option.WithMaxRetries(0), // Complete repeats
	}
	if cfg.Key != "" {
		opts = append(opts, option.WithAPIKey(cfg.Key))
	}
	return &anthropicWire{client: anthropic.NewClient(opts...), name: cfg.Name, door: door}
}

func (a *anthropicWire) params(p Prompt) anthropic.MessageNewParams {
	params := anthropic.MessageNewParams{
		Model:     anthropic.Model(a.name),
		MaxTokens: int64(p.maxOutput()),
	}
	if p.System != "" {
		params.System = []anthropic.TextBlockParam{{Text: p.System}}
	}
	for _, m := range p.turns() {
		block := anthropic.NewTextBlock(m.Text)
		if m.Role == RoleAssistant {
			params.Messages = append(params.Messages, anthropic.NewAssistantMessage(block))
		} else {
			params.Messages = append(params.Messages, anthropic.NewUserMessage(block))
		}
	}
	return params
}

func (a *anthropicWire) stream(ctx context.Context, p Prompt, d *draft) error {
	var opts []option.RequestOption
	if p.Temperature != nil {
		// API version 2026-10-21 has no such parameter and answers 400, which says so to the user.
		opts = append(opts, option.WithJSONSet("temperature", *p.Temperature))
	}
	d.Model = a.name
	stream := a.client.Messages.NewStreaming(ctx, a.params(p), opts...)
	defer stream.Close()
	for stream.Next() {
		event := stream.Current()
		if event.Type == "message_stop" {
			return a.whole(d)
		}
		if err := a.event(event, d); err != nil {
			return err
		}
	}
	if err := stream.Err(); err != nil {
		return a.fault(err)
	}
	return errCut
}

// event adds to d what one event brings. Only text counts: thinking is the model's own,
// and a tool_use block asks for a tool of the API, of which the request offers none.
func (a *anthropicWire) event(e anthropic.MessageStreamEventUnion, d *draft) error {
	switch e.Type {
	case "message_start":
		if e.Message.Model != "" {
			d.Model = string(e.Message.Model)
		}
		u := e.Message.Usage
		d.Usage.CachedInput = u.CacheReadInputTokens
		d.Usage.Input = u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens
	case "content_block_start":
		if e.ContentBlock.Type == "text" {
			return d.add(e.ContentBlock.Text)
		}
	case "content_block_delta":
		if e.Delta.Type == "text_delta" {
			return d.add(e.Delta.Text)
		}
	case "message_delta":
		d.StopReason = string(e.Delta.StopReason)
		// The counts here are of the whole message so far, so the last ones stand.
		u := e.Usage
		d.Usage.Known = u.JSON.OutputTokens.Valid()
		d.Usage.Output = u.OutputTokens
		if u.JSON.InputTokens.Valid() {
			d.Usage.CachedInput = u.CacheReadInputTokens
			d.Usage.Input = u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens
		}
	}
	return nil
}

// whole judges a reply that has arrived.
func (a *anthropicWire) whole(d *draft) error {
	if d.StopReason == string(anthropic.StopReasonRefusal) {
		return a.door.fault(KindRefused, "the model declined to answer: reword the goal, or use another model")
	}
	return nil
}

// fault reads an error event; other errors are Complete's to sort.
func (a *anthropicWire) fault(err error) error {
	var api *anthropic.Error
	if !errors.As(err, &api) {
		return err
	}
	return a.door.complained(parseComplaint([]byte(api.RawJSON())), api.RequestID)
}
