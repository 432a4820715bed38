package scan

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strings"
)

// A known is one form in which a secret of the run may appear.
type known struct{ name, text string }

// keyLen is how much of a form the index holds, in bytes: the rest is compared. It keeps the table small where a secret is a key file.
const keyLen = 16

// forms lists the encodings of value: plain, JSON, URL, HTML, hex, and base64 at each of the three places where it may begin in
// a longer text.
func forms(value string) []string {
	list := []string{value, strings.ReplaceAll(value, "\n", "\r\n"), html.EscapeString(value), url.QueryEscape(value), url.PathEscape(value)}
	for _, escape := range []bool{true, false} {
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(escape)
		if e.Encode(value) == nil {
			list = append(list, strings.Trim(strings.TrimSuffix(b.String(), "\n"), `"`))
		}
	}
	component := strings.ReplaceAll(url.QueryEscape(value), "+", "%20") // as JavaScript's encodeURIComponent writes it
	list = append(list, component, lowerEscapes(component), lowerEscapes(url.QueryEscape(value)), lowerEscapes(url.PathEscape(value)), percentAll(value))
	h := hex.EncodeToString([]byte(value))
	list = append(list, h, strings.ToUpper(h))
	for skip := range 3 {
		std := inner(value, skip)
		list = append(list, std, strings.NewReplacer("+", "-", "/", "_").Replace(std))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// minPart is the shortest line of a secret that is looked for by itself, in bytes: a shorter one stands in other text by chance.
const minPart = 16

// parts are the lines of a secret of several: a key file is often read by lines. Those that only frame it are left out.
func parts(value string) (list []string) {
	for line := range strings.Lines(value) {
		line = strings.TrimSpace(line)
		if len(line) >= minPart && len(line) < len(strings.TrimSpace(value)) && !strings.HasPrefix(line, "-----") {
			list = append(list, line)
		}
	}
	return list
}

// inner is the base64 of value after skip bytes, without the characters that also depend on what stands before or after it.
func inner(value string, skip int) string {
	text := base64.RawStdEncoding.EncodeToString(append(make([]byte, skip), value...))
	return text[(skip*8+5)/6 : (skip+len(value))*8/6]
}

// lowerEscapes writes %2f for %2F.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			b[i+1], b[i+2] = lower(b[i+1]), lower(b[i+2])
		}
	}
	return string(b)
}

// percentAll escapes every byte.
func percentAll(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteByte('%')
		b.WriteString(strings.ToUpper(hex.EncodeToString([]byte{s[i]})))
	}
	return b.String()
}
