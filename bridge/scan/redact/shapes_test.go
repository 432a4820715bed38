package redact

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A gram leads to few terms, so that a byte costs no more than a few comparisons.
func TestABucketHoldsFewTerms(t *testing.T) {
	if n := shapeIndex().Fullest(); n > 80 {
		t.Errorf("a bucket holds %d terms", n)
	}
}

func TestLongest(t *testing.T) {
	for text, want := range map[string]int{
		`abc`: 3, `[a-z]{2,5}`: 5, `a?bc|d`: 3, `.`: 4, `é`: 2, `a*`: -1, `a+`: -1, `a{2,}`: -1, `(ab){1,3}\b`: 6, `(`: -1, `(?i:ab)`: 8, `[a-z\x{212a}]`: 3, `^$`: 0, `(?:a+|b){3}`: -1,
	} {
		if got := longest(text); got != want {
			t.Errorf("longest(%q) = %d, want %d", text, got, want)
		}
	}
}

// A shape's cheap look, and the window that it is given, lose nothing that its expression finds.
func TestCheapLooksLoseNothing(t *testing.T) {
	piece := rapid.SampledFrom([]string{"token", "secret", "passw", "authorization", "://", "user", ":", "=", ":=", "=>", "@", "/", " ", "\t", `"`, `'`, `\"`, "]", "-", "_", "x", "aB3dE6gH9jK2mN5pQ8", "\u212a", "\u017f", "é", "host.test", "\n"})
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), "")
		for i := range shapes {
			sh := &shapes[i]
			if sh.maybe == nil {
				continue
			}
			for _, key := range sh.keys {
				text := key + s
				m := sh.re().FindStringIndex(text)
				if m != nil && (!sh.maybe(text[:min(len(text), sh.re().window)]) || m[1] > sh.re().window-4) {
					t.Fatalf("%s: %q is lost", sh.id, text)
				}
			}
		}
	})
}
