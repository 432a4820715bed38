package store

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
)

// errTorn ends a scan at bytes that a crash left behind the last whole line.
var errTorn = errors.New("torn last line")

// scanner reads the lines of one trace and checks each against the one before.
type scanner struct {
	in     *bufio.Reader
	object objectReader
	buf    []byte
	count  int    // lines read
	end    int64  // offset behind the last whole line
	before Line   // the line before, without its Body
	head   string // hash of the line before
}

func newScanner(r io.Reader) *scanner {
	return &scanner{in: bufio.NewReaderSize(r, 64<<10), head: zeroPrev}
}

// next returns the next line; its Body is good until the following call. Errors: io.EOF at the end, errTorn at a torn
// tail, *DamageError, or what the reader returned. A trace without one whole line is damaged.
func (s *scanner) next() (Line, error) {
	text, err := s.readLine()
	if s.count == 0 && (err == io.EOF || err == errTorn) {
		return Line{}, &DamageError{Line: 1, Why: "no whole line"}
	}
	if err != nil {
		return Line{}, err
	}
	p, f := s.object.parse(text)
	if f != nil && f.unfinished && s.count > 0 && s.atEnd() {
		return Line{}, errTorn
	}
	if f != nil {
		return Line{}, s.damage(f.at, f.why)
	}
	if err := s.follows(p); err != nil {
		return Line{}, err
	}
	p.Offset = s.end
	s.count++
	s.end += int64(len(text)) + 1
	s.head = hashLine(text)
	s.before = p.Line
	s.before.Body = nil
	return p.Line, nil
}

// readLine returns the next line without its newline, and never holds more than maxLine bytes and one buffer.
func (s *scanner) readLine() ([]byte, error) {
	s.buf = s.buf[:0]
	for {
		part, err := s.in.ReadSlice('\n')
		s.buf = append(s.buf, part...)
		if len(bytes.TrimSuffix(s.buf, []byte("\n"))) > maxLine {
			return nil, s.damage(0, fmt.Sprintf("line over the limit of %d bytes", maxLine))
		}
		switch {
		case err == nil:
			return s.buf[:len(s.buf)-1], nil
		case err == io.EOF && len(s.buf) > 0:
			return nil, errTorn
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

func (s *scanner) atEnd() bool {
	_, err := s.in.Peek(1)
	return err == io.EOF
}

// damage is a fault of the line that is being read, at a byte of it.
func (s *scanner) damage(at int, why string) *DamageError {
	return &DamageError{Line: s.count + 1, Offset: s.end + int64(at), Why: why}
}

// follows checks the chain. The order matters for whom to blame: a line taken out or moved shows in seq, a changed run
// id of the first line shows in prev of the second. Times may go backwards, as clocks do.
func (s *scanner) follows(p parsed) error {
	if want := s.before.Seq + 1; p.Seq != want {
		return s.damage(p.seqAt, fmt.Sprintf("seq is %d, not %d", p.Seq, want))
	}
	if p.Prev != s.head {
		return s.blame(p)
	}
	switch {
	case s.count == 0 && !runIDPattern.MatchString(p.RunID):
		return s.damage(p.runIDAt, fmt.Sprintf("run_id is %s, not a run id", clip([]byte(p.RunID))))
	case s.count > 0 && p.RunID != s.before.RunID:
		return s.damage(p.runIDAt, fmt.Sprintf("run_id is %s, not %s", clip([]byte(p.RunID)), s.before.RunID))
	}
	return nil
}

// blame says which of two lines was changed when prev is not the hash of the line before. A changed line has a hash
// that shares about 4 of its 64 digits with the recorded one; when half of them agree, prev itself was changed.
func (s *scanner) blame(p parsed) error {
	agree, first := 0, -1
	for i := range min(len(p.Prev), len(s.head)) {
		if p.Prev[i] == s.head[i] {
			agree++
		} else if first < 0 {
			first = i
		}
	}
	switch {
	case s.count == 0:
		return s.damage(p.prevAt, "prev of the first line is not 64 zeros")
	case len(p.Prev) != len(s.head):
		return s.damage(p.prevAt, "prev is not 64 hex digits")
	case agree >= len(s.head)/2:
		return s.damage(p.prevAt+1+first, "prev is not the hash of the line before")
	}
	why := fmt.Sprintf("its bytes do not have the hash that line %d recorded", s.count+1)
	return &DamageError{Line: s.count, Offset: s.before.Offset, Why: why}
}

// ReadFile yields the lines of the trace at path, wherever it was copied, and checks the chain on the way. A line is
// yielded once the next one has vouched for it, so no changed line comes out but a changed last one. The first error
// ends it; damage is a *DamageError. A torn last line is passed over: Verify tells.
func ReadFile(path string) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(Line{}, fmt.Errorf("store: %w", err))
			return
		}
		defer f.Close()
		readAll(newScanner(f), yield)
	}
}

func readAll(s *scanner, yield func(Line, error) bool) {
	var held Line
	for {
		l, err := s.next()
		if err == io.EOF || err == errTorn {
			yield(held, nil) // there is one: a trace without a whole line is damaged
			return
		}
		if err != nil {
			yield(Line{}, err)
			return
		}
		if s.count > 1 && !yield(held, nil) {
			return
		}
		held = l
		held.Body = bytes.Clone(l.Body)
	}
}

// Report is what Verify found in a sound trace.
type Report struct {
	Lines int    // whole ones
	Last  string // hex SHA-256 of the last whole line: whoever keeps it can tell later that the trace was cut or changed
	Torn  bool   // a crash left part of a line behind the last whole one; resuming cuts it off
}

// Verify reads the whole trace at path. A trace that is not what was written gives a *DamageError, and the Report then
// covers the lines before the damage was seen.
func Verify(path string) (Report, error) {
	f, err := os.Open(path)
	if err != nil {
		return Report{}, fmt.Errorf("store: %w", err)
	}
	defer f.Close()
	return verify(newScanner(f))
}

func verify(s *scanner) (Report, error) {
	for {
		_, err := s.next()
		if err == nil {
			continue
		}
		r := Report{Lines: s.count, Last: s.head, Torn: err == errTorn}
		if err == io.EOF || err == errTorn {
			err = nil
		}
		return r, err
	}
}
