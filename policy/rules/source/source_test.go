package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func read(text string) (*Reader, []Node) {
	d := NewReader(File{"f.yaml", []byte(text)})
	return d, d.Documents()
}

func TestAFileIsBounded(t *testing.T) {
	for text, want := range map[string]string{
		"a: \xff": "not UTF-8",
		"a: " + strings.Repeat("[", 200) + strings.Repeat("]", 200): "nested too deep",
		strings.Repeat("- ", 5000):                                  "nested too deep",
		strings.Repeat("a:\n", maxColons+1):                         "more than 8000 keys",
		strings.Repeat("a\n", maxLines+1):                           "more than 8000 lines",
		strings.Repeat("*a\n", maxMarks+1):                          "could be an alias",
		strings.Repeat("a", maxLine+2):                              "fold it",
		strings.Repeat("#", maxFile+1):                              "split it",
		"a: \"\\":                                                   "",
	} {
		d, docs := read(text)
		if docs != nil || len(d.Errs) != 1 || !strings.Contains(d.Errs[0].Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, d.Errs, want)
		}
	}
}

func TestAHundredFaultsAreEnough(t *testing.T) {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "k%d: 1\n", i)
	}
	d, docs := read(b.String())
	d.Mapping(docs[0], "it", nil)
	if n := len(d.Errs); n != maxFaults {
		t.Errorf("%d faults", n)
	}
}

func TestPlacesOutsideTheTextAreItsEnds(t *testing.T) {
	s := New("f", "ab\nc")
	if f := s.Fault(99, "x"); f.Line != 2 || f.Col != 2 || s.offset(nil) != 0 {
		t.Errorf("%+v", f)
	}
	if w := (walker{src: []rune("'"), quote: '\''}); w.width() != 1 {
		t.Error("it walks off the end")
	}
}

func TestPlainDataKeepsItsKind(t *testing.T) {
	d, docs := read("a: |\n  text\nb: -3\nc: 1.5\n")
	got, err := json.Marshal(d.Value(docs[0]))
	if want := `{"a":"text\n","b":-3,"c":1.5}`; err != nil || string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestAnUnknownNameIsToldWhatIsMeantOrWhatThereIs(t *testing.T) {
	known := []string{"name", "tools", "tiers"}
	for name, want := range map[string]string{"nmae": ` (did you mean "name"?)`, "zzz": ": want one of name, tools, tiers"} {
		if got := NearestOr(name, known); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestAValueIsReadAsWhatItIsAndNothingElse(t *testing.T) {
	var d *Reader
	of := func(text string) Node {
		var docs []Node
		d, docs = read("v: " + text)
		var v Node
		d.Pairs(docs[0], "it", func(_ string, _, n Node) { v = n })
		return v
	}
	for _, c := range []struct {
		text string
		get  func(Node) any
		want any    // unless a fault
		says string // of the fault
	}{
		{"x", func(n Node) any { return d.Constant(n, "v", "x").S }, "x", ""},
		{"y", func(n Node) any { return d.Constant(n, "v", "x").S }, nil, `v "y": want x`},
		{"tool", func(n Node) any { return d.Enum(n, "v", "tool", "user") }, "tool", ""},
		{"usr", func(n Node) any { return d.Enum(n, "v", "tool", "user") }, nil, `v "usr" is not known (did you mean "user"?)`},
		{"''", func(n Node) any { return d.Enum(n, "v", "tool") }, nil, "v is empty"},
		{"1.5", func(n Node) any { return d.Number(n, "v") }, 1.5, ""},
		{"2", func(n Node) any { return d.Number(n, "v") }, 2.0, ""},
		{"x", func(n Node) any { return d.Number(n, "v") }, nil, "v must be a number, not a string"},
		{"'2026-11-30T10:00:00Z'", func(n Node) any { return d.Time(n, "v").Unix() }, int64(1796032800), ""},
		{"'2026-11-30'", func(n Node) any { return d.Time(n, "v") }, nil, "v must be a time such as"},
		{"12", func(n Node) any { return Word(n) }, "12", ""},
		{"w", func(n Node) any { return Word(n) }, "w", ""},
		{"[w]", func(n Node) any { return Word(n) }, "", ""},
		{"[]", func(n Node) any { return IsEmptyList(n) }, true, ""},
		{"[1]", func(n Node) any { return IsEmptyList(n) }, false, ""},
		{"{a: 1}", func(n Node) any { return IsMapping(n) }, true, ""},
		{"a", func(n Node) any { return IsMapping(n) }, false, ""},
		{"[a, b]", func(n Node) any { return strings.Join(d.Strings(n, "v"), "+") }, "a+b", ""},
		{"[a, 1]", func(n Node) any { return d.Strings(n, "v") }, nil, "v must be a string, not a number"},
		{"yes", func(n Node) any { return d.Boolean(n, "v") }, nil, "v must be true or false, not a string"},
		{"1.5", func(n Node) any { return d.Integer(n, "v") }, nil, "v must be a whole number, not a number"},
	} {
		got := c.get(of(c.text))
		switch {
		case c.says == "" && (got != c.want || len(d.Errs) > 0):
			t.Errorf("%s: %v, %v; want %v", c.text, got, d.Errs, c.want)
		case c.says != "" && (len(d.Errs) == 0 || !strings.Contains(d.Errs[0].Error(), c.says)):
			t.Errorf("%s: %v, want %s", c.text, d.Errs, c.says)
		}
	}
}

func TestATextKnowsItsPlace(t *testing.T) {
	d, docs := read("k: |\n  ab\n  cd\n")
	var v Text
	d.Pairs(docs[0], "it", func(_ string, _, n Node) { v = d.Text(n, "k") })
	f := v.Fault(4, "x")
	if v.Line() != 1 || v.LineAt(3) != 3 || v.File() != "f.yaml" || f.Line != 3 || f.Col != 4 || v.Missing() || v.Empty() {
		t.Errorf("%d, %d, %s, %+v", v.Line(), v.LineAt(3), v.File(), f)
	}
	w := Whole(New("when", "a\nb"))
	if !w.Missing() || w.Line() != 1 || w.LineAt(2) != 2 || w.S != "a\nb" {
		t.Errorf("%+v", w)
	}
}

func FuzzReader(f *testing.F) {
	f.Add("a: |\n  x\n--- >-\n\tb")
	f.Add("a: &x [*x, !!str 1, {<<: *x}]\n? [b]\n: 1")
	f.Add("'é': \"\\u00e9\\\n  x\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		d, docs := read(text)
		for _, n := range docs {
			d.Value(n)
			d.Mapping(n, "it", map[string]func(Node){"a": func(n Node) { d.Text(n, "a").Fault(3, "x") }})
		}
		for _, err := range d.Errs {
			var at *Fault
			if !errors.As(err, &at) || at.Line < 1 || at.Col < 1 || at.Msg == "" || at.File != "f.yaml" {
				t.Fatalf("%v has no place", err)
			}
		}
	})
}
