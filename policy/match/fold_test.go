package match

import "testing"

// A letter outside ASCII never becomes one inside: it would name another domain.
func TestFoldKeepsLettersOfOtherAlphabetsApart(t *testing.T) {
	for in, want := range map[string]string{"KITS.org": "kits.org", "k\u0130ts.org": "k\u0130ts.org", "\u00c9t\u00c9": "\u00e9t\u00e9", "\u0391": "\u03b1"} {
		if got := Fold(in); got != want {
			t.Errorf("Fold(%q) = %q, want %q", in, got, want)
		}
	}
}
