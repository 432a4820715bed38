package plain

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var bigs = cmp.Comparer(func(a, b *big.Int) bool { return a.Cmp(b) == 0 })

// values draws plain data of the given depth.
func values(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int64().AsAny(), rapid.String().AsAny(),
		rapid.SliceOf(rapid.Byte()).AsAny(), rapid.Float64Range(-1e300, 1e300).AsAny(),
		rapid.Custom(func(t *rapid.T) any {
			n := new(big.Int).Lsh(big.NewInt(1), uint(rapid.IntRange(63, 300).Draw(t, "bits")))
			return n.Add(n, big.NewInt(rapid.Int64Range(0, 9).Draw(t, "low")))
		}),
	)
	if depth == 0 {
		return leaf
	}
	keys := rapid.OneOf(rapid.SampledFrom([]string{"$bytes", "$$bytes", "$bytesx", "$", "a"}), rapid.String())
	return rapid.OneOf(leaf, rapid.SliceOf(values(depth-1)).AsAny(), rapid.MapOf(keys, values(depth-1)).AsAny())
}

func TestReadingGivesBackWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := values(3).Draw(t, "v")
		s, err := JSON(v)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode([]byte(s))
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		if d := cmp.Diff(v, back, bigs); d != "" {
			t.Fatalf("%s:\n%s", s, d)
		}
		again, err := JSON(back)
		if err != nil || again != s {
			t.Fatalf("written again: %s, first %s (%v)", again, s, err)
		}
	})
}

func TestTheTextIsCanonical(t *testing.T) {
	for want, v := range map[string]any{
		`{"a":1,"b":1.0}`:         map[string]any{"b": 1.0, "a": int64(1)},
		`[null,true,"a\"\n","é"]`: []any{nil, true, "a\"\n", "é"},
		`{"$bytes":"AQI="}`:       []byte{1, 2},
		`{"$$bytes":"AQI="}`:      map[string]any{"$bytes": "AQI="},
		`1e+300`:                  1e300,
		`7`:                       7,
	} {
		if got, err := JSON(v); err != nil || got != want {
			t.Errorf("%v: %s (%v), want %s", v, got, err, want)
		}
	}
}

func TestWhatIsNotPlainIsRefused(t *testing.T) {
	deep := any("x")
	for range maxDepth + 1 {
		deep = []any{deep}
	}
	for _, v := range []any{math.NaN(), math.Inf(1), struct{}{}, []any{struct{}{}}, map[string]any{"a": math.NaN()}} {
		if s, err := JSON(v); !errors.Is(err, ErrType) || s != "null" {
			t.Errorf("%v: %s, %v", v, s, err)
		}
	}
	if _, err := JSON(deep); !errors.Is(err, ErrDepth) {
		t.Errorf("deep data: %v", err)
	}
}

func TestBadTextIsRefused(t *testing.T) {
	deep := ""
	for range maxDepth + 2 {
		deep += "["
	}
	deep += "1"
	for range maxDepth + 2 {
		deep += "]"
	}
	for _, s := range []string{"", "{", "1 2", `{"$bytes":1}`, `{"$bytes":"%"}`, `[1e999]`, `{"a":{"$bytes":2}}`, `{"$$bytes":1e999}`, deep} {
		if v, err := Decode([]byte(s)); err == nil {
			t.Errorf("%.40s was read as %v", s, v)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"a":[1,1.5,null,{"$bytes":"AQI="}]}`)
	f.Fuzz(func(t *testing.T, s string) {
		v, err := Decode([]byte(s))
		if err != nil {
			return
		}
		out, err := JSON(v)
		if err != nil {
			t.Fatalf("%q was read and cannot be written: %v", s, err)
		}
		if back, err := Decode([]byte(out)); err != nil || cmp.Diff(v, back, bigs) != "" {
			t.Fatalf("%q changed: %q, %v", s, out, err)
		}
	})
}
