package interp

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestABlockLeavesWhatItSays(t *testing.T) {
	huge, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	bigs := cmp.Comparer(func(a, b *big.Int) bool { return a.Cmp(b) == 0 })
	tests := []struct {
		name, block string
		want        Result
	}{
		{"nothing", "", Result{}},
		{"print", `print("a", 1); print("b")`, Result{Printed: "a 1\nb\n"}},
		{"last expression", "x = 2\nx * 21", Result{Value: int64(42), HasValue: true}},
		{"a last None is no value", "print(1)", Result{Printed: "1\n"}},
		{"final ends at once", "print(1)\nfinal({'a': [1, 2.5, None, True]})\nprint(2)", Result{Printed: "1\n", HasFinal: true,
			Final: map[string]any{"a": []any{int64(1), 2.5, nil, true}}}},
		{"final None", "final(None)", Result{HasFinal: true}},
		{"final in a function in a loop", "def f(x):\n  if x == 3:\n    final(x)\nfor i in range(9):\n  f(i)", Result{Final: int64(3), HasFinal: true}},
		{"final in a string is text", `"final(1)"`, Result{Value: "final(1)", HasValue: true}},
		{"final through attempt", "attempt(final, value=7)\nprint(1)", Result{Final: int64(7), HasFinal: true}},
		{"values cross", "echo({'t': (1, b'x'), 's': set(['z']), 'r': range(2), 'st': struct(a=1), 'big': 123456789012345678901234567890})",
			Result{HasValue: true, Value: map[string]any{"t": []any{int64(1), []byte("x")}, "s": []any{"z"},
				"r": []any{int64(0), int64(1)}, "st": map[string]any{"a": int64(1)}, "big": huge}}},
		{"keys arrive sorted", "[k for k in echo({'b': 1, 'c': 2, 'a': 3})]", Result{Value: []any{"a", "b", "c"}, HasValue: true}},
		{"attempt catches", "r = attempt(broken)\n[r.ok, r.value, r.error]", Result{Value: []any{false, nil, "the tool broke"}, HasValue: true}},
		{"attempt succeeds", "r = attempt(echo, value=3)\n[r.ok, r.value, r.error]", Result{Value: []any{true, int64(3), nil}, HasValue: true}},
		{"attempt catches a wrong call", "attempt(echo).ok", Result{Value: false, HasValue: true}},
		{"None is left out", "read('p', start=None, lines=2)", Result{Value: map[string]any{"path": "p", "lines": int64(2)}, HasValue: true}},
		{"parallel", "r = parallel([(echo, {'value': 1}), (broken,), (echo, {}), (read, {'path': 'p'})])\n[[x.ok, x.value, x.error] for x in r]",
			Result{HasValue: true, Value: []any{[]any{true, int64(1), nil}, []any{false, nil, "the tool broke"},
				[]any{false, nil, `echo: missing argument "value"; usage: echo(value)`}, []any{true, map[string]any{"path": "p"}, nil}}}},
		{"parallel of none", "parallel([]) + parallel([(echo,)])[:0]", Result{HasValue: true, Value: []any{}}},
		{"print before final", "print('é' + 'é'[:1])\nfinal(1)", Result{Printed: "é?\n", HasFinal: true, Final: int64(1)}},
		{"libraries", "json.decode('[1]')[0] + math.ceil(0.5)", Result{Value: int64(2), HasValue: true}},
		{"a function as value warns", "len", Result{Warnings: []string{
			"the last expression is not shown: value cannot cross between script and tools: a builtin_function_or_method is not data"}}},
	}
	forEachMode(t, func(t *testing.T, cfg Config) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				got := mustExec(t, open(t, cfg), tt.block)
				got.Steps, got.CPU = 0, 0
				if d := cmp.Diff(tt.want, got, bigs); d != "" {
					t.Error(d)
				}
			})
		}
	})
}

func TestStateStaysBetweenBlocks(t *testing.T) {
	forEachMode(t, func(t *testing.T, cfg Config) {
		s := open(t, cfg)
		mustExec(t, s, "items = [1]\ndef add(x):\n  items.append(x)\n  return len(items)")
		mustExec(t, s, "add(2)")
		if _, err := exec(t, s, "n = 5\nfail('no')"); !errors.Is(err, ErrRuntime) {
			t.Fatalf("got %v, want ErrRuntime", err)
		}
		if got := mustExec(t, s, "[add(3), n]").Value; !cmp.Equal(got, []any{int64(3), int64(5)}) {
			t.Errorf("got %v: the failed block must keep what it had set", got)
		}
		if s.Dead() {
			t.Error("a script error must not cost the worker")
		}
		if _, err := exec(t, s, strings.Repeat("#", 64<<10+1)); !errors.Is(err, ErrSource) || s.Blocks() != 4 {
			t.Errorf("got %v with %d blocks: one that is too large is not given to the worker", err, s.Blocks())
		}
	})
}

func TestCallsAreNumberedAndPlaced(t *testing.T) {
	s := open(t, Config{Worker: []string{workerPath}})
	var got []Call
	record := callerFunc(func(_ context.Context, c Call) (any, error) { got = append(got, c); return nil, nil })
	for _, block := range []string{"def f():\n  echo(1)\necho(2)\n  \nf()", "f()\nattempt(echo, value=3)\nsorted([4], key=echo)"} {
		if _, err := s.Exec(t.Context(), block, record); err != nil {
			t.Fatal(err)
		}
	}
	arg := func(n int64) map[string]any { return map[string]any{"value": n} }
	want := []Call{{"echo", arg(2), "block:3:5", 1}, {"echo", arg(1), "block:2:7", 2},
		{"echo", arg(1), "block#1:2:7", 1}, {"echo", arg(3), "block:2:8", 2}, {"echo", arg(4), "", 3}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// batchCaller serves testTools and keeps what it was given.
type batchCaller struct {
	callerFunc
	batches [][]Call
	err     error
	extra   int
}

func (b *batchCaller) CallBatch(ctx context.Context, calls []Call) ([]BatchResult, error) {
	b.batches = append(b.batches, calls)
	results := make([]BatchResult, len(calls)+b.extra)
	for i, c := range calls {
		results[i].Value, results[i].Err = b.Call(ctx, c)
	}
	return results, b.err
}

func TestABatchIsOneCallAndKeepsItsOrder(t *testing.T) {
	s := open(t, Config{Worker: []string{workerPath}})
	c := &batchCaller{callerFunc: testCaller}
	r, err := s.Exec(t.Context(), "echo(0)\nx = parallel([(echo, {'value': i}) for i in range(3)])\necho(4)\n[y.value for y in x]", c)
	if err != nil || !cmp.Equal(r.Value, []any{int64(0), int64(1), int64(2)}) {
		t.Fatalf("got %v, %v", r.Value, err)
	}
	var want []Call
	for i := range 3 {
		want = append(want, Call{"echo", map[string]any{"value": int64(i)}, "block:2:13", i + 2})
	}
	if d := cmp.Diff([][]Call{want}, c.batches); d != "" {
		t.Error(d)
	}
}

func TestABatchUnwindsOnceItsCallsHaveEnded(t *testing.T) {
	errOther := errors.New("other")
	block := "print('before')\nattempt(echo, value=parallel([(echo, {'value': 1}), (pause,), (read, {'path': 'p'}), (pause,)]))\nprint('after')"
	for name, c := range map[string]Caller{
		"one by one":       testCaller,
		"at once":          &batchCaller{callerFunc: testCaller},
		"as a whole":       &batchCaller{callerFunc: testCaller, err: Unwind(errors.Join(errPaused, errOther))},
		"too many results": &batchCaller{callerFunc: testCaller, extra: 1},
	} {
		s := open(t, Config{Unsafe: true})
		r, err := s.Exec(t.Context(), block, c)
		if name == "too many results" {
			if err == nil || !strings.Contains(err.Error(), "5 results for 4 calls") {
				t.Errorf("%s: got %v", name, err)
			}
		} else if !errors.Is(err, errPaused) || errors.Is(err, errOther) != (name == "as a whole") {
			t.Errorf("%s: got %v", name, err)
		}
		if r.Printed != "before\n" || s.Dead() {
			t.Errorf("%s: printed %q, dead %v", name, r.Printed, s.Dead())
		}
		if b, ok := c.(*batchCaller); ok && (len(b.batches) != 1 || len(b.batches[0]) != 4) {
			t.Errorf("%s: batches %v", name, b.batches)
		}
	}
	var began []string
	one := callerFunc(func(ctx context.Context, c Call) (any, error) {
		began = append(began, c.Tool)
		return testCaller(ctx, c)
	})
	if _, err := open(t, Config{Unsafe: true}).Exec(t.Context(), block, one); !errors.Is(err, errPaused) || !cmp.Equal(began, []string{"echo", "pause"}) {
		t.Errorf("one by one: began %q, %v", began, err)
	}
}

func TestAFailedBatchFailsEachOfItsCalls(t *testing.T) {
	c := &batchCaller{callerFunc: testCaller, err: errBroken}
	r, err := open(t, Config{Unsafe: true}).Exec(t.Context(), "[x.error for x in parallel([(echo, {'value': 1}), (pause,)])]", c)
	if err != nil && !errors.Is(err, errPaused) {
		t.Fatal(err)
	}
	if !cmp.Equal(r.Value, []any{"the tool broke", "the tool broke"}) {
		t.Errorf("got %v", r.Value)
	}
}

func TestTheResultsOfABatchFitOneFrame(t *testing.T) {
	big := callerFunc(func(context.Context, Call) (any, error) { return strings.Repeat("x", 1<<20-1), nil })
	r, err := open(t, Config{Worker: []string{workerPath}}).Exec(t.Context(),
		"[len(x.value) if x.ok else x.error for x in parallel([(echo, {'value': 1})] * 50)]", big)
	list, _ := r.Value.([]any)
	if err != nil || len(list) != 50 || list[2] != int64(1<<20-1) || !strings.Contains(fmt.Sprint(list[3]), "too large") {
		t.Errorf("got %.200v, %v", r.Value, err)
	}
}

func TestWhatWasPrintedOutlivesTheWorker(t *testing.T) {
	for name, tt := range map[string]struct {
		block string
		want  error
	}{
		"killed for its time": {"print('one')\nprint('two')\n" + endless, ErrWall},
		"died of its memory":  {"print('one')\nprint('two')\n[0] * ((1 << 30) - 1)", ErrMemory},
	} {
		s := open(t, Config{Worker: []string{workerPath}, Limits: Limits{Wall: time.Second}})
		if r, err := exec(t, s, tt.block); !errors.Is(err, tt.want) || r.Printed != "one\ntwo\n" {
			t.Errorf("%s: printed %q, %v", name, r.Printed, err)
		}
	}
}

func TestUnwindPassesThroughAttempt(t *testing.T) {
	forEachMode(t, func(t *testing.T, cfg Config) {
		for _, block := range []string{"pause()", "attempt(pause)\nprint('after')", "def f():\n  return attempt(pause)\n[f() for i in range(3)]"} {
			s := open(t, cfg)
			r, err := exec(t, s, block)
			if !errors.Is(err, errPaused) {
				t.Errorf("%q: got %v, want the paused error", block, err)
			}
			if r.Printed != "" || s.Dead() {
				t.Errorf("%q: printed %q, dead %v: the block must end at the call, and the worker live", block, r.Printed, s.Dead())
			}
		}
	})
	if Unwind(nil) != nil {
		t.Error("Unwind(nil) is an error")
	}
}

func TestAToolErrorEndsTheBlockAndSaysWhere(t *testing.T) {
	s := open(t, Config{Unsafe: true})
	_, err := exec(t, s, "x = 1\n\ny = broken()")
	var be *BlockError
	if !errors.As(err, &be) || be.Line != 3 || be.Col != 11 || !strings.Contains(be.Error(), "line 3, column 11: the tool broke") {
		t.Errorf("got %#v", err)
	}
}

func TestAResultThatIsNotPlainIsACatchableError(t *testing.T) {
	s := open(t, Config{Unsafe: true})
	for _, v := range []any{make(chan int), strings.Repeat("x", 2<<20), "\xff", map[string]any{"a": []any{struct{}{}}}} {
		bad := callerFunc(func(context.Context, Call) (any, error) { return v, nil })
		r, err := s.Exec(t.Context(), "attempt(echo, value=1).error", bad)
		if text, _ := r.Value.(string); err != nil || !strings.Contains(text, "echo: result: ") {
			t.Errorf("%T: got %v, %v", v, r.Value, err)
		}
	}
}

func TestCancelKillsTheWorkerAndIsTheCause(t *testing.T) {
	errStop := errors.New("the user stopped it")
	forEachMode(t, func(t *testing.T, cfg Config) {
		s := open(t, cfg)
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := callerFunc(func(context.Context, Call) (any, error) { cancel(errStop); return nil, nil })
		start := time.Now()
		_, err := s.Exec(ctx, "echo(1)\nwhile True:\n  pass", stop)
		if !errors.Is(err, errStop) || !s.Dead() || time.Since(start) > 2*time.Second {
			t.Errorf("got %v after %v, dead %v", err, time.Since(start), s.Dead())
		}
		if _, err := exec(t, s, "1"); !errors.Is(err, ErrClosed) {
			t.Errorf("after death: got %v, want ErrClosed", err)
		}
	})
}

func TestAnEndedContextStartsNothing(t *testing.T) {
	s := open(t, Config{Unsafe: true})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Exec(ctx, "1", testCaller); !errors.Is(err, context.Canceled) || s.Dead() {
		t.Errorf("got %v, dead %v", err, s.Dead())
	}
}

func TestAPanicOfTheCallerEndsTheSession(t *testing.T) {
	s := open(t, Config{Worker: []string{workerPath}})
	defer func() {
		if recover() == nil || !s.Dead() {
			t.Error("the panic must reach the owner and the session must be dead")
		}
	}()
	s.Exec(t.Context(), "echo(1)", callerFunc(func(context.Context, Call) (any, error) { panic("bug") }))
}

func TestTimeInCallsDoesNotCount(t *testing.T) {
	s := open(t, Config{Unsafe: true, Limits: Limits{Wall: 300 * time.Millisecond}})
	release := make(chan struct{})
	time.AfterFunc(500*time.Millisecond, func() { close(release) })
	wait := callerFunc(func(context.Context, Call) (any, error) { <-release; return nil, nil })
	if _, err := s.Exec(t.Context(), "echo(1)", wait); err != nil {
		t.Error(err)
	}
}

func TestALaterBlockThatRebindsAReadGlobalWarns(t *testing.T) {
	s := open(t, Config{Unsafe: true})
	mustExec(t, s, "x = 1\ndef f():\n  return x\ng = lambda: x")
	r := mustExec(t, s, "x = 2\nf()")
	if r.Value != int64(1) || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "still sees the old x") {
		t.Errorf("got %v with %q", r.Value, r.Warnings)
	}
	if r := mustExec(t, s, "def h():\n  return x\nx = 3\nh()"); r.Value != int64(3) {
		t.Errorf("got %v", r.Value)
	}
}

func TestCloseDuringExecEndsIt(t *testing.T) {
	s := open(t, Config{Worker: []string{workerPath}})
	closing := callerFunc(func(context.Context, Call) (any, error) { return nil, s.Close() })
	if _, err := s.Exec(t.Context(), "echo(1)", closing); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}
