package models

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	maxStream    = 8 << 20  // bytes of one answer; eight times its text, for the events around it
	maxErrorBody = 64 << 10 // bytes of an answer that is an error
)

// wire is the only way out for both libraries: it sends to one host, follows nothing, and
// hands back a healthy event stream or an *Error. Both libraries take a doer in place of
// an http.Client, so neither sees an answer that is an error, and neither can put one into
// a text of its own.
type wire struct {
	client   *http.Client
	provider string
	key      string
	scheme   string
	host     string
	idle     time.Duration
}

func newWire(cfg Config, base *url.URL) *wire {
	return &wire{
		provider: cfg.Provider,
		key:      cfg.Key,
		scheme:   base.Scheme,
		host:     base.Host,
		idle:     cfg.IdleTimeout,
		client:   &http.Client{Transport: newTransport(), CheckRedirect: refuseRedirect},
	}
}

// newTransport uses no proxy: the environment is not this package's to read, and a proxy
// that it names would see the host of every call.
func newTransport() *http.Transport {
	const reach = 10 * time.Second // to connect, and again to shake hands
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            (&net.Dialer{Timeout: reach}).DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    reach,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // an event must arrive when it is sent
		MaxIdleConns:           4,    // one run asks one model at a time
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// A redirectError names the host that an answer pointed to, without its path.
type redirectError struct{ host string }

func (e *redirectError) Error() string { return "redirect to " + e.host }

// refuseRedirect lets no request with a key and a prompt go where a server says.
func refuseRedirect(next *http.Request, _ []*http.Request) error {
	return &redirectError{next.URL.Host}
}

// Do implements the doer of both libraries. The caller closes the body.
func (w *wire) Do(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != w.scheme || req.URL.Host != w.host {
		return nil, w.fault(KindBadRequest, "a request for another host than the base URL's was not sent")
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	watch := &watchedBody{ctx: ctx, cancel: cancel, idle: w.idle, left: maxStream}
	watch.timer = time.AfterFunc(w.idle, func() { cancel(errIdle) })
	resp, err := w.client.Do(req.WithContext(ctx))
	if err != nil {
		defer watch.stop()
		return nil, w.unanswered(ctx, err)
	}
	watch.body, resp.Body = resp.Body, watch
	if resp.StatusCode == http.StatusOK && isEventStream(resp.Header) {
		return resp, nil
	}
	defer watch.Close()
	return nil, w.answered(resp)
}

func (w *wire) fault(kind, msg string) *Error {
	return &Error{Provider: w.provider, Kind: kind, msg: redactKey(msg, w.key)}
}

// unanswered sorts an err of the transport that only this package can tell apart.
func (w *wire) unanswered(ctx context.Context, err error) error {
	if context.Cause(ctx) == errIdle {
		return errIdle
	}
	var redirect *redirectError
	if errors.As(err, &redirect) {
		return w.fault(KindBadRequest, "the answer is a "+plain(redirect.Error(), maxSaid)+", and no key is sent along: if that is right, make it the base URL")
	}
	return err
}

// answered makes an error of an answer that is no event stream.
func (w *wire) answered(resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil && errors.Is(err, errIdle) {
		return err
	}
	c := parseComplaint(body)
	e := w.fault(KindMalformed, "")
	e.Kind, e.Retryable = byStatus(resp.StatusCode, c)
	e.Status = resp.StatusCode
	// The first is Anthropic's name of it, the second OpenAI's.
	e.RequestID = w.requestID(cmp.Or(resp.Header.Get("Request-Id"), resp.Header.Get("X-Request-Id")))
	e.after = retryAfter(resp.Header)
	e.said = heard(c.message, w.key)
	if e.Kind == KindMalformed {
		e.msg = "the answer is no event stream: check the base URL, and that the server can stream"
	}
	return e
}

// complained makes an error of an error event within a stream.
func (w *wire) complained(c complaint, requestID string) *Error {
	e := w.fault(KindServer, "error event in the stream")
	e.Kind, e.Retryable = byType(c)
	e.RequestID = w.requestID(requestID)
	e.said = heard(c.message, w.key)
	return e
}

// requestID returns id, the provider's of the call, if it looks like one.
func (w *wire) requestID(id string) string {
	isID := func(r rune) bool {
		return r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	const maxID = 128 // bytes
	if len(id) > maxID || strings.ContainsFunc(id, func(r rune) bool { return !isID(r) }) {
		return ""
	}
	return redactKey(id, w.key)
}

func isEventStream(h http.Header) bool {
	media, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return media == "text/event-stream"
}

// retryAfter reads how long the server asks to wait. A date is measured against the
// server's own Date, so that a wrong clock of this machine does not count.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		const most = 24 * time.Hour // also keeps the product within a Duration
		return time.Duration(min(max(s, 0), most.Seconds()) * float64(time.Second))
	}
	until, err1 := http.ParseTime(text)
	now, err2 := http.ParseTime(h.Get("Date"))
	if err1 != nil || err2 != nil {
		return 0
	}
	return max(until.Sub(now), 0)
}

// A watchedBody bounds an answer in size and in silence. Its timer runs from the request
// on, and cancels it; Close stops both.
type watchedBody struct {
	ctx    context.Context // of this one request
	cancel context.CancelCauseFunc
	timer  *time.Timer
	idle   time.Duration
	body   io.ReadCloser
	left   int // bytes
}

func (b *watchedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	n, err := b.body.Read(p[:min(len(p), b.left)])
	b.left -= n
	if n > 0 {
		b.timer.Reset(b.idle)
	}
	switch {
	case err == nil || err == io.EOF:
		return n, err
	case context.Cause(b.ctx) == errIdle:
		return n, errIdle
	}
	return n, errCut
}

func (b *watchedBody) Close() error {
	b.stop()
	return b.body.Close()
}

func (b *watchedBody) stop() {
	b.timer.Stop()
	b.cancel(nil)
}
