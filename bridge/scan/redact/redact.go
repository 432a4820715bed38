package redact

import (
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/go-multierror"

	"github.com/codeact-dev/codeact/bridge/scan/rewrite"
	"github.com/codeact-dev/codeact/bridge/scan/words"
)

// minSecret is the shortest value that is searched for, in bytes: a shorter one stands in ordinary text by chance.
const minSecret = 6

// A Config says what to redact beside the known shapes.
type Config struct {
	Secrets  map[string]string // by name; values that the run knows, at least 6 bytes each
	Patterns []string          // regular expressions (RE2); the whole match is redacted
}

// A Finding counts what one rule redacted. It never holds the secret.
type Finding struct {
	Rule string // a gitleaks id, known-secret, pattern-1…, or a refusal: too-deep, not-plain
	Name string // of a known secret
	N    int
}

// A Redactor replaces secrets by `[redacted:RULE]`. The zero Redactor knows the shapes only.
type Redactor struct {
	known    table // in text as it is
	bare     table // in bare text; only HasKnown looks there
	patterns []*regexp.Regexp
	numeric  bool // a known secret is a number, so numbers are looked at too
}

// New checks the whole config and returns every fault at once. No error text holds a secret.
func New(c Config) (*Redactor, error) {
	r, faults := &Redactor{}, &multierror.Error{}
	var plain, without []known
	for _, name := range slices.Sorted(maps.Keys(c.Secrets)) {
		value := c.Secrets[name]
		if len(value) < minSecret {
			faults = multierror.Append(faults, fmt.Errorf("redact: secret %s: %d bytes, at least %d are needed to find it in a text", name, len(value), minSecret))
			continue
		}
		_, err := strconv.ParseFloat(value, 64)
		r.numeric = r.numeric || err == nil
		for _, text := range append(forms(value), parts(value)...) {
			plain = append(plain, known{name: name, text: text})
		}
		without = append(without, bareForms(name, value)...)
	}
	for i, p := range c.Patterns {
		re, err := regexp.Compile(p)
		if err == nil && re.MatchString("") {
			err = fmt.Errorf("matches the empty text; make some part of it required")
		}
		if err != nil {
			faults = multierror.Append(faults, fmt.Errorf("redact: pattern %d: %w", i+1, err))
			continue
		}
		r.patterns = append(r.patterns, re)
	}
	r.known, r.bare = newTable(plain), newTable(without)
	return r, faults.ErrorOrNil()
}

// String redacts s. What holds no secret is returned as it is, without an allocation.
func (r *Redactor) String(s string) (string, []Finding) {
	spans := r.spans(s)
	if len(spans) == 0 {
		return s, nil
	}
	var b strings.Builder
	at, n := 0, map[Finding]int{}
	for _, x := range spans {
		b.WriteString(s[at:x.lo])
		b.WriteString("[redacted:" + x.rule + "]")
		at = x.hi
		n[Finding{Rule: x.rule, Name: x.name}]++
	}
	b.WriteString(s[at:])
	return b.String(), counted(n)
}

func (r *Redactor) spans(s string) []span {
	spans := r.known.spans(s)
	shapeIndex().Each(s, func(t *words.Term, lo int) bool {
		if x, ok := shapes[t.Owner].at(s, t.Text, lo); ok {
			spans = append(spans, x)
		}
		return true
	})
	for i, re := range r.patterns {
		for _, m := range re.FindAllStringIndex(s, -1) {
			if m[1] > m[0] {
				spans = append(spans, span{lo: m[0], hi: m[1], rule: "pattern-" + strconv.Itoa(i+1)})
			}
		}
	}
	return disjoint(spans)
}

// Value redacts every text in plain data, keys of maps too. Data without secrets is returned as it is. A part that lies deeper than
// 64 levels, or is not plain data, is replaced by `[redacted:too-deep]` or `[redacted:not-plain]`: nothing passes unread.
func (r *Redactor) Value(v any) (any, []Finding) {
	n := map[Finding]int{}
	w := rewrite.Leaves{
		Text: func(s string) string {
			out, found := r.String(s)
			for _, f := range found {
				n[Finding{Rule: f.Rule, Name: f.Name}] += f.N
			}
			return out
		},
		Refuse: func(rule string) any { n[Finding{Rule: rule}]++; return "[redacted:" + rule + "]" },
	}
	if r.numeric {
		w.Number = func(v any) any { return r.number(v, n) }
	}
	return w.In(v), counted(n)
}

// number redacts a number whose digits hold a known secret.
func (r *Redactor) number(v any, n map[Finding]int) any {
	var text string
	switch v := v.(type) {
	case *big.Int:
		text = v.String()
	case float64:
		text = strconv.FormatFloat(v, 'f', -1, 64)
	default:
		text = fmt.Sprint(v)
	}
	name := r.known.name(text)
	if name == "" {
		return v
	}
	n[Finding{Rule: "known-secret", Name: name}]++
	return "[redacted:known-secret]"
}

func counted(n map[Finding]int) []Finding {
	if len(n) == 0 {
		return nil
	}
	out := make([]Finding, 0, len(n))
	for f, k := range n {
		out = append(out, Finding{f.Rule, f.Name, k})
	}
	slices.SortFunc(out, func(a, b Finding) int {
		return strings.Compare(a.Rule+"\x00"+a.Name, b.Rule+"\x00"+b.Name)
	})
	return out
}
