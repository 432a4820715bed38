package models

import (
	"net/url"
	"strings"
	"unicode"
)

// Sizes of what an error may repeat, in bytes.
const (
	maxSaid = 300 // of the provider's own words, in an error's text
	// maxHeard bounds the words that are searched for the prompt: the search costs their
	// length times the prompt's.
	maxHeard = 1024
	// minKeyRun is longer than the tails that providers show of a key they refuse.
	minKeyRun = 8
	// minPromptRun lets common phrases of a provider's message pass.
	minPromptRun = 16
	// minPrompt is the shortest text that is looked for whole: shorter ones are in any message.
	minPrompt = 8
)

// heard makes a stranger's words fit to be kept, but for what they repeat of the prompt:
// the key is looked for in the text as it will be shown, and before it is cut.
func heard(words, key string) string {
	return plain(redactKey(plain(words, maxErrorBody), key), maxHeard)
}

// redactKey takes the key out of s, whole or in part, plain or escaped as in a URL.
func redactKey(s, key string) string {
	s = redact(s, key, "[key]", minKeyRun)
	return redact(s, url.QueryEscape(key), "[key]", minKeyRun)
}

// redactPrompt takes out of s what the provider repeats of the request.
func redactPrompt(s string, p Prompt) string {
	s = redactText(s, p.System)
	for _, m := range p.Messages {
		s = redactText(s, m.Text)
	}
	return s
}

func redactText(s, text string) string {
	if len(text) < minPrompt {
		return s
	}
	return redact(s, text, "[request]", minPromptRun)
}

// redact replaces each run of at least least bytes that s shares with secret, so that a
// secret that was cut, wrapped or quoted in pieces is found as well. A secret shorter than
// least is replaced where it stands whole.
func redact(s, secret, mark string, least int) string {
	least = min(least, len(secret))
	if least == 0 {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); {
		n := sharedRun(s[i:], secret, least)
		if n == 0 {
			out.WriteByte(s[i])
			i++
			continue
		}
		out.WriteString(mark)
		i += n
	}
	return out.String()
}

// sharedRun returns the length of the longest start of s that secret holds, or 0 if that
// is less than least.
func sharedRun(s, secret string, least int) int {
	if len(s) < least || !strings.Contains(secret, s[:least]) {
		return 0
	}
	n := least
	for n < len(s) && strings.Contains(secret, s[:n+1]) {
		n++
	}
	return n
}

// plain makes a stranger's text fit for a terminal and a log: one line, no control or
// format characters, at most limit bytes, cut between runes.
func plain(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, s)
	return cut(strings.Join(strings.Fields(s), " "), limit)
}

// cut shortens s to limit bytes, between runes, and shows that it did.
func cut(s string, limit int) string {
	const ellipsis = "…"
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit-len(ellipsis)], "") + ellipsis
}
