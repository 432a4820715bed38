package models

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"

	"github.com/sashabaranov/go-openai"
)

// openAIWire speaks OpenAI's chat completions, as OpenAI, Ollama, vLLM, OpenRouter and
// Gemini's compatible endpoint serve them.
type openAIWire struct {
	client *openai.Client
	name   string
	door   *wire
	own    bool // the server is OpenAI's
}

func newOpenAI(cfg Config, base *url.URL, door *wire) *openAIWire {
	conf := openai.DefaultConfig(cfg.Key)
	conf.BaseURL = base.String()
	conf.HTTPClient = dataDoor{door}
	return &openAIWire{
		client: openai.NewClientWithConfig(conf),
		name:   cfg.Name,
		door:   door,
		own:    base.Hostname() == "api.openai.com",
	}
}

func (o *openAIWire) request(p Prompt) (openai.ChatCompletionRequest, error) {
	req := openai.ChatCompletionRequest{
		Model:         o.name,
		Stream:        true,
		StreamOptions: &openai.StreamOptions{IncludeUsage: true},
	}
	if p.System != "" {
		req.Messages = append(req.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: p.System})
	}
	for _, m := range p.turns() {
		req.Messages = append(req.Messages, openai.ChatCompletionMessage{Role: m.Role, Content: m.Text})
	}
	if p.Temperature != nil {
		req.Temperature = float32(*p.Temperature)
		if req.Temperature == 0 {
			req.Temperature = math.SmallestNonzeroFloat32 // the library leaves a zero out
		}
	}
	// OpenAI's reasoning models know only the new name of the limit, older servers only the old.
	req.MaxTokens = p.maxOutput() //lint:ignore SA1019 see above: this is the name that older servers know
	if err := openai.NewReasoningValidator().Validate(req); o.own || errors.Is(err, openai.ErrReasoningModelMaxTokensDeprecated) {
		req.MaxTokens, req.MaxCompletionTokens = 0, p.maxOutput() //lint:ignore SA1019 it is taken back here
	}
	if err := openai.NewReasoningValidator().Validate(req); err != nil {
		e := o.door.fault(KindBadRequest, "not sent")
		e.said = heard(err.Error(), o.door.key)
		return req, e
	}
	return req, nil
}

// A chunk is one event of the stream. Some servers put an error where a chunk should be.
type chunk struct {
	openai.ChatCompletionStreamResponse
	Error json.RawMessage `json:"error"`
}

func (o *openAIWire) stream(ctx context.Context, p Prompt, d *draft) error {
	req, err := o.request(p)
	if err != nil {
		return err
	}
	d.Model = o.name
	stream, err := o.client.CreateChatCompletionStream(ctx, req)
	if errors.Is(err, openai.ErrChatCompletionInvalidModel) {
		return o.door.fault(KindBadRequest, "this model does not chat: use another")
	}
	if err != nil {
		return err
	}
	defer stream.Close()
	for {
		line, err := stream.RecvRaw()
		if err == nil {
			err = o.event(line, d)
		}
		if err != nil {
			return o.end(ctx, err, d)
		}
	}
}

// event adds to d what one event brings. Only text counts: reasoning is the model's own,
// and a tool call asks for a tool of the API, of which the request offers none.
func (o *openAIWire) event(line []byte, d *draft) error {
	if len(line) == 0 { // what the library makes of an error without a message
		return o.door.complained(complaint{}, "")
	}
	var c chunk
	if err := json.Unmarshal(line, &c); err != nil {
		return err
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return o.door.complained(parseComplaint(line), "")
	}
	if c.Model != "" {
		d.Model = c.Model
	}
	if c.Usage != nil {
		d.Usage = Usage{Known: true, Input: int64(c.Usage.PromptTokens), Output: int64(c.Usage.CompletionTokens)}
		if details := c.Usage.PromptTokensDetails; details != nil {
			d.Usage.CachedInput = int64(details.CachedTokens)
		}
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 { // one was asked for
			continue
		}
		if choice.FinishReason != "" {
			d.StopReason = string(choice.FinishReason)
		}
		if choice.Delta.Refusal != "" {
			return o.refused()
		}
		if err := d.add(choice.Delta.Content); err != nil {
			return err
		}
	}
	return nil
}

func (o *openAIWire) refused() error {
	return o.door.fault(KindRefused, "the model, or a filter of its provider, declined: reword the goal, or use another model")
}

// end judges what has arrived when the stream ends by err. The library tells [DONE] from a
// closed connection by neither name, so the finish reason is the mark of a whole reply; what
// breaks after it costs the usage only.
func (o *openAIWire) end(ctx context.Context, err error, d *draft) error {
	if d.StopReason == string(openai.FinishReasonContentFilter) {
		return o.refused()
	}
	if d.StopReason != "" && ctx.Err() == nil && isBreak(err) {
		return nil
	}
	var api *openai.APIError
	switch {
	case errors.As(err, &api):
		return o.door.complained(complaint{kind: api.Type, code: code(api.Code), message: api.Message}, "")
	case err == io.EOF:
		return errCut
	}
	return err
}

// isBreak reports whether err is the end of a stream rather than something in it.
func isBreak(err error) bool {
	return err == io.EOF || errors.Is(err, errCut) || errors.Is(err, errIdle)
}

func code(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}
