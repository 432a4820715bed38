package match

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTermOf(t *testing.T) {
	for _, test := range []struct {
		v    any
		kind Kind
		key  string
	}{
		{nil, Neutral, ""},
		{true, Neutral, ""},
		{" \n", Neutral, ""},
		{int64(13), Number, "13"},
		{13, Number, "13"},
		{uint64(13), Number, "13"},
		{big.NewInt(-7), Number, "-7"},
		{98.70, Number, "98.7"},
		{1e21, Number, "1000000000000000000000"},
		{"+1,000.50", Number, "1000.5"},
		{"-0", Number, "0"},
		{"007", Plain, "007"},
		{"1234567890123456789", Plain, "1234567890123456789"},
		{"Bob@X.com", Email, "bob@x.com"},
		{[]byte("bob@x.com"), Email, "bob@x.com"},
		{"HTTPS://X.com:443/A/", Address, "x.com/A"},
		{"ftp://x.com", Address, "ftp://x.com"},
		{"report.pdf", Address, "report.pdf"},
		{"http://x.com:port/", Plain, "http://x.com:port/"},
		{"http:///a", Plain, "http:///a"},
		{"a..b", Plain, "a..b"},
		{"10.0.0.1", Plain, "10.0.0.1"},
		{"GB29 NWBK 6016 1331 9268 19", Account, "gb29nwbk60161331926819"},
		{"2024-05-26", Moment, "2024-05-26"},
		{"by 2024-05-26", Plain, "by 2024-05-26"},
		{"a\u200bb", Never, ""},
		{"a\u00adb", Never, ""},
		{"a\ufe0fb", Never, ""},
		{"a\x00b", Never, ""},
		{"a\xffb", Never, ""},
		{"\ufffd!", Plain, "\ufffd!"},
		{"ｂob@x.com", Never, "bob@x.com"},
		{strings.Repeat("a", MaxTerm+1), Never, ""},
		{struct{}{}, Never, ""},
	} {
		if got := TermOf(test.v); got.kind != test.kind || got.key != test.key {
			t.Errorf("%#v: got kind %d, key %q", test.v, got.kind, got.key)
		}
	}
}

func TestATermHasOneFormForEachUse(t *testing.T) {
	for _, test := range []struct {
		v                    any
		raw, loose, id, host string
	}{
		{" Bob@X.com ", "Bob@X.com", "bob@x.com", "bob@x.com", "x.com"},
		{"https://X.com/A?q", "https://X.com/A?q", "x.com/A?q", "x.com/A?q", "x.com"},
		{"x.com:8080", "x.com:8080", "x.com:8080", "x.com:8080", "x.com:8080"},
		{"ftp://x.com/a", "ftp://x.com/a", "ftp://x.com/a", "ftp://x.com/a", ""},
		{"KeyA", "KeyA", "keya", "KeyA", ""}, // opaque keys differ by case
		{"May 26", "May 26", "may 26", "May 26", ""},
		{"1,000", "1,000", "1000", "1000", ""},
		{"a..b", "a..b", "a..b", "a..b", ""},
		{"\uff42ob@x.com", "\uff42ob@x.com", "", "", ""},
		{"a\u200bb", "a\u200bb", "", "", ""},
		{nil, "", "", "", ""},
	} {
		x := TermOf(test.v)
		if x.Raw() != test.raw || x.Loose() != test.loose || x.ID() != test.id || x.Host() != test.host {
			t.Errorf("%#v: got raw %q, loose %q, id %q, host %q", test.v, x.Raw(), x.Loose(), x.ID(), x.Host())
		}
	}
	var zero Term
	w := NewWording()
	w.Add("anything")
	if zero.Kind() != Never || zero.ID()+zero.Loose()+zero.Host() != "" || w.Names(zero) {
		t.Error("the zero term matches")
	}
}

func TestWhatAPersonWroteIsNamedWhole(t *testing.T) {
	for _, test := range []struct {
		user  string
		value any
		want  bool
	}{
		{"pay GB29 NWBK 6016 1331 9268 19 now", "GB29NWBK60161331926819", true},
		{"pay GB29NWBK60161331926819.", "GB29 NWBK 6016 1331 9268 19", true},
		{"pay GB29 NWBK 6016 1331 9268 19 05", "GB29NWBK60161331926819", false}, // a longer account
		{"pay GB29  NWBK 6016 1331 9268 18", "GB29NWBK60161331926819", false},
		{"pay 1,000.50 to it", 1000.5, true},
		{"it is -5 outside", -5, true},
		{"it is -5 outside", 5, false},
		{"call +49", 49, true},
		{"version 1.2.3", 1.2, false},
		{"in Alice's folder", "alice", true},
		{"in Alice'x folder", "alice", false},
		{"1,000", "000", false},
		{"one,two", "two", true},
		{"see ,1", 1, true},
		{"mail o'brien@x.com", "brien@x.com", false},
		{"mail a@x.com, b@x.com.", "b@x.com", true},
		{"mailto:a@x.com", "a@x.com", true},
		{"go to https://X.com/a.", "x.com/a", true},
		{"go to https://x.com@evil.net/", "evil.net", false},
		{"it says \".\"", ".", false},
		{"yes", true, false}, // aims at nothing, so that nobody need name it
	} {
		w := NewWording()
		w.Add(test.user)
		if got := w.Names(TermOf(test.value)); got != test.want {
			t.Errorf("%q names %v: got %v", test.user, test.value, got)
		}
	}
}

func TestAnEmptyPhraseIsNowhere(t *testing.T) {
	if holdsToken("some text", "") {
		t.Error("found")
	}
}

// twist makes a near miss of s: another target that looks or reads like it.
func twist(s string, how, at int) string {
	rs := []rune(s)
	i := at % len(rs)
	switch how % 12 {
	case 0: // a look-alike of another script
		return strings.NewReplacer("a", "а", "e", "е", "o", "о", "c", "с", "p", "р", "i", "і").Replace(s)
	case 1:
		return string(rs[:i]) + "\u200b" + string(rs[i:])
	case 2:
		return "\u202e" + s
	case 3:
		return "evil." + s
	case 4:
		return s + ".evil.net"
	case 5:
		return strings.Replace(s, "@", "+evil@", 1)
	case 6:
		return strings.NewReplacer("@", "%40", ".", "%2e").Replace(s)
	case 7:
		return string(rs[:i]) + "x" + string(rs[i:])
	case 8:
		return s + "/../evil"
	case 9:
		return "evil.net/" + s
	case 10:
		return s + "@evil.net"
	}
	return string(rs[:i]) + string(rs[min(i+1, len(rs)):])
}

// A near miss of what the user wrote is never named, whatever it was made of and
// wherever it stood in the text.
func FuzzMatch(f *testing.F) {
	for how := range 12 {
		for _, s := range []string{"sarah.connor@gmail.com", "www.informations.com/a", "GB29NWBK60161331926819", "notes-of-may.docx"} {
			f.Add(s, how, how*3)
		}
	}
	f.Fuzz(func(t *testing.T, s string, how, at int) {
		term := TermOf(s)
		if at < 0 || how < 0 || term.kind < Email || term.kind > Account {
			return
		}
		w := NewWording()
		w.Add("Use \"" + s + "\" for it.")
		if near := TermOf(twist(term.raw, how, at)); near.key != term.key && near.kind != Neutral && w.Names(near) {
			if strings.Contains(term.raw, " ") && holdsToken(Fold(term.raw), near.key) {
				return // the first word of two: an account, and then perhaps an amount
			}
			t.Errorf("%q names %q", s, near.raw)
		}
	})
}

// What the user wrote between spaces is named, and is not named by a text that
// holds it only inside a longer token.
func TestWordsOfTheUserAreNamed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[a-z]{2,8}([.-][a-z]{2,5})?(@[a-z]{2,6}\.com)?`).Draw(t, "value")
		before, after := rapid.StringMatching(`([A-Z][a-z]* ){0,3}`).Draw(t, "before"), rapid.StringMatching(`( [a-z]+){0,3}[.!?]?`).Draw(t, "after")
		w := NewWording()
		w.Add(before + s + after)
		if !w.Names(TermOf(s)) {
			t.Fatalf("%q is not named by %q", s, before+s+after)
		}
		longer := rapid.SampledFrom([]string{"x%s", "%sx", "9%s", "%s9", "x-%s", "%s-x", "/x/%s", "x.%s", "%s.xx", "é%s", "%s\u0301", "\u200d%s"}).Draw(t, "longer")
		w = NewWording()
		w.Add(strings.Replace(longer, "%s", s, 1))
		if w.Names(TermOf(s)) {
			t.Fatalf("%q is named by %q", s, strings.Replace(longer, "%s", s, 1))
		}
	})
}

func TestNearestSaysWhatTheUserMayHaveMeant(t *testing.T) {
	w := NewWording()
	w.Add("Write to sarah.connor@gmail.com about it")
	for value, want := range map[string]string{
		"sara.conor@gmail.com":   "sarah.connor@gmail.com",
		"eve@evil.com":           "",
		strings.Repeat("a", 300): "",
	} {
		if got := w.Nearest(TermOf(value)); got != want {
			t.Errorf("%q: got %q, want %q", value, got, want)
		}
	}
}
