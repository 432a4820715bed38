package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var sameInt = cmp.Comparer(func(a, b *big.Int) bool { return a.Cmp(b) == 0 })

func TestMessagesSurviveTheWire(t *testing.T) {
	limits, _ := Limits{}.WithDefaults()
	huge := new(big.Int).Lsh(big.NewInt(1), 100)
	value := map[string]any{"a": []any{nil, true, int64(-1), huge, new(big.Int).Neg(huge), 1.5, "é", []byte{0xff}}}
	tests := []struct{ sent, got Message }{
		{&Setup{Version, limits, true}, &Setup{}},
		{&Hello{Version, []string{"a"}, []string{"b: no"}}, &Hello{}},
		{&Open{[]Signature{{"t", "doc", []Param{{"p", "string", true, "d"}}}}, "exec"}, &Open{}},
		{&Ready{}, &Ready{}},
		{&Block{math.MaxUint64, "x = 1"}, &Block{}},
		{&Call{1, 2, "t", value, "block:1:1"}, &Call{}},
		{&Reply{1, value, true, "e", true}, &Reply{}},
		{&Batch{[]Call{{1, 2, "t", value, "block:1:1"}, {1, 3, "u", nil, ""}}}, &Batch{}},
		{&Replies{[]Reply{{N: 1, Value: value}, {N: 2, Failed: true, Error: "e"}}}, &Replies{}},
		{&Print{1, "p\n", true}, &Print{}},
		{&Done{Block: 1, Value: value, HasValue: true, Warnings: []string{"w"}, Fault: &Fault{FaultSteps, 1, 2, "m", "h"}}, &Done{}},
	}
	for _, tt := range tests {
		var b bytes.Buffer
		c := NewConn(&b)
		if err := c.Send(tt.sent); err != nil {
			t.Fatal(err)
		}
		f, err := c.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Decode(tt.got); err != nil {
			t.Errorf("%s: %v", f.Kind, err)
		}
		if d := cmp.Diff(tt.sent, tt.got, sameInt); d != "" {
			t.Errorf("%s: %s", f.Kind, d)
		}
		if _, err := c.Receive(); err != io.EOF {
			t.Errorf("%s: after the frame: %v", f.Kind, err)
		}
	}
}

func TestSendRefusesWhatIsTooBigOrNotData(t *testing.T) {
	var b bytes.Buffer
	c := NewConn(&b)
	if err := c.Send(Block{Source: strings.Repeat("x", MaxFrame)}); !errors.Is(err, ErrTooBig) {
		t.Errorf("got %v, want ErrTooBig", err)
	}
	if err := c.Send(Reply{Value: func() {}}); err == nil || !strings.Contains(err.Error(), "wire: encode reply") {
		t.Errorf("got %v", err)
	}
	if b.Len() != 0 {
		t.Errorf("%d bytes were sent", b.Len())
	}
}

// raw makes a frame of any content.
func raw(kind Kind, body ...byte) []byte {
	return append(append(binary.BigEndian.AppendUint32(nil, uint32(len(body)+1)), byte(kind)), body...)
}

func TestBadFramesAreMalformed(t *testing.T) {
	ints := func(n int) []byte { return bytes.Repeat([]byte{0}, n) }
	array := func(n uint32, items []byte) []byte {
		return append(append([]byte{0xa1, 5, 0x9a}, binary.BigEndian.AppendUint32(nil, n)...), items...)
	}
	many := bytes.Repeat(append([]byte{0x99, 0xc3, 0x50}, ints(50_000)...), 4) // 4 arrays of 50,000
	tests := map[string][]byte{
		"empty body":       {},
		"truncated":        {0xa1},
		"truncated head":   {0xa1, 1, 0x1b, 0},
		"truncated string": {0xa1, 5, 0x7a, 0xff, 0xff, 0xff, 0xff},
		"reserved head":    {0xa1, 1, 0x1c},
		"trailing":         {0xa0, 0xa0},
		"duplicate":        {0xa2, 1, 1, 1, 1},
		"unknown field":    {0xa1, 0x18, 99, 1},
		"indefinite":       {0xbf, 0xff},
		"bad UTF-8":        {0xa1, 5, 0x61, 0xff},
		"NaN":              {0xa1, 5, 0xf9, 0x7e, 0},
		"infinity":         {0xa1, 5, 0xf9, 0x7c, 0},
		"integer key":      {0xa1, 5, 0xa1, 1, 1},
		"deep":             append(append([]byte{0xa1, 5}, bytes.Repeat([]byte{0x81}, 100)...), 0),
		"long array":       array(MaxNodes+1, ints(MaxNodes+1)),
		"many items":       append([]byte{0xa1, 5, 0x84}, many...),
	}
	for name, body := range tests {
		f, err := NewConn(bytes.NewBuffer(raw(KindDone, body...))).Receive()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := f.Decode(&Done{}); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: got %v, want ErrMalformed", name, err)
		}
	}
}

func TestLengthsAreCheckedBeforeAllocation(t *testing.T) {
	for _, n := range []uint32{0, MaxFrame + 1, math.MaxUint32} {
		head := append(binary.BigEndian.AppendUint32(nil, n), byte(KindDone))
		allocs := testing.AllocsPerRun(1, func() {
			if _, err := NewConn(bytes.NewBuffer(head)).Receive(); !errors.Is(err, ErrMalformed) {
				t.Errorf("length %d: got %v", n, err)
			}
		})
		if allocs > 20 {
			t.Errorf("length %d: %v allocations", n, allocs)
		}
	}
	if _, err := NewConn(bytes.NewBuffer([]byte{0, 0, 0, 9, 1})).Receive(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut frame: got %v", err)
	}
}

func TestKindsHaveNames(t *testing.T) {
	if got := KindReply.String() + " " + Kind(0).String() + " " + Kind(99).String(); got != "reply kind 0 kind 99" {
		t.Errorf("got %q", got)
	}
}

func TestMustPanicsOnAFaultOfThisPackage(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	must(0, io.EOF)
}

func TestPlainTakesDataOnly(t *testing.T) {
	deep := any("x")
	for range MaxDepth {
		deep = []any{deep}
	}
	cyclic := []any{nil}
	cyclic[0] = cyclic
	tests := []struct {
		name string
		in   any
		want any // ignored if text is set
		text string
	}{
		{"int", 3, int64(3), ""},
		{"small big.Int", big.NewInt(5), int64(5), ""},
		{"bytes", []byte("a"), []byte("a"), ""},
		{"at the depth", deep, deep, ""},
		{"too deep", []any{deep}, nil, "nested deeper than 32"},
		{"cyclic", cyclic, nil, "or contains itself"},
		{"too many", make([]any, MaxNodes), nil, "more than 50000 parts"},
		{"too big", strings.Repeat("x", 1<<20), nil, "too large: more than 1048576 bytes"},
		{"big key", map[string]any{strings.Repeat("x", 1<<20): 1}, nil, "at key: value cannot cross between script and tools: too large: more than"},
		{"bad key", map[string]any{"\xff": 1}, nil, "not valid UTF-8"},
		{"bad string", map[string]any{"a": []any{0, "\xff"}}, nil, "at .a[1]: "},
		{"long integer", new(big.Int).Lsh(big.NewInt(1), MaxIntBits), nil, "an integer of 4097 bits"},
		{"nil integer", (*big.Int)(nil), nil, "a nil *big.Int"},
		{"NaN", math.NaN(), nil, "not a finite number"},
		{"infinity", math.Inf(-1), nil, "not a finite number"},
		{"time", time.Time{}, nil, "Go type time.Time"},
		{"typed map", map[string]string{}, nil, "Go type map[string]string"},
	}
	for _, tt := range tests {
		got, err := Plain(tt.in, 1<<20)
		switch {
		case tt.text == "":
			if err != nil || !reflect.DeepEqual(tt.want, got) { // cmp.Diff takes exponential time in the depth
				t.Errorf("%s: got %v, %v", tt.name, got, err)
			}
		case errors.Is(err, ErrSize) != strings.Contains(tt.text, "more than"):
			t.Errorf("%s: got %v: is it ErrSize?", tt.name, err)
		case !errors.Is(err, ErrValue) || !strings.Contains(err.Error(), tt.text):
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.text)
		}
	}
}

func TestValuesThatShareABudget(t *testing.T) {
	b := &Budget{Bytes: 30}
	for i, tt := range []struct {
		v     any
		limit int
		ok    bool
	}{
		{"0123456789", 10, false}, // 11 with its node
		{"0123456789", 11, true},
		{"0123456789", 99, true},
		{"0123456789", 99, false}, // 8 are left
		{"0123456", 99, true},
		{"", 99, false},
	} {
		if _, err := b.Plain(tt.v, tt.limit); (err == nil) != tt.ok {
			t.Errorf("value %d: got %v", i, err)
		}
	}
	b = &Budget{Bytes: 1 << 20}
	half := make([]any, MaxNodes/2)
	if _, err := b.Plain(half, 1<<20); err != nil {
		t.Error(err)
	}
	if _, err := b.Plain(half, 1<<20); !errors.Is(err, ErrValue) {
		t.Errorf("more nodes than one value may have: got %v", err)
	}
}

func TestPlainSharesNothing(t *testing.T) {
	in := map[string]any{"a": []any{[]byte{1}}}
	out, err := Plain(in, 100)
	if err != nil {
		t.Fatal(err)
	}
	in["a"].([]any)[0].([]byte)[0] = 2
	if d := cmp.Diff(map[string]any{"a": []any{[]byte{1}}}, out); d != "" {
		t.Error(d)
	}
}

func TestClipKeepsItsPromise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "raw")) + rapid.String().Draw(t, "text")
		limit := rapid.IntRange(16, 64).Draw(t, "limit")
		got := Clip(s, limit)
		if len(got) > limit || !utf8.ValidString(got) {
			t.Fatalf("Clip(%q, %d) = %q", s, limit, got)
		}
		if len(s) <= limit && utf8.ValidString(s) && got != s {
			t.Fatalf("Clip(%q, %d) = %q", s, limit, got)
		}
	})
}

func TestZeroLimitsAreTheDefaults(t *testing.T) {
	l, errs := Limits{}.WithDefaults()
	if errs != nil {
		t.Fatal(errs)
	}
	want := Limits{64 << 10, 100, 20_000_000, 5 * time.Second, 15 * time.Second, 256 << 20, 64 << 10, 1000, 4 << 10, 256 << 10, 1 << 20, 256 << 10}
	if l != want {
		t.Errorf("got %+v", l)
	}
	_, errs = Limits{Source: -1, Nesting: -1, Steps: 1 << 63, CPU: -1, Wall: -1, Memory: -1, PrintBytes: -1, PrintLines: -1,
		ErrorBytes: -1, ArgBytes: -1, ResultBytes: -1, FinalBytes: -1}.WithDefaults()
	if len(errs) != 12 {
		t.Errorf("%d faults of 12: %v", len(errs), errs)
	}
}

func TestSignaturesRender(t *testing.T) {
	s := Signature{"fs_read", "Reads a file.\nNot a directory.", []Param{{"path", "string", true, "where\n\"\"\""}, {"start", "integer", false, ""}, {"any", "", false, ""}}}
	if got := s.String(); got != "fs_read(path, start=, any=)" {
		t.Error(got)
	}
	want := "def fs_read(path: str, start: int = None, any: any = None): ...  # Reads a file. Not a directory.\n    # path: where \"\"\""
	if got := s.Stub(); got != want {
		t.Error(got)
	}
	if !KnownType("") || KnownType("float") {
		t.Error("types")
	}
}

// FuzzReceive feeds the host's decoder what a hostile worker could send.
func FuzzReceive(f *testing.F) {
	var b bytes.Buffer
	c := NewConn(&b)
	c.Send(Call{1, 2, "t", map[string]any{"a": []any{1.5, big.NewInt(7), []byte("x")}}, "block:1:1"})
	c.Send(Done{Block: 1, HasFinal: true, Final: "x", Fault: &Fault{Kind: FaultSteps}})
	f.Add(b.Bytes())
	c.Send(Batch{[]Call{{1, 2, "t", nil, ""}, {1, 3, "t", nil, ""}}})
	c.Send(Print{1, "é", true})
	f.Add(b.Bytes())
	f.Add(raw(KindHello, 0xa1, 1, 0xc2, 0x41, 1))
	f.Add(raw(KindDone, 0xbf, 0xff))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := NewConn(bytes.NewBuffer(data))
		for {
			frame, err := c.Receive()
			if err != nil {
				return
			}
			var call Call
			var done Done
			for _, m := range []Message{&call, &done, &Hello{}, &Batch{}, &Print{}} {
				if err := frame.Decode(m); err != nil && !errors.Is(err, ErrMalformed) {
					t.Fatalf("untyped error %v", err)
				}
			}
			for _, v := range []any{call.Args, done.Value, done.Final} {
				plain, err := Plain(v, 1<<20)
				if err != nil {
					if !errors.Is(err, ErrValue) {
						t.Fatalf("untyped error %v", err)
					}
					continue
				}
				if err := NewConn(&bytes.Buffer{}).Send(Reply{Value: plain}); err != nil {
					t.Fatalf("plain data that cannot be sent: %v", err)
				}
			}
		}
	})
}
