package rules

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	yamltoken "github.com/goccy/go-yaml/token"
)

// A File is one policy file. Name is what errors print.
type File struct {
	Name string
	Data []byte
}

// A FileError is one fault of a file, at the place where it can be mended.
type FileError struct {
	File    string
	Line    int // from 1
	Col     int // from 1, in code points
	Msg     string
	Excerpt string // the line, and below it a caret
}

func (e *FileError) Error() string {
	s := fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Msg)
	if e.Excerpt == "" {
		return s
	}
	return s + "\n" + e.Excerpt
}

// maxExcerpt bounds an excerpt in code points, so that one long line does not bury
// the message.
const maxExcerpt = 120

// A source is the text of a file with the places of its lines.
type source struct {
	name  string
	runes []rune
	lines []int // where each line begins
}

func newSource(name string, text string) *source {
	s := &source{name: name, runes: []rune(text), lines: []int{0}}
	for i, r := range s.runes {
		if r == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// fault is an error at offset at.
func (s *source) fault(at int, format string, args ...any) *FileError {
	at = max(0, min(at, len(s.runes)))
	line, _ := slices.BinarySearch(s.lines, at+1)
	begin := s.lines[line-1]
	return &FileError{
		File:    s.name,
		Line:    line,
		Col:     at - begin + 1,
		Msg:     fmt.Sprintf(format, args...),
		Excerpt: s.excerpt(begin, at),
	}
}

func (s *source) excerpt(begin, at int) string {
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

// lineOf is the line number of an offset.
func (s *source) lineOf(at int) int {
	line, _ := slices.BinarySearch(s.lines, at+1)
	return line
}

// offset is where a token begins. The library's own offsets count differently in
// multi-byte text, lines and columns do not.
func (s *source) offset(t *yamltoken.Token) int {
	if t == nil || t.Position == nil {
		return 0
	}
	line := max(1, min(t.Position.Line, len(s.lines)))
	return min(s.lines[line-1]+max(t.Position.Column, 1)-1, len(s.runes))
}

// A text is a string of a file that remembers where it stands.
type text struct {
	s    string
	src  *source
	node ast.Node
}

func (t text) empty() bool { return t.s == "" }

// offset is where a text of a file begins.
func (t text) offset() int {
	return t.src.offset(t.node.GetToken())
}

// at finds the code point off of the decoded text in the file, through quotes,
// escapes and folded lines.
func (t text) at(off int) int {
	if t.node == nil {
		return min(off, len(t.src.runes)) // the whole source is the text
	}
	w := walker{src: t.src.runes, pos: t.offset()}
	switch tok := t.node.GetToken(); tok.Type {
	case yamltoken.SingleQuoteType:
		w.quote, w.pos = '\'', w.pos+1
	case yamltoken.DoubleQuoteType:
		w.quote, w.pos = '"', w.pos+1
	case yamltoken.LiteralType, yamltoken.FoldedType:
		w.pos = t.src.lines[min(t.src.lineOf(w.pos), len(t.src.lines)-1)]
	}
	value := []rune(t.s)
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

// nearestOf returns ` (did you mean "x"?)` for the name of known that name is most
// likely a slip of, "" if none is near.
func nearestOf(name string, known []string) string {
	best, least := "", 1+max(1, utf8.RuneCountInString(name)/3)
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < least || d == least && best != "" && k < best {
			best, least = k, d
		}
	}
	if best == "" || name == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// distance counts the insertions, deletions, replacements and swaps of neighbours
// between a and b.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > 64 || len(y) > 64 {
		return max(len(x), len(y)) // no name is that long
	}
	d := make([][]int, len(x)+1)
	for i := range d {
		d[i] = make([]int, len(y)+1)
		d[i][0] = i
	}
	for j := range y {
		d[0][j+1] = j + 1
	}
	for i := range x {
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			d[i+1][j+1] = min(d[i][j+1]+1, d[i+1][j]+1, d[i][j]+cost)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				d[i+1][j+1] = min(d[i+1][j+1], d[i-1][j-1]+1)
			}
		}
	}
	return d[len(x)][len(y)]
}

// nearestOr is nearestOf, or the list of what is known.
func nearestOr(name string, known []string) string {
	if hint := nearestOf(name, known); hint != "" {
		return hint
	}
	return ": want one of " + strings.Join(known, ", ")
}
