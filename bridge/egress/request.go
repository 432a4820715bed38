package egress

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// maxRequestHeader bounds names and values together, in bytes: what common servers accept, times four.
const maxRequestHeader = 32 << 10

// userAgent is sent unless the request has its own.
const userAgent = "codeact"

// Request is one request. Its URL comes from ParseURL.
type Request struct {
	Method string // "" means GET
	URL    URL
	Header map[string]string
	Body   []byte

	MaxBody int64         // bytes of the answer, for one that is stored and not read; 0 means Config.MaxBody, and 1 GiB is the most
	Timeout time.Duration // 0 means Config.Timeout
}

var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// ownHeaders belong to the connection, or would carry state or decide the framing: the client alone sets them.
var ownHeaders = []string{
	"Accept-Encoding", "Connection", "Content-Length", "Cookie", "Expect", "Host", "Http2-Settings", "Keep-Alive", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade",
}

// build makes the request that is sent. Everything that it refuses is refused before anything is resolved.
func (c *Client) build(ctx context.Context, req Request) (*http.Request, error) {
	u := req.URL
	if u.parsed == nil {
		return nil, refuse("", "the URL was not parsed")
	}
	host := u.parsed.Hostname()
	if err := c.admit(host); err != nil {
		return nil, err
	}
	method := cmp.Or(req.Method, "GET")
	if err := checkMethod(host, method); err != nil {
		return nil, err
	}
	if req.MaxBody < 0 || req.MaxBody > maxMaxBody || req.Timeout < 0 {
		return nil, refuse(host, "a limit of the request is negative, or MaxBody over 1 GiB")
	}
	header, err := buildHeader(host, req.Header)
	if err != nil {
		return nil, err
	}
	out, err := http.NewRequestWithContext(ctx, method, u.parsed.String(), bytes.NewReader(req.Body))
	if err != nil {
		return nil, refuse(host, "the URL cannot be sent")
	}
	out.Header = header
	return out, nil
}

// admit refuses a host that is not among the allowed domains.
func (c *Client) admit(host string) error {
	if len(c.domains) > 0 && !HostAllowed(host, c.domains) {
		return refuse(host, "it is not among the allowed domains: "+strings.Join(c.domains, ", "))
	}
	return nil
}

func checkMethod(host, method string) error {
	if !slices.Contains(methods, method) {
		return refuse(host, "the method "+strconv.Quote(method)+" is not allowed; use one of "+strings.Join(methods, ", "))
	}
	return nil
}

func buildHeader(host string, given map[string]string) (http.Header, error) {
	header := http.Header{"User-Agent": {userAgent}}
	seen := map[string]bool{}
	size := 0
	for name, value := range given {
		key := http.CanonicalHeaderKey(name)
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			return nil, refuse(host, "the header name "+strconv.Quote(name)+" is not valid")
		case !httpguts.ValidHeaderFieldValue(value):
			return nil, refuse(host, "the header "+key+" holds a line break or a control character")
		case slices.Contains(ownHeaders, key), strings.HasPrefix(key, "Proxy-"):
			return nil, refuse(host, "the header "+key+" is set by the client; leave it out")
		case seen[key]:
			return nil, refuse(host, "the header "+key+" is given twice")
		}
		seen[key] = true
		header.Set(key, value)
		size += len(name) + len(value)
	}
	if size > maxRequestHeader {
		return nil, refuse(host, "the headers are longer than 32 KiB")
	}
	return header, nil
}
