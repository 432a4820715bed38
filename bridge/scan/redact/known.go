package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/codeact-dev/codeact/bridge/scan/words"
)

// A known is one form in which a secret of the run may appear.
type known struct {
	name, text string
	anyCase    bool
}

// A table finds forms of secrets.
type table struct {
	forms []known
	index *words.Index // of their beginnings; nil without any
}

func newTable(forms []known) table {
	if len(forms) == 0 {
		return table{}
	}
	keys := make([]words.Term, len(forms))
	for i, k := range forms {
		keys[i] = words.Term{Text: k.text[:min(len(k.text), keyLen)], Owner: i}
	}
	return table{forms, words.New(keys)}
}

func (t *table) spans(s string) (spans []span) {
	if t.index == nil {
		return nil
	}
	t.index.Each(s, func(term *words.Term, lo int) bool {
		k := &t.forms[term.Owner]
		hi := lo + len(k.text)
		if hi <= len(s) && (s[lo:hi] == k.text || k.anyCase && strings.EqualFold(s[lo:hi], k.text)) {
			spans = append(spans, span{lo: lo, hi: hi, rule: "known-secret", name: k.name})
		}
		return true
	})
	return spans
}

// name is that of the first secret in s, "" without one.
func (t *table) name(s string) string {
	spans := t.spans(s)
	if len(spans) == 0 {
		return ""
	}
	return disjoint(spans)[0].name
}

// keyLen is how much of a form the index holds, in bytes: the rest is compared. It keeps the table small where a secret is a key file.
const keyLen = 16

// minDistinct is how many different bytes a secret must have: "aaaaaaaa" and "--------" stand in ordinary text.
const minDistinct = 4

// unset are what stands where a secret was never set.
var unset = []string{"password", "passw0rd", "passwd", "secret", "changeme", "change-me", "default", "example", "placeholder", "undefined",
	"localhost", "username", "production", "development", "staging", "postgres", "123456", "12345678", "123456789", "1234567890"}

// Findable says why value cannot be told from ordinary text, nil where it can: to redact it would hide more than it keeps secret, and
// not to redact it would let it through unseen. The error does not hold the value.
func Findable(value string) error {
	distinct := map[byte]bool{}
	for i := range len(value) {
		distinct[value[i]] = true
	}
	switch {
	case len(value) < minSecret:
		return fmt.Errorf("%d bytes are too short to be told from ordinary text: at least %d are needed", len(value), minSecret)
	case len(distinct) < minDistinct:
		return fmt.Errorf("it has only %d different characters, so it stands in ordinary text: at least %d are needed", len(distinct), minDistinct)
	case slices.Contains(unset, strings.ToLower(value)):
		return fmt.Errorf("it is a word of ordinary text, as a placeholder is: set the real value")
	}
	return nil
}

// forms lists the encodings of value: plain, JSON, URL, HTML and XML, hex, and base64 at each of the three places where it may begin
// in a longer text.
func forms(value string) []string {
	list := []string{value, strings.ReplaceAll(value, "\n", "\r\n"), html.EscapeString(value), xmlEntities.Replace(value), url.QueryEscape(value), url.PathEscape(value)}
	once := []string{inJSON(value, true), inJSON(value, false), inASCII(inJSON(value, false))}
	list = append(list, once...)
	for _, text := range once {
		list = append(list, inJSON(text, false)) // JSON that stands as a text in JSON
	}
	component := strings.ReplaceAll(url.QueryEscape(value), "+", "%20") // as JavaScript's encodeURIComponent writes it
	list = append(list, component, lowerEscapes(component), lowerEscapes(url.QueryEscape(value)), lowerEscapes(url.PathEscape(value)), percentAll(value))
	h := hex.EncodeToString([]byte(value))
	list = append(list, h, strings.ToUpper(h))
	for skip := range 3 {
		std := inner(value, skip)
		list = append(list, std, urlAlphabet.Replace(std))
		if len(value) <= maxWrapped {
			list = append(list, wrapped(std)...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

var (
	urlAlphabet = strings.NewReplacer("+", "-", "/", "_")
	xmlEntities = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;")
)

// inJSON is value inside a JSON text.
func inJSON(value string, escapeHTML bool) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(escapeHTML)
	_ = e.Encode(value) // a text always encodes
	text := strings.TrimSuffix(b.String(), "\n")
	return text[1 : len(text)-1]
}

// inASCII writes what is not ASCII as \u and four digits, as many writers of JSON do.
func inASCII(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < 0x80 {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// maxWrapped is the longest secret whose base64 is looked for with line ends in it, in bytes: each place of the first line end is a
// form of its own.
const maxWrapped = 1 << 10

// wrapped is base64 with line ends, wherever in a line the secret begins: base64(1) and mail break lines after 76 characters, PEM
// after 64.
func wrapped(text string) []string {
	var list []string
	for _, width := range []int{64, 76} {
		for first := 1; first <= width && first < len(text); first++ {
			cut := []string{text[:first]}
			for at := first; at < len(text); at += width {
				cut = append(cut, text[at:min(at+width, len(text))])
			}
			list = append(list, strings.Join(cut, "\n"), strings.Join(cut, "\r\n"))
		}
	}
	return list
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
			b[i+1], b[i+2] = words.Lower(b[i+1]), words.Lower(b[i+2])
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
