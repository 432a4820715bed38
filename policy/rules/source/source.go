package source

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml/ast"
	yamltoken "github.com/goccy/go-yaml/token"
)

// A File is the text of a file. Name is what errors print.
type File struct {
	Name string
	Data []byte
}

// A Fault is one fault of a file, at the place where it can be mended.
type Fault struct {
	File    string
	Line    int // from 1
	Col     int // from 1, in code points
	Msg     string
	Excerpt string // the line, and below it a caret
}

func (e *Fault) Error() string {
	s := fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Msg)
	if e.Excerpt == "" {
		return s
	}
	return s + "\n" + e.Excerpt
}

// maxExcerpt bounds an excerpt in code points, so that one long line does not bury
// the message.
const maxExcerpt = 120

// A Source is the text of a file, or an expression by itself, with the places of its
// lines. It is immutable.
type Source struct {
	Name  string
	runes []rune
	lines []int // where each line begins
}

// New returns text as a source with the given name.
func New(name, text string) *Source {
	s := &Source{Name: name, runes: []rune(text), lines: []int{0}}
	for i, r := range s.runes {
		if r == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// Fault is an error at offset at.
func (s *Source) Fault(at int, format string, args ...any) *Fault {
	at = max(0, min(at, len(s.runes)))
	line, _ := slices.BinarySearch(s.lines, at+1)
	begin := s.lines[line-1]
	return &Fault{
		File:    s.Name,
		Line:    line,
		Col:     at - begin + 1,
		Msg:     fmt.Sprintf(format, args...),
		Excerpt: s.excerpt(begin, at),
	}
}

func (s *Source) excerpt(begin, at int) string {
	end := begin
	for end < len(s.runes) && s.runes[end] != '\n' {
		end++
	}
	from := max(begin, at-maxExcerpt/2)
	line := slices.Clone(s.runes[from:min(end, from+maxExcerpt)])
	for i, r := range line {
		if !unicode.IsPrint(r) {
			line[i] = ' ' // a tab would move the caret, an escape the terminal
		}
	}
	if strings.TrimSpace(string(line)) == "" {
		return ""
	}
	return "    " + string(line) + "\n    " + strings.Repeat(" ", at-from) + "^"
}

// LineOf is the line number of an offset.
func (s *Source) LineOf(at int) int {
	line, _ := slices.BinarySearch(s.lines, at+1)
	return line
}

// offset is where a token begins. The library's own offsets count differently in
// multi-byte text, lines and columns do not.
func (s *Source) offset(t *yamltoken.Token) int {
	if t == nil || t.Position == nil {
		return 0
	}
	line := max(1, min(t.Position.Line, len(s.lines)))
	return min(s.lines[line-1]+max(t.Position.Column, 1)-1, len(s.runes))
}

// A Node is a node of a parsed file. It is opaque: a [Reader] reads it.
type Node = ast.Node

// A Text is a string of a file that remembers where it stands. The zero Text is
// one that the file does not have.
type Text struct {
	S    string
	Node Node
	src  *Source
}

// Whole is a text that is a source by itself.
func Whole(s *Source) Text { return Text{S: string(s.runes), src: s} }

// Empty reports whether nothing is written there.
func (t Text) Empty() bool { return t.S == "" }

// Missing reports whether the file does not have the text at all.
func (t Text) Missing() bool { return t.Node == nil }

// Line is where the text begins.
func (t Text) Line() int {
	if t.Node == nil {
		return 1
	}
	return t.src.LineOf(t.src.offset(t.Node.GetToken()))
}

// LineAt is the line of the code point off of the decoded text.
func (t Text) LineAt(off int) int { return t.src.LineOf(t.at(off)) }

// File is the name of the file that the text stands in.
func (t Text) File() string { return t.src.Name }

// Fault is an error at the code point off of the decoded text.
func (t Text) Fault(off int, format string, args ...any) *Fault {
	return t.src.Fault(t.at(off), format, args...)
}

// at finds the code point off of the decoded text in the file, through quotes,
// escapes and folded lines.
func (t Text) at(off int) int {
	if t.Node == nil {
		return min(off, len(t.src.runes)) // the whole source is the text
	}
	w := walker{src: t.src.runes, pos: t.src.offset(t.Node.GetToken())}
	switch tok := t.Node.GetToken(); tok.Type {
	case yamltoken.SingleQuoteType:
		w.quote, w.pos = '\'', w.pos+1
	case yamltoken.DoubleQuoteType:
		w.quote, w.pos = '"', w.pos+1
	case yamltoken.LiteralType, yamltoken.FoldedType:
		w.pos = t.src.lines[min(t.src.LineOf(w.pos), len(t.src.lines)-1)]
	}
	value := []rune(t.S)
	for i := 0; i < min(off, len(value)); {
		i += w.step(value[i:])
	}
	return w.settle(off < len(value) && !unicode.IsSpace(value[off]))
}

// A walker follows a decoded value through its source.
type walker struct {
	src   []rune
	pos   int
	quote rune // how the value is quoted; 0 if it is not
}

// step passes the first code point of value, or its leading white space, and
// returns how many code points of value that was.
func (w *walker) step(value []rune) int {
	n := 0
	for n < len(value) && unicode.IsSpace(value[n]) {
		n++
	}
	if n > 0 {
		w.settle(true)
		return n
	}
	w.settle(true)
	w.pos += w.width()
	return 1
}

// width is how much source one code point of the value takes.
func (w *walker) width() int {
	if w.pos+1 >= len(w.src) {
		return 1
	}
	switch next := w.src[w.pos+1]; {
	case w.quote == '\'' && w.src[w.pos] == '\'' && next == '\'':
		return 2
	case w.quote != '"' || w.src[w.pos] != '\\':
		return 1
	case next == 'x':
		return 4
	case next == 'u':
		return 6
	case next == 'U':
		return 10
	}
	return 2
}

// settle passes white space, written or escaped, where the value has something
// else next, and returns the place.
func (w *walker) settle(pass bool) int {
	for pass && w.pos < len(w.src) {
		blank := w.quote == '"' && w.src[w.pos] == '\\' && w.pos+1 < len(w.src) && strings.ContainsRune("ntr\n ", w.src[w.pos+1])
		if !blank && !unicode.IsSpace(w.src[w.pos]) {
			break
		}
		w.pos++
		if blank {
			w.pos++
		}
	}
	return min(w.pos, len(w.src))
}
