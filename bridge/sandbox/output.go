package sandbox

import "fmt"

// An Output is what a command wrote to one of its outputs.
type Output struct {
	Total int64  // bytes written
	Whole []byte // all of it, if Total is at most Limits.Whole; else its first bytes
	Text  []byte // Whole, or head and tail with a line between them that counts what is missing
}

// capture reads an output to its end and keeps what Output needs. One goroutine writes.
type capture struct {
	head, tail, max int
	whole           []byte
	ring            []byte // the last tail bytes; next is where the oldest stands once it is full
	next            int
	total           int64
}

func newCapture(l Limits) *capture { return &capture{head: l.Head, tail: l.Tail, max: l.Whole} }

// Write never fails: a command that floods its output is to be drained, since one that blocks would only wait for its time limit.
func (c *capture) Write(p []byte) (int, error) {
	n := len(p)
	c.total += int64(n)
	c.whole = append(c.whole, p[:min(n, c.max-len(c.whole))]...)
	if n >= c.tail {
		c.ring, c.next = append(c.ring[:0], p[n-c.tail:]...), 0
		return n, nil
	}
	grow := min(len(p), c.tail-len(c.ring))
	c.ring, p = append(c.ring, p[:grow]...), p[grow:]
	for len(p) > 0 {
		m := copy(c.ring[c.next:], p)
		c.next, p = (c.next+m)%c.tail, p[m:]
	}
	return n, nil
}

func (c *capture) output() Output {
	o := Output{Total: c.total, Whole: c.whole}
	if c.total <= int64(min(c.head+c.tail, c.max)) {
		o.Text = c.whole
		return o
	}
	head := c.whole[:min(c.head, len(c.whole))]
	missing := c.total - int64(len(head)+len(c.ring))
	if missing <= 0 { // Whole is shorter than head and tail together, which overlap here
		head, missing = head[:len(head)+int(missing)], 0
	}
	o.Text = append(o.Text, head...)
	if missing > 0 {
		o.Text = fmt.Appendf(o.Text, "\n[... %d bytes left out ...]\n", missing)
	}
	o.Text = append(append(o.Text, c.ring[c.next:]...), c.ring[:c.next]...)
	return o
}
