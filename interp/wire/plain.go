package wire

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"unicode/utf8"
)

// Bounds of one plain value, whatever its byte budget is.
const (
	MaxDepth   = 32     // containers inside each other
	MaxNodes   = 50_000 // values, each dict key counted with its value
	MaxIntBits = 4096
)

var (
	// ErrValue is in the chain of every error about a value that may not cross.
	ErrValue = errors.New("value cannot cross between script and tools")
	// ErrSize stands beside ErrValue where a smaller value of the same form could cross.
	ErrSize = errors.New("too large")
)

// Budget counts what one value takes. The zero Budget allows no byte: set Bytes.
type Budget struct {
	Bytes int // still allowed
	nodes int
	first int // Bytes when the first node was taken, for the error
}

// Take accounts for one node at the given depth with so many bytes of content.
func (b *Budget) Take(depth, bytes int) error {
	if depth > MaxDepth {
		return fmt.Errorf("%w: nested deeper than %d levels (or contains itself)", ErrValue, MaxDepth)
	}
	if b.nodes++; b.nodes > MaxNodes {
		return fmt.Errorf("%w: %w: more than %d parts", ErrValue, ErrSize, MaxNodes)
	}
	if b.nodes == 1 {
		b.first = b.Bytes
	}
	if b.Bytes -= bytes + 1; b.Bytes < 0 { // +1: no node is free
		return fmt.Errorf("%w: %w: more than %d bytes", ErrValue, ErrSize, b.first)
	}
	return nil
}

// Plain returns a copy of v that holds only nil, bool, int64, *big.Int beyond int64, float64, string, []byte, []any and
// map[string]any, within budget. It also takes int, and any error wraps ErrValue.
func Plain(v any, budget int) (any, error) {
	return (&Budget{Bytes: budget}).Plain(v, budget)
}

// Plain is the function Plain for one of several values that share b, and of at most limit bytes by itself. A value that
// fails takes nothing of b.
func (b *Budget) Plain(v any, limit int) (any, error) {
	part := Budget{Bytes: min(b.Bytes, limit), nodes: b.nodes}
	part.first = part.Bytes
	before := part.Bytes
	p, err := plain(v, 0, &part)
	if err != nil {
		return nil, err
	}
	b.Bytes -= before - part.Bytes
	b.nodes = part.nodes
	return p, nil
}

// plain recurses at most MaxDepth deep: Take ends it.
func plain(v any, depth int, b *Budget) (any, error) {
	if err := b.Take(depth, size(v)); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case nil, bool, int64:
		return v, nil
	case int:
		return int64(v), nil
	case *big.Int:
		return CheckInt(v)
	case float64:
		return v, CheckFloat(v)
	case string:
		return v, CheckString(v)
	case []byte:
		return append([]byte{}, v...), nil
	case []any:
		return plainList(v, depth, b)
	case map[string]any:
		return plainMap(v, depth, b)
	}
	return nil, fmt.Errorf("%w: Go type %T is not plain data", ErrValue, v)
}

func plainList(v []any, depth int, b *Budget) (any, error) {
	out := make([]any, 0, min(len(v), MaxNodes))
	for i, e := range v {
		p, err := plain(e, depth+1, b)
		if err != nil {
			return nil, At(fmt.Sprintf("[%d]", i), err)
		}
		out = append(out, p)
	}
	return out, nil
}

func plainMap(v map[string]any, depth int, b *Budget) (any, error) {
	out := make(map[string]any, min(len(v), MaxNodes))
	for k, e := range v {
		if err := errors.Join(CheckString(k), b.Take(depth, len(k))); err != nil {
			return nil, At("key", err)
		}
		p, err := plain(e, depth+1, b)
		if err != nil {
			return nil, At("."+clip(k), err)
		}
		out[k] = p
	}
	return out, nil
}

// size is the content of a leaf in bytes; containers are counted by their parts.
func size(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case []byte:
		return len(v)
	case *big.Int:
		if v == nil {
			return 0
		}
		return v.BitLen() / 8
	case int64, int, float64:
		return 8
	}
	return 0
}

// CheckInt returns v as int64 where it fits, else as itself, or an error past MaxIntBits.
func CheckInt(v *big.Int) (any, error) {
	switch {
	case v == nil:
		return nil, fmt.Errorf("%w: a nil *big.Int", ErrValue)
	case v.IsInt64():
		return v.Int64(), nil
	case v.BitLen() > MaxIntBits:
		return nil, fmt.Errorf("%w: an integer of %d bits, at most %d", ErrValue, v.BitLen(), MaxIntBits)
	}
	return v, nil
}

// CheckFloat refuses infinities and NaN, which JSON cannot say.
func CheckFloat(v float64) error {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return fmt.Errorf("%w: %v is not a finite number", ErrValue, v)
	}
	return nil
}

// CheckString refuses text that is not valid UTF-8.
func CheckString(v string) error {
	if !utf8.ValidString(v) {
		return fmt.Errorf("%w: a string that is not valid UTF-8 (use bytes)", ErrValue)
	}
	return nil
}

// pathError prefixes a value error with the place of the value, one step for each level that it passes.
type pathError struct {
	path string
	err  error
}

func (e *pathError) Error() string { return "at " + e.path + ": " + e.err.Error() }
func (e *pathError) Unwrap() error { return e.err }

// At returns err with step put in front of its path.
func At(step string, err error) error {
	if p, ok := err.(*pathError); ok {
		return &pathError{step + p.path, p.err}
	}
	return &pathError{step, err}
}

// clip keeps a key short enough for a path of MaxDepth steps to fit an error.
func clip(k string) string { return Clip(k, 40) }
