package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A crash may end the file at any byte. (B50)
func TestB50ResumeCutsExactlyTheTornLineAtEveryByte(t *testing.T) {
	s := newStore(t)
	whole := must[[]byte](t)(os.ReadFile(writeRun(t, s, "full", 4)))
	lines := readLines(t, s.file("full", traceExt))
	path := s.file("full", traceExt)
	for size := lines[2].Offset; size <= int64(len(whole)); size++ {
		kept := 2
		for _, end := range []int64{lines[3].Offset, int64(len(whole))} {
			if size >= end {
				kept++
			}
		}
		ends := []int64{0, lines[1].Offset, lines[2].Offset, lines[3].Offset, int64(len(whole))}
		if err := os.WriteFile(path, whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		// Twice in a row: the line appended after the first repair is torn again.
		resumeAndAppend(t, s, lines[:kept], int(size-ends[kept]))
		if err := os.Truncate(path, must[os.FileInfo](t)(os.Stat(path)).Size()-7); err != nil {
			t.Fatal(err)
		}
		resumeAndAppend(t, s, lines[:kept], -1)
		checkByHand(t, path, kept+1)
	}
}

// resumeAndAppend wants the lines in the run "full" and adds one. A cut of -1 is any cut but none.
func resumeAndAppend(t *testing.T, s *Store, want []Line, cut int) {
	t.Helper()
	if r, err := Verify(s.file("full", traceExt)); err != nil || r.Torn != (cut != 0) {
		t.Fatalf("before resuming: %+v, %v", r, err)
	}
	tr, got, err := s.Resume("full")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	if r := tr.Repaired(); r != cut && (cut != -1 || r == 0) {
		t.Fatalf("repaired %d bytes, want %d", r, cut)
	}
	l := must[Line](t)(tr.Append("run.resumed", body{"long": strings.Repeat("x", 300)}, noon, false))
	if l.Seq != int64(len(want))+1 {
		t.Fatalf("seq %d after %d lines", l.Seq, len(want))
	}
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	if r, err := Verify(tr.Path()); err != nil || r.Torn || r.Lines != len(want)+1 {
		t.Fatalf("after resuming: %+v, %v", r, err)
	}
}

func TestTailsThatACrashLeaves(t *testing.T) {
	for name, tail := range map[string]string{
		"half a line":                 `{"v":1,"seq":3,"ts":"20`,
		"half a line with a newline":  `{"v":1,"seq":3,"ts":"20` + "\n",
		"an emoji cut in two":         `{"v":1,"text":"` + "\xf0\x9f",
		"zeros of a page not written": strings.Repeat("\x00", 300),
		"a newline that is missing":   `{"v":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			path := writeRun(t, s, "r1", 2)
			appendText(t, path, tail)
			if r, err := Verify(path); err != nil || !r.Torn || r.Lines != 2 {
				t.Errorf("Verify: %+v, %v", r, err)
			}
			if got := readLines(t, path); len(got) != 2 {
				t.Errorf("ReadFile: %d lines", len(got))
			}
			tr, lines, err := s.Resume("r1")
			if err != nil || len(lines) != 2 || tr.Repaired() != len(tail) {
				t.Fatalf("Resume: %d lines, %v", len(lines), err)
			}
			must[Line](t)(tr.Append("run.resumed", body{}, noon, true))
			tr.Close()
			checkByHand(t, path, 3)
		})
	}
}

func appendText(t *testing.T, path, text string) {
	t.Helper()
	f := must[*os.File](t)(os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0))
	_, err := f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestResumeChangesNothingWhenTheTraceIsDamaged(t *testing.T) {
	s := newStore(t)
	path := writeRun(t, s, "r1", 4)
	data := must[[]byte](t)(os.ReadFile(path))
	data[len(data)/2] ^= 1
	appended := append(data, `{"torn`...)
	if err := os.WriteFile(path, appended, 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := s.Resume("r1")
	var damage *DamageError
	if !errors.As(err, &damage) {
		t.Fatalf("Resume: %v", err)
	}
	if got := must[[]byte](t)(os.ReadFile(path)); string(got) != string(appended) {
		t.Error("the file was changed")
	}
	if got := must[[]os.DirEntry](t)(os.ReadDir(s.dir)); len(got) != 1 {
		t.Errorf("the lock was left behind: %v", got)
	}
}

func TestResumeRefuses(t *testing.T) {
	s := newStore(t)
	if _, _, err := s.Resume("r1"); !errors.Is(err, ErrNoRun) {
		t.Errorf("a run that is not there: %v", err)
	}
	writeRun(t, s, "r2", 0)
	var damage *DamageError
	if _, _, err := s.Resume("r2"); !errors.As(err, &damage) || damage.Why != "no whole line" {
		t.Errorf("a trace without a line: %v", err)
	}
	if err := os.Rename(writeRun(t, s, "r3", 1), s.file("r4", traceExt)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Resume("r4"); !errors.As(err, &damage) || damage.Why != "the file is of run r3" {
		t.Errorf("a trace under another run's name: %v", err)
	}
	if err := os.Mkdir(s.file("r5", traceExt), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Resume("r5"); err == nil {
		t.Error("resumed a directory")
	}
}

func TestCreateRefusesARunThatWas(t *testing.T) {
	s := newStore(t)
	path := writeRun(t, s, "r1", 1)
	if _, err := s.Create("r1"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create: %v", err)
	}
	checkByHand(t, path, 1)
}

func TestAppendRefusesWhatItCannotKeep(t *testing.T) {
	s := newStore(t)
	tr := must[*Trace](t)(s.Create("r1"))
	for _, tt := range []struct {
		name, typ string
		body      any
		ts        time.Time
		want      string
	}{
		{"no type", "", body{}, noon, "want a type"},
		{"a type to break out with", `a","x":"`, body{}, noon, "want a type"},
		{"a body that is no object", "a.b", []int{1}, noon, "not a JSON object"},
		{"no body", "a.b", nil, noon, "not a JSON object"},
		{"a body that does not marshal", "a.b", func() {}, noon, "unsupported type"},
		{"a raw body that is no JSON", "a.b", json.RawMessage(`{"a":1`), noon, "unexpected end"},
		{"a raw body that is no UTF-8", "a.b", json.RawMessage("{\"a\":\"\xff\"}"), noon, "not UTF-8"},
		{"a key twice", "a.b", json.RawMessage(`{"a":1,"a":2}`), noon, `key "a" stands twice`},
		{"a key twice, spelt otherwise", "a.b", json.RawMessage(`{"a":1,"\u0061":2}`), noon, `key "a" stands twice`},
		{"a key twice, deep", "a.b", json.RawMessage(`{"a":[{},[{"b":1,"b":1}]]}`), noon, `key "b" stands twice`},
		{"a year without RFC 3339", "a.b", body{}, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), "year"},
		{"a line over the limit", "a.b", body{"a": strings.Repeat("x", maxLine)}, noon, "put large content into a blob"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := tr.Append(tt.typ, tt.body, tt.ts, true); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	for _, key := range append([]string{"Seq", "PREV", "t\u017f"}, reserved...) {
		_, err := tr.Append("a.b", body{key: 1}, noon, false)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("key %q is kept", key)) {
			t.Errorf("reserved %s: %v", key, err)
		}
	}
	must[Line](t)(tr.Append("a.b", body{"nested": body{"seq": 1}, "sequence": 2}, noon, false))
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	checkByHand(t, tr.Path(), 1)
}

func TestALineOfExactlyTheLimitIsKept(t *testing.T) {
	s := newStore(t)
	tr := must[*Trace](t)(s.Create("r1"))
	small := must[Line](t)(tr.Append("a.b", body{"a": ""}, noon, false))
	fill := strings.Repeat("x", maxLine-len(small.Body))
	if _, err := tr.Append("a.b", body{"a": fill + "x"}, noon, false); !errors.Is(err, errTooLong) {
		t.Errorf("one byte over: %v", err)
	}
	must[Line](t)(tr.Append("a.b", body{"a": fill}, noon, false))
	tr.Close()
	if r, err := Verify(tr.Path()); err != nil || r.Lines != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestTheClockMayGoBackwards(t *testing.T) {
	s := newStore(t)
	tr := must[*Trace](t)(s.Create("r1"))
	for _, d := range []time.Duration{0, -time.Hour, time.Hour, -1000 * time.Hour} {
		must[Line](t)(tr.Append("a.b", body{}, noon.Add(d), false))
	}
	tr.Close()
	if r, err := Verify(tr.Path()); err != nil || r.Lines != 4 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestNothingIsWrittenAfterClose(t *testing.T) {
	s := newStore(t)
	tr := must[*Trace](t)(s.Create("r1"))
	must[Line](t)(tr.Append("a.b", body{}, noon, false))
	if err := errors.Join(tr.Sync(), tr.Close(), tr.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Append("a.b", body{}, noon, false); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Append: %v", err)
	}
	if err := tr.Sync(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Sync: %v", err)
	}
	checkByHand(t, tr.Path(), 1)
}

func TestManyGoroutinesWriteOneChain(t *testing.T) {
	s := newStore(t)
	tr := must[*Trace](t)(s.Create("r1"))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 25 {
				if _, err := tr.Append("a.b", body{"i": i, "j": j}, noon, j%10 == 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	tr.Close()
	checkByHand(t, tr.Path(), 200)
}

// faultyFile writes only so much of the next line, or loses a flush.
type faultyFile struct {
	file
	room     int // bytes; -1 is no limit
	short    bool
	sync     error
	truncate error
	syncs    int
}

func (f *faultyFile) WriteAt(p []byte, off int64) (int, error) {
	if f.room < 0 {
		return f.file.WriteAt(p, off)
	}
	n, err := f.file.WriteAt(p[:min(f.room, len(p))], off)
	if err == nil && !f.short {
		err = syscall.ENOSPC
	}
	return n, err
}

func (f *faultyFile) Sync() error {
	f.syncs++
	return errors.Join(f.sync, f.file.Sync())
}

func (f *faultyFile) Truncate(size int64) error {
	if f.truncate != nil {
		return f.truncate
	}
	return f.file.Truncate(size)
}

func faultyTrace(t *testing.T, s *Store) (*Trace, *faultyFile) {
	t.Helper()
	tr := must[*Trace](t)(s.Create("r1"))
	f := &faultyFile{file: tr.f, room: -1}
	tr.f = f
	must[Line](t)(tr.Append("a.b", body{"n": 1}, noon, false))
	return tr, f
}

// A full disk must not drop a record silently and go on.
func TestAFailedWriteEndsTheTraceAndLeavesItValid(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  func(*faultyFile)
		want error
	}{
		{"no room", func(f *faultyFile) { f.room = 0 }, syscall.ENOSPC},
		{"room for half", func(f *faultyFile) { f.room = 40 }, syscall.ENOSPC},
		{"a short write without an error", func(f *faultyFile) { f.room, f.short = 40, true }, io.ErrShortWrite},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStore(t)
			tr, f := faultyTrace(t, s)
			tt.set(f)
			if _, err := tr.Append("a.b", body{"n": 2}, noon, true); !errors.Is(err, tt.want) {
				t.Errorf("the failed Append: %v", err)
			}
			f.room = -1 // room again, but the caller was told otherwise
			if _, err := tr.Append("a.b", body{"n": 3}, noon, true); !errors.Is(err, tt.want) {
				t.Errorf("the Append after: %v", err)
			}
			_, blobErr := tr.Blob(nil)
			for i, err := range []error{blobErr, tr.Sync(), tr.Close()} {
				if !errors.Is(err, tt.want) {
					t.Errorf("call %d after: %v", i, err)
				}
			}
			checkByHand(t, tr.Path(), 1)
		})
	}
}

func TestWhatCouldNotBeCutOffIsCutAtResume(t *testing.T) {
	s := newStore(t)
	tr, f := faultyTrace(t, s)
	f.room, f.truncate = 40, syscall.EIO
	_, err := tr.Append("a.b", body{"n": 2}, noon, false)
	if !errors.Is(err, syscall.ENOSPC) || !errors.Is(err, syscall.EIO) {
		t.Errorf("Append: %v", err)
	}
	tr.Close()
	again, lines, err := s.Resume("r1")
	if err != nil || len(lines) != 1 || again.Repaired() != 40 {
		t.Fatalf("Resume: %d lines, %v", len(lines), err)
	}
	again.Close()
}

func TestAFailedFlushEndsTheTrace(t *testing.T) {
	for name, call := range map[string]func(*Trace) error{
		"durable Append": func(tr *Trace) error {
			_, err := tr.Append("a.b", body{}, noon, true)
			return err
		},
		"Sync":  (*Trace).Sync,
		"Close": (*Trace).Close,
	} {
		t.Run(name, func(t *testing.T) {
			tr, f := faultyTrace(t, newStore(t))
			f.sync = syscall.EIO
			if err := call(tr); !errors.Is(err, syscall.EIO) {
				t.Errorf("the call: %v", err)
			}
			f.sync = nil
			if _, err := tr.Append("a.b", body{}, noon, true); !errors.Is(err, syscall.EIO) {
				t.Errorf("Append after: %v", err)
			}
			tr.Close()
			if _, err := Verify(tr.Path()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOnlyDurableLinesAreFlushedAtOnce(t *testing.T) {
	tr, f := faultyTrace(t, newStore(t))
	for _, step := range []struct {
		do   func() error
		want int
	}{
		{func() error { return nil }, 0},
		{func() error { _, err := tr.Append("a.b", body{}, noon, false); return err }, 0},
		{func() error { _, err := tr.Append("a.b", body{}, noon, true); return err }, 1},
		{tr.Sync, 1}, // nothing to flush
		{func() error { _, err := tr.Append("a.b", body{}, noon, false); return err }, 1},
		{tr.Sync, 2},
		{func() error { _, err := tr.Append("a.b", body{}, noon, false); return err }, 2},
		{tr.Close, 3},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if f.syncs != step.want {
			t.Errorf("%d flushes, want %d", f.syncs, step.want)
		}
	}
}

func TestAStoreThatIsGoneIsAnError(t *testing.T) {
	s := newStore(t)
	if err := os.Remove(s.dir); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create("r1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Create: %v", err)
	}
	if _, err := s.List(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("List: %v", err)
	}
	if _, err := s.Find("r1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Find: %v", err)
	}
	if _, err := Verify(filepath.Join(s.dir, "x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Verify: %v", err)
	}
	for _, err := range ReadFile(filepath.Join(s.dir, "x")) {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("ReadFile: %v", err)
		}
	}
}
