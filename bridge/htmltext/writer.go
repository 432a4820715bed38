package htmltext

import "strings"

// A writer collapses whitespace. It holds spaces and newlines back until text follows, so that none stand at the end.
type writer struct {
	b        strings.Builder
	space    bool
	newlines int
	pre      int // open elements that keep their whitespace
	quote    int // open quotations
}

func (w *writer) Len() int       { return w.b.Len() }
func (w *writer) String() string { return w.b.String() }

// lines asks for at least n newlines before the next text.
func (w *writer) lines(n int) {
	if n > 0 {
		w.newlines, w.space = max(w.newlines, n), false
	}
}

// breakLine asks for one newline more, up to an empty line.
func (w *writer) breakLine() { w.lines(min(w.newlines+1, 2)) }

// flush writes what was held back.
func (w *writer) flush() {
	switch {
	case w.b.Len() == 0:
		w.start()
	case w.newlines > 0:
		for range w.newlines {
			w.b.WriteByte('\n')
			w.start()
		}
	case w.space:
		w.b.WriteByte(' ')
	}
	w.space, w.newlines = false, 0
}

// start begins a line. Quotations inside one another are shown up to a depth that still leaves room for text.
func (w *writer) start() {
	for range min(w.quote, 8) {
		w.b.WriteString("> ")
	}
}

// mark writes s as it is.
func (w *writer) mark(s string) {
	w.flush()
	w.b.WriteString(s)
}

// text writes s with its whitespace collapsed, or kept inside pre.
func (w *writer) text(s string) {
	if w.pre > 0 {
		w.keep(s)
		return
	}
	for s != "" {
		n := 0
		for n < len(s) && (!blank(s[n]) || s[n] == ' ' && n+1 < len(s) && !blank(s[n+1]) && n > 0) {
			n++
		}
		if n > 0 {
			w.mark(s[:n])
		}
		for s = s[n:]; s != "" && blank(s[0]); s = s[1:] {
			w.space = w.newlines == 0
		}
	}
}

// blank is HTML's whitespace; a no-break space is not.
func blank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }

// keep writes preformatted text line by line.
func (w *writer) keep(s string) {
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			w.newlines++
		}
		if line = strings.TrimSuffix(line, "\r"); line != "" {
			w.mark(line)
		}
	}
}
