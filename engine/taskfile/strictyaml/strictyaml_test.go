package strictyaml

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/goccy/go-yaml/token"
	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-multierror"
)

func TestADocumentKeepsOrderTypesAndPlaces(t *testing.T) {
	src := Parse("f", []byte("\xef\xbb\xbfb: [1, -2, +3, 2.5, true, ~, \"x\\ty\"]\r\na:\r\n  z: |\r\n    e\r\n    f\r\n  \"y y\": {}\r\n# note\r\n---\r\n- x\r\n"))
	if err := src.Err(); err != nil {
		t.Fatal(err)
	}
	if len(src.Docs) != 2 {
		t.Fatalf("%d documents, want 2", len(src.Docs))
	}
	root := src.Docs[0]
	text, err := json.Marshal(root)
	if want := `{"b":[1,-2,3,2.5,true,null,"x\ty"],"a":{"z":"e\nf\n","y y":{}}}`; err != nil || string(text) != want {
		t.Errorf("JSON %s, %v, want %s", text, err, want)
	}
	want := map[string]any{"b": []any{int64(1), int64(-2), int64(3), 2.5, true, nil, "x\ty"}, "a": map[string]any{"z": "e\nf\n", "y y": map[string]any{}}}
	if diff := cmp.Diff(want, root.Value()); diff != "" {
		t.Errorf("value (-want +got):\n%s", diff)
	}
	y := root.At("a", "y y")
	if got := fmt.Sprintln(y.Line, y.Col, y.Path, root.At("b").Items[4].Col, root.At("a").Line); got != "6 10 $.a[\"y y\"] 21 3\n" {
		t.Errorf("places are %s", got)
	}
	if root.At("a", "no", "no") != nil || root.At("no").Keys() != nil || root.At("no").Value() != nil {
		t.Error("a key that is missing was found")
	}
}

func TestFaultsComeInOrderAndOnce(t *testing.T) {
	a, b := &Fault{File: "a", Line: 2, Col: 1, Msg: "x"}, &Fault{File: "a", Line: 1, Col: 9, Msg: "y"}
	plain := errors.New("plain")
	err := Join(nil, a, Join(b, a), &Fault{File: "b", Msg: "z"}, plain)
	if want := "plain\na:1:9: y\na:2:1: x\nb: z"; err.Error() != want {
		t.Errorf("got\n%s\nwant\n%s", err, want)
	}
	if Join(nil, Join()) != nil {
		t.Error("nothing joined is an error")
	}
}

func TestAFloodOfFaultsIsBounded(t *testing.T) {
	src := Parse("f", []byte(strings.Repeat("- ${x}\n", maxFaults+5)))
	for _, n := range src.Docs[0].Items {
		src.AddIn(n, "${x}", 0, "no")
	}
	src.Addf(src.Docs[0], "one more")
	var many *multierror.Error
	if err := src.Err(); !errors.As(err, &many) || len(many.Errors) != maxFaults+1 || !strings.HasSuffix(err.Error(), "and 6 more faults") {
		t.Errorf("%d faults, the last %v", len(many.Errors), many.Errors[len(many.Errors)-1])
	}
}

func TestAnExcerptIsSafeToPrint(t *testing.T) {
	long := strings.Repeat("x", 300)
	tests := []struct {
		name, text string
		col        int
		want       string
	}{
		{"short", "ab", 2, "    3 | ab\n      |  ^"},
		{"past the end", "ab", 4, "    3 | ab\n      |    ^"},
		{"control characters", "a\x1b[2J\tb", 1, "    3 | a·[2J b\n      | ^"},
		{"long", long, 200, "    3 | " + long[:100] + "\n      | " + strings.Repeat(" ", 49) + "^"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := excerpt(tt.text, 3, tt.col); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestNestingIsBounded(t *testing.T) {
	for name, text := range map[string]string{
		"brackets": strings.Repeat("[", 5000), "braces": strings.Repeat("{a: ", 5000), "entries": strings.Repeat("- ", 5000) + "a", "keys": strings.Repeat("? ", 5000) + "a",
		"indentation": indented(100), "lists by indentation": strings.ReplaceAll(indented(100), "a:", "-"),
	} {
		err := Parse("f", []byte(text)).Err()
		if err == nil || !strings.Contains(err.Error(), "nested deeper than 64 levels") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Parse("f", []byte(indented(60))).Err(); err != nil {
		t.Errorf("60 levels: %v", err)
	}
}

func indented(levels int) string {
	var b strings.Builder
	for i := range levels {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String() + strings.Repeat(" ", levels) + "x"
}

func TestWhatIsNotPlainIsRefused(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"complex key", "? [a]\n: b\n", "found an invalid key for this map"},
		{"explicit key", "? a\n: b\n", "cannot stand here: want a plain key and value"},
		{"empty document", "a: 1\n---\n---\nb: 2\n", "f:2:1: an empty document: remove this ---"},
		{"empty first document", "---\n---\nb: 2\n", "an empty document: remove this ---"},
		{"empty first document after a comment", "# c\n---\n# d\n---\nb: 2\n", "an empty document: remove this ---"},
		{"invalid bytes", "a: b\nü\xff", "f:2:2: not valid UTF-8"},
		{"tab", "a:\n\tb: 1\n", "f:2:1: a tab cannot indent"},
		{"same key", "a: 1\na: 2\n", "f:2:1: a: duplicate key: it stands on line 1 too"},
		{"merge key", "<<: 1\n", "merge keys are not read"},
		{"alias", "a: *x\n", "anchors and aliases are not read"},
		{"directive", "%YAML 1.2\n---\na: 1\n", "directives are not read"},
		{"too large", "a: 9223372036854775808\n", "9223372036854775808 is out of range"},
		{"too many parts", strings.Repeat("- a\n", maxTokens/2+1), "f:25001:1: more than 50000 keys, values and brackets"},
		{"infinity", "a: -.inf\n", "want a finite number"},
		{"negative octal", "a: -017\n", "-017: a leading 0 means octal"},
		{"tagged key", "!!str a: b\n", "tags are not read"},
		{"anchored key", "&x a: b\n", "anchors and aliases are not read"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := Parse("f", []byte(tt.text)).Err()
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%q: %v, want %s", tt.text, err, tt.want)
			}
		})
	}
	for _, text := range []string{"a: 0\n", "a: -0\n", "a: 0x10\n", "a: 0o17\n", "a: 10\n"} {
		if err := Parse("f", []byte(text)).Err(); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAFaultInATextHasItsPlace(t *testing.T) {
	src := Parse("f", []byte("a: |\n  ü ${x} ${x}\n  ${x}\nb: \"\\x24{x}\"\n"))
	a, b := src.Docs[0].At("a"), src.Docs[0].At("b")
	for nth, want := range []string{"2:5", "2:10", "3:3", "1:4"} { // a fourth there is not
		if line, col := src.find(a, "${x}", nth); fmt.Sprintf("%d:%d", line, col) != want {
			t.Errorf("occurrence %d is at %d:%d, want %s", nth, line, col, want)
		}
	}
	if line, col := src.find(b, "${x}", 0); line != 4 || col != 4 {
		t.Errorf("behind an escape it is at %d:%d, want the value's place", line, col)
	}
	if got := src.Docs[0].Keys(); len(got) != 2 || got[0] != "a" {
		t.Errorf("keys = %v", got)
	}
}

func TestAPanicOfTheParserIsAFault(t *testing.T) {
	if _, err := parseTokens(token.Tokens{nil}); err == nil || !strings.HasPrefix(err.Error(), "cannot be parsed: ") {
		t.Errorf("parseTokens = %v", err)
	}
	src := &Source{Name: "f"}
	src.addSyntax(errors.New("cannot be parsed: x"))
	if err := src.Err(); err == nil || err.Error() != "f: cannot be parsed: x" {
		t.Errorf("fault is %v", err)
	}
}

func TestTextSaysWhereItsBytesAreWrong(t *testing.T) {
	src, n := Text("f", []byte("a\nbü\xff"))
	if err := src.Err(); err == nil || !strings.HasPrefix(err.Error(), "f:2:3: not valid UTF-8") {
		t.Errorf("Text = %v", err)
	}
	if n.Text != "a\nbü\xff" {
		t.Errorf("text = %q", n.Text)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("a: [1, {b: 'c'}]\n"))
	f.Add([]byte("? - a\n: b\n"))
	f.Add([]byte("%YAML 1.2\n---\n&a !!x *a\n...\n"))
	f.Add([]byte("a: |2-\n   x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		src := Parse("f", data)
		if src.Err() != nil {
			return
		}
		for _, doc := range src.Docs {
			var back any
			text, _ := doc.MarshalJSON()
			if err := json.Unmarshal(text, &back); err != nil {
				t.Fatalf("%q became %s: %v", data, text, err)
			}
		}
	})
}
