package format

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/hashicorp/go-multierror"

	"github.com/codeact-dev/codeact/policy/rules"
	"github.com/codeact-dev/codeact/policy/rules/source"
)

// indent is one level.
const indent = "  "

// File returns the text of f in the one way. What is no strict YAML is an error with
// every fault, each a *[source.Fault]; so is a policy that does not compile, and a
// file that would mean something else.
func File(f source.File) ([]byte, error) {
	text := strings.ReplaceAll(string(f.Data), "\r\n", "\n")
	d := source.NewReader(source.File{Name: f.Name, Data: []byte(text)})
	docs := d.Documents()
	before := meaning(d, docs)
	if len(d.Errs) > 0 {
		return nil, multierror.Append(nil, d.Errs...)
	}
	if err := compiles(f, docs); err != nil {
		return nil, err
	}
	out := layout(text, docs)
	e := source.NewReader(source.File{Name: f.Name, Data: out})
	docs = e.Documents()
	same := slices.Equal(before, meaning(e, docs))
	if !same || len(e.Errs) > 0 || !bytes.Equal(out, layout(string(out), docs)) {
		return nil, multierror.Append(nil, d.Fault(0, "this file cannot be formatted without a change of what it means: write values on the line of their key"))
	}
	return out, nil
}

// compiles reports the faults of a file of policies, which has no meaning to keep
// where it has one. Values of parameters are the task's: that they are not given is
// no fault of the file, but its examples are not run then.
func compiles(f source.File, docs []source.Node) error {
	if !slices.ContainsFunc(docs, func(n source.Node) bool { return kindOf(n) == "ToolCallPolicy" }) {
		return nil
	}
	_, err := rules.Compile(nil, rules.File{Name: f.Name, Data: f.Data})
	var all, faults *multierror.Error
	if !errors.As(err, &all) {
		return err
	}
	for _, err := range all.Errors {
		var fault *source.Fault
		if !errors.As(err, &fault) || !strings.Contains(fault.Msg, " is declared and not given: ") {
			faults = multierror.Append(faults, err)
		}
	}
	return faults.ErrorOrNil()
}

// meaning is the data of all documents, in a form in which not-a-number is equal to
// itself.
func meaning(d *source.Reader, docs []source.Node) []string {
	var out []string
	for _, n := range docs {
		out = append(out, fmt.Sprintf("%#v", d.Value(n)))
	}
	return out
}

// layout writes the documents one by one. What stands before the first key of one,
// as its "---", stays before it, but for the comments right above the key.
func layout(text string, docs []source.Node) []byte {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	var out []string
	done := 0 // lines that are written
	for i, n := range docs {
		begin := firstLine(n) - 1
		for begin > done && strings.HasPrefix(lines[begin-1], "#") {
			begin--
		}
		end := len(lines)
		if i+1 < len(docs) {
			end = separator(lines, firstLine(docs[i+1]))
		}
		out = append(out, lines[done:begin]...)
		b := block{lines: lines[begin:end], first: begin + 1}
		out = append(out, b.node(n, orderOf(n), "")...)
		done = end
	}
	out = append(out, lines[done:]...)
	for i, l := range out {
		if strings.TrimSpace(l) == "" {
			out[i] = ""
		}
	}
	return []byte(strings.TrimRight(strings.Join(out, "\n"), "\n") + "\n")
}

// separator is the index of the line that begins the document whose first key is on
// the line n, counted from 1.
func separator(lines []string, n int) int {
	for i := n - 1; i > 0; i-- {
		if strings.HasPrefix(lines[i], "---") {
			return i
		}
	}
	return n - 1
}

// orderOf picks the order by the kind of a document.
func orderOf(n source.Node) *order {
	if kindOf(n) == "PolicyTest" {
		return testFile
	}
	return policyFile
}

// kindOf is the kind of a document, "" where it has none.
func kindOf(n source.Node) string {
	var values []*ast.MappingValueNode
	switch m := n.(type) {
	case *ast.MappingNode:
		values = m.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{m}
	}
	for _, e := range values {
		if s, ok := e.Value.(*ast.StringNode); ok && e.Key.String() == "kind" {
			return s.Value
		}
	}
	return ""
}

// A block is the lines of one mapping or list, with what belongs to them.
type block struct {
	lines []string
	first int // number of the first line in the file, from 1
}

// node writes a mapping or a list at the given margin. Anything else is left as it
// is, but for its margin.
func (b block) node(n source.Node, o *order, margin string) []string {
	switch {
	case len(entries(n)) > 0:
		return b.mapping(entries(n), o, margin)
	case isBlockList(n):
		return b.list(n.(*ast.SequenceNode), o, margin)
	}
	return shift(b.lines, margin)
}

// entries are those of a mapping that has a line for each; none for anything else.
func entries(n source.Node) []*ast.MappingValueNode {
	switch m := n.(type) {
	case *ast.MappingNode:
		if !m.IsFlowStyle {
			return m.Values
		}
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{m}
	}
	return nil
}

func isBlockList(n source.Node) bool {
	s, ok := n.(*ast.SequenceNode)
	return ok && !s.IsFlowStyle && len(s.Values) > 0
}

// mapping writes the entries in order, each with the comments above it.
func (b block) mapping(es []*ast.MappingValueNode, o *order, margin string) []string {
	parts := make([][]string, len(es))
	ranks := make([]int, len(es))
	column := es[0].Key.GetToken().Position.Column
	parted, foot := b.split(len(es), func(i int) int { return es[i].Key.GetToken().Position.Line }, column-1)
	for i, e := range es {
		key := e.Key.String()
		ranks[i] = rank(o, key)
		parts[i] = parted[i].entry(e, o.sub(key), margin)
	}
	index := make([]int, len(es))
	for i := range index {
		index[i] = i
	}
	slices.SortStableFunc(index, func(a, b int) int { return cmp.Compare(ranks[a], ranks[b]) })
	var out []string
	for _, i := range index {
		out = append(out, parts[i]...)
	}
	for out[0] == "" {
		out = out[1:] // it stood between two entries
	}
	return append(out, shift(foot, margin)...)
}

// rank is the place of a key in an order; what has none comes last.
func rank(o *order, key string) int {
	if o == nil {
		return 0
	}
	if i := slices.Index(o.keys, key); i >= 0 {
		return i
	}
	return len(o.keys)
}

func (o *order) sub(key string) *order {
	if o == nil {
		return nil
	}
	return o.below[key]
}

// A part is the lines of one entry: the comments above it, and its own.
type part struct {
	above []string
	block
}

// split gives every entry its lines: from the comments above its first line to those
// above the next. What follows the last one at the margin of the block is its foot.
func (b block) split(n int, line func(int) int, column int) (parts []part, foot []string) {
	begin := func(i int) int { return line(i) - b.first } // index of the entry's own first line
	end := len(b.lines)
	for end > begin(n-1)+1 && isMargin(b.lines[end-1], column) {
		end--
	}
	foot = b.lines[end:]
	for i := range n {
		from := 0
		if i > 0 {
			from = head(b.lines, begin(i-1)+1, begin(i)+1, column)
		}
		to := end
		if i+1 < n {
			to = head(b.lines, begin(i)+1, begin(i+1)+1, column)
		}
		parts = append(parts, part{b.lines[from:begin(i)], block{b.lines[begin(i):to], b.first + begin(i)}})
	}
	return parts, foot
}

// head is the index from which lines belong to the entry on the line n, counted from
// 1: the comments and blank lines right above it, at its column or left of it.
func head(lines []string, from, n, column int) int {
	i := n - 1
	for i > from && isMargin(lines[i-1], column) {
		i--
	}
	return i
}

// isMargin reports whether a line is blank, or a comment that begins at the column or
// left of it, where no text of a value can stand.
func isMargin(l string, column int) bool {
	text := strings.TrimLeft(l, " ")
	return text == "" || text[0] == '#' && len(l)-len(text) <= column
}

// entry writes one entry of a mapping.
func (p part) entry(e *ast.MappingValueNode, o *order, margin string) []string {
	out := shift(p.above, margin)
	at := e.Key.GetToken().Position.Column - 1
	own := margin + p.lines[0][at:]
	v := firstLine(e.Value)
	if v <= p.first || len(entries(e.Value)) == 0 && !isBlockList(e.Value) {
		return append(append(out, own), p.rest(e.Value, at, margin)...)
	}
	out = append(out, own)
	return append(out, block{p.lines[1:], p.first + 1}.node(e.Value, o, margin+indent)...)
}

// rest moves the lines of a value that are below its key: the text of a block to one
// level below the key, any other by as much as the key moved.
func (p part) rest(v source.Node, at int, margin string) []string {
	if _, literal := v.(*ast.LiteralNode); literal {
		return shift(p.lines[1:], margin+indent)
	}
	var out []string
	for _, l := range p.lines[1:] {
		text := strings.TrimLeft(l, " ")
		out = append(out, strings.Repeat(" ", max(len(margin)+len(indent), len(l)-len(text)-at+len(margin)))+text)
	}
	return out
}

// list writes the entries of a list, each behind its dash.
func (b block) list(s *ast.SequenceNode, o *order, margin string) []string {
	line := func(i int) int { return s.Entries[i].Start.Position.Line }
	column := s.Entries[0].Start.Position.Column - 1
	parts, foot := b.split(len(s.Entries), line, column)
	var out []string
	for i, p := range parts {
		out = append(out, shift(p.above, margin)...)
		out = append(out, p.item(s.Values[i], column, o, margin)...)
	}
	return append(out, shift(foot, margin)...)
}

// item writes one entry of a list: what is in it as if the dash were not there, and
// then the dash.
func (p part) item(v source.Node, column int, o *order, margin string) []string {
	inner := slices.Clone(p.lines)
	inner[0] = inner[0][:column] + " " + inner[0][column+1:]
	b := block{inner, p.first}
	if firstLine(v) > p.first {
		b = block{inner[1:], p.first + 1} // the dash stands alone
	}
	out := b.node(v, o, margin+indent)
	i := 0
	for i < len(out)-1 && isMargin(out[i], len(margin)+len(indent)) {
		out[i] = margin + strings.TrimLeft(out[i], " ") // a comment that came to the top stands above the dash
		i++
	}
	out[i] = margin + "- " + strings.TrimLeft(out[i], " ")
	if firstLine(v) > p.first && strings.TrimSpace(inner[0]) != "" {
		out = append([]string{margin + strings.TrimSpace(inner[0])}, out...) // "- # a comment"
	}
	return out
}

// firstLine is the line on which the text of n begins, from 1.
func firstLine(n source.Node) int {
	switch m := n.(type) {
	case *ast.MappingNode:
		if !m.IsFlowStyle && len(m.Values) > 0 {
			return m.Values[0].Key.GetToken().Position.Line
		}
	case *ast.MappingValueNode:
		return m.Key.GetToken().Position.Line
	case *ast.SequenceNode:
		if !m.IsFlowStyle && len(m.Entries) > 0 {
			return m.Entries[0].Start.Position.Line
		}
	}
	return n.GetToken().Position.Line
}

// shift moves lines so that the leftmost of them begins at the margin.
func shift(lines []string, margin string) []string {
	least := -1
	for _, l := range lines {
		if text := strings.TrimLeft(l, " "); text != "" && (least < 0 || len(l)-len(text) < least) {
			least = len(l) - len(text)
		}
	}
	var out []string
	for _, l := range lines {
		if strings.TrimSpace(l) == "" {
			out = append(out, "")
			continue
		}
		out = append(out, margin+l[least:])
	}
	return out
}
