package main

import (
	"strings"

	"golang.org/x/text/width"

	"github.com/codeact-dev/codeact/bridge/scan"
)

// untabbed is text with its lines kept and nothing invisible in it, tabs neither.
// Arguments were made visible before; here it is made sure of, since a dialog that
// hides what it approves would be worse than none.
func untabbed(text string) string {
	return strings.ReplaceAll(scan.Visible(text), "\t", "    ")
}

// continued stands before the rest of a line that was too long, so that it does not
// look like a line of the dialog.
const continued = "  ↳ "

// folded is text in lines of at most so many columns. Without it a long argument
// would fill the screen with what the terminal wraps, and push away what came
// first.
func folded(text string, columns int) []string {
	var lines []string
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		line = strings.TrimRight(line, "\n")
		used, at := 0, 0
		for at < len(line) {
			g := glyphOf(line[at:])
			if used+g.columns > columns && at > 0 {
				lines = append(lines, line[:at])
				line, used, at = continued+line[at:], 0, 0
				continue
			}
			used, at = used+g.columns, at+g.bytes
		}
		lines = append(lines, line)
	}
	return lines
}

// A glyph is what one character takes.
type glyph struct{ bytes, columns int }

// glyphOf is the first character of text, which is not empty. A mark that combines
// counts as one column: a line may end early, never late.
func glyphOf(text string) glyph {
	p, n := width.LookupString(text)
	switch p.Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return glyph{n, 2}
	}
	return glyph{max(n, 1), 1}
}
