package rewrite_test

import (
	"math/big"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/codeact-dev/codeact/bridge/scan/rewrite"
)

func upper() rewrite.Leaves {
	return rewrite.Leaves{Text: strings.ToUpper, Refuse: func(rule string) any { return "refused: " + rule }}
}

func nest(v any, depth int) any {
	for range depth {
		v = []any{v}
	}
	return v
}

func TestEveryLeafIsRewritten(t *testing.T) {
	plain, numbers, bytes := upper(), upper(), upper()
	numbers.Number = func(any) any { return int64(0) }
	bytes.KeepBytes = true
	for _, tt := range []struct {
		name     string
		leaves   rewrite.Leaves
		in, want any
	}{
		{"a text", plain, "a", "A"},
		{"bytes", plain, []byte("a"), []byte("A")},
		{"bytes that stay", bytes, []byte("a"), []byte("a")},
		{"numbers that stay", plain, []any{1, int64(1), big.NewInt(1), 1.5, nil, true}, []any{1, int64(1), big.NewInt(1), 1.5, nil, true}},
		{"numbers", numbers, []any{1, int64(1), big.NewInt(1), 1.5, nil, true}, []any{int64(0), int64(0), int64(0), int64(0), nil, true}},
		{"a list in a dict", plain, map[string]any{"K": []any{"a", 1}}, map[string]any{"K": []any{"A", 1}}},
		{"a key", plain, map[string]any{"k": 1}, map[string]any{"K": 1}},
		{"keys that become one", plain, map[string]any{"aB": 1, "ab": 2, "AB": 3}, map[string]any{"AB": 3, "AB#2": 1, "AB#3": 2}},
		{"as deep as allowed", plain, nest("a", rewrite.MaxDepth), nest("A", rewrite.MaxDepth)},
		{"too deep", plain, nest("a", rewrite.MaxDepth+1), nest("refused: too-deep", rewrite.MaxDepth+1)},
		{"what is not plain", plain, []any{struct{}{}}, []any{"refused: not-plain"}},
	} {
		if got := tt.leaves.In(tt.in); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// What does not change is not copied, and what does leaves its source alone.
func TestOnlyWhatChangesIsCopied(t *testing.T) {
	w := upper()
	kept, changed := map[string]any{"A": "B"}, map[string]any{"A": "b"}
	in := []any{kept, changed}
	out := w.In(in).([]any)
	out[0].(map[string]any)["NEW"] = true
	out[1].(map[string]any)["NEW"] = true
	if kept["NEW"] != true {
		t.Error("a part that did not change was copied")
	}
	if in[1].(map[string]any)["NEW"] != nil || changed["A"] != "b" {
		t.Error("a part that changed was not copied")
	}
}

// No leaf is passed over, and none is lost when keys become one.
func TestNoLeafIsPassedOver(t *testing.T) {
	text := rapid.StringMatching("[abAB]{0,2}")
	rapid.Check(t, func(t *rapid.T) {
		in := map[string]any{}
		for _, k := range rapid.SliceOfN(text, 0, 6).Draw(t, "keys") {
			in[k] = []any{text.Draw(t, "leaf")}
		}
		w := upper()
		out := w.In(in).(map[string]any)
		if len(out) != len(in) {
			t.Fatalf("%v became %v", in, out)
		}
		for k, v := range out {
			if leaf := v.([]any)[0].(string); k != strings.ToUpper(k) || leaf != strings.ToUpper(leaf) {
				t.Fatalf("%v became %v", in, out)
			}
		}
	})
}
