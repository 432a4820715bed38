package htmltext

import (
	"bytes"
	"strings"
)

// IsHTML reports whether body is HTML: by its media type, or where that is missing by how it begins, as browsers do.
func IsHTML(mediaType string, body []byte) bool {
	kind, _, _ := strings.Cut(mediaType, ";")
	switch strings.ToLower(strings.TrimSpace(kind)) {
	case "text/html", "application/xhtml+xml":
		return true
	case "":
		return sniff(body)
	}
	return false
}

// beginnings are those of the WHATWG's MIME sniffing standard.
var beginnings = []string{
	"<!doctype html", "<html", "<head", "<script", "<iframe", "<h1", "<div", "<font", "<table", "<a", "<style", "<title", "<b", "<body", "<br", "<p", "<!--",
}

func sniff(body []byte) bool {
	body = bytes.TrimLeft(bytes.TrimPrefix(body, []byte("\ufeff")), "\t\n\f\r ")
	if bytes.HasPrefix(body, []byte("<?xml")) { // XHTML: look behind the declaration
		if end := bytes.Index(body[:min(len(body), 512)], []byte("?>")); end >= 0 {
			body = bytes.TrimLeft(body[end+2:], "\t\n\f\r ")
		}
	}
	for _, b := range beginnings {
		if len(body) < len(b) || !strings.EqualFold(string(body[:len(b)]), b) {
			continue
		}
		if b == "<!--" || len(body) > len(b) && strings.ContainsRune(" \t\n\f\r/>", rune(body[len(b)])) {
			return true
		}
	}
	return false
}
