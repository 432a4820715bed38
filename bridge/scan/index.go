package scan

import "slices"

// An index finds many short words in one pass over a text (Aho-Corasick). ASCII letters match in either case, so a caller that cares
// for case looks again at the place found. It is what makes a scan of clean text cost about a nanosecond a byte: no regular
// expression runs before one of its words was seen.
type index struct {
	class  [256]uint32 // of a byte; 0 is a byte that stands in no word
	next   []uint32    // by state + class, where a state is premultiplied by the number of classes
	stride uint32
	final  uint32  // states from here on end a word
	ends   [][]int // the words that end in state final+i*stride
}

// node is a state while the index is built.
type node struct {
	next map[uint32]int
	fail int
	ends []int
}

func newIndex(words []string) *index {
	x := &index{stride: 1}
	nodes := []node{{next: map[uint32]int{}}}
	for w, word := range words {
		at := 0
		for i := range len(word) {
			c := x.classOf(lower(word[i]))
			to, ok := nodes[at].next[c]
			if !ok {
				to = len(nodes)
				nodes = append(nodes, node{next: map[uint32]int{}})
				nodes[at].next[c] = to
			}
			at = to
		}
		nodes[at].ends = append(nodes[at].ends, w)
	}
	for b := byte('A'); b <= 'Z'; b++ {
		x.class[b] = x.class[lower(b)]
	}
	x.compile(nodes, link(nodes))
	return x
}

// classOf gives b its class, a new one if it has none yet.
func (x *index) classOf(b byte) uint32 {
	if x.class[b] == 0 {
		x.class[b] = x.stride
		x.stride++
	}
	return x.class[b]
}

// link sets the fail states, breadth first, and returns the order in which it met the states.
func link(nodes []node) []int {
	order := []int{0}
	for i := 0; i < len(order); i++ {
		at := order[i]
		for c, to := range nodes[at].next {
			order = append(order, to)
			if at == 0 {
				continue
			}
			f := nodes[at].fail
			for f != 0 && !has(nodes[f].next, c) {
				f = nodes[f].fail
			}
			nodes[to].fail = nodes[f].next[c] // the root where there is none
			nodes[to].ends = append(nodes[to].ends, nodes[nodes[to].fail].ends...)
		}
	}
	return order
}

// compile lays the states out in one table, those that end a word last.
func (x *index) compile(nodes []node, order []int) {
	state := make([]uint32, len(nodes))
	n := uint32(0)
	for _, ending := range []bool{false, true} {
		for i := range nodes {
			if (len(nodes[i].ends) > 0) != ending {
				continue
			}
			if ending {
				x.ends = append(x.ends, nodes[i].ends)
			}
			state[i] = n * x.stride
			n++
		}
	}
	x.final = (n - uint32(len(x.ends))) * x.stride
	x.next = make([]uint32, n*x.stride)
	for _, i := range order {
		row := x.next[state[i]:][:x.stride]
		copy(row, x.next[state[nodes[i].fail]:][:x.stride])
		for c, to := range nodes[i].next {
			row[c] = state[to]
		}
	}
}

// each calls f for every word found, with the offset after it; words that end at the same place come longest first.
func (x *index) each(s string, f func(word, end int)) {
	at := uint32(0)
	for i := range len(s) {
		at = x.next[at+x.class[s[i]]]
		if at >= x.final {
			for _, w := range x.ends[(at-x.final)/x.stride] {
				f(w, i+1)
			}
		}
	}
}

// any reports whether one of the words stands in s.
func (x *index) any(s string) bool {
	at := uint32(0)
	for i := range len(s) {
		at = x.next[at+x.class[s[i]]]
		if at >= x.final {
			return true
		}
	}
	return false
}

func has(m map[uint32]int, k uint32) bool { _, ok := m[k]; return ok }

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

// A span is a part of a text that something stands for.
type span struct {
	lo, hi     int
	rule, name string
}

// disjoint sorts spans and merges those that overlap: what was found first, and longest, gives the name.
func disjoint(spans []span) []span {
	slices.SortStableFunc(spans, func(a, b span) int {
		if a.lo != b.lo {
			return a.lo - b.lo
		}
		return b.hi - a.hi
	})
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s.lo < out[n-1].hi {
			out[n-1].hi = max(out[n-1].hi, s.hi)
			continue
		}
		out = append(out, s)
	}
	return out
}
