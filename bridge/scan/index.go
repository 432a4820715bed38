package scan

import "slices"

// An index finds many short words in one pass over a text. ASCII letters match in either case, so a caller that cares for case looks
// again at the place found. It is what makes a scan of clean text cost about two nanoseconds a byte: no word is compared before its
// first three bytes were seen, and no regular expression runs before one of its words was.
type index struct {
	terms  []term
	lower  []string         // their texts
	seen   [1 << 10]uint64  // a bit for the hash of every gram that a term begins with
	bucket [1 << 10][]entry // the terms, by some bits of that hash
}

// A term is a word that is looked for, at least two bytes long.
type term struct {
	text   string
	owner  int  // whose it is
	starts bool // only where no Latin word runs across its beginning
	second bool // it does not begin what its owner looks for, but must stand in it
}

// An entry is a term with its first eight bytes, which tell it from most texts at once.
type entry struct {
	head, mask uint64
	term       int
}

// gramBits is the size of the hash of a gram: three bytes, where bit 5, which is the case of a letter, is set.
const gramBits = 16

// bucketShift leaves the ten bits of a hash that name a bucket.
const bucketShift = gramBits - 10

// anyCase sets bit 5 of eight bytes.
const anyCase = 0x2020202020202020

// gram hashes the three bytes at the low end of w.
func gram(w uint32) uint32 { return (w | anyCase&0xffffff) & 0xffffff * 0x9e3779b1 >> (32 - gramBits) }

func newIndex(terms []term) *index {
	x := &index{terms: terms, lower: make([]string, len(terms))}
	for i, t := range terms {
		x.lower[i] = asciiLower(t.text)
		mask := uint64(1)<<(8*min(len(t.text), 8)) - 1 // all ones for eight: a shift by 64 leaves nothing
		e := entry{(head(t.text) | anyCase) & mask, mask, i}
		if len(t.text) > 2 {
			x.add(gram(uint32(e.head)), e)
			continue
		}
		for last := range uint32(256) { // whatever follows
			x.add(gram(uint32(e.head)|last<<16), e)
		}
	}
	return x
}

// termsOf makes a term of each text.
func termsOf(owner int, texts []string) (list []term) {
	for _, t := range texts {
		list = append(list, term{text: t, owner: owner})
	}
	return list
}

func (x *index) add(h uint32, e entry) {
	x.seen[h>>6] |= 1 << (h & 63)
	if b := &x.bucket[h>>bucketShift]; !slices.Contains(*b, e) {
		*b = append(*b, e)
	}
}

// head is the first eight bytes of s, the first one lowest.
func head(s string) (w uint64) {
	if len(s) >= 8 {
		return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	}
	for i := len(s) - 1; i >= 0; i-- {
		w = w<<8 | uint64(s[i])
	}
	return w
}

// each calls f for every term found, by where it begins, until f returns false.
func (x *index) each(s string, f func(t *term, lo int) bool) {
	if len(s) < 2 {
		return
	}
	w := uint32(s[0])<<8 | uint32(s[1])<<16
	for i := range len(s) - 1 {
		w >>= 8
		if i+2 < len(s) {
			w |= uint32(s[i+2]) << 16
		}
		h := gram(w)
		if x.seen[h>>6]>>(h&63)&1 != 0 && !x.at(s, i, h, f) {
			return
		}
	}
}

// at calls f for the terms that begin at i, where the gram has the hash h, and returns what f did.
func (x *index) at(s string, i int, h uint32, f func(t *term, lo int) bool) bool {
	w := head(s[i:]) | anyCase
	for _, e := range x.bucket[h>>bucketShift] {
		if w&e.mask != e.head {
			continue
		}
		t := &x.terms[e.term]
		if (!t.starts || wordStart(s, i)) && beginsWith(s[i:], x.lower[e.term]) && !f(t, i) {
			return false
		}
	}
	return true
}

// any reports whether one of the terms stands in s.
func (x *index) any(s string) (found bool) {
	x.each(s, func(*term, int) bool { found = true; return false })
	return found
}

// beginsWith reports that s begins with word, which is in lower case, in either case.
func beginsWith(s, word string) bool {
	if len(s) < len(word) {
		return false
	}
	for i := range len(word) {
		if lower(s[i]) != word[i] {
			return false
		}
	}
	return true
}

// wordStart reports that no Latin word runs across i.
func wordStart(s string, i int) bool { return i == 0 || !inWord[s[i-1]] || !inWord[s[i]] }

// inWord is wordByte as a table.
var inWord = func() (t [256]bool) {
	for c := range t {
		t[c] = wordByte(byte(c))
	}
	return t
}()

// asciiLower leaves other letters alone, as a text's are.
func asciiLower(s string) string {
	b := []byte(s)
	for i := range b {
		b[i] = lower(b[i])
	}
	return string(b)
}

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
