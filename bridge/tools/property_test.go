package tools_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/codeact-dev/codeact/bridge/egress"
	"github.com/codeact-dev/codeact/bridge/tools"
)

func TestTheRangesOfAFileAreItsLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[ab\n]{0,40}`).Draw(t, "text")
		step := rapid.IntRange(1, 5).Draw(t, "lines")
		var all strings.Builder
		for first := 1; first <= strings.Count(text, "\n")+1; first += step {
			part := string(tools.CutLines([]byte(text), first, step))
			if n := strings.Count(part, "\n"); n > step {
				t.Fatalf("%d lines from %d of %q have %d newlines", step, first, text, n)
			}
			all.WriteString(part)
		}
		if all.String() != text {
			t.Fatalf("the parts of %q join to %q", text, all.String())
		}
	})
}

func TestACutTextStaysText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		at := rapid.IntRange(0, len(text)).Draw(t, "cut")
		got := string(tools.WholeRunes([]byte(text)[:at]))
		if utf8.ValidString(text) && (!utf8.ValidString(got) || at-len(got) >= utf8.UTFMax) || !strings.HasPrefix(text, got) {
			t.Fatalf("%q, cut at %d, became %q", text, at, got)
		}
	})
}

// plainData draws what a script can give as an argument.
func plainData() *rapid.Generator[any] {
	scalar := rapid.OneOf(rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int64Range(-3, 3).AsAny(), rapid.Float64Range(-3, 3).AsAny(),
		rapid.StringMatching(`[ab]?`).AsAny())
	list := rapid.Map(rapid.SliceOfN(scalar, 0, 3), func(l []any) any { return l })
	return rapid.OneOf(scalar, list, rapid.Map(rapid.MapOfN(rapid.StringMatching(`[xy]`), rapid.OneOf(scalar, list), 0, 2), func(m map[string]any) any { return m }))
}

// Containment is an order as far as one is needed: what is there is contained in
// itself, and more never fits less.
func TestContainmentIsReflexiveAndGrowsWithTheArguments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		have := rapid.MapOfN(rapid.StringMatching(`[abc]`), plainData(), 0, 3).Draw(t, "have")
		if !tools.Contains(have, have) {
			t.Fatalf("%v is not contained in itself", have)
		}
		want := map[string]any{}
		for k, v := range have {
			if rapid.Bool().Draw(t, "kept "+k) {
				want[k] = v
			}
		}
		if !tools.Contains(have, want) {
			t.Fatalf("%v is not contained in %v", want, have)
		}
		if want["new"] = "key"; tools.Contains(have, want) {
			t.Fatalf("%v is contained in %v", want, have)
		}
	})
}

// FuzzABodyBecomesText: whatever a server sends and declares, what comes out is
// valid text.
func FuzzABodyBecomesText(f *testing.F) {
	f.Add([]byte("gr\xfcn"), "text/plain", "latin1", false)
	f.Add([]byte("\xff\xfe\x00"), "text/html", "utf-16", true)
	f.Add([]byte("\x1b$B"), "", "iso-2022-jp", false)
	f.Add([]byte("<meta charset=hz-gb-2312>~{"), "text/html", "", false)
	f.Fuzz(func(t *testing.T, body []byte, media, charset string, truncated bool) {
		text := tools.Decoded(&egress.Response{Body: body, MediaType: strings.ToValidUTF8(media, ""), Charset: charset, Truncated: truncated})
		if !utf8.ValidString(text) {
			t.Errorf("%q as %q, %q became %q", body, media, charset, text)
		}
	})
}
