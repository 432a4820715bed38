package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// FuzzRead takes bytes for a trace. They are damage, or they are lines that ReadFile gives back byte for byte and that
// Resume can go on with.
func FuzzRead(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(sealed(good(1)))
	f.Add(sealed(good(1), good(2), good(3)))
	f.Add(sealed(strings.Replace(good(1), `"prev"`, `"x":[{"a\u00e9":[]},1e5,"\"\\",false],"prev"`, 1)))
	f.Add(append(sealed(good(1)), good(2)[:40]...))
	f.Add(append(sealed(good(1)), 0, 0, 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		report, err := verify(newScanner(bytes.NewReader(data)))
		var damage *DamageError
		if err != nil {
			if !errors.As(err, &damage) {
				t.Fatalf("not damage: %v", err)
			}
			if damage.Offset < 0 || damage.Offset > int64(len(data)) || damage.Line < 1 {
				t.Fatalf("%v is outside of %d bytes", damage, len(data))
			}
			return
		}
		var again []byte
		var runID string
		readAll(newScanner(bytes.NewReader(data)), func(l Line, err error) bool {
			if err != nil || !json.Valid(l.Body) || int64(len(again)) != l.Offset {
				t.Fatalf("%+v, %v", l, err)
			}
			again = append(append(again, l.Body...), '\n')
			runID = l.RunID
			return true
		})
		if !bytes.HasPrefix(data, again) || report.Torn != (len(again) < len(data)) || bytes.Count(again, []byte("\n")) != report.Lines {
			t.Fatalf("%+v: read back %q", report, again)
		}
		resumeFuzzed(t, data, runID, report)
	})
}

// FuzzLine takes text for one line, where the chain does not stand in the fuzzer's way. What is accepted, encoding/json
// reads the same way, and no key of it stands twice.
func FuzzLine(f *testing.F) {
	f.Add(good(1))
	f.Add(`{"a":{"b":[1,{"c":"\u0041\\"}]},"seq":1,"v":1,"prev":"","type":"","run_id":"","ts":"2026-03-01T12:00:00Z"}`)
	f.Add(`{"a":1,"\u0061":2}`)
	f.Add(`{"Seq":1}`)
	f.Fuzz(func(t *testing.T, text string) {
		var r objectReader
		p, bad := r.parse([]byte(text))
		if bad != nil {
			if bad.at < 0 || bad.at > len(text) || bad.why == "" {
				t.Fatalf("%+v in %d bytes", bad, len(text))
			}
			return
		}
		var want struct {
			V          int
			Seq        int64
			TS         time.Time
			RunID      string `json:"run_id"`
			Type, Prev string
		}
		var keys map[string]json.RawMessage
		if err := errors.Join(json.Unmarshal([]byte(text), &want), json.Unmarshal([]byte(text), &keys)); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if p.V != want.V || p.Seq != want.Seq || !p.TS.Equal(want.TS) || p.RunID != want.RunID || p.Type != want.Type || p.Prev != want.Prev {
			t.Fatalf("%q: got %+v, want %+v", text, p.Line, want)
		}
		if len(r.top) != len(keys) {
			t.Fatalf("%q: %d keys, want %d", text, len(r.top), len(keys))
		}
		for _, m := range r.top {
			if string(keys[m.key]) != text[m.valAt:m.valTo] {
				t.Fatalf("%q: %s is %s, want %s", text, m.key, text[m.valAt:m.valTo], keys[m.key])
			}
		}
	})
}

func resumeFuzzed(t *testing.T, data []byte, runID string, report Report) {
	s := newStore(t)
	if err := os.WriteFile(s.file(runID, traceExt), data, 0o600); err != nil {
		t.Fatal(err)
	}
	tr, lines, err := s.Resume(runID)
	if err != nil || len(lines) != report.Lines || (tr.Repaired() > 0) != report.Torn {
		t.Fatalf("Resume: %d lines, %v", len(lines), err)
	}
	must[Line](t)(tr.Append("run.resumed", struct{}{}, noon, false))
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	if r, err := Verify(tr.Path()); err != nil || r.Torn || r.Lines != report.Lines+1 {
		t.Fatalf("after Resume: %+v, %v", r, err)
	}
}

// drawBody draws a JSON object whose keys the trace does not keep for itself.
func drawBody(rt *rapid.T) body {
	key := rapid.String().Filter(func(k string) bool { return reservedLike(strings.ToValidUTF8(k, "\ufffd")) == "" })
	leaf := rapid.OneOf(
		rapid.String().AsAny(), rapid.Int64().AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil),
		rapid.SliceOfN(rapid.MapOfN(key, rapid.String(), 0, 3), 0, 3).AsAny())
	return rapid.MapOfN(key, leaf, 0, 6).Draw(rt, "body")
}

func TestWhatWasAppendedIsReadBack(t *testing.T) {
	types := rapid.StringMatching(`[a-z]{1,8}\.[a-z_]{1,8}`)
	rapid.Check(t, func(rt *rapid.T) {
		s := newStore(t)
		tr := must[*Trace](t)(s.Create("r1"))
		var want []Line
		for range rapid.IntRange(1, 12).Draw(rt, "lines") {
			if len(want) > 0 && rapid.IntRange(0, 3).Draw(rt, "reopen") == 0 {
				tr = reopen(t, s, tr, want)
			}
			ts := time.Unix(rapid.Int64Range(-1<<35, 1<<37).Draw(rt, "s"), rapid.Int64Range(0, 1e9-1).Draw(rt, "ns"))
			fields := drawBody(rt)
			l, err := tr.Append(types.Draw(rt, "type"), fields, ts, false)
			if err != nil {
				rt.Fatal(err)
			}
			var got, sent body
			if err := errors.Join(json.Unmarshal(l.Body, &got), json.Unmarshal(must[[]byte](t)(json.Marshal(fields)), &sent)); err != nil {
				rt.Fatal(err)
			}
			for _, k := range reserved {
				delete(got, k)
			}
			if diff := cmp.Diff(sent, got); diff != "" || !l.TS.Equal(ts) {
				rt.Fatalf("%v, %s", l.TS, diff)
			}
			want = append(want, l)
		}
		tr = reopen(t, s, tr, want)
		tr.Close()
		if diff := cmp.Diff(want, readLines(t, tr.Path())); diff != "" {
			rt.Fatal(diff)
		}
		checkByHand(t, tr.Path(), len(want))
	})
}

func reopen(t *testing.T, s *Store, tr *Trace, want []Line) *Trace {
	t.Helper()
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	again, lines, err := s.Resume("r1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Fatal(diff)
	}
	return again
}
