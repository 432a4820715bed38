package tools

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/egress"
	"github.com/codeact-dev/codeact/bridge/plain"
	"github.com/codeact-dev/codeact/policy"
)

// Bounds of what save stores. One download runs at a time, since it is held in
// memory until it is whole.
const (
	maxSaved = 64 << 20        // bytes, after decompression
	saveTime = 5 * time.Minute // 64 MiB over a line of 2 Mbit/s
)

func httpFetch() bridge.Tool {
	f := fetcher{saving: make(chan struct{}, 1)}
	return bridge.Tool{
		Name: "http_fetch",
		Doc: "Requests a URL and returns {status, url, media_type, body, location, truncated}. HTML comes as its text. Redirects are not followed: location says where to. " +
			"With save=\"path\" an answer of status 2xx goes into a new file and {status, url, media_type, path, bytes, sha256} is returned.",
		Params: bridge.MustSchema(`{"type":"object","required":["url"],"properties":{
			"url":{"type":"string"},
			"method":{"type":"string","default":"GET","enum":["GET","HEAD","POST","PUT","PATCH","DELETE"]},
			"headers":{"type":"object","additionalProperties":{"type":"string"}},
			"body":{"type":"string"},
			"json":{"description":"sent as JSON"},
			"form":{"description":"sent as an HTML form; a list gives its name several times","type":"object","additionalProperties":{
				"type":["string","number","boolean","array"],"items":{"type":["string","number","boolean"]}}},
			"save":{"description":"a path in the workspace where no file is yet","type":"string"}}}`),
		Caps:         policy.Declare(policy.UntrustedInput, policy.ExternalSend),
		Paths:        []string{"save"},
		URLs:         []string{"url"},
		Destinations: []string{"url", "save"},
		Record:       policy.RecordSpec{Opaque: true},
		Run:          f.run,
	}
}

// A fetcher is one http_fetch.
type fetcher struct {
	saving chan struct{} // holds one element while a download runs
}

func (f fetcher) run(ctx context.Context, p *bridge.Permit) (bridge.Output, error) {
	local := bridge.Output{Local: true} // what reached the network is external whatever this says
	req, err := request(p)
	if err != nil {
		return local, err
	}
	if path, save := p.Arg("save").(string); save {
		return f.save(ctx, p, req, path)
	}
	resp, err := p.HTTP().Do(ctx, req)
	if err != nil {
		return local, err
	}
	return asRecord(p, resp), nil
}

// save waits for its turn before it looks whether the path is free, so that of two
// downloads to one path the later is refused.
func (f fetcher) save(ctx context.Context, p *bridge.Permit, req egress.Request, path string) (bridge.Output, error) {
	local := bridge.Output{Local: true}
	select {
	case f.saving <- struct{}{}:
		defer func() { <-f.saving }()
	case <-ctx.Done():
		return local, ctx.Err()
	}
	if err := vacant(p, path); err != nil {
		return local, err
	}
	req.MaxBody, req.Timeout = maxSaved, saveTime
	resp, err := p.HTTP().Do(ctx, req)
	if err != nil {
		return local, err
	}
	if resp.Status/100 != 2 {
		return asRecord(p, resp), nil
	}
	return stored(p, path, resp)
}

// vacant refuses a path that may not be written, before anything is sent, and one
// where something is: what a server sends replaces no file.
func vacant(p *bridge.Permit, path string) error {
	if err := p.Root().Writable(path); err != nil {
		return err
	}
	_, _, err := p.Root().ReadFile(path, 0)
	switch {
	case errors.Is(err, bridge.ErrNotFound):
		return nil
	case err == nil:
		return fmt.Errorf("%s is there already, and a download replaces nothing; choose another path", path)
	}
	return err
}

// stored writes a whole answer to a file. The bridge marks the file as third-party
// content, since this call has reached the network.
func stored(p *bridge.Permit, path string, resp *egress.Response) (bridge.Output, error) {
	if resp.Truncated {
		return bridge.Output{}, fmt.Errorf("%s was not written: the answer is longer than the %d MiB that are saved", path, maxSaved>>20)
	}
	if err := p.Root().Write(path, resp.Body); err != nil {
		return bridge.Output{}, fmt.Errorf("the request was sent and answered with status %d, but not saved: %w", resp.Status, err)
	}
	sum := sha256.Sum256(resp.Body)
	v := map[string]any{"status": int64(resp.Status), "url": p.String("url"), "media_type": resp.MediaType, "path": path,
		"bytes": int64(len(resp.Body)), "sha256": hex.EncodeToString(sum[:])}
	return bridge.Output{Value: v, MediaType: "application/json"}, nil
}

// asRecord is an answer as a script reads it.
func asRecord(p *bridge.Permit, resp *egress.Response) bridge.Output {
	body := strings.TrimPrefix(decoded(resp), "\ufeff") // a byte order mark is no text, and no JSON
	v := map[string]any{"status": int64(resp.Status), "url": p.String("url"), "media_type": resp.MediaType, "body": body, "truncated": resp.Truncated}
	if resp.Location != "" {
		v["location"] = resp.Location
	}
	return bridge.Output{Value: v, MediaType: resp.MediaType}
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
	err = setBody(p, &req)
	return req, err
}

// setBody sets what the call sends beside URL and headers. A model that forgets the
// method would see its data vanish, since servers ignore the body of a GET.
func setBody(p *bridge.Permit, req *egress.Request) (err error) {
	var given []string
	for _, name := range []string{"body", "form", "json"} {
		if _, ok := p.Args()[name]; ok {
			given = append(given, name)
		}
	}
	switch {
	case len(given) == 0:
		return nil
	case len(given) > 1:
		return fmt.Errorf("give only one of %s", strings.Join(given, " and "))
	case req.Method == "GET", req.Method == "HEAD":
		return fmt.Errorf("a %s has no body: to send %s, give method=\"POST\" or another one", req.Method, given[0])
	}
	switch given[0] {
	case "body":
		req.Body = []byte(p.String("body"))
	case "form":
		req.Body, err = form(p.Arg("form"))
		req.Header["Content-Type"] = "application/x-www-form-urlencoded"
	case "json":
		req.Body, err = plain.Append(nil, p.Arg("json"))
		req.Header["Content-Type"] = "application/json"
	}
	return err
}

// form is the fields as an HTML form sends them, sorted by name.
func form(arg any) ([]byte, error) {
	fields, _ := arg.(map[string]any)
	out := make(url.Values)
	for name, v := range fields {
		list, many := v.([]any)
		if !many {
			list = []any{v}
		}
		for _, e := range list {
			text, ok := e.(string)
			if !ok {
				b, err := plain.Append(nil, e) // numbers and booleans, as JSON writes them
				if err != nil {
					return nil, err
				}
				text = string(b)
			}
			out.Add(name, text)
		}
	}
	return []byte(out.Encode()), nil
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
