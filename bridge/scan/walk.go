package scan

import (
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// maxDepth bounds plain data, in levels. Deeper data is refused, not skipped: a filter that stops looking can be walked under.
const maxDepth = 64

// A walker rewrites the leaves of plain data and copies only what changed.
type walker struct {
	text   func(string) string
	number func(any) any         // nil: numbers stay
	bytes  bool                  // []byte stays as it is
	refuse func(rule string) any // what stands in place of too-deep and not-plain
}

// walk returns v, or its copy and true.
func (w *walker) walk(v any, depth int) (any, bool) {
	if depth > maxDepth {
		return w.refuse("too-deep"), true
	}
	switch v := v.(type) {
	case nil, bool:
		return v, false
	case int, int64, *big.Int, float64:
		if w.number == nil {
			return v, false
		}
		out := w.number(v)
		return out, out != any(v)
	case string:
		out := w.text(v)
		return out, out != v
	case []byte:
		if w.bytes {
			return v, false
		}
		if out := w.text(string(v)); out != string(v) {
			return []byte(out), true
		}
		return v, false
	case []any:
		return w.list(v, depth)
	case map[string]any:
		return w.dict(v, depth)
	}
	return w.refuse("not-plain"), true
}

func (w *walker) list(v []any, depth int) (any, bool) {
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

func (w *walker) dict(v map[string]any, depth int) (any, bool) {
	type entry struct {
		from, to string
		value    any
	}
	var out map[string]any
	var renamed []entry
	for k, e := range v {
		value, changed := w.walk(e, depth+1)
		key := w.text(k)
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
