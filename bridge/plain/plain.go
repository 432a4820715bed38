// Package plain writes and reads the plain data that crosses the bridge: nil,
// bool, int64, *big.Int, float64, string, []byte, []any and map[string]any.
//
// The text is JSON, canonical, and loses nothing: equal data gives equal bytes,
// and reading them gives the same types back. It is the form of arguments and
// results in a trace, and what argument hashes and approvals are bound to, so a
// change here makes every old trace diverge.
package plain

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds nesting. interp lets 32 levels through; a record around them
// adds a few.
const maxDepth = 64

// bytesKey marks bytes, as {"$bytes": "base64"}. A map whose only key is "$bytes",
// "$$bytes" and so on has one more "$" put before it, so that no map reads as
// bytes.
const bytesKey = "$bytes"

func isMarked(key string) bool {
	return strings.HasSuffix(key, bytesKey) && strings.Trim(key, "$") == bytesKey[1:]
}

// Errors of Append and Decode.
var (
	ErrDepth = fmt.Errorf("plain: deeper than %d levels", maxDepth)
	ErrType  = errors.New("plain: not plain data")
)

// Append appends the canonical JSON of v to dst.
func Append(dst []byte, v any) ([]byte, error) { return appendValue(dst, v, 0) }

// JSON returns the canonical JSON of v, or "null" with an error.
func JSON(v any) (string, error) {
	b, err := Append(nil, v)
	if err != nil {
		return "null", err
	}
	return string(b), nil
}

func appendValue(dst []byte, v any, depth int) ([]byte, error) {
	if depth > maxDepth {
		return dst, ErrDepth
	}
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case *big.Int:
		return v.Append(dst, 10), nil
	case float64:
		return appendFloat(dst, v)
	case string:
		return appendString(dst, v)
	case []byte:
		dst = append(dst, `{"`+bytesKey+`":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, v)
		return append(dst, `"}`...), nil
	case []any:
		return appendList(dst, v, depth)
	case map[string]any:
		return appendMap(dst, v, depth)
	}
	return dst, fmt.Errorf("%w: %T", ErrType, v)
}

// appendFloat keeps a float apart from an int: it always has a point or an
// exponent.
func appendFloat(dst []byte, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return dst, fmt.Errorf("%w: %v is not a finite number", ErrType, f)
	}
	n := len(dst)
	dst = strconv.AppendFloat(dst, f, 'g', -1, 64)
	if !bytes.ContainsAny(dst[n:], ".e") {
		dst = append(dst, ".0"...)
	}
	return dst, nil
}

func appendString(dst []byte, s string) ([]byte, error) {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			b, err := json.Marshal(s) // replaces invalid UTF-8 by U+FFFD
			return append(dst, b...), err
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"'), nil
}

func appendList(dst []byte, l []any, depth int) (_ []byte, err error) {
	dst = append(dst, '[')
	for i, e := range l {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendValue(dst, e, depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

func appendMap(dst []byte, m map[string]any, depth int) (_ []byte, err error) {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	dst = append(dst, '{')
	for i, k := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		name := k
		if len(keys) == 1 && isMarked(k) {
			name = "$" + k
		}
		if dst, err = appendString(dst, name); err != nil {
			return dst, err
		}
		if dst, err = appendValue(append(dst, ':'), m[k], depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// Decode reads one value that Append wrote. Anything after it is an error.
func Decode(b []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("plain: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("plain: text after the value")
	}
	return restore(v, 0)
}

func restore(v any, depth int) (_ any, err error) {
	if depth > maxDepth {
		return nil, ErrDepth
	}
	switch v := v.(type) {
	case json.Number:
		return number(v.String())
	case []any:
		for i := range v {
			if v[i], err = restore(v[i], depth+1); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		return restoreMap(v, depth)
	}
	return v, nil
}

func restoreMap(m map[string]any, depth int) (_ any, err error) {
	for k := range m {
		if len(m) == 1 && isMarked(k) {
			return restoreMarked(k, m[k], depth)
		}
		if m[k], err = restore(m[k], depth+1); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func restoreMarked(k string, v any, depth int) (any, error) {
	if k == bytesKey {
		s, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("plain: %s holds a %T", bytesKey, v)
		}
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return nil, fmt.Errorf("plain: %s: %w", bytesKey, err)
		}
		return b, nil
	}
	e, err := restore(v, depth+1)
	return map[string]any{strings.TrimPrefix(k, "$"): e}, err
}

func number(s string) (any, error) {
	if strings.ContainsAny(s, ".eE") {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return nil, fmt.Errorf("plain: number %s: %w", s, err)
		}
		return f, nil
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, nil
	}
	n, ok := new(big.Int).SetString(s, 10)
	if !ok {
		return nil, fmt.Errorf("plain: number %s", s)
	}
	return n, nil
}
