package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/codeact-dev/codeact/bridge/scan"
)

// writeJSON prints a document for programs, indented.
func writeJSON(s *sys, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := s.stdout.Write([]byte(asciiSafe(b.String())))
	return err
}

// machine is a line of a trace as it stands there, since its hash covers every
// byte. On a terminal what cannot be seen is escaped: nothing checks hashes there.
func (s *sys) machine(body []byte) string {
	if s.outTTY {
		return asciiSafe(string(body))
	}
	return string(body)
}

// asciiSafe writes every character of a JSON text that a terminal would obey or not
// show as \uXXXX. The text means the same: such characters stand only in strings.
func asciiSafe(text string) string {
	if scan.Visible(text) == text {
		return text
	}
	var b strings.Builder
	run := "" // the last letter that was written as it is, with its marks: too many of them are not to be seen either
	for _, r := range text {
		c := string(r)
		if unicode.Is(unicode.M, r) {
			c = run + c
		}
		if scan.Visible(c) == c {
			run = c
			b.WriteRune(r)
			continue
		}
		for _, u := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, u)
		}
	}
	return b.String()
}
