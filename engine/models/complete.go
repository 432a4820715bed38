package models

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// maxText bounds a reply, in bytes: far more than a model writes in one turn, and little
// enough to keep every step of a long run in memory.
const maxText = 1 << 20

var (
	errCallTimeout = errors.New("call timeout")
	errIdle        = errors.New("idle timeout")
	errCut         = errors.New("cut stream")
	errTooLarge    = errors.New("too large")
)

// A streamer speaks one provider's wire: it sends p and feeds d until the reply is whole.
// A reply that broke off is errCut, or an error of the reader.
type streamer interface {
	stream(ctx context.Context, p Prompt, d *draft) error
}

// A draft is a reply on its way.
type draft struct {
	Reply
	text   strings.Builder
	onText func(string)
}

func (d *draft) add(delta string) error {
	if d.text.Len()+len(delta) > maxText {
		return errTooLarge
	}
	d.text.WriteString(delta)
	if d.onText != nil && delta != "" {
		d.onText(delta)
	}
	return nil
}

// client is a Model over a wire. It is immutable.
type client struct {
	cfg  Config // with defaults
	wire streamer
}

func (c *client) Name() string { return c.cfg.String() }

// String and GoString keep the key out of logs that print a Model.
func (c *client) String() string   { return c.Name() }
func (c *client) GoString() string { return c.Name() }

// Complete implements Model. An attempt that broke off is repeated as a whole, as nothing
// of it was used.
func (c *client) Complete(ctx context.Context, p Prompt) (Reply, error) {
	if msg := p.check(); msg != "" {
		return Reply{}, &Error{Provider: c.cfg.Provider, Kind: KindBadRequest, msg: msg}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.Timeout, errCallTimeout)
	defer cancel()
	for n := 0; ; n++ {
		reply, err := c.attempt(ctx, p)
		if err == nil {
			reply.Retries = n
			return reply, nil
		}
		fault := c.explain(ctx, err, p)
		fault.attempts = n + 1
		if !fault.Retryable || n >= c.cfg.Retries {
			return Reply{}, fault
		}
		wait := max(c.cfg.Backoff(n), fault.after)
		if !fits(ctx, wait) {
			fault.add(fmt.Sprintf("the wait of %s is longer than the call may take", wait))
			return Reply{}, fault
		}
		if c.cfg.Sleep(ctx, wait) != nil {
			return Reply{}, c.interrupted(ctx, fault)
		}
	}
}

func (c *client) attempt(ctx context.Context, p Prompt) (Reply, error) {
	d := &draft{onText: p.OnText}
	if err := c.wire.stream(ctx, p, d); err != nil {
		return Reply{}, err
	}
	const maxName = 200 // bytes of the server's own names
	d.Text = d.text.String()
	d.Model = plain(d.Model, maxName)
	d.StopReason = plain(d.StopReason, maxName)
	d.Usage = c.cfg.Prices.price(d.Usage)
	return d.Reply, nil
}

// fits reports whether a wait ends before the call must: to sleep through the rest of the
// time would only hide the error.
func fits(ctx context.Context, wait time.Duration) bool {
	deadline, _ := ctx.Deadline() // Complete sets one
	return wait <= time.Until(deadline)
}

// backoff waits half a second, doubled each time up to 30 seconds, less up to half of it
// at random so that many runs do not return at once.
func backoff(n int) time.Duration {
	const first, longest = 500 * time.Millisecond, 30 * time.Second
	d := longest
	if n < 6 { // 0.5 s · 2⁶ = 32 s
		d = first << n
	}
	return d - rand.N(d/2)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// explain turns what ended an attempt into an *Error fit to be shown.
func (c *client) explain(ctx context.Context, err error, p Prompt) *Error {
	if ctx.Err() != nil {
		return c.ended(ctx)
	}
	e := c.sort(err)
	e.Provider = c.cfg.Provider
	e.said = plain(redactPrompt(e.said, p), maxSaid)
	if hint := hint(e, p); hint != "" {
		e.add(hint)
	}
	return e
}

// hint says what to change, where that is not plain from the kind.
func hint(e *Error, p Prompt) string {
	switch {
	case e.Kind == KindBadRequest && p.Temperature != nil && strings.Contains(strings.ToLower(e.said), "temperature"):
		return "this model takes no such temperature: remove model.temperature"
	case e.Kind == KindAuth:
		return "check the key, and that its account may use this model"
	case e.Status == 404:
		return "check the model's name and the base URL"
	}
	return ""
}

// ended is the error of a call whose context is done.
func (c *client) ended(ctx context.Context) *Error {
	e := &Error{Provider: c.cfg.Provider, Kind: KindTimeout, cause: context.DeadlineExceeded}
	switch {
	case errors.Is(context.Cause(ctx), errCallTimeout):
		e.msg = fmt.Sprintf("no whole reply within %s", c.cfg.Timeout)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		e.msg = "the caller's time is up"
	default:
		e.Kind, e.cause, e.msg = KindCanceled, context.Canceled, "by the caller"
	}
	return e
}

// interrupted is the end of a call while it waited to repeat e.
func (c *client) interrupted(ctx context.Context, last *Error) *Error {
	e := c.ended(ctx)
	e.attempts = last.attempts
	e.msg += fmt.Sprintf(", while waiting to repeat after %s", last.Kind)
	return e
}

// sort finds the kind of err. A text of the library never gets through: it may quote the
// answer, the request or the URL.
func (c *client) sort(err error) *Error {
	var e *Error
	var syntax *json.SyntaxError
	var shape *json.UnmarshalTypeError
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, errIdle):
		return &Error{Kind: KindTimeout, Retryable: true, msg: fmt.Sprintf("no byte within %s", c.cfg.IdleTimeout)}
	case errors.Is(err, errTooLarge):
		return &Error{Kind: KindMalformed, msg: fmt.Sprintf("the reply is longer than %d MiB of text or %d MiB of stream", maxText>>20, maxStream>>20)}
	case errors.Is(err, errCut):
		return &Error{Kind: KindCutStream, Retryable: true, msg: "the reply broke off"}
	case errors.As(err, &syntax), errors.As(err, &shape):
		return &Error{Kind: KindMalformed, msg: "an event of the stream is not the JSON that it should be"}
	}
	var outer *url.Error
	if errors.As(err, &outer) {
		return c.network(outer.Err)
	}
	return &Error{Kind: KindMalformed, msg: "the stream cannot be read"}
}

// network sorts what kept a request from its answer. Another attempt is worth its time
// unless the name does not exist or the peer cannot be trusted.
func (c *client) network(err error) *Error {
	var (
		dns   *net.DNSError
		cert  *tls.CertificateVerificationError
		plain tls.RecordHeaderError
	)
	lasting := errors.As(err, &dns) && dns.IsNotFound || errors.As(err, &cert) || errors.As(err, &plain) ||
		errors.Is(err, http.ErrSchemeMismatch)
	return &Error{Kind: KindNetwork, Retryable: !lasting, msg: "no answer", said: heard(err.Error(), c.cfg.Key)}
}
