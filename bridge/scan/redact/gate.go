package redact

import (
	"strings"
	"unicode"

	"github.com/codeact-dev/codeact/bridge/scan/words"
)

// HasKnown names a secret of the run that stands in s, however it is written there: beside the encodings that String redacts, in
// escapes up to three layers deep, with invisible characters, white space or line ends within, in compatible characters, and in base64
// of any line length, base32 and hex of any separator. Of several layers, all but the innermost must be escapes, or base64 once.
//
// It takes several times as long as String, since it is for what leaves the machine and for what is kept for ever.
func (r *Redactor) HasKnown(s string) (name string, ok bool) {
	name = r.known.name(s)
	if name != "" || r.known.index == nil {
		return name, name != ""
	}
	for _, text := range readings(s) {
		if name = r.knownIn(text); name != "" {
			return name, true
		}
	}
	return "", false
}

func (r *Redactor) knownIn(text string) string {
	together := bare(text)
	if name := r.bare.name(together); name != "" {
		return name
	}
	for _, t := range append(decoded(together), text) {
		if name := r.known.name(t); name != "" {
			return name
		}
		if strings.Contains(t, "\x00") { // UTF-16
			if name := r.known.name(strings.ReplaceAll(t, "\x00", "")); name != "" {
				return name
			}
		}
	}
	return ""
}

// HighConfidence names a shape of which a literal stands in s that can hardly be anything but a secret, as it is, in escapes, or in base64
// or hex. White space within hides it, but for line ends in base64: words that were run together would have shapes of their own.
func (r *Redactor) HighConfidence(s string) (rule string, ok bool) {
	for _, text := range readings(s) {
		texts := append(decoded(text), text)
		if strings.ContainsAny(text, "\r\n") {
			texts = append(texts, decoded(dropped(text, unicode.IsControl))...)
		}
		for _, t := range texts {
			if rule = highShape(t); rule != "" {
				return rule, true
			}
		}
	}
	return "", false
}

func highShape(s string) (rule string) {
	shapeIndex().Each(s, func(t *words.Term, lo int) bool {
		sh := &shapes[t.Owner]
		if !sh.high {
			return true
		}
		if _, ok := sh.at(s, t.Text, lo); ok {
			rule = sh.id
		}
		return rule == ""
	})
	return rule
}

// bareForms are what is looked for in bare text. Base64 and hex are decoded first; base32 is not, since most words could be some.
func bareForms(name, value string) (list []known) {
	if text := bare(value); len(text) >= minBare {
		list = append(list, known{name: name, text: text})
	}
	for _, text := range base32Forms(value) {
		list = append(list, known{name: name, text: text, anyCase: true})
	}
	return list
}
