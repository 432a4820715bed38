package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// fault is what is wrong with one line, or with one body, at a byte of it.
type fault struct {
	at         int
	why        string
	unfinished bool // good JSON as far as it goes: what a crash in the middle of a write leaves
}

// member is one key of an object, with where it and its value stand.
type member struct {
	key          string
	at           int
	valAt, valTo int
}

// objectReader finds the keys of JSON objects. It keeps its buffers between objects and serves one goroutine.
type objectReader struct {
	src  []byte
	open []member // the keys of the objects that are being walked, inner ones last
	top  []member // the keys of the outermost object, in order
}

// read checks that src is one JSON object in UTF-8 with no key twice in any object, and fills r.top.
func (r *objectReader) read(src []byte) *fault {
	if f := checkText(src); f != nil {
		return f
	}
	if f := checkSyntax(src); f != nil {
		return f
	}
	return r.walk(src)
}

// walk does the part of read that is about keys. Precondition: src is valid JSON.
func (r *objectReader) walk(src []byte) *fault {
	if src[0] != '{' {
		return &fault{why: "not a JSON object"}
	}
	r.src, r.open, r.top = src, r.open[:0], r.top[:0]
	_, f := r.object(0)
	return f
}

func checkText(src []byte) *fault {
	if i := bytes.IndexByte(src, 0); i >= 0 {
		return &fault{at: i, why: "NUL byte"}
	}
	if utf8.Valid(src) {
		return nil
	}
	at := 0
	for {
		r, n := utf8.DecodeRune(src[at:])
		if r == utf8.RuneError && n == 1 {
			return &fault{at: at, why: "not UTF-8"}
		}
		at += n
	}
}

func checkSyntax(src []byte) *fault {
	if json.Valid(src) {
		return nil
	}
	var raw json.RawMessage
	f := &fault{}
	var bad *json.SyntaxError
	if err := json.Unmarshal(src, &raw); errors.As(err, &bad) {
		f.at, f.why = max(0, int(bad.Offset)-1), "not JSON: "+bad.Error()
	}
	if err := json.NewDecoder(bytes.NewReader(src)).Decode(&raw); errors.Is(err, io.ErrUnexpectedEOF) {
		f.at, f.unfinished = len(src), true
	}
	return f
}

// The methods below run on JSON known to be valid, so they look only for where things end.

// object returns the index behind the object at src[i]. Its depth is bounded by encoding/json, at 10,000.
func (r *objectReader) object(i int) (int, *fault) {
	start, base := i, len(r.open)
	i = r.space(i + 1)
	for r.src[i] != '}' {
		m := member{at: i}
		end := r.text(i)
		m.key = unquote(r.src[i:end])
		m.valAt = r.space(r.space(end) + 1)
		var f *fault
		if m.valTo, f = r.value(m.valAt); f != nil {
			return 0, f
		}
		r.open = append(r.open, m)
		if i = r.space(m.valTo); r.src[i] == ',' {
			i = r.space(i + 1)
		}
	}
	if start == 0 {
		r.top = append(r.top, r.open...)
	}
	return i + 1, r.close(base)
}

// close ends the object whose keys start at base. It looks for a key that stands twice, in n log n, since a line may
// hold a million keys.
func (r *objectReader) close(base int) *fault {
	keys := r.open[base:]
	r.open = r.open[:base]
	slices.SortFunc(keys, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.at, b.at))
	})
	for i := 1; i < len(keys); i++ {
		if keys[i].key == keys[i-1].key {
			return &fault{at: keys[i].at, why: fmt.Sprintf("key %q stands twice", keys[i].key)}
		}
	}
	return nil
}

func (r *objectReader) array(i int) (int, *fault) {
	i = r.space(i + 1)
	for r.src[i] != ']' {
		end, f := r.value(i)
		if f != nil {
			return 0, f
		}
		if i = r.space(end); r.src[i] == ',' {
			i = r.space(i + 1)
		}
	}
	return i + 1, nil
}

func (r *objectReader) value(i int) (int, *fault) {
	switch r.src[i] {
	case '{':
		return r.object(i)
	case '[':
		return r.array(i)
	case '"':
		return r.text(i), nil
	}
	n := bytes.IndexAny(r.src[i:], ",]} \t\r\n")
	return i + n, nil // never -1: a value stands inside the outermost object
}

func (r *objectReader) text(i int) int {
	for i++; r.src[i] != '"'; i++ {
		if r.src[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func (r *objectReader) space(i int) int {
	for r.src[i] == ' ' || r.src[i] == '\t' || r.src[i] == '\r' || r.src[i] == '\n' {
		i++
	}
	return i
}

// unquote returns the text of a valid JSON string: "\u0061" and "a" are the same key.
func unquote(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	var s string
	_ = json.Unmarshal(quoted, &s) // cannot fail on a valid string
	return s
}
