package strictyaml

import (
	"fmt"
	"slices"
	"strings"
)

// maxFaults bounds what is reported of one file, so that a file of a million
// mistakes is no flood.
const maxFaults = 100

// A Source is one file that was read, and what is wrong with it so far. It is
// not safe for concurrent use.
type Source struct {
	Name   string  // as the person gave it, for messages
	Docs   []*Node // one for each YAML document that could be read
	lines  []string
	faults []error
	more   int // faults past maxFaults
}

// Addf records a fault at n, which must not be nil.
func (s *Source) Addf(n *Node, format string, args ...any) {
	s.AddAt(n.Line, n.Col, n.Path, format, args...)
}

// AddAt records a fault at a position; line 0 is the whole file.
func (s *Source) AddAt(line, col int, path, format string, args ...any) {
	s.add(&Fault{File: s.Name, Line: line, Col: col, Path: path, Msg: fmt.Sprintf(format, args...)})
}

// AddIn records a fault at the nth occurrence, from 0, of text in the written
// form of the scalar n.
func (s *Source) AddIn(n *Node, text string, nth int, format string, args ...any) {
	if len(s.faults) == maxFaults { // looking for a place that nobody sees costs time
		s.more++
		return
	}
	line, col := s.find(n, text, nth)
	s.AddAt(line, col, n.Path, format, args...)
}

// FaultAt returns a fault at n without recording it.
func (s *Source) FaultAt(n *Node, msg string) *Fault { return s.withExcerpt(s.fault(n, msg)) }

func (s *Source) fault(n *Node, msg string) *Fault {
	return &Fault{File: s.Name, Line: n.Line, Col: n.Col, Path: n.Path, Msg: msg}
}

// withExcerpt is for faults that will be shown: a check may try a thousand.
func (s *Source) withExcerpt(f *Fault) *Fault {
	if f.Line > 0 && f.Line <= len(s.lines) {
		f.Excerpt = excerpt(s.lines[f.Line-1], f.Line, f.Col)
	}
	return f
}

func (s *Source) add(f *Fault) {
	if len(s.faults) == maxFaults {
		s.more++
		return
	}
	s.faults = append(s.faults, s.withExcerpt(f))
}

// Reported tells whether n already has a fault.
func (s *Source) Reported(n *Node) bool { return reported(s.faults, s.fault(n, "")) }

func reported(faults []error, f *Fault) bool {
	return slices.ContainsFunc(faults, func(err error) bool {
		g := err.(*Fault) // add takes nothing else
		return g.Line == f.Line && g.Col == f.Col && g.Path == f.Path
	})
}

// Err returns every fault so far, or nil.
func (s *Source) Err() error {
	faults := s.faults
	if s.more > 0 {
		last := &Fault{File: s.Name, Line: len(s.lines) + 1, Col: 1, Msg: fmt.Sprintf("and %d more faults", s.more)}
		faults = append(faults[:len(faults):len(faults)], last)
	}
	return Join(faults...)
}

// find returns the position of the nth occurrence of text in the
// written form of the scalar n, and the position of n where it cannot be found,
// as when an escape hides it.
func (s *Source) find(n *Node, text string, nth int) (line, col int) {
	from := n.Col - 1
	for i := n.Line; i <= len(s.lines); i++ {
		runes := []rune(s.lines[i-1])
		rest := string(runes[min(max(from, 0), len(runes)):])
		at := 0
		for {
			j := strings.Index(rest[at:], text)
			if j < 0 {
				break
			}
			if nth == 0 {
				return i, max(from, 0) + len([]rune(rest[:at+j])) + 1
			}
			nth--
			at += j + len(text)
		}
		from = 0
	}
	return n.Line, n.Col
}
