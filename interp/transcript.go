package interp

import (
	"strings"

	"github.com/codeact-dev/codeact/interp/wire"
)

// transcript is what a block has printed so far. It outlives the worker.
type transcript struct {
	b         strings.Builder
	bytesLeft int
	truncated bool
}

func (t *transcript) text() string {
	if t.truncated {
		return t.b.String() + wire.PrintMark
	}
	return t.b.String()
}

// hear adds a text that the worker printed. Its error ends the session.
func (e *execution) hear(f wire.Frame) error {
	var p wire.Print
	if err := f.Decode(&p); err != nil {
		return e.lost(err)
	}
	t := &e.printed
	switch {
	case e.unwound != nil:
		return e.lied("a print after the block was ended")
	case p.Block != e.id:
		return e.lied("a print of another block")
	case t.truncated || p.Text == "" && !p.Truncated: // each text must use up the limit, or their number has none
		return e.lied("a print after the last")
	case len(p.Text) > t.bytesLeft:
		return e.lied("more text than allowed")
	}
	t.b.WriteString(p.Text)
	t.bytesLeft -= len(p.Text)
	t.truncated = p.Truncated
	return nil
}
