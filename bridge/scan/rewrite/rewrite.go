// Package rewrite changes the leaves of plain data and copies only what changed. Plain data is what crosses the bridge: nil, bool, int,
// int64, *big.Int, float64, string, []byte, []any and map[string]any.
//
// A leaf that the caller's functions leave as it is passes: what must not pass is theirs to know.
package rewrite

import (
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// MaxDepth bounds plain data, in levels. Deeper data is refused, not skipped: a filter that stops looking can be walked under.
const MaxDepth = 64

// Leaves say what becomes of each leaf. Text and Refuse must be set.
type Leaves struct {
	Text      func(string) string   // of texts, keys of maps, and bytes
	Number    func(any) any         // nil: numbers stay
	KeepBytes bool                  // []byte stays as it is
	Refuse    func(rule string) any // what stands in place of too-deep and not-plain
}

// In returns v with its leaves rewritten: v itself if none changed, else a copy.
func (w *Leaves) In(v any) any {
	out, _ := w.walk(v, 0)
	return out
}

// walk returns v, or its copy and true.
func (w *Leaves) walk(v any, depth int) (any, bool) {
	if depth > MaxDepth {
		return w.Refuse("too-deep"), true
	}
	switch v := v.(type) {
	case nil, bool:
		return v, false
	case int, int64, *big.Int, float64:
		if w.Number == nil {
			return v, false
		}
		out := w.Number(v)
		return out, out != any(v)
	case string:
		out := w.Text(v)
		return out, out != v
	case []byte:
		if w.KeepBytes {
			return v, false
		}
		if out := w.Text(string(v)); out != string(v) {
			return []byte(out), true
		}
		return v, false
	case []any:
		return w.list(v, depth)
	case map[string]any:
		return w.dict(v, depth)
	}
	return w.Refuse("not-plain"), true
}

func (w *Leaves) list(v []any, depth int) (any, bool) {
	var out []any
	for i, e := range v {
		if to, changed := w.walk(e, depth+1); changed {
			if out == nil {
				out = slices.Clone(v)
			}
			out[i] = to
		}
	}
	if out == nil {
		return v, false
	}
	return out, true
}

func (w *Leaves) dict(v map[string]any, depth int) (any, bool) {
	type entry struct {
		from, to string
		value    any
	}
	var out map[string]any
	var renamed []entry
	for k, e := range v {
		value, changed := w.walk(e, depth+1)
		key := w.Text(k)
		if !changed && key == k {
			continue
		}
		if out == nil {
			out = maps.Clone(v)
		}
		if out[k] = value; key != k {
			delete(out, k)
			renamed = append(renamed, entry{k, key, value})
		}
	}
	slices.SortFunc(renamed, func(a, b entry) int { return strings.Compare(a.from, b.from) })
	for _, e := range renamed {
		key := e.to
		for n := 2; ; n++ { // two keys may have become one text
			if _, taken := out[key]; !taken {
				break
			}
			key = e.to + "#" + strconv.Itoa(n)
		}
		out[key] = e.value
	}
	if out == nil {
		return v, false
	}
	return out, true
}
