package egress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
)

// Response is what came back: third-party content, all of it.
type Response struct {
	Status    int
	Header    http.Header
	Body      []byte // decompressed, at most MaxBody of the request or the client
	Truncated bool   // there was more
	MediaType string // lower case; "" if missing or malformed
	Charset   string // as declared; "" if not
	Location  string // where a redirect leads, absolute; never followed
	RemoteIP  string // the address that answered
}

// Do sends one request and reads the answer. An error that is ErrRefused was made here, and nothing was sent; any other comes from
// the network, and its text may hold what a server wrote. No text holds the query of the URL.
func (c *Client) Do(ctx context.Context, req Request) (*Response, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(req.Timeout, c.cfg.Timeout))
	defer cancel()
	var remote string
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(got httptrace.GotConnInfo) { remote = hostOf(got.Conn.RemoteAddr()) },
	})
	out, err := c.build(ctx, req)
	if err != nil {
		return nil, err
	}
	if err := c.meter.take(req.URL.Host); err != nil {
		return nil, err
	}
	resp, err := c.exchange(out, cmp.Or(req.MaxBody, c.cfg.MaxBody))
	if err != nil {
		return nil, outcome(out.Method+" "+out.URL.Hostname(), err)
	}
	resp.RemoteIP = remote
	return resp, nil
}

// exchange is one round trip, and at most so many bytes of its body: http.Client would follow redirects, and put the whole URL into its errors.
func (c *Client) exchange(out *http.Request, most int64) (*Response, error) {
	answer, err := roundTrip(c.transport, out)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, most+1))
	if err != nil {
		return nil, err
	}
	resp := &Response{Status: answer.StatusCode, Header: answer.Header, Body: body}
	if int64(len(body)) > most {
		resp.Body, resp.Truncated = body[:most], true
	}
	if media, params, err := mime.ParseMediaType(answer.Header.Get("Content-Type")); err == nil {
		resp.MediaType, resp.Charset = media, params["charset"]
	}
	if location, err := answer.Location(); err == nil && answer.StatusCode/100 == 3 {
		resp.Location = location.String()
	}
	return resp, nil
}

// roundTrip refuses what no request here asks for: a connection that speaks something else from now on.
func roundTrip(t *http.Transport, out *http.Request) (*http.Response, error) {
	answer, err := t.RoundTrip(out)
	if err == nil && answer.StatusCode == http.StatusSwitchingProtocols {
		answer.Body.Close()
		return nil, errors.New("the server changed the protocol unasked")
	}
	return answer, err
}

// outcome tells a refusal of our own, found in the middle of an exchange, from what the network did.
func outcome(doing string, err error) error {
	var refused *Refused
	if errors.As(err, &refused) {
		return refused
	}
	return fmt.Errorf("egress: %s: %w", doing, err)
}

func hostOf(addr net.Addr) string {
	at, _ := netip.ParseAddrPort(addr.String()) // control has parsed it before
	return at.Addr().Unmap().String()
}
