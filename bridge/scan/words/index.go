// Package words finds many short words in one pass over a text, and says what of a text is a word at all.
//
// It says where a word stands and not what that means: a word that is spelt otherwise, or cut in two, is not found.
//
// All functions are pure, and safe for concurrent use.
package words

import "slices"

// An Index finds terms. ASCII letters match in either case, so a caller that cares for case looks again at the place found. It is what
// makes a scan of clean text cost about two nanoseconds a byte: no word is compared before its first three bytes were seen, and no
// regular expression runs before one of its words was.
type Index struct {
	terms  []Term
	lower  []string         // their texts
	seen   [1 << 10]uint64  // a bit for the hash of every gram that a term begins with
	bucket [1 << 10][]entry // the terms, by some bits of that hash
}

// A Term is a word that is looked for, at least two bytes long.
type Term struct {
	Text   string
	Owner  int  // whose it is
	Starts bool // only where no Latin word runs across its beginning
	Second bool // it does not begin what its owner looks for, but must stand in it; for the owner alone
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

// New makes the index of terms, which it keeps.
func New(terms []Term) *Index {
	x := &Index{terms: terms, lower: make([]string, len(terms))}
	for i, t := range terms {
		x.lower[i] = asciiLower(t.Text)
		mask := uint64(1)<<(8*min(len(t.Text), 8)) - 1 // all ones for eight: a shift by 64 leaves nothing
		e := entry{(head(t.Text) | anyCase) & mask, mask, i}
		if len(t.Text) > 2 {
			x.add(gram(uint32(e.head)), e)
			continue
		}
		for last := range uint32(256) { // whatever follows
			x.add(gram(uint32(e.head)|last<<16), e)
		}
	}
	return x
}

// Of makes a term of each text.
func Of(owner int, texts []string) (list []Term) {
	for _, t := range texts {
		list = append(list, Term{Text: t, Owner: owner})
	}
	return list
}

func (x *Index) add(h uint32, e entry) {
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

// Each calls f for every term found, by where it begins, until f returns false.
func (x *Index) Each(s string, f func(t *Term, lo int) bool) {
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
func (x *Index) at(s string, i int, h uint32, f func(t *Term, lo int) bool) bool {
	w := head(s[i:]) | anyCase
	for _, e := range x.bucket[h>>bucketShift] {
		if w&e.mask != e.head {
			continue
		}
		t := &x.terms[e.term]
		if (!t.Starts || wordStart(s, i)) && beginsWith(s[i:], x.lower[e.term]) && !f(t, i) {
			return false
		}
	}
	return true
}

// Any reports whether one of the terms stands in s.
func (x *Index) Any(s string) (found bool) {
	x.Each(s, func(*Term, int) bool { found = true; return false })
	return found
}

// beginsWith reports that s begins with word, which is in lower case, in either case.
func beginsWith(s, word string) bool {
	if len(s) < len(word) {
		return false
	}
	for i := range len(word) {
		if Lower(s[i]) != word[i] {
			return false
		}
	}
	return true
}

// wordStart reports that no Latin word runs across i.
func wordStart(s string, i int) bool { return i == 0 || !inWord[s[i-1]] || !inWord[s[i]] }

// Fullest is the most terms that one gram leads to: how many comparisons a byte may cost.
func (x *Index) Fullest() (n int) {
	for _, b := range x.bucket {
		n = max(n, len(b))
	}
	return n
}
