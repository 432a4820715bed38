package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/egress"
	"github.com/codeact-dev/codeact/bridge/plain"
	"github.com/codeact-dev/codeact/policy"
)

func httpFetch() bridge.Tool {
	return bridge.Tool{
		Name: "http_fetch",
		Doc:  "Requests a URL and returns {status, url, media_type, body, location, truncated}. HTML comes as its text. Redirects are not followed: location says where to.",
		Params: bridge.MustSchema(`{"type":"object","required":["url"],"properties":{
			"url":{"type":"string"},
			"method":{"type":"string","default":"GET","enum":["GET","HEAD","POST","PUT","PATCH","DELETE"]},
			"headers":{"type":"object","additionalProperties":{"type":"string"}},
			"body":{"type":"string"},
			"json":{"description":"sent as JSON"}}}`),
		Caps:         policy.Declare(policy.UntrustedInput, policy.ExternalSend),
		URLs:         []string{"url"},
		Destinations: []string{"url"},
		Record:       policy.RecordSpec{Opaque: true},
		Run:          runFetch,
	}
}

func runFetch(ctx context.Context, p *bridge.Permit) (bridge.Output, error) {
	local := bridge.Output{Local: true}
	req, err := request(p)
	if err != nil {
		return local, err
	}
	resp, err := p.HTTP().Do(ctx, req)
	if err != nil {
		return local, err // what reached the network is external whatever this says
	}
	body, err := decoded(resp)
	if err != nil {
		return bridge.Output{}, err
	}
	v := map[string]any{"status": int64(resp.Status), "url": p.String("url"), "media_type": resp.MediaType, "body": body, "truncated": resp.Truncated}
	if resp.Location != "" {
		v["location"] = resp.Location
	}
	media := resp.MediaType
	return bridge.Output{Value: v, MediaType: media}, nil
}

func request(p *bridge.Permit) (egress.Request, error) {
	u, err := egress.ParseURL(p.String("url"))
	if err != nil {
		return egress.Request{}, err
	}
	req := egress.Request{Method: p.String("method"), URL: u, Header: make(map[string]string)}
	if hs, ok := p.Arg("headers").(map[string]any); ok {
		for k, v := range hs {
			s, _ := v.(string)
			req.Header[k] = s
		}
	}
	v, isJSON := p.Args()["json"]
	_, isText := p.Args()["body"]
	switch {
	case isJSON && isText:
		return egress.Request{}, errors.New("give body or json, not both")
	case isText:
		req.Body = []byte(p.String("body"))
	case isJSON:
		if req.Body, err = plain.Append(nil, v); err != nil {
			return egress.Request{}, err
		}
		req.Header["Content-Type"] = "application/json"
	}
	return req, nil
}

// decoded is the body as text. What is no text is told by type and size alone.
func decoded(r *egress.Response) (string, error) {
	if !textual(r.MediaType) && (bytes.IndexByte(r.Body, 0) >= 0 || !utf8.Valid(r.Body)) {
		return fmt.Sprintf("[%d bytes of %s, which is no text]", len(r.Body), r.MediaType), nil
	}
	if utf8.Valid(r.Body) {
		return string(r.Body), nil
	}
	kind := r.MediaType
	if r.Charset != "" {
		kind += "; charset=" + r.Charset
	}
	enc, _, _ := charset.DetermineEncoding(r.Body, kind)
	text, err := io.ReadAll(enc.NewDecoder().Reader(bytes.NewReader(r.Body)))
	return string(text), err
}

func textual(media string) bool {
	return media == "" || strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "json") || strings.HasSuffix(media, "xml")
}
