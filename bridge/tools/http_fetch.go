package tools

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"

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
	body := strings.TrimPrefix(decoded(resp), "\ufeff") // a byte order mark is no text, and no JSON
	v := map[string]any{"status": int64(resp.Status), "url": p.String("url"), "media_type": resp.MediaType, "body": body, "truncated": resp.Truncated}
	if resp.Location != "" {
		v["location"] = resp.Location
	}
	return bridge.Output{Value: v, MediaType: resp.MediaType}, nil
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

// decoded is the body as text, by the character set that the server declares, else
// as UTF-8, else by what it looks like. What is no text is told by type and size
// alone.
func decoded(r *egress.Response) string {
	body := r.Body
	if r.Truncated {
		body = wholeRunes(body)
	}
	declared, _ := charset.Lookup(r.Charset)
	valid := utf8.Valid(body)
	switch {
	case !textual(r.MediaType) && (bytes.IndexByte(body, 0) >= 0 || !valid && declared == nil):
		return fmt.Sprintf("[%d bytes of %s, which is no text]", len(r.Body), cmp.Or(r.MediaType, "an unknown type"))
	case declared != nil:
		return convert(declared, body)
	case valid:
		return string(body)
	}
	enc, _, _ := charset.DetermineEncoding(body, r.MediaType)
	return convert(enc, body)
}

// convert puts U+FFFD where a byte means nothing.
func convert(enc encoding.Encoding, body []byte) string {
	text, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		return fmt.Sprintf("[%d bytes that cannot be decoded: %v]", len(body), err)
	}
	return string(text)
}

func textual(media string) bool {
	return strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "json") || strings.HasSuffix(media, "xml")
}
