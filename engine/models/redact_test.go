package models

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestNoRunOfASecretOutlivesRedaction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[a-c]{1,40}`).Draw(t, "secret") // few letters, so that runs overlap
		least := rapid.IntRange(1, 12).Draw(t, "least")
		var s strings.Builder
		for range rapid.IntRange(0, 6).Draw(t, "pieces") {
			s.WriteString(rapid.StringMatching(`[a-d ]{0,10}`).Draw(t, "text"))
			from := rapid.IntRange(0, len(secret)).Draw(t, "from")
			s.WriteString(secret[from:rapid.IntRange(from, len(secret)).Draw(t, "to")])
		}
		got := redact(s.String(), secret, "[K]", least)
		n := min(least, len(secret))
		for i := 0; i+n <= len(secret); i++ {
			if strings.Contains(got, secret[i:i+n]) {
				t.Fatalf("%q of %q is left in %q", secret[i:i+n], secret, got)
			}
		}
	})
}

func TestRedactionLeavesOtherTextAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "text")
		if got := redact(s, "", "[K]", 8); got != s {
			t.Fatalf("without a secret %q became %q", s, got)
		}
		if got := redact(s, "\x00\x01\x02", "[K]", 8); !strings.Contains(s, "\x00\x01\x02") && got != s {
			t.Fatalf("%q became %q", s, got)
		}
	})
}

func TestPlainTextIsShortAndPrintable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "text"))
		limit := rapid.IntRange(3, 60).Draw(t, "limit")
		got := plain(s, limit)
		if len(got) > limit || !utf8.ValidString(got) || strings.ContainsAny(got, "\n\r\t\x00\x1b\u200b\u202e") {
			t.Fatalf("plain(%q, %d) = %q", s, limit, got)
		}
	})
}

func TestAKeyIsFoundHoweverItIsWritten(t *testing.T) {
	const key = "k/y+0123456789=abcdef"
	for name, text := range map[string]string{
		"plain": key, "in a URL": url.QueryEscape(key), "cut": key[:12] + "…", "its end": "…" + key[9:],
		"split by a joiner": key[:7] + "\u200d" + key[7:14] + "\u200d" + key[14:],
	} {
		got := heard("key "+text+" is wrong", key)
		for i := range len(key) - minKeyRun {
			if strings.Contains(got, key[i:i+minKeyRun]) {
				t.Errorf("%s: %q", name, got)
			}
		}
	}
}

func TestShortTextsOfAPromptAreNotLookedFor(t *testing.T) {
	p := Prompt{System: "", Messages: []Message{{RoleUser, "hi"}}}
	if got := redactPrompt("this model is high", p); got != "this model is high" {
		t.Errorf("%q", got)
	}
}
