package match

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A Kind says how a value is compared.
type Kind uint8

// The kinds of terms.
const (
	Never   Kind = iota // matches nothing: hidden or unstable characters
	Neutral             // empty, None and booleans aim at nothing
	Plain               // words
	Email
	Address // URL, host, or a file name that looks like one
	Account // IBAN
	Number
	Moment // date, time or both
)

// A Term is one leaf value, ready to be compared. Only [TermOf] and [TextTerm] make
// one; the zero value matches nothing.
type Term struct {
	raw  string // trimmed, as it stands
	key  string // what is compared
	kind Kind
}

// Kind says how t is compared.
func (t Term) Kind() Kind { return t.kind }

// Raw is the value as it stands, without the white space around it.
func (t Term) Raw() string { return t.raw }

// MaxTerm bounds a value that can name or be named, in bytes. A destination is
// short; a longer text is body text.
const MaxTerm = 4 << 10

// TermOf classifies one leaf of plain data. A text is trimmed first.
func TermOf(v any) Term {
	switch v := v.(type) {
	case nil, bool:
		return Term{kind: Neutral}
	case string:
		return TextTerm(strings.TrimSpace(v))
	case []byte:
		return TextTerm(strings.TrimSpace(string(v)))
	case float64:
		return numberTerm(strconv.FormatFloat(v, 'f', -1, 64))
	case int, int64, uint64, *big.Int:
		return numberTerm(fmt.Sprint(v))
	}
	return Term{raw: fmt.Sprint(v)}
}

func numberTerm(s string) Term { return Term{raw: s, key: canonNumber(s), kind: Number} }

// TextTerm classifies a text, which must be trimmed.
func TextTerm(s string) Term {
	t := Term{raw: s}
	switch {
	case s == "":
		t.kind = Neutral
		return t
	case len(s) > MaxTerm || hidden(s):
		return t
	}
	t.key = Fold(s)
	if k, ok := addressKey(s); ok {
		return t.exact(Address, k)
	}
	if isEmail(t.key) {
		return t.exact(Email, t.key)
	}
	if k := strings.ReplaceAll(t.key, " ", ""); ibanShape.MatchString(k) {
		return t.exact(Account, k)
	}
	switch {
	case numberShape.MatchString(s) && len(s) <= maxDigits:
		t.kind, t.key = Number, canonNumber(s)
	case isMoment(t.key):
		t.kind = Moment
	default:
		t.kind = Plain
	}
	return t
}

// exact gives t a kind whose every character counts. What NFKC would change has
// another spelling than it shows, and so stays unmatchable.
func (t Term) exact(k Kind, key string) Term {
	if norm.NFKC.IsNormalString(t.raw) {
		t.kind, t.key = k, key
	}
	return t
}

// ID is the form in which an id of a record is compared: opaque keys differ by
// case.
func (t Term) ID() string {
	switch t.kind {
	case Never, Neutral:
		return ""
	case Plain, Moment:
		return t.raw
	}
	return t.key
}

// Loose is the form in which whole values are compared with a list, "" for what
// matches nothing.
func (t Term) Loose() string {
	if t.kind == Never || t.kind == Neutral {
		return ""
	}
	return t.key
}

// Host is where t leads: the domain of a mail address, or the host of a web address
// with its port. It is "" for all else, and for URLs of another scheme.
func (t Term) Host() string {
	switch {
	case t.kind == Email:
		_, host, _ := strings.Cut(t.key, "@")
		return host
	case t.kind == Address && !strings.Contains(t.key, "://"):
		if i := strings.IndexAny(t.key, "/?#"); i >= 0 {
			return t.key[:i]
		}
		return t.key
	}
	return ""
}

var (
	ibanShape = regexp.MustCompile(`^[a-z]{2}[0-9]{2}[a-z0-9]{10,30}$`)
	// numberShape leaves out a leading zero: "0123" is a code, not a quantity.
	numberShape = regexp.MustCompile(`^[+-]?(?:0|[1-9][0-9]*|[1-9][0-9]{0,2}(?:,[0-9]{3})+)(?:\.[0-9]+)?$`)
)

// maxDigits is how long a text may be to count as a quantity, in bytes; longer
// digit strings are accounts and compared as they stand.
const maxDigits = 18

// canonNumber writes a decimal so that equal values have equal texts: no
// thousands separator, no plus, no zeros at the end of a fraction.
func canonNumber(s string) string {
	s = strings.TrimPrefix(strings.ReplaceAll(s, ",", ""), "+")
	if strings.Contains(s, ".") {
		s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}
	if s == "-0" {
		return "0"
	}
	return s
}

// localRune reports whether r may stand in the local part of an address. The
// rarer ones that RFC 5322 allows are left out: they look like punctuation of
// the text around it.
func localRune(r rune) bool { return word(r) || strings.ContainsRune(".+-%", r) }

func hostRune(r rune) bool {
	return r == '.' || r == '-' || r != '_' && word(r)
}

func isEmail(s string) bool {
	local, host, ok := strings.Cut(s, "@")
	return ok && local != "" && host != "" && strings.Trim(local, ".-") == local && strings.Trim(host, ".-") == host &&
		strings.IndexFunc(local, func(r rune) bool { return !localRune(r) }) < 0 &&
		strings.IndexFunc(host, func(r rune) bool { return !hostRune(r) }) < 0
}

// emailsIn returns the addresses in a folded text. An address that is glued to a
// rarer character of a local part ("o'brien@…") is left out whole: its tail is
// somebody else's.
func emailsIn(s string) []string {
	var out []string
	for at := strings.IndexByte(s, '@'); at >= 0; {
		start := strings.LastIndexFunc(s[:at], func(r rune) bool { return !localRune(r) })
		if start < 0 {
			start = 0
		} else {
			_, n := utf8.DecodeRuneInString(s[start:])
			start += n
		}
		end := len(s)
		if n := strings.IndexFunc(s[at+1:], func(r rune) bool { return !hostRune(r) }); n >= 0 {
			end = at + 1 + n
		}
		start += len(s[start:at]) - len(strings.TrimLeft(s[start:at], ".-"))
		end = at + 1 + len(strings.TrimRight(s[at+1:end], ".-"))
		if m := s[start:end]; isEmail(m) && rightBorder(s, end) && mailBorder(s[:start]) {
			out = append(out, m)
		}
		next := strings.IndexByte(s[at+1:], '@')
		if next < 0 {
			return out
		}
		at += 1 + next
	}
	return out
}

// mailBorder reports whether an address may follow before.
func mailBorder(before string) bool {
	return strings.HasSuffix(before, "mailto:") || before == "" || strings.HasSuffix(before, ".") || strings.HasSuffix(before, "-") ||
		leftBorder(before+"a", len(before))
}

// addressKey returns the comparable form of a URL, or of a host with or without
// a path. The scheme of the web and one slash at the end are dropped, the host is
// in lower case; path and query stay as they are, since their case may matter.
// User info is refused: it is a host's most common disguise.
func addressKey(s string) (string, bool) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		scheme, rest = "", s
	}
	scheme = strings.ToLower(scheme)
	if strings.ContainsFunc(rest, func(r rune) bool { return r == '\\' || unicode.IsSpace(r) }) {
		return "", false
	}
	host, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host, tail = rest[:i], rest[i:]
	}
	host = strings.ToLower(host)
	switch scheme {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	}
	name, port, hasPort := strings.Cut(host, ":")
	if hasPort && (port == "" || strings.Trim(port, "0123456789") != "") ||
		scheme == "" && !hostShaped(name) || name == "" || strings.ContainsFunc(name, func(r rune) bool { return !hostRune(r) }) {
		return "", false
	}
	if !strings.ContainsAny(tail, "?#") {
		tail = strings.TrimSuffix(tail, "/")
	}
	if scheme != "" && scheme != "http" && scheme != "https" {
		host = scheme + "://" + host
	}
	return host + tail, true
}

// hostShaped reports whether s reads as a host without a scheme: two labels or
// more, the last of letters.
func hostShaped(s string) bool {
	labels := strings.Split(s, ".")
	for _, l := range labels {
		if l == "" || strings.ContainsFunc(l, func(r rune) bool { return !hostRune(r) }) {
			return false
		}
	}
	last := labels[len(labels)-1]
	return len(labels) > 1 && len(last) > 1 && !strings.ContainsFunc(last, func(r rune) bool { return !unicode.IsLetter(r) })
}

// addressesIn returns the keys of the URLs and hosts in a text that is not folded.
func addressesIn(s string) []string {
	var out []string
	for _, tok := range strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("<>\"`“”„«»()[]{}|", r) }) {
		tok = strings.TrimLeft(tok, "'‘’,;:")
		tok = strings.TrimRight(tok, "'‘’.,;:!?")
		if k, ok := addressKey(tok); ok && !hidden(tok) {
			out = append(out, k)
		}
	}
	return out
}
