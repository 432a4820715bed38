package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/plain"
)

// A MockResponse is one thing that a mock tool can return.
type MockResponse struct {
	When      map[string]any // must be contained in the arguments; nil fits every call
	Value     any            // plain data
	Error     string         // the call fails with it
	Local     bool           // the result does not come from outside
	MediaType string
	Times     int // how often it is used; 0 is without end
}

// Mock returns tool with a Run that plays the responses: the first whose When fits
// and that is not used up. A call that none fits fails and says so. Where effect
// is not nil it is called with one JSON line {tool, args, call, key} each time the
// effect runs; a response that is an error has none.
func Mock(tool bridge.Tool, responses []MockResponse, effect func(line []byte) error) bridge.Tool {
	m := &mock{name: tool.Name, responses: slices.Clone(responses), used: make([]int, len(responses)), effect: effect}
	tool.Run = m.run
	return tool
}

type mock struct {
	name   string
	effect func([]byte) error

	mu        sync.Mutex
	responses []MockResponse
	used      []int // guarded by mu
}

func (m *mock) run(_ context.Context, p *bridge.Permit) (bridge.Output, error) {
	r, ok := m.pick(p.Args())
	switch {
	case !ok:
		return bridge.Output{Local: true}, fmt.Errorf("the mock has no response for these arguments; it answers to %s", m.known())
	case r.Error != "":
		return bridge.Output{Local: r.Local}, errors.New(r.Error)
	}
	if err := m.record(p); err != nil {
		return bridge.Output{Local: true}, err
	}
	return bridge.Output{Value: r.Value, Local: r.Local, MediaType: r.MediaType}, nil
}

// record writes the effect down, so that a test can count effects.
func (m *mock) record(p *bridge.Permit) error {
	if m.effect == nil {
		return nil
	}
	line, err := plain.Append(nil, map[string]any{"tool": m.name, "args": p.Args(), "call": p.Call(), "key": p.IdempotencyKey()})
	if err != nil {
		return err
	}
	return m.effect(append(line, '\n'))
}

func (m *mock) pick(args map[string]any) (MockResponse, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, r := range m.responses {
		if (r.Times == 0 || m.used[i] < r.Times) && contains(args, r.When) {
			m.used[i]++
			return r, true
		}
	}
	return MockResponse{}, false
}

func (m *mock) known() string {
	var texts []string
	for _, r := range m.responses {
		text, _ := plain.JSON(r.When)
		texts = append(texts, text)
	}
	if texts == nil {
		return "nothing"
	}
	return strings.Join(texts, ", ")
}

// contains reports whether have holds all of want: each key of a map, each element
// of a list somewhere in the other, scalars by value.
func contains(have, want any) bool {
	switch w := want.(type) {
	case nil:
		return have == nil
	case map[string]any:
		h, ok := have.(map[string]any)
		for k := range w {
			if _, given := h[k]; !given || !contains(h[k], w[k]) {
				return false
			}
		}
		return ok
	case []any:
		h, ok := have.([]any)
		for _, e := range w {
			if !slices.ContainsFunc(h, func(x any) bool { return contains(x, e) }) {
				return false
			}
		}
		return ok
	case []byte:
		h, ok := have.([]byte)
		return ok && bytes.Equal(h, w)
	}
	if a, b := number(have), number(want); a != nil && b != nil {
		return a.Cmp(b) == 0
	}
	return have == want
}

func number(v any) *big.Float {
	switch v := v.(type) {
	case int:
		return new(big.Float).SetInt64(int64(v))
	case int64:
		return new(big.Float).SetInt64(v)
	case float64:
		if v == v { // NaN is no number, and no value
			return big.NewFloat(v)
		}
	case *big.Int:
		return new(big.Float).SetInt(v)
	}
	return nil
}
