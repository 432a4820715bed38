package spelling

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTheNearestWordIsFound(t *testing.T) {
	long := strings.Repeat("n", maxWord)
	for _, tt := range []struct {
		word       string
		candidates string // separated by spaces
		want       string
	}{
		{"securty", "secrets security", "security"},
		{"gaol", "goal goalFile", "goal"},
		{"Name", "tools name", "name"},
		{"goalfiles", "goal goalFile", "goalFile"},
		{"ab", "ac aa", "aa"},
		{"ab", "aa ac", "aa"},
		{"nome", "None name", "name"}, {"nome", "name None", "name"},
		{"Ab", "aB AB", "AB"}, {"Ab", "AB aB", "AB"},
		{"x", "xx", "xx"},
		{"x", "q y", ""},
		{"qq", "q", "q"},
		{"sedn", "len", ""},
		{"zzz", "name tools tiers", ""},
		{"abcd", "abxx", ""}, {"abcde", "abxxe", "abxxe"}, {"abcdefgh", "abcxxxgh", ""}, {"abcdefghi", "abcxxxghi", "abcxxxghi"}, {"abcdefghijkl", "abcxxxxhijkl", ""},
		{"nam\xff", "name", "name"},
		{"žlutý", "zluty žluty", "žluty"},
		{"", "a", ""},
		{"a", "", ""},
		{long[1:], long, long},
		{long + "n", long, ""},
		{long, long + "n", ""},
	} {
		if got := Nearest(tt.word, strings.Fields(tt.candidates)); got != tt.want {
			t.Errorf("Nearest(%q, %q) = %q, want %q", tt.word, tt.candidates, got, tt.want)
		}
	}
}

func TestAHintQuotesTheWord(t *testing.T) {
	for word, want := range map[string]string{"gaol": ` (did you mean "goal"?)`, "zzz": ""} {
		if got := DidYouMean(word, []string{"goal"}); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}

func TestBeginningsAreFoundNearestFirst(t *testing.T) {
	ids := []string{"", "post-99", "triage-1a", "triage-1b"}
	for word, want := range map[string][]string{
		"tirage-1b": {"triage-1b", "triage-1a"}, "pst": {"post-99"}, "trxage": {"triage-1a", "triage-1b"}, "past-99": {"post-99"}, "TRI": {"triage-1a", "triage-1b"},
		"po": {"post-99"}, "pa": nil, "something": nil, "": nil, strings.Repeat("t", maxWord+1): nil,
	} {
		if got := Beginnings(word, ids); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}

// No more candidates are looked at than the bound says.
func TestTheNumberOfCandidatesIsBounded(t *testing.T) {
	list := append(slices.Repeat([]string{"zzzzzz"}, maxCandidates-1), "abcdef", "abcdeg")
	if got := Nearest("abcdeg", list); got != "abcdef" {
		t.Errorf("Nearest = %q", got)
	}
	if got := Beginnings("abcdeg", list); !slices.Equal(got, []string{"abcdef"}) {
		t.Errorf("Beginnings = %q", got)
	}
}

// slow is the optimal string alignment distance as its definition reads.
func slow(a, b []rune) int {
	if len(a) == 0 || len(b) == 0 {
		return len(a) + len(b)
	}
	n := slow(a[1:], b[1:])
	if a[0] != b[0] {
		n++
	}
	if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
		n = min(n, slow(a[2:], b[2:])+1)
	}
	return min(n, slow(a[1:], b)+1, slow(a, b[1:])+1)
}

func TestEditsAreAsTheirDefinitionSays(t *testing.T) {
	word := rapid.StringMatching(`[abc]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := []rune(word.Draw(t, "a")), []rune(word.Draw(t, "b"))
		limit := rapid.IntRange(0, 7).Draw(t, "limit")
		whole, beginning := edits(a, b, limit)
		want, least := slow(a, b), len(a)
		for n := range len(b) + 1 {
			least = min(least, slow(a, b[:n]))
		}
		if whole != min(want, limit+1) || beginning != min(least, limit+1) {
			t.Fatalf("edits(%q, %q, %d) = %d, %d, want %d, %d", string(a), string(b), limit, whole, beginning, want, least)
		}
	})
}

func FuzzNearest(f *testing.F) {
	f.Add("gaol", "goal")
	f.Add("\xff\xfe", "İ")
	f.Fuzz(func(t *testing.T, word, candidate string) {
		if got := Nearest(word, []string{candidate}); got != "" && got != candidate {
			t.Fatalf("%q is no candidate", got)
		}
		if word != "" && len(word) <= maxWord && Nearest(word, []string{word}) != word {
			t.Fatalf("%q is not near itself", word)
		}
		if got := Beginnings(word, []string{candidate}); len(got) > 0 && got[0] != candidate {
			t.Fatalf("%q is no candidate", got)
		}
	})
}

// The dearest that Nearest can be given: as many candidates as it looks at, as long as they may be, each as near as may be.
func BenchmarkNearest(b *testing.B) {
	word := strings.Repeat("ab", maxWord/2)
	list := slices.Repeat([]string{word[:maxWord-3] + "xyz"}, maxCandidates)
	for b.Loop() {
		Nearest(word, list)
	}
}
