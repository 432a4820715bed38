package strictyaml

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/hashicorp/go-multierror"
)

// A Fault is one thing that is wrong with a file.
type Fault struct {
	File    string
	Line    int    // from 1; 0 when the fault has no place in the file
	Col     int    // from 1, in characters
	Path    string // "$.security.trifecta"; "$" for the whole document
	Msg     string
	Excerpt string // the line and a caret under the column; "" without a line
}

func (f *Fault) Error() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", f.Line, f.Col)
	}
	b.WriteString(": ")
	if p := strings.TrimPrefix(strings.TrimPrefix(f.Path, "$"), "."); p != "" {
		b.WriteString(p + ": ")
	}
	b.WriteString(f.Msg)
	if f.Excerpt != "" {
		b.WriteString("\n" + f.Excerpt)
	}
	return b.String()
}

// Join returns the faults of all errs as one [multierror.Error] in the order of
// file and position, each once, or nil when there are none.
func Join(errs ...error) error {
	var all []error
	for _, err := range errs {
		var many *multierror.Error
		switch {
		case err == nil:
		case errors.As(err, &many):
			all = append(all, many.Errors...)
		default:
			all = append(all, err)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, byPosition)
	all = slices.CompactFunc(all, func(a, b error) bool { return a.Error() == b.Error() })
	return &multierror.Error{Errors: all, ErrorFormat: lines}
}

// byPosition keeps files apart in the order of their names; an error that is no
// fault comes first.
func byPosition(a, b error) int {
	var f, g Fault
	var p *Fault
	if errors.As(a, &p) {
		f = *p
	}
	if errors.As(b, &p) {
		g = *p
	}
	return cmp.Or(cmp.Compare(f.File, g.File), cmp.Compare(f.Line, g.Line), cmp.Compare(f.Col, g.Col))
}

func lines(errs []error) string {
	s := make([]string, len(errs))
	for i, err := range errs {
		s[i] = err.Error()
	}
	return strings.Join(s, "\n")
}

// excerptWidth bounds the part of a long line that an excerpt shows, in characters.
const excerptWidth = 100

// excerpt shows text around col. Characters that a terminal would obey are
// replaced, since a task file may come from a stranger.
func excerpt(text string, line, col int) string {
	runes := []rune(text)
	for i, r := range runes {
		if !unicode.IsPrint(r) {
			runes[i] = '·'
		}
		if r == '\t' {
			runes[i] = ' '
		}
	}
	from := max(0, min(col, len(runes))-excerptWidth/2)
	if len(runes) <= excerptWidth {
		from = 0
	}
	runes = runes[from:min(len(runes), from+excerptWidth)]
	head := fmt.Sprintf("%5d | ", line)
	return head + string(runes) + "\n" + strings.Repeat(" ", len(head)-2) + "| " + strings.Repeat(" ", max(0, col-1-from)) + "^"
}
