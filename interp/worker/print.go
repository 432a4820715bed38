package worker

import (
	"strings"

	"github.com/codeact-dev/codeact/interp/wire"
)

// printer keeps what a block prints, up to a number of bytes and lines; the rest is dropped and said to be.
type printer struct {
	b                    strings.Builder
	bytesLeft, linesLeft int
	truncated            bool
}

func (p *printer) print(msg string) {
	if p.truncated {
		return
	}
	text := msg + "\n"
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
	p.b.WriteString(text)
}

// firstLines returns the first n lines of s, which has more.
func firstLines(s string, n int) string {
	end := 0
	for ; n > 0; n-- {
		end += strings.IndexByte(s[end:], '\n') + 1
	}
	return s[:end]
}

// String returns the printed text as valid UTF-8, with the mark if some was dropped.
func (p *printer) String() string {
	text := strings.ToValidUTF8(p.b.String(), "?")
	if p.truncated {
		text += wire.PrintMark
	}
	return text
}
