package redact_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/codeact-dev/codeact/bridge/scan/redact"
)

// lines breaks text after every n characters.
func lines(text, end string, n int) string {
	var b strings.Builder
	for len(text) > n {
		b.WriteString(text[:n] + end)
		text = text[n:]
	}
	return b.String() + text
}

func ascii(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < 0x80 {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A secret is found in whatever a program makes of the text that it stands in.
func TestASecretIsFoundInEveryWriting(t *testing.T) {
	for _, secret := range []string{"hunter-22-hunter", `p"w\d<&>'x`, "žluťoučký kůň", "a b+c/d=e?f%g", "line one\nline two", "AKq3\x00\xff\xfe~~~",
		"a token that is longer than two lines of base64: " + strings.Repeat("0123456789abcdef", 6)} {
		r := redactor(t, map[string]string{"S": secret})
		for name, write := range map[string]func(string) string{
			"plain":          func(s string) string { return s },
			"JSON":           func(s string) string { return asJSON(t, s) },
			"JSON in JSON":   func(s string) string { return asJSON(t, asJSON(t, s)) },
			"ASCII JSON":     func(s string) string { return ascii(asJSON(t, s)) },
			"HTML":           html.EscapeString,
			"query":          url.QueryEscape,
			"path":           url.PathEscape,
			"lower query":    func(s string) string { return strings.ToLower(url.QueryEscape(s)) },
			"component":      func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") },
			"hex":            func(s string) string { return hex.EncodeToString([]byte(s)) },
			"HEX":            func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
			"base64":         func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
			"base64 raw":     func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte(s)) },
			"base64 url":     func(s string) string { return base64.URLEncoding.EncodeToString([]byte(s)) },
			"base64 url raw": func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
			"base64 lines":   func(s string) string { return lines(base64.StdEncoding.EncodeToString([]byte(s)), "\n", 76) },
			"base64 mail":    func(s string) string { return lines(base64.StdEncoding.EncodeToString([]byte(s)), "\r\n", 64) },
		} {
			if strings.Contains(name, "JSON") && strings.Contains(secret, "\xff") || name == "lower query" && secret != strings.ToLower(secret) {
				continue // the writing loses the secret
			}
			for before := range 90 { // every alignment, and every place in a line
				text := write(strings.Repeat("0", before) + secret + " and more")
				if got, ok := r.HasKnown(text); !ok || got != "S" {
					t.Errorf("%s of %q after %d characters: not found in %q", name, secret, before, text)
					break
				}
			}
		}
	}
	r := redactor(t, map[string]string{"S": `it's "<it>"`})
	if _, ok := r.HasKnown(`a="it&apos;s &quot;&lt;it&gt;&quot;"`); !ok {
		t.Error("XML")
	}
}

// What is no secret is not found: neighbours of a secret stay.
func TestNoOrdinaryTextIsASecret(t *testing.T) {
	r := redactor(t, map[string]string{"S": "hunter-22-hunter"})
	for _, text := range []string{prose, "hunter-22-hunte", base64.StdEncoding.EncodeToString([]byte(prose)), hex.EncodeToString([]byte(prose)), "Hunter-22-Hunter"} {
		if name, ok := r.HasKnown(text); ok {
			t.Errorf("%s in %.60q", name, text)
		}
	}
}

func TestFindable(t *testing.T) {
	for value, want := range map[string]string{
		"":                 "too short",
		"a":                "too short",
		"true":             "too short",
		"aaaaaaaa":         "only 1 different",
		"abababab":         "only 2 different",
		"Password":         "placeholder",
		"changeme":         "placeholder",
		"12345678":         "placeholder",
		"hunter-22-hunter": "",
		"48151623":         "",
		"tr0ub4":           "",
	} {
		err := redact.Findable(value)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || value != "" && len(value) > 1 && strings.Contains(err.Error(), value)) {
			t.Errorf("%q: %v, want %q", value, err, want)
		}
	}
}

// What can be found can be redacted.
func TestAFindableSecretMakesARedactor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.String().Draw(t, "value")
		if redact.Findable(value) != nil {
			return
		}
		r, err := redact.New(redact.Config{Secrets: map[string]string{"S": value}})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := r.HasKnown("x" + value + "y"); !ok {
			t.Fatalf("%q is not found", value)
		}
	})
}
