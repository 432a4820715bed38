package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// sealed makes lines into a trace whose chain holds, so that only what the test puts into a line can be wrong.
// PREV in a line stands for the hash of the line before.
func sealed(lines ...string) []byte {
	var out []byte
	prev := zeroPrev
	for _, l := range lines {
		l = strings.ReplaceAll(l, "PREV", prev)
		prev = hashLine([]byte(l))
		out = append(out, l+"\n"...)
	}
	return out
}

func good(seq int) string {
	return fmt.Sprintf(`{"v":1,"seq":%d,"ts":"2026-03-01T12:00:00Z","run_id":"r1","type":"a.b","prev":"PREV"}`, seq)
}

// TestVerifyNamesTheLineAndTheByte changes the second of three lines, and wants the byte that mark stands at.
func TestVerifyNamesTheLineAndTheByte(t *testing.T) {
	swap := func(old, new string) string { return strings.Replace(good(2), old, new, 1) }
	for _, tt := range []struct {
		name, line, mark, why string
	}{
		{"no JSON", swap(`"a.b"`, `a.b`), `a.b`, "not JSON: invalid character 'a'"},
		{"half an object", good(2)[:30], "\n", "not JSON: unexpected end"},
		{"two objects", good(2) + "{}", "{}", "not JSON: invalid character '{'"},
		{"empty", "", "\n", "not JSON"},
		{"an array", `[1]`, `[`, "not a JSON object"},
		{"300 NUL bytes", swap(`"a.b"`, `"`+strings.Repeat("\x00", 300)+`"`), "\x00", "NUL byte"},
		{"an emoji cut in two", swap("a.b", "caf\u00e9 \xf0\x9f"), "\xf0\x9f", "not UTF-8"},
		{"a key twice", swap(`"prev"`, `"x":{"k":1,"k":2},"prev"`), `"k":2`, `key "k" stands twice`},
		{"a reserved key twice", swap(`"prev"`, `"s\u0065q":2,"prev"`), `"s\u0065q"`, `key "seq" stands twice`},
		{"no v", swap(`"v":1,`, ``), `{`, `no "v"`},
		{"no prev", swap(`,"prev":"PREV"`, ``), `{`, `no "prev"`},
		{"v in capitals", swap(`"v"`, `"V"`), `"V"`, `key "V" can be taken for "v"`},
		{"seq a second time, in capitals", swap(`"prev"`, `"SEQ":7,"prev"`), `"SEQ"`, `key "SEQ" can be taken for "seq"`},
		{"v unknown", swap(`"v":1`, `"v":2`), `2,`, "v is 2"},
		{"v a string", swap(`"v":1`, `"v":"1"`), `"1"`, `v is "1"`},
		{"seq again", swap(`"seq":2`, `"seq":1`), `1,"ts"`, "seq is 1, not 2"},
		{"seq a fraction", swap(`"seq":2`, `"seq":2.0`), `2.0`, "seq is 2.0"},
		{"seq null", swap(`"seq":2`, `"seq":null`), `null`, "seq is null"},
		{"ts no time", swap(`12:00:00Z`, `25:00:00Z`), `"2026`, "not a time"},
		{"ts a number", swap(`"2026-03-01T12:00:00Z"`, `5`), `5,`, "ts is 5, not a string"},
		{"type an array", swap(`"a.b"`, `[["a"]]`), `[["a"]]`, `type is [["a"]], not a string`},
		{"another run", swap(`"r1"`, `"r2"`), `"r2"`, "run_id is r2, not r1"},
		{"a long run id", swap(`"r1"`, `"`+strings.Repeat("r", 99)+`"`), `"rrr`, "…"},
		{"prev no hash", swap(`PREV`, `abc`), `"abc"`, "prev is not 64 hex digits"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data := sealed(good(1), tt.line, good(3))
			start := bytes.IndexByte(data, '\n') + 1
			want := start + bytes.Index(data[start:], []byte(tt.mark))
			_, err := verify(newScanner(bytes.NewReader(data)))
			wantDamage(t, err, 2, int64(want), tt.why)
		})
	}
}

func TestVerifyAcceptsWhatIsOnlyUnusual(t *testing.T) {
	for name, line := range map[string]string{
		"unchanged":             good(2),
		"kept keys, deeper":     strings.Replace(good(2), `{"v"`, `{"x":{"seq":9,"prev":[{"v":7,"ts":0}]},"v"`, 1),
		"space everywhere":      strings.NewReplacer(":2", "\t: 2 ", `,"`, " ,\r \"", "}", " } ").Replace(good(2)),
		"a kept key in escapes": strings.Replace(good(2), `"seq"`, `"\u0073eq"`, 1),
		"a time with a zone":    strings.Replace(good(2), `00Z`, `00.5+01:00`, 1),
		"quotes and empties":    strings.Replace(good(2), `"prev"`, `"":"\\\"}","a":{},"b":[],"c":[ -1e5 , null ],"prev"`, 1),
	} {
		r, err := verify(newScanner(bytes.NewReader(sealed(good(1), line, good(3)))))
		if err != nil || r.Lines != 3 || r.Torn {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

func wantDamage(t *testing.T, err error, line int, offset int64, why string) {
	t.Helper()
	var d *DamageError
	if !errors.As(err, &d) {
		t.Fatalf("got %v", err)
	}
	if d.Line != line || d.Offset != offset || !strings.Contains(d.Why, why) {
		t.Errorf("got %v; want line %d, byte %d: %s", d, line, offset, why)
	}
	if want := fmt.Sprintf("broken at line %d, byte %d: %s", d.Line, d.Offset, d.Why); d.Error() != want {
		t.Errorf("text %q, want %q", d.Error(), want)
	}
}

func TestVerifyNamesALineThatWasMoved(t *testing.T) {
	lines := bytes.SplitAfter(sealed(good(1), good(2), good(3), good(4)), []byte("\n"))[:4]
	other := bytes.SplitAfter(sealed(strings.Replace(good(1), "a.b", "b.a", 1), good(2)), []byte("\n"))
	at := func(n int) int64 { return int64(len(bytes.Join(lines[:n-1], nil))) }
	const seqAt, prevAt = int64(len(`{"v":1,"seq":`)), int64(len(`{"v":1,"seq":1,"ts":"2026-03-01T12:00:00Z","run_id":"r1","type":"a.b","prev":`))
	zerosGone := bytes.Replace(lines[0], []byte(zeroPrev), []byte(hashLine(nil)), 1)
	wrongID := bytes.Replace(lines[0], []byte(`"r1"`), []byte(`"R1"`), 1)
	for _, tt := range []struct {
		name   string
		lines  [][]byte
		line   int
		offset int64
		why    string
	}{
		{"first line taken out", lines[1:], 1, seqAt, "seq is 2, not 1"},
		{"a line taken out", slices.Concat(lines[:1], lines[2:]), 2, at(2) + seqAt, "seq is 3, not 2"},
		{"a line twice", slices.Concat(lines[:2], lines[1:]), 3, at(3) + seqAt, "seq is 2, not 3"},
		{"two lines swapped", [][]byte{lines[0], lines[2], lines[1], lines[3]}, 2, at(2) + seqAt, "seq is 3, not 2"},
		{"a line of another run", [][]byte{other[0], lines[1]}, 1, 0, "its bytes do not have the hash that line 2 recorded"},
		{"the first prev", [][]byte{zerosGone}, 1, prevAt, "not 64 zeros"},
		{"the first run id", [][]byte{wrongID}, 1, prevAt - int64(len(`"r1","type":"a.b","prev":`)), "run_id is R1"},
		{"nothing", nil, 1, 0, "no whole line"},
		{"half of the first line", [][]byte{lines[0][:50]}, 1, 0, "no whole line"},
		{"a blank line", [][]byte{lines[0], []byte("\n")}, 2, at(2), "not JSON"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := verify(newScanner(bytes.NewReader(bytes.Join(tt.lines, nil))))
			wantDamage(t, err, tt.line, tt.offset, tt.why)
		})
	}
}

// Every single bit of every line but the last is under the chain. Of the last one, prev and the keys of the trace are
// checked; nothing vouches for the rest until another line follows.
func TestAFlippedBitIsFoundInItsLine(t *testing.T) {
	withText := strings.Replace(good(2), `"prev"`, `"text":"caf\u00e9 `+"\U0001f642"+`","list":[1,true,null],"prev"`, 1)
	data := sealed(good(1), withText, good(3), good(4))
	last := bytes.LastIndexByte(data[:len(data)-1], '\n') + 1
	for i := range last * 8 {
		bent := bytes.Clone(data)
		bent[i/8] ^= 1 << (i % 8)
		line := 1 + bytes.Count(data[:i/8], []byte("\n"))
		start := bytes.LastIndexByte(data[:i/8], '\n') + 1
		end := i/8 + bytes.IndexByte(data[i/8:], '\n')
		_, err := verify(newScanner(bytes.NewReader(bent)))
		var d *DamageError
		if !errors.As(err, &d) {
			t.Fatalf("bit %d of byte %d: %v", i%8, i/8, err)
		}
		if d.Line != line || d.Offset < int64(start) || d.Offset > int64(end) {
			t.Fatalf("bit %d of byte %d, in line %d: %v", i%8, i/8, line, d)
		}
	}
	prev := last + bytes.Index(data[last:], []byte(`"prev":"`)) + len(`"prev":"`)
	for i := prev; i < prev+64; i++ {
		bent := bytes.Clone(data)
		bent[i] ^= 1
		_, err := verify(newScanner(bytes.NewReader(bent)))
		wantDamage(t, err, 4, int64(i), "prev is not the hash of the line before")
	}
}

// A prev that was replaced by chance looks like a changed line before it, never like a small change of itself.
func TestUnrelatedHashesShareFewDigits(t *testing.T) {
	a := hashLine([]byte("0"))
	for i := range 1000 {
		b, agree := hashLine([]byte{1, byte(i), byte(i >> 8)}), 0
		for j := range a {
			if a[j] == b[j] {
				agree++
			}
		}
		if agree >= len(a)/2 {
			t.Fatalf("%s and %s", a, b)
		}
	}
}

func TestALineOverTheLimitIsDamageWithOrWithoutItsNewline(t *testing.T) {
	for _, end := range []string{"", "\n"} {
		long := io.MultiReader(bytes.NewReader(sealed(good(1))), strings.NewReader(strings.Repeat(" ", maxLine+1)+end))
		_, err := verify(newScanner(long))
		wantDamage(t, err, 2, int64(len(sealed(good(1)))), "over the limit of 16777216 bytes")
	}
}

func TestManyKeysAreNotSlow(t *testing.T) {
	var b strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&b, `"k%d":0,`, i)
	}
	line := strings.Replace(good(1), `"prev"`, b.String()+`"prev"`, 1)
	if _, err := verify(newScanner(bytes.NewReader(sealed(line)))); err != nil {
		t.Error(err)
	}
	line = strings.Replace(line, `"prev"`, `"k7":0,"prev"`, 1)
	_, err := verify(newScanner(bytes.NewReader(sealed(line))))
	wantDamage(t, err, 1, int64(strings.LastIndex(line, `"k7"`)), `key "k7" stands twice`)
}

func TestAReadErrorIsNoDamage(t *testing.T) {
	broken := errors.New("disk is gone")
	s := newScanner(io.MultiReader(bytes.NewReader(sealed(good(1), good(2))), iotest.ErrReader(broken)))
	if r, err := verify(s); !errors.Is(err, broken) || r.Lines != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	var i Info
	i.RunID = "r1"
	s = newScanner(io.MultiReader(bytes.NewReader(sealed(good(1))), iotest.ErrReader(broken)))
	if err := i.scan(s); !errors.Is(err, broken) {
		t.Errorf("scan: %v", err)
	}
}

func TestReadFileYieldsNoLineThatTheNextOneContradicts(t *testing.T) {
	data := sealed(good(1), good(2), good(3))
	data[bytes.LastIndex(data[:len(data)-len(good(3))], []byte("a.b"))] = 'x' // in the second line
	var seqs []int64
	var last error
	readAll(newScanner(bytes.NewReader(data)), func(l Line, err error) bool {
		if last = err; err == nil {
			seqs = append(seqs, l.Seq)
		}
		return true
	})
	if !slices.Equal(seqs, []int64{1}) || last == nil {
		t.Errorf("yielded %v, then %v", seqs, last)
	}
}

func TestReadFileStopsWhenTheCallerDoes(t *testing.T) {
	path := writeRun(t, newStore(t), "r1", 3)
	n := 0
	for range ReadFile(path) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d lines", n)
	}
}

func TestReportLastShowsThatATraceWasShortened(t *testing.T) {
	long, err1 := verify(newScanner(bytes.NewReader(sealed(good(1), good(2)))))
	short, err2 := verify(newScanner(bytes.NewReader(sealed(good(1)))))
	if err1 != nil || err2 != nil || long.Last == short.Last {
		t.Errorf("%+v %v, %+v %v", long, err1, short, err2)
	}
	if want := hashLine(bytes.TrimSuffix(sealed(good(1)), []byte("\n"))); short.Last != want {
		t.Errorf("Last is %s, want %s", short.Last, want)
	}
}
