package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"
)

// file is what a Trace needs of its open file.
type file interface {
	io.WriterAt
	Sync() error
	Truncate(size int64) error
	Close() error
}

// Trace is the one writer of a run. It is safe for concurrent use.
type Trace struct {
	path     string
	blobs    string
	runID    string
	repaired int
	lock     *runLock

	mu     sync.Mutex
	f      file   // guarded by mu
	lines  writer // guarded by mu
	size   int64  // of the whole lines, in bytes; guarded by mu
	dirty  bool   // lines were written and not flushed; guarded by mu
	err    error  // why nothing more can be written; guarded by mu
	closed bool   // guarded by mu
}

// Create starts the trace of a new run. Errors: *LockedError while somebody writes that run, fs.ErrExist when there was
// such a run.
func (s *Store) Create(runID string) (*Trace, error) {
	return s.open(runID, func(t *Trace) error {
		f, err := os.OpenFile(t.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
		if err != nil {
			return fmt.Errorf("store: %w", err)
		}
		t.f = f
		if err := syncDir(s.dir); err != nil {
			return fmt.Errorf("store: run %s: %w", runID, errors.Join(err, f.Close(), os.Remove(t.path)))
		}
		return nil
	})
}

// Resume opens the trace of an earlier run to go on with it, and returns its lines. What a crash left behind the last
// whole line is cut off: see Repaired. Errors: ErrNoRun, *LockedError, and *DamageError for anything else that is not
// as it was written; then nothing was changed.
func (s *Store) Resume(runID string) (*Trace, []Line, error) {
	var lines []Line
	t, err := s.open(runID, func(t *Trace) (err error) {
		f, err := os.OpenFile(t.path, os.O_RDWR, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("store: %w: %s", ErrNoRun, runID)
		}
		if err != nil {
			return fmt.Errorf("store: %w", err)
		}
		t.f = f
		if lines, err = t.load(f); err != nil {
			return fmt.Errorf("store: run %s: %w", runID, errors.Join(err, f.Close()))
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return t, lines, nil
}

// open locks the run and lets begin open its file; when that fails, the lock is given back.
func (s *Store) open(runID string, begin func(*Trace) error) (*Trace, error) {
	if err := checkRunID(runID); err != nil {
		return nil, err
	}
	lock, err := s.lockRun(runID)
	if err != nil {
		return nil, err
	}
	t := &Trace{
		path: s.file(runID, traceExt), blobs: s.file(runID, blobsExt), runID: runID, lock: lock,
		lines: writer{runID: runID, head: zeroPrev},
	}
	if err := begin(t); err != nil {
		return nil, errors.Join(err, lock.release())
	}
	return t, nil
}

// load reads the lines of f, cuts a torn tail and puts t behind the last line.
func (t *Trace) load(f *os.File) ([]Line, error) {
	var lines []Line
	s := newScanner(f)
	for {
		l, err := s.next()
		if err == io.EOF || err == errTorn {
			break
		}
		if err != nil {
			return nil, err
		}
		l.Body = bytes.Clone(l.Body)
		lines = append(lines, l)
	}
	if lines[0].RunID != t.runID {
		return nil, &DamageError{Line: 1, Why: fmt.Sprintf("the file is of run %s", lines[0].RunID)}
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	t.size, t.repaired = s.end, int(info.Size()-s.end)
	t.lines.seq, t.lines.head = s.before.Seq, s.head
	if t.repaired == 0 {
		return lines, nil
	}
	return lines, errors.Join(f.Truncate(s.end), f.Sync())
}

// Append writes one line: the fields of body between the keys that the trace keeps itself, which body may not hold.
// The body is anything that marshals to a JSON object. When durable, the line is on the disk before Append returns; do
// that with the intent of an effect. Else it is there after the next durable line, Sync or Close.
//
// A body or type that cannot be written is an error and changes nothing. An error of the file ends the trace for good:
// part of a line is cut off again, and every later call returns that first error. After a failed flush the line stays,
// because an intent that was not acted on is safer than an act without its intent.
func (t *Trace) Append(typ string, body any, ts time.Time, durable bool) (Line, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.usable(); err != nil {
		return Line{}, err
	}
	text, err := t.lines.encode(typ, body, ts)
	if err != nil {
		return Line{}, fmt.Errorf("store: run %s: line of type %q: %w", t.runID, typ, err)
	}
	if err := t.write(text); err != nil {
		return Line{}, err
	}
	l := t.lines.accept(typ, ts)
	l.Offset = t.size
	t.size += int64(len(text))
	t.dirty = true
	if durable {
		return l, t.flush()
	}
	return l, nil
}

// usable has a Precondition: t.mu is held.
func (t *Trace) usable() error {
	if t.err == nil && t.closed {
		return fmt.Errorf("store: run %s: %w", t.runID, fs.ErrClosed)
	}
	return t.err
}

// write puts text behind the last line with one write(2), or ends the trace.
func (t *Trace) write(text []byte) error {
	n, err := t.f.WriteAt(text, t.size)
	if err == nil && n < len(text) {
		err = io.ErrShortWrite
	}
	if err == nil {
		return nil
	}
	return t.fail(errors.Join(err, t.f.Truncate(t.size))) // an uncut rest is cut by Resume
}

func (t *Trace) fail(err error) error {
	t.err = fmt.Errorf("store: run %s: its trace takes no more lines: %w", t.runID, err)
	return t.err
}

// flush has a Precondition: t.mu is held.
func (t *Trace) flush() error {
	if !t.dirty {
		return nil
	}
	// The kernel may report a failed flush once and then call the lost pages clean: asking again would prove nothing.
	if err := t.f.Sync(); err != nil {
		return t.fail(err)
	}
	t.dirty = false
	return nil
}

// Sync puts every line so far on the disk.
func (t *Trace) Sync() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.usable(); err != nil {
		return err
	}
	return t.flush()
}

// Close flushes the trace and gives up the lock. It returns the error that ended the trace, if one did; a second Close
// does nothing.
func (t *Trace) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	if t.err == nil {
		_ = t.flush() // kept in t.err
	}
	return errors.Join(t.err, t.f.Close(), t.lock.release())
}

// Path returns where the trace stands.
func (t *Trace) Path() string { return t.path }

// Repaired returns how many bytes of a torn last line Resume cut off.
func (t *Trace) Repaired() int { return t.repaired }
