package redact

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/bridge/scan/rewrite"
)

// Sensitive returns args with every named parameter replaced by a text such as `[sensitive string, 12 bytes, hmac 1a2b3c4d]`.
// args itself is not changed.
//
// A name without a dot, or after `*.`, is a key at any depth; any other dotted name is a path from the top, where `*` is any one key
// and lists are looked through; a leading `args.` is the arguments themselves. Case does not count. mac makes the short fingerprint
// by which two calls can be compared; nil leaves it out. Data deeper than 64 levels is an error: an unread part may be sensitive.
func Sensitive(args map[string]any, names []string, mac func([]byte) string) (map[string]any, error) {
	h := hider{mac: mac}
	for _, name := range names {
		path := strings.Split(strings.ToLower(name), ".")
		if rest := path[1:]; len(rest) > 0 && (path[0] == "*" || path[0] == "args") {
			if path[0] == "args" {
				h.paths = append(h.paths, path) // a parameter may itself be called args
				h.paths = append(h.paths, rest)
				continue
			}
			path = rest
		}
		if len(path) == 1 {
			h.keys = append(h.keys, path[0])
			continue
		}
		h.paths = append(h.paths, path)
		if strings.HasPrefix(name, "*.") {
			h.tails = append(h.tails, path)
		}
	}
	out, err := h.dict(args, nil)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// A hider replaces the parameters that it was told.
type hider struct {
	keys  []string   // at any depth
	paths [][]string // from the top
	tails [][]string // paths that may begin anywhere
	mac   func([]byte) string
}

func (h *hider) hides(path []string) bool {
	if slices.Contains(h.keys, path[len(path)-1]) {
		return true
	}
	for _, p := range h.paths {
		if samePath(p, path) {
			return true
		}
	}
	for _, p := range h.tails {
		if len(path) >= len(p) && samePath(p, path[len(path)-len(p):]) {
			return true
		}
	}
	return false
}

func samePath(pattern, path []string) bool {
	return slices.EqualFunc(pattern, path, func(p, k string) bool { return p == "*" || p == k })
}

func (h *hider) dict(v map[string]any, path []string) (map[string]any, error) {
	out := make(map[string]any, len(v))
	for k, e := range v {
		at := append(slices.Clip(path), strings.ToLower(k))
		if h.hides(at) {
			out[k] = h.placeholder(e)
			continue
		}
		to, err := h.value(e, at, len(at))
		if err != nil {
			return nil, err
		}
		out[k] = to
	}
	return out, nil
}

func (h *hider) value(v any, path []string, depth int) (any, error) {
	if depth > rewrite.MaxDepth {
		return nil, fmt.Errorf("redact: arguments: %s: deeper than %d levels; pass flatter data", scan.Line(strings.Join(path[:min(len(path), 4)], "."), 80), rewrite.MaxDepth)
	}
	switch v := v.(type) {
	case map[string]any:
		return h.dict(v, path)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			to, err := h.value(e, path, depth+1)
			if err != nil {
				return nil, err
			}
			out[i] = to
		}
		return out, nil
	}
	return v, nil
}

func (h *hider) placeholder(v any) string {
	kind, data := "value", []byte(nil)
	switch v := v.(type) {
	case nil:
		kind = "None"
	case bool:
		kind = "bool"
	case string:
		kind, data = "string", []byte(v)
	case []byte:
		kind, data = "bytes", v
	case []any:
		kind = "list"
	case map[string]any:
		kind = "dict"
	}
	if data == nil {
		var err error
		if data, err = json.Marshal(v); err != nil { // a float that JSON has no text for
			data = fmt.Append(nil, v)
		}
	}
	text := fmt.Sprintf("[sensitive %s, %d bytes", kind, len(data))
	if h.mac != nil {
		text += ", hmac " + h.mac(data)
	}
	return text + "]"
}
