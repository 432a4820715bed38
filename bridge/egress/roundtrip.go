package egress

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// idleTime is how long RoundTripper keeps a connection that nobody uses: longer than a model thinks.
const idleTime = 2 * time.Minute

// RoundTripper is for a library that has an http.Client of its own, as that of MCP. Every request is checked as one of Do is, with
// these differences. A connection is kept, so it is the addresses of the first request that were checked, and those of no other are
// used. Bodies are neither bounded nor timed: they may be streams, and the caller bounds what it reads. Headers are the caller's, and
// Config.Timeout bounds connecting alone.
//
// No redirect is followed: a request that an http.Client makes because of one is refused, whatever its CheckRedirect says, since it
// would carry the caller's headers to a host that the server chose.
//
// Each RoundTripper has connections of its own; http.Client.CloseIdleConnections closes them.
func (c *Client) RoundTripper() http.RoundTripper {
	t := c.newTransport()
	t.DisableKeepAlives, t.IdleConnTimeout = false, idleTime
	return &roundTripper{c: c, transport: t}
}

type roundTripper struct {
	c         *Client
	transport *http.Transport
}

// RoundTrip sends what check made of the request.
func (t *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	out, err := t.check(req)
	if err != nil {
		if req.Body != nil {
			req.Body.Close() // RoundTrip must, also on errors
		}
		return nil, err
	}
	answer, err := roundTrip(t.transport, out)
	if err != nil {
		return nil, outcome(out.Method+" "+out.URL.Hostname(), err)
	}
	return answer, nil
}

// check returns the request as it is sent: to the URL that ParseURL read, not to the one that another parser did.
func (t *roundTripper) check(req *http.Request) (*http.Request, error) {
	u, err := ParseURL(written(req.URL))
	if err != nil {
		return nil, err
	}
	if req.Response != nil {
		return nil, refuse(u.Host, "the server redirects there, and redirects are not followed; configure the address that is meant")
	}
	if req.Host != "" && req.Host != req.URL.Host {
		return nil, refuse(u.Host, "the Host header names another host")
	}
	if err := t.c.admit(u.Host); err != nil {
		return nil, err
	}
	if err := checkMethod(u.Host, cmp.Or(req.Method, http.MethodGet)); err != nil {
		return nil, err
	}
	if err := t.c.meter.take(u.Host); err != nil {
		return nil, err
	}
	out := req.Clone(req.Context())
	out.URL, out.Host = u.parsed, ""
	return out, nil
}

// written is a URL with its host as it was given, where String would escape what is not ASCII.
func written(u *url.URL) string {
	if u.Opaque != "" || u.User != nil || u.Host == "" || strings.ContainsAny(u.Host, "/?#") {
		return u.String()
	}
	return u.Scheme + "://" + u.Host + u.RequestURI()
}

// CloseIdleConnections is what http.Client.CloseIdleConnections calls.
func (t *roundTripper) CloseIdleConnections() { t.transport.CloseIdleConnections() }
