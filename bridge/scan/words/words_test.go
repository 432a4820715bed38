package words_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/codeact-dev/codeact/bridge/scan/words"
)

// A place is where a term was found.
type place struct{ term, at int }

func found(x *words.Index, s string) (list []place) {
	x.Each(s, func(t *words.Term, lo int) bool {
		list = append(list, place{t.Owner, lo})
		return true
	})
	slices.SortFunc(list, func(a, b place) int { return (a.at-b.at)*1000 + a.term - b.term })
	return list
}

func TestEveryTermIsFoundWhereItStands(t *testing.T) {
	list := []words.Term{{Text: "to", Owner: 0}, {Text: "token", Owner: 1}, {Text: "key", Owner: 2, Starts: true}, {Text: "пароль", Owner: 3}, {Text: "a long passphrase", Owner: 4}}
	x := words.New(list)
	for _, tt := range []struct {
		text string
		want []place
	}{
		{"", nil}, {"t", nil}, {"to", []place{{0, 0}}},
		{"a TOKEN", []place{{0, 2}, {1, 2}}},
		{"key, Key; monkey", []place{{2, 0}, {2, 5}}},
		{"ключ и пароль", []place{{3, 12}}},
		{"a long passphras", nil}, {"A Long Passphrase", []place{{4, 0}}},
	} {
		if got := found(x, tt.text); !slices.Equal(got, tt.want) {
			t.Errorf("%q: %v, want %v", tt.text, got, tt.want)
		}
		if x.Any(tt.text) != (tt.want != nil) {
			t.Errorf("Any(%q) = %v", tt.text, !x.Any(tt.text))
		}
	}
}

// The index finds what a search for each term finds, and nothing else.
func TestTheIndexFindsWhatASearchFinds(t *testing.T) {
	piece := rapid.StringMatching("[abAB_é ]{2,5}")
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(piece, 1, 6).Draw(t, "terms")
		var list []words.Term
		for i, text := range texts {
			list = append(list, words.Of(i, []string{text})...)
		}
		s := rapid.StringMatching("[abAB_é ]{0,30}").Draw(t, "text")
		var want []place
		for at := range len(s) {
			for i, text := range texts {
				if at+len(text) <= len(s) && asciiFold(s[at:at+len(text)]) == asciiFold(text) {
					want = append(want, place{i, at})
				}
			}
		}
		if got := found(words.New(list), s); !slices.Equal(got, want) {
			t.Fatalf("%q in %q: %v, want %v", texts, s, got, want)
		}
	})
}

func asciiFold(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

func TestEachStopsWhenItIsTold(t *testing.T) {
	n := 0
	words.New(words.Of(0, []string{"ab", "abc"})).Each("abc abc", func(*words.Term, int) bool { n++; return false })
	if n != 1 {
		t.Errorf("%d terms were told, want 1", n)
	}
}

func TestFullestCountsTheTermsOfOneGram(t *testing.T) {
	for n, texts := range map[int][]string{1: {"abc", "xyz"}, 3: {"abc", "ABCd", "abcde"}} {
		if got := words.New(words.Of(0, texts)).Fullest(); got != n {
			t.Errorf("%q: %d, want %d", texts, got, n)
		}
	}
}

func TestBytesOfWords(t *testing.T) {
	for c := range 256 {
		b := byte(c)
		letter := strings.IndexByte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", b) >= 0
		if words.Letter(rune(b)) != letter || words.In(b) != (letter || strings.IndexByte("0123456789_", b) >= 0) {
			t.Errorf("%q: a letter: %v, in a word: %v", b, words.Letter(rune(b)), words.In(b))
		}
		if want := asciiFold(string(rune(b)))[0]; b < 0x80 && words.Lower(b) != want || b >= 0x80 && words.Lower(b) != b {
			t.Errorf("%q becomes %q", b, words.Lower(b))
		}
	}
}
