package models

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// The kinds of an Error.
const (
	KindAuth       = "auth"        // the key is missing, wrong, or not allowed this
	KindRateLimit  = "rate_limit"  // too many requests, or no quota left
	KindOverloaded = "overloaded"  // the provider has no capacity
	KindServer     = "server"      // the provider failed
	KindBadRequest = "bad_request" // the request, the model's name or the base URL is wrong
	KindTimeout    = "timeout"     // no byte, or no whole reply, in time
	KindNetwork    = "network"     // no connection
	KindCutStream  = "cut_stream"  // the reply broke off
	KindMalformed  = "malformed"   // the answer is not of the wire, or is too large
	KindRefused    = "refused"     // the model, or a filter, declined
	KindCanceled   = "canceled"    // the caller gave up
)

// An Error is a call that yielded no reply. Its text holds no key, header, URL or request.
type Error struct {
	Provider  string
	Kind      string
	Status    int  // of HTTP; 0 if there was no answer
	Retryable bool // the same call may work later
	RequestID string

	msg      string // our words
	said     string // the provider's or the network's, redacted and cut
	attempts int
	after    time.Duration // that the server asked to wait
	cause    error         // context.Canceled or DeadlineExceeded; other causes may quote a URL
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "models: %s: %s", e.Provider, e.Kind)
	if e.Status != 0 {
		fmt.Fprintf(&b, ": HTTP %d", e.Status)
	}
	if e.msg != "" {
		b.WriteString(": " + e.msg)
	}
	if e.said != "" {
		fmt.Fprintf(&b, " (%q)", e.said)
	}
	if e.RequestID != "" {
		b.WriteString("; request " + e.RequestID)
	}
	if e.attempts > 1 {
		fmt.Fprintf(&b, "; %d attempts", e.attempts)
	}
	return b.String()
}

func (e *Error) add(msg string) { e.msg = strings.TrimPrefix(e.msg+"; "+msg, "; ") }

// Unwrap yields the context's error behind the kinds canceled and timeout.
func (e *Error) Unwrap() error { return e.cause }

// A complaint is what the error bodies and error events of both wires have in common.
type complaint struct {
	kind    string // "type" and "code" of the error object, as one is often null
	code    string
	message string
}

// parseComplaint reads an error body of the API, or of a gateway before it. A body of any
// other shape says nothing: it may be the request, sent back.
func parseComplaint(body []byte) complaint {
	body = bytes.TrimSpace(body)
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0] // Gemini's compatible endpoint sends a list of one
	}
	var outer struct {
		Error           json.RawMessage
		Message, Detail json.RawMessage
	}
	if json.Unmarshal(body, &outer) != nil {
		return complaint{}
	}
	var inner struct{ Type, Code, Message json.RawMessage }
	if json.Unmarshal(outer.Error, &inner) == nil {
		return complaint{kind: scalar(inner.Type), code: scalar(inner.Code), message: scalar(inner.Message)}
	}
	for _, text := range []json.RawMessage{outer.Error, outer.Message, outer.Detail} {
		if s := scalar(text); s != "" {
			return complaint{message: s}
		}
	}
	return complaint{}
}

// scalar returns a JSON string or number as text, and nothing for any other value.
func scalar(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}

// byStatus sorts an answer that is an error as a whole.
func byStatus(status int, c complaint) (kind string, retryable bool) {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusPaymentRequired:
		return KindAuth, false
	case status == http.StatusTooManyRequests:
		return KindRateLimit, c.kind != "insufficient_quota" && c.code != "insufficient_quota" // OpenAI's word for an empty account
	case status == http.StatusRequestTimeout:
		return KindTimeout, true
	case status == http.StatusServiceUnavailable, status == statusOverloaded:
		return KindOverloaded, true
	case status == http.StatusInternalServerError, status == http.StatusBadGateway, status == http.StatusGatewayTimeout:
		return KindServer, true
	case status >= 520 && status <= 524: // Cloudflare's words for an origin that is down or slow
		return KindServer, true
	case status >= 500:
		return KindServer, false
	case status >= 400:
		return KindBadRequest, false
	}
	return KindMalformed, false
}

// statusOverloaded is Anthropic's own, of its page on errors.
const statusOverloaded = 529

// statusOfType is what an error event within a stream would have been as an answer. The
// names are of both providers' pages on errors.
var statusOfType = map[string]int{
	"authentication_error":  http.StatusUnauthorized,
	"permission_error":      http.StatusForbidden,
	"billing_error":         http.StatusPaymentRequired,
	"invalid_api_key":       http.StatusUnauthorized,
	"invalid_request_error": http.StatusBadRequest,
	"not_found_error":       http.StatusNotFound,
	"request_too_large":     http.StatusRequestEntityTooLarge,
	"rate_limit_error":      http.StatusTooManyRequests,
	"rate_limit_exceeded":   http.StatusTooManyRequests,
	"insufficient_quota":    http.StatusTooManyRequests,
	"timeout_error":         http.StatusRequestTimeout,
	"overloaded_error":      statusOverloaded,
}

// byType sorts an error event within a stream. An unknown one is the server's fault, and
// worth another attempt: nothing of the reply was used.
func byType(c complaint) (kind string, retryable bool) {
	for _, name := range []string{c.kind, c.code} {
		if status, ok := statusOfType[name]; ok {
			return byStatus(status, c)
		}
	}
	var status int // OpenRouter's code is a status
	if json.Unmarshal([]byte(c.code), &status) == nil && status >= 400 && status < 600 {
		return byStatus(status, c)
	}
	return KindServer, true
}
