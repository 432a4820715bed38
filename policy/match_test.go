package policy

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTermOf(t *testing.T) {
	for _, test := range []struct {
		v    any
		kind kind
		key  string
	}{
		{nil, neutralKind, ""},
		{true, neutralKind, ""},
		{" \n", neutralKind, ""},
		{int64(13), numberKind, "13"},
		{13, numberKind, "13"},
		{uint64(13), numberKind, "13"},
		{big.NewInt(-7), numberKind, "-7"},
		{98.70, numberKind, "98.7"},
		{1e21, numberKind, "1000000000000000000000"},
		{"+1,000.50", numberKind, "1000.5"},
		{"-0", numberKind, "0"},
		{"007", plainKind, "007"},
		{"1234567890123456789", plainKind, "1234567890123456789"},
		{"Bob@X.com", emailKind, "bob@x.com"},
		{[]byte("bob@x.com"), emailKind, "bob@x.com"},
		{"HTTPS://X.com:443/A/", addressKind, "x.com/A"},
		{"ftp://x.com", addressKind, "ftp://x.com"},
		{"report.pdf", addressKind, "report.pdf"},
		{"http://x.com:port/", plainKind, "http://x.com:port/"},
		{"http:///a", plainKind, "http:///a"},
		{"a..b", plainKind, "a..b"},
		{"10.0.0.1", plainKind, "10.0.0.1"},
		{"GB29 NWBK 6016 1331 9268 19", accountKind, "gb29nwbk60161331926819"},
		{"2024-05-26", momentKind, "2024-05-26"},
		{"a\u200bb", neverKind, ""},
		{"a\u00adb", neverKind, ""},
		{"a\ufe0fb", neverKind, ""},
		{"a\x00b", neverKind, ""},
		{"a\xffb", neverKind, ""},
		{"\ufffd!", plainKind, "\ufffd!"},
		{"ｂob@x.com", neverKind, "bob@x.com"},
		{strings.Repeat("a", maxTerm+1), neverKind, ""},
		{struct{}{}, neverKind, ""},
	} {
		if got := termOf(test.v); got.kind != test.kind || got.key != test.key {
			t.Errorf("%#v: got kind %d, key %q", test.v, got.kind, got.key)
		}
	}
}

func TestAnEmptyPhraseIsNowhere(t *testing.T) {
	if holdsToken("some text", "") {
		t.Error("found")
	}
}

func TestIsIDParam(t *testing.T) {
	for name, want := range map[string]bool{"id": true, "ID": true, "id_": true, "file_id": true, "fileId": true, "file-id": true, "idea": false, "paid": false, "to": false, "ids": false} {
		if got := IsIDParam(name, false); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
		if !IsIDParam(name, true) {
			t.Errorf("%s: a mark is ignored", name)
		}
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
		term := termOf(s)
		if at < 0 || how < 0 || term.kind < emailKind || term.kind > accountKind {
			return
		}
		w := newWording()
		w.add("Use \"" + s + "\" for it.")
		if near := termOf(twist(term.raw, how, at)); near.key != term.key && near.kind != neutralKind && w.names(near) {
			if strings.Contains(term.raw, " ") && holdsToken(fold(term.raw), near.key) {
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
		w := newWording()
		w.add(before + s + after)
		if !w.names(termOf(s)) {
			t.Fatalf("%q is not named by %q", s, before+s+after)
		}
		longer := rapid.SampledFrom([]string{"x%s", "%sx", "9%s", "%s9", "x-%s", "%s-x", "/x/%s", "x.%s", "%s.xx", "é%s", "%s\u0301", "\u200d%s"}).Draw(t, "longer")
		w = newWording()
		w.add(strings.Replace(longer, "%s", s, 1))
		if w.names(termOf(s)) {
			t.Fatalf("%q is named by %q", s, strings.Replace(longer, "%s", s, 1))
		}
	})
}

func TestNearestSaysWhatTheUserMayHaveMeant(t *testing.T) {
	w := newWording()
	w.add("Write to sarah.connor@gmail.com about it")
	for value, want := range map[string]string{
		"sara.conor@gmail.com":   "sarah.connor@gmail.com",
		"eve@evil.com":           "",
		strings.Repeat("a", 300): "",
	} {
		if got := w.nearest(termOf(value)); got != want {
			t.Errorf("%q: got %q, want %q", value, got, want)
		}
	}
}
