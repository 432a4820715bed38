package mcp

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"reflect"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxItems bounds the blocks of one result.
const maxItems = 256

// value makes plain data of a result: its structured content, or else its text.
// Where there is more than text, it is {"text", "structured", "items"}, an item
// saying what the block is and where its bytes are. An error of the tool is an
// error.
func (c *Config) value(res *sdk.CallToolResult, call string) (any, error) {
	if len(res.Content) > maxItems {
		return nil, fmt.Errorf("its result has %d blocks, over %d", len(res.Content), maxItems)
	}
	var text []string
	var items []any
	for i, block := range res.Content {
		if t, ok := block.(*sdk.TextContent); ok {
			text = append(text, t.Text)
			continue
		}
		items = append(items, c.item(block, fmt.Sprintf("%s-%d", strings.ReplaceAll(call, "/", "-"), i)))
	}
	all := strings.Join(text, "\n")
	if res.IsError {
		return nil, errors.New(cmp.Or(c.clean(all), "it failed, and the server says not why"))
	}
	data := structured(res.StructuredContent, all)
	if items == nil {
		if data != nil {
			return data, nil
		}
		return all, nil
	}
	out := map[string]any{"text": all, "items": items}
	if data != nil {
		out["structured"] = data
	}
	return out, nil
}

// structured is v as plain data. The SDK reads numbers as floats; where the text
// says the same, as MCP asks, it is read instead, and keeps every digit.
func structured(v any, text string) any {
	if v == nil {
		return nil
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var exact any
	if err := dec.Decode(&exact); err == nil {
		if _, err := dec.Token(); err == io.EOF && reflect.DeepEqual(floats(exact), v) {
			return exactly(exact)
		}
	}
	return exactly(v)
}

// floats is JSON data as the SDK reads it.
func floats(v any) any {
	switch v := v.(type) {
	case json.Number:
		f, _ := v.Float64() // out of range: it equals nothing that was read
		return f
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = floats(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = floats(e)
		}
		return out
	}
	return v
}

// exactly makes integers of numbers that are. Texts are valid UTF-8: the SDK sees
// to it.
func exactly(v any) any {
	switch v := v.(type) {
	case json.Number:
		return number(v)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v)
		}
		return v
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = exactly(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = exactly(e)
		}
		return out
	}
	return v
}

func number(n json.Number) any {
	if i, err := n.Int64(); err == nil {
		return i
	}
	if i, ok := new(big.Int).SetString(n.String(), 10); ok {
		return i
	}
	f, _ := n.Float64() // it equals what the SDK read, so it is in range
	return exactly(f)
}

// item says what a block that is no text holds.
func (c *Config) item(block sdk.Content, name string) any {
	switch b := block.(type) {
	case *sdk.ImageContent:
		return c.kept("image", b.MIMEType, "", b.Data, name)
	case *sdk.AudioContent:
		return c.kept("audio", b.MIMEType, "", b.Data, name)
	case *sdk.EmbeddedResource:
		r := b.Resource
		if r == nil {
			break
		}
		if r.Blob != nil {
			return c.kept("resource", r.MIMEType, r.URI, r.Blob, name)
		}
		return map[string]any{"kind": "resource", "uri": r.URI, "media_type": r.MIMEType, "text": r.Text}
	case *sdk.ResourceLink:
		link := map[string]any{"kind": "link", "uri": b.URI, "name": b.Name, "title": b.Title, "media_type": b.MIMEType, "description": b.Description}
		if b.Size != nil {
			link["bytes"] = *b.Size
		}
		return link
	}
	return map[string]any{"kind": "unknown", "note": "left out: it is no kind of content that a tool returns"}
}

// extensions are of the types that people look at; anything else is .bin.
var extensions = map[string]string{"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp",
	"audio/wav": ".wav", "audio/mpeg": ".mp3", "audio/ogg": ".ogg", "application/pdf": ".pdf", "application/zip": ".zip"}

// kept spills bytes. Its name tells them from what an earlier try of the call left.
func (c *Config) kept(kind, media, uri string, data []byte, name string) any {
	v := map[string]any{"kind": kind, "media_type": media, "bytes": int64(len(data))}
	if uri != "" {
		v["uri"] = uri
	}
	if c.Spill == nil {
		v["note"] = "its bytes are left out: this run keeps no files"
		return v
	}
	sum := sha256.Sum256(data)
	path, err := c.Spill(name+"-"+hex.EncodeToString(sum[:4])+cmp.Or(extensions[media], ".bin"), bytes.Clone(data))
	if err != nil {
		v["note"] = "its bytes could not be kept: " + err.Error()
		return v
	}
	v["path"] = path
	return v
}
