package worker

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
	"pgregory.net/rapid"

	"github.com/codeact-dev/codeact/interp/wire"
)

// everything uses each construct of the language.
const everything = `
def f(a, b=1, *c, d=2, **e):
  for i, (j, k) in [(1, (2, 3))]:
    if i: continue
    elif j: break
    else: pass
  while a < 3: a += 1
  return
def g(*, x):
  return lambda y, *z, w=1: [y[0], z[1:2:3], not w, (w), -w]
h = {k: [v for v in [1] if v] for k in "ab".elems()} if True else {"a": 1.5, "b": b"c"}
f(g(x=1), *[2], **{"e": h.get("a")})
`

func TestTheWalkMissesNoNode(t *testing.T) {
	file, err := dialect.Parse("t", everything, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case nil:
			return false
		case *syntax.DotExpr:
			want[key(n.Name)]-- // a name and nothing to descend into
		case *syntax.DefStmt:
			want[key(n.Name)]--
		}
		want[key(n)]++
		return true
	})
	got := map[string]int{}
	for stack := []syntax.Node{file}; len(stack) > 0; {
		n := stack[len(stack)-1]
		stack = append(stack[:len(stack)-1], children(n)...)
		got[key(n)]++
	}
	for k, n := range want {
		if n == 0 {
			delete(want, k)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func key(n syntax.Node) string {
	start, end := n.Span()
	return fmt.Sprintf("%T %v-%v", n, start, end)
}

// value draws a Starlark value, some of which cannot cross.
func value(depth int) *rapid.Generator[starlark.Value] {
	return rapid.Custom(func(t *rapid.T) starlark.Value {
		kinds := 8
		if depth == 0 {
			kinds = 6
		}
		switch rapid.IntRange(0, kinds).Draw(t, "kind") {
		case 0:
			return starlark.None
		case 1:
			return starlark.Bool(rapid.Bool().Draw(t, "bool"))
		case 2:
			return starlark.MakeInt64(rapid.Int64().Draw(t, "int"))
		case 3:
			n := starlark.MakeInt64(rapid.Int64().Draw(t, "big"))
			return n.Lsh(uint(rapid.IntRange(0, 5000).Draw(t, "shift")))
		case 4:
			return starlark.Float(rapid.Float64().Draw(t, "float"))
		case 5:
			return starlark.String(rapid.SliceOf(rapid.Byte()).Draw(t, "string"))
		case 6:
			return starlark.Bytes(rapid.String().Draw(t, "bytes"))
		case 7:
			return starlark.NewList(rapid.SliceOfN(value(depth-1), 0, 5).Draw(t, "list"))
		}
		d := starlark.NewDict(0)
		for k, v := range rapid.MapOfN(rapid.String(), value(depth-1), 0, 5).Draw(t, "dict") {
			d.SetKey(starlark.String(k), v)
		}
		return d
	})
}

func TestWhatTheWorkerSendsTheHostTakes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, budget := value(3).Draw(t, "value"), rapid.IntRange(1, 400).Draw(t, "budget")
		plain, err := toPlain(v, budget)
		if err != nil {
			return
		}
		again, err := wire.Plain(plain, budget)
		if err != nil {
			t.Fatalf("the host refuses what the worker counted as small enough: %v", err)
		}
		if eq, err := starlark.Equal(toStarlark(again), v); err != nil || !eq {
			t.Fatalf("%v came back as %v", v, toStarlark(again))
		}
	})
}

func TestArgumentsShareOneBudget(t *testing.T) {
	args := starlark.StringDict{"a": starlark.String(strings.Repeat("x", 60)), "b": starlark.String(strings.Repeat("y", 60))}
	plainArgs := func(budget int) (map[string]any, error) {
		return (&converter{budget: wire.Budget{Bytes: budget}}).args(args)
	}
	if _, err := plainArgs(100); err == nil {
		t.Error("two arguments of 60 bytes pass a budget of 100")
	}
	if _, err := plainArgs(0); err == nil {
		t.Error("a budget of nothing passes")
	}
	m, err := plainArgs(200)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wire.Plain(m, 200); err != nil {
		t.Errorf("the host counts more: %v", err)
	}
}

func TestACallThatFailsTakesNothingOfTheBatch(t *testing.T) {
	c := &converter{budget: wire.Budget{Bytes: 100}}
	cyclic := starlark.NewList(nil)
	cyclic.Append(cyclic)
	for _, bad := range []starlark.Value{starlark.String(strings.Repeat("x", 200)), cyclic, starlark.None} {
		_, err := c.args(starlark.StringDict{"a": starlark.String(strings.Repeat("x", 40)), "b": bad})
		if (err == nil) != (bad == starlark.None) {
			t.Errorf("%s: got %v", bad.Type(), err)
		}
	}
}

func TestPrintNeverExceedsItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size, lines := rapid.IntRange(1, 50).Draw(t, "bytes"), rapid.IntRange(1, 5).Draw(t, "lines")
		text, marked := "", false
		p := printer{bytesLeft: size, linesLeft: lines, send: func(s string, truncated bool) error {
			if marked || s == "" && !truncated {
				t.Fatalf("sent %q after %q", s, text)
			}
			text, marked = text+s, truncated
			return nil
		}}
		all := ""
		for _, s := range rapid.SliceOf(rapid.StringMatching(`[aé\n]{0,9}`)).Draw(t, "prints") {
			p.print(s)
			all += s + "\n"
		}
		if len(text) > size || strings.Count(text, "\n") > lines || !utf8.ValidString(text) || !strings.HasPrefix(all, text) {
			t.Fatalf("kept %q of %q", text, all)
		}
		if marked == (text == all) {
			t.Fatalf("marked %v, kept %d of %d bytes", marked, len(text), len(all))
		}
	})
}

func TestAPanicOfAnAllocationIsAboutMemory(t *testing.T) {
	limits, _ := wire.Limits{}.WithDefaults()
	r := &run{session: newSession(nil, limits, Confinement{}, nil)}
	for text, want := range map[string]wire.FaultKind{
		"runtime error: makeslice: cap out of range": wire.FaultMemory, "strings: Repeat output length overflow": wire.FaultMemory,
		"bytes.Buffer: too large": wire.FaultMemory, "runtime error: index out of range": wire.FaultRuntime,
	} {
		if f := r.fault(panicError{text}); f.Kind != want || f.Hint == "" && want == wire.FaultMemory {
			t.Errorf("%s: got %+v", text, f)
		}
	}
}

func TestSuggestionsAreNearAndBounded(t *testing.T) {
	tests := []struct {
		name       string
		candidates []string
		want       string
	}{
		{"fs_raed", []string{"fs_write", "fs_read"}, " (did you mean fs_read?)"},
		{"ab", []string{"ac", "aa"}, " (did you mean aa?)"},
		{"zzz", []string{"fs_read"}, ""},
		{"xx", append(make([]string, maxCandidates), "xy"), ""},
	}
	for _, tt := range tests {
		if got := didYouMean(tt.name, tt.candidates); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestTypesFitAsInJSON(t *testing.T) {
	values := map[string]starlark.Value{"string": starlark.String(""), "integer": starlark.MakeInt(1), "number": starlark.Float(1),
		"boolean": starlark.True, "array": starlark.Tuple{}, "object": starlark.NewDict(0), "bytes": starlark.Bytes("")}
	for _, jsonType := range []string{"string", "integer", "number", "boolean", "array", "object", "", "unknown"} {
		for kind, v := range values {
			want := kind == jsonType || jsonType == "" || jsonType == "number" && kind == "integer"
			if fits(jsonType, v) != want {
				t.Errorf("%s for %q: got %v", kind, jsonType, !want)
			}
		}
	}
}

func FuzzCheckNeverPanics(f *testing.F) {
	for _, s := range []string{everything, "x = 1", "((((", "1-1-1", "import os", "f\"\"", "\xff", "load('a','b')", "def f(:"} {
		f.Add(s)
	}
	limits, _ := wire.Limits{}.WithDefaults()
	f.Fuzz(func(t *testing.T, source string) {
		if len(source) > limits.Source {
			return
		}
		s := newSession(nil, limits, Confinement{}, nil)
		r := &run{session: s, name: "block#1"}
		if _, err := r.check(source); err != nil {
			if fault := r.fault(err); len(fault.Msg) > limits.ErrorBytes || !utf8.ValidString(fault.Msg) {
				t.Errorf("message of %d bytes", len(fault.Msg))
			}
		}
	})
}
