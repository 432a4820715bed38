package mcp

import (
	"errors"
	"io"
	"net/http"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxReconnects of a broken stream of a server's own messages.
const maxReconnects = 2

// errBody ends a body that is too long.
var errBody = errors.New("the answer has over 8 MiB")

// transport reaches a server with a URL. Redirects are not followed: the headers
// are for this host.
func (c *Config) transport(s *Server) sdk.Transport {
	return &sdk.StreamableClientTransport{
		Endpoint: s.URL,
		HTTPClient: &http.Client{
			Transport:     &guarded{base: c.Transport, headers: s.Headers},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		MaxRetries:   maxReconnects,
		MaxEventSize: maxLine,
	}
}

// guarded adds the server's headers and bounds what comes back.
type guarded struct {
	base    http.RoundTripper
	headers map[string]string
}

// RoundTrip implements http.RoundTripper.
func (g *guarded) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for k, v := range g.headers {
		req.Header.Set(k, v)
	}
	resp, err := g.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	// A stream lives as long as its session; its events are bounded one by one.
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Body = &bounded{ReadCloser: resp.Body, left: maxLine}
	}
	return resp, nil
}

type bounded struct {
	io.ReadCloser
	left int // bytes that may still come
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errBody
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
