package worker

import (
	"strings"

	"github.com/codeact-dev/codeact/interp/wire"
)

// printer sends what a block prints, up to a number of bytes and lines; the rest is dropped and said to be. Each text is
// sent at once: what is held back would be lost if the block then ends this process.
type printer struct {
	send                 func(text string, truncated bool) error
	bytesLeft, linesLeft int
	truncated            bool
}

func (p *printer) print(msg string) error {
	if p.truncated {
		return nil
	}
	// One byte more than is left suffices to see that the text is too long, so a text of 1 GiB is not copied.
	text := msg[:min(len(msg), p.bytesLeft+1)] + "\n"
	if n := strings.Count(text, "\n"); n > p.linesLeft {
		p.truncated = true
		text = firstLines(text, p.linesLeft)
	}
	if len(text) > p.bytesLeft {
		p.truncated = true
		text = wire.Cut(text, p.bytesLeft)
	}
	p.linesLeft -= strings.Count(text, "\n")
	p.bytesLeft -= len(text)
	return p.send(strings.ToValidUTF8(text, "?"), p.truncated)
}

// firstLines returns the first n lines of s, which has more.
func firstLines(s string, n int) string {
	end := 0
	for ; n > 0; n-- {
		end += strings.IndexByte(s[end:], '\n') + 1
	}
	return s[:end]
}
