package redact_test

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/codeact-dev/codeact/bridge/scan/redact"
)

// each writes every byte of s in one way.
func each(format string) func(string) string {
	return func(s string) string {
		var b strings.Builder
		for i := range len(s) {
			fmt.Fprintf(&b, format, s[i])
		}
		return b.String()
	}
}

// eachRune is each for what numbers characters.
func eachRune(format string) func(string) string {
	return func(s string) string {
		var b strings.Builder
		for _, r := range s {
			fmt.Fprintf(&b, format, r)
		}
		return b.String()
	}
}

// between writes what stands between every two bytes.
func between(sep string) func(string) string {
	return func(s string) string { return strings.Join(strings.Split(s, ""), sep) }
}

func then(list ...func(string) string) func(string) string {
	return func(s string) string {
		for _, f := range list {
			s = f(s)
		}
		return s
	}
}

func toBase64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
func toBase32(s string) string { return base32.StdEncoding.EncodeToString([]byte(s)) }
func toHex(s string) string    { return hex.EncodeToString([]byte(s)) }
func wide(s string) string {
	return strings.Map(func(r rune) rune {
		if '!' <= r && r <= '~' {
			return r - '!' + '！'
		}
		return r
	}, s)
}
func utf16le(s string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}
func inLines(n int, end string) func(string) string {
	return func(s string) string { return lines(s, end, n) }
}

// escaped are writings that hide a text from a search, and that a receiver reads at once.
var escaped = map[string]func(string) string{
	"percent":              each("%%%02X"),
	"lower percent":        each("%%%02x"),
	"percent of percent":   then(url.QueryEscape, url.QueryEscape),
	"all percent twice":    then(each("%%%02X"), each("%%%02X")),
	"decimal entities":     eachRune("&#%d;"),
	"hex entities":         eachRune("&#x%X;"),
	"entities in a URL":    then(eachRune("&#%d;"), url.QueryEscape),
	`\u`:                   eachRune(`\u%04x`),
	`\u{}`:                 eachRune(`\u{%x}`),
	`\U`:                   eachRune(`\U%08X`),
	`\x`:                   each(`\x%02X`),
	`\\u`:                  eachRune(`\\u%04x`),
	"zero width":           between("\u200b"),
	"soft hyphen":          between("\u00ad"),
	"joiner":               between("\u2060"),
	"variation selector":   between("\ufe0f"),
	"percent zero width":   then(between("\u200b"), each("%%%02X")),
	"full width":           wide,
	"base64 of 20 a line":  then(toBase64, inLines(20, "\r\n")),
	"base64 in a URL":      then(toBase64, url.QueryEscape),
	"base64 of UTF-16":     then(utf16le, toBase64),
	"hex":                  toHex,
	"hex in capitals":      then(toHex, strings.ToUpper),
	"hex with spaces":      each("%02x "),
	"hex with colons":      then(each("%02X:"), func(s string) string { return strings.TrimSuffix(s, ":") }),
	"hex of bytes":         each("0x%02x, "),
	"hex after half a one": func(s string) string { return "f" + toHex(s) },
}

// spread are those that only a text that is compared can be found in.
var spread = map[string]func(string) string{
	"spaces":                between(" "),
	"newlines":              between("\n"),
	"wide spaces":           between("\u3000"),
	"base64 with spaces":    then(toBase64, between(" ")),
	"base64 of 1 a line":    then(toBase64, inLines(1, "\n")),
	"base32":                toBase32,
	"lower base32":          then(toBase32, strings.ToLower),
	"base32 of 8 a line":    then(toBase32, inLines(8, "\n")),
	"base32 in between":     func(s string) string { return toBase32("abc" + s + "def") },
	"capitals of HTML":      then(html.EscapeString, each("%%%02X")),
	"spaces, then zero":     then(between(" "), between("\u200b")),
	"UTF-16":                utf16le,
	"base64 twice":          then(toBase64, toBase64),
	"full width and spaces": then(wide, between("\u200a")),
}

func TestAKnownSecretDoesNotPassInDisguise(t *testing.T) {
	for _, secret := range []string{"hunter-22-hunter", `p"w\d<&>'x+/=`, "48151623", "a b+c/d=e?f%g"} {
		r := redactor(t, map[string]string{"S": secret})
		for _, list := range []map[string]func(string) string{escaped, spread} {
			for name, write := range list {
				for _, place := range []string{"%s", "see %s.", "token\n%s\nend", "aaa%s"} {
					text := fmt.Sprintf(place, write(secret))
					if strings.HasPrefix(name, "base32") || strings.HasPrefix(name, "lower base32") {
						text = fmt.Sprintf(strings.ReplaceAll(place, "aaa", "aaa "), write(secret))
					}
					if who, ok := r.HasKnown(text); !ok || who != "S" {
						t.Errorf("%s of %q is not found in %q", name, secret, text)
					}
				}
			}
		}
	}
}

func TestAShapeDoesNotPassInDisguise(t *testing.T) {
	r := redactor(t, nil)
	for _, id := range []string{"github-pat", "anthropic-api-key", "aws-access-token", "private-key", "slack-webhook-url"} {
		for name, write := range escaped {
			if strings.Contains(name, "UTF-16") {
				continue // only values that are known are looked for there
			}
			for _, place := range []string{"%s", "see %s .", "token:\n%s\nend"} {
				text := fmt.Sprintf(place, write(invented[id]))
				if rule, ok := r.HighConfidence(text); !ok || rule != id {
					t.Errorf("%s of %s is %q in %q", name, id, rule, text)
				}
			}
		}
	}
}

// Short secrets are looked for without their gaps only where no table of figures holds them.
func TestTheGatesLeaveOrdinaryTextAlone(t *testing.T) {
	r := redactor(t, map[string]string{"PIN": "481516", "PW": "hunter-22-hunter", "KEY": "correct horse battery"})
	for _, text := range []string{"48 15 16 23 42", "4815 16", "hunter - 22", "hunter%2D22", "correct horse", "&amp;&#65;&#x;&;%zz%4\\u00\\x\\u{}\\u{zz}\\U1\\",
		toBase64(prose), toHex(prose), each("%%%02X")(prose), between(" ")(prose)} {
		if who, ok := r.HasKnown(text); ok {
			t.Errorf("%s in %.60q", who, text)
		}
		if rule, ok := r.HighConfidence(text); ok {
			t.Errorf("%s in %.60q", rule, text)
		}
	}
	all := ordinary(t)
	files, err := filepath.Glob("../*.go")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, f := range append(files, "../../../go.sum") {
		if strings.HasSuffix(f, "_test.go") {
			continue // some hold invented secrets
		}
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(data))
	}
	for _, text := range all {
		if who, ok := r.HasKnown(text); ok {
			t.Errorf("%s in %.200q", who, text)
		}
		if rule, ok := r.HighConfidence(text); ok {
			t.Errorf("%s in %.200q", rule, text)
		}
	}
}

// Any two of the writings, one after the other, where the second one is of escapes.
func TestEscapesOfEscapesAreUndone(t *testing.T) {
	r := redactor(t, map[string]string{"S": "hunter-22-hunter"})
	names := []string{"percent", "decimal entities", `\u`, `\x`, "zero width"}
	rapid.Check(t, func(t *rapid.T) {
		text := "hunter-22-hunter"
		for i := range rapid.IntRange(1, 2).Draw(t, "layers") {
			text = escaped[rapid.SampledFrom(names).Draw(t, fmt.Sprint("layer ", i))](text)
		}
		if _, ok := r.HasKnown(rapid.StringMatching(`[a-z ]{0,9}`).Draw(t, "before") + text); !ok {
			t.Fatalf("not found in %q", text)
		}
	})
}

func FuzzHasKnown(f *testing.F) {
	for _, write := range escaped {
		f.Add(write("hunter-22"))
	}
	r, err := redact.New(redact.Config{Secrets: map[string]string{"S": "hunter-22"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		_, found := r.String(s)
		for _, x := range found {
			if _, ok := r.HasKnown(s); x.Rule == "known-secret" && !ok {
				t.Fatalf("what is redacted of %q is not found", s)
			}
		}
		r.HighConfidence(s)
		if _, ok := r.HasKnown(s + "\n" + each("%%%02x")("hunter-22")); !ok {
			t.Fatalf("%q hides a secret behind it", s)
		}
	})
}

func BenchmarkHasKnownClean(b *testing.B) {
	r := redactor(b, map[string]string{"PW": "hunter-22-hunter"})
	b.SetBytes(int64(len(prose)))
	for b.Loop() {
		r.HasKnown(prose)
		r.HighConfidence(prose)
	}
}
