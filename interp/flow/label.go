package flow

import (
	"encoding/binary"
	"math/bits"
)

// label is an interned set of sources. Labels only grow by join.
type label int32

const (
	clean    label = iota // depends on nothing but the code
	unproven              // may depend on anything; absorbs every other
)

// source is one thing that a value can come from: a call, or the literals of a block (pos is empty).
type source struct {
	block int
	pos   string
}

// maxLabelWords bounds all label sets of a run, in 64-bit words: 16 MiB. Beyond, two labels join to unproven.
const maxLabelWords = 2 << 20

// labels interns sets of sources. Its zero value is not ready: use newLabels.
type labels struct {
	sets    [][]uint64 // by label; bit i stands for sources[i]
	ids     map[string]label
	joins   map[[2]label]label // cleared at each block, so that a long run does not keep them
	sources []source
	single  map[source]label
	words   int // in sets
}

func newLabels() labels {
	return labels{sets: make([][]uint64, 2), ids: map[string]label{"": clean}, joins: map[[2]label]label{},
		single: map[source]label{}}
}

// of returns the label of one source.
func (ls *labels) of(s source) label {
	if l, ok := ls.single[s]; ok {
		return l
	}
	i := len(ls.sources)
	ls.sources = append(ls.sources, s)
	set := make([]uint64, i/64+1)
	set[i/64] = 1 << (i % 64)
	l := ls.intern(set)
	ls.single[s] = l
	return l
}

func (ls *labels) join(x, y label) label {
	if x > y {
		x, y = y, x
	}
	switch {
	case x == y || x == clean:
		return y
	case x == unproven:
		return unproven
	}
	key := [2]label{x, y}
	if l, ok := ls.joins[key]; ok {
		return l
	}
	long, short := ls.sets[x], ls.sets[y]
	if len(long) < len(short) {
		long, short = short, long
	}
	set := append([]uint64(nil), long...)
	for i, w := range short {
		set[i] |= w
	}
	l := ls.intern(set)
	ls.joins[key] = l
	return l
}

func (ls *labels) intern(set []uint64) label {
	key := make([]byte, 0, 8*len(set))
	for _, w := range set {
		key = binary.LittleEndian.AppendUint64(key, w)
	}
	if l, ok := ls.ids[string(key)]; ok {
		return l
	}
	if ls.words+len(set) > maxLabelWords {
		return unproven
	}
	l := label(len(ls.sets))
	ls.sets = append(ls.sets, set)
	ls.ids[string(key)] = l
	ls.words += len(set)
	return l
}

// each calls f for the sources of l, in the order of their discovery. It must not be asked of unproven.
func (ls *labels) each(l label, f func(source)) {
	for i, w := range ls.sets[l] {
		for ; w != 0; w &= w - 1 {
			f(ls.sources[64*i+bits.TrailingZeros64(w)])
		}
	}
}
