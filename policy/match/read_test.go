package match

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadText(t *testing.T) {
	for _, test := range []struct {
		text string
		want any // nil means no data
	}{
		{`{"a": [1, 12345678901234567890, 1.50], "b": {"c": true}}`, map[string]any{"a": []any{"1", "12345678901234567890", "1.50"}, "b": map[string]any{"c": true}}},
		{`{'a': 'it\'s', "b": "it's", 'c': None, 'd': True, 'e': (False, 1.5, -2), 'f': []}`,
			map[string]any{"a": "it's", "b": "it's", "c": nil, "d": true, "e": []any{false, "1.5", "-2"}, "f": []any{}}},
		{`['x\n\tY\x41é\q', "a\"b", 'é', null, true, false,]`, []any{"x\n\tYAé\\q", `a"b`, "é", nil, true, false}},
		{`['\xa0\xe9']`, []any{"\u00a0é"}},
		{"('a',)", []any{"a"}},
		{"['a\nb']", []any{"a\nb"}},
		{"- a\n- b\n", []any{"a", "b"}},
		{"a: 1\nb_c:\n- x: '2'\n", map[string]any{"a": uint64(1), "b_c": []any{map[string]any{"x": "2"}}}},
		{"when: 2024-05-15 10:00:00\n", map[string]any{"when": "2024-05-15 10:00:00"}},
		{"", nil},
		{"hello", nil},
		{"Dear Emma, hello: you", nil},
		{"a: b: c: d", nil},
		{"{'a': }", nil},
		{"{'a' 1}", nil},
		{"{'a': 1 'b': 2}", nil},
		{"{1: 2}", map[string]any{"1": "2"}},
		{"{None: 2}", nil},
		{"{'a': 1, 'a': 2}", nil},
		{"['a' 'b']", nil},
		{"['a", nil},
		{`['a\`, nil},
		{"[a]", nil},
		{"[1] x", nil},
		{"[1", nil},
		{"[1] [2]", nil},
		{"[", nil},
		{"{", nil},
		{"a: &x 1\nb: *x\n", nil},
		{"a: !!str 1\n", nil},
		{"a: 1\na: 2\n", nil},
		{"a: 1\n---\nb: 2\n", nil},
		{"a: [1\n", nil},
		{"a: " + strings.Repeat("[", maxDepth+1), nil},
		{strings.Repeat("- ", maxDepth+1) + "a", nil},
		{strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1) + "'", nil},
		{"[" + strings.Repeat(" ", maxText) + "]", nil},
		{"- \xff", nil},
	} {
		got, ok := ReadData(test.text)
		if ok != (test.want != nil) || ok && !cmp.Equal(got, test.want) {
			t.Errorf("%.60q: got %#v, %v", test.text, got, ok)
		}
	}
}

func TestAPanicOfTheParserIsBadData(t *testing.T) {
	if v, ok := fenced("a", func(string) (any, bool) { panic("parser") }); v != nil || ok {
		t.Errorf("got %v, %v", v, ok)
	}
}

// Whatever a stranger's text holds, reading it ends, and what comes out is plain
// data.
func FuzzReadData(f *testing.F) {
	for _, s := range []string{
		`{"id": 1, "title": "Team sync"}`, "{'a': 'b\\x41', 'c': [None, (1,)]}", "- id: 1\n  title: 'x'\n", "a: |\n  b\n", "- - - a\n", "a: {b: [c]}\n", "? a\n: b\n", "a: \"\\u0041\"\n", "a: .inf\n", "{}00",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, ok := ReadData(s)
		if !ok && v != nil {
			t.Fatalf("%q is no data, and %v came out", s, v)
		}
		var walk func(v any)
		walk = func(v any) {
			switch v := v.(type) {
			case map[string]any:
				for _, e := range v {
					walk(e)
				}
			case []any:
				for _, e := range v {
					walk(e)
				}
			case nil, bool, string, int64, uint64, float64:
			default:
				t.Fatalf("%q holds a %T", s, v)
			}
		}
		walk(v)
	})
}
