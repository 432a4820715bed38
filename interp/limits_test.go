package interp

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// endless is a builtin that needs 2^60 steps of its own and none of the interpreter's.
const endless = "t = (1,)\nfor i in range(60):\n  t = (t, t)\n{t: 1}"

// deepTuple builds a tuple some millions deep within the step limit; each line ends in what then recurses over it.
const deepTuple = "t = ()\nfor i in range(700000):\n  t = ((((((((t,),),),),),),),)\n"

func TestEveryLimitHasItsError(t *testing.T) {
	second := Limits{Wall: 20 * time.Second}
	tests := []struct {
		name, block string
		limits      Limits
		want        error
		dead        bool
	}{
		{"source", strings.Repeat("#", 64<<10+1), Limits{}, ErrSource, false},
		{"nesting in brackets", strings.Repeat("(", 101) + "1" + strings.Repeat(")", 101), Limits{}, ErrSource, false},
		{"nesting past the parser", strings.Repeat("[", 5000), Limits{}, ErrSource, false},
		{"nesting in a chain", "1" + strings.Repeat("-1", 200), Limits{}, ErrSource, false},
		{"nesting in attributes", "x = 1\nx" + strings.Repeat(".b", 200), Limits{}, ErrSource, false},
		{"nesting in calls", "x = 1\nx" + strings.Repeat("()", 200), Limits{}, ErrSource, false},
		{"nesting in elif", "if 1:\n  pass\n" + strings.Repeat("elif 1:\n  pass\n", 200), Limits{}, ErrSource, false},
		{"nesting in unary operators", strings.Repeat("-", 200) + "1", Limits{}, ErrSource, false},
		{"nodes", "[" + strings.Repeat("1,", 20_001) + "]", Limits{}, ErrSource, false},
		{"integer literal", strings.Repeat("9", 301), Limits{}, ErrSource, false},
		{"syntax", "x = = 1", Limits{}, ErrSyntax, false},
		{"not UTF-8", "x = '\xff'", Limits{}, ErrSyntax, false},
		{"steps", "while True:\n  pass", Limits{Steps: 1000}, ErrSteps, false},
		{"steps through attempt", "while True:\n  attempt(broken)", Limits{Steps: 1000}, ErrSteps, false},
		{"runtime", "1 // 0", Limits{}, ErrRuntime, false},
		{"recursion", "def f():\n  return f()\nf()", Limits{}, ErrRuntime, false},
		{"final too big", "final('x' * 300000)", Limits{}, ErrOutput, false},
		{"final of too many parts", "final([0] * 60000)", Limits{}, ErrOutput, false},
		{"argument too big", "echo('x' * 300000)", Limits{}, ErrOutput, false},
		{"argument too big in a function", "sorted([1], key=lambda i: echo('x' * 300000))", Limits{}, ErrOutput, false},
		{"last expression too big", "'x' * 300000", Limits{}, ErrOutput, false},
		{"a result too big is no output", "read('big')", Limits{ResultBytes: 5}, ErrRuntime, false},
		{"wall", endless, Limits{Wall: 300 * time.Millisecond}, ErrWall, true},
		{"processor time", endless, Limits{CPU: time.Second, Wall: time.Minute}, ErrCPU, true},
		{"memory", "[0] * ((1 << 30) - 1)", second, ErrMemory, true},
		{"deep tuple as text", deepTuple + "'%s' % t", second, ErrMemory, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			// What the worker survives is tried in this process, where its code counts as covered.
			s := open(t, Config{Worker: []string{workerPath}, Limits: tt.limits, Unsafe: !tt.dead})
			_, err := exec(t, s, tt.block)
			var be *BlockError
			if !errors.Is(err, tt.want) || !errors.As(err, &be) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			if text := err.Error(); len(text) > 4<<10 || !utf8.ValidString(text) {
				t.Errorf("text of %d bytes", len(text))
			}
			if s.Dead() != tt.dead {
				t.Errorf("dead is %v, want %v", s.Dead(), tt.dead)
			}
		})
	}
}

func TestOutputOverItsLimitSaysWhatToChange(t *testing.T) {
	for block, want := range map[string]string{
		"x = 1\nfinal('x' * 300000)":      "output too large at line 2, column 6: final: value cannot cross between script and tools: too large: more than 262144 bytes\nhint: give out less at once: a part, a count or a summary",
		"echo({'a': ['x' * 300000]})":     "output too large at line 1, column 5: echo: at .value.a[0]: value cannot cross between script and tools: too large: more than 262144 bytes\nhint: give out less at once: a part, a count or a summary",
		"y = echo(7)\n['x' * 300000][:1]": "output too large: the block ran to its end, but its last expression is not shown: at [0]: value cannot cross between script and tools: too large: more than 262144 bytes\nhint: do not run the block again: end one with a part, a count or a summary of the value",
	} {
		s := open(t, Config{Unsafe: true})
		if _, err := exec(t, s, block); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestOutputOverItsLimitCanBeCaught(t *testing.T) {
	forEachMode(t, func(t *testing.T, cfg Config) {
		r := mustExec(t, open(t, cfg), "r = attempt(echo, value='x' * 300000)\nq = parallel([(echo, {'value': 'x' * 300000})])[0]\n"+
			"[r.ok, 'too large' in r.error, q.ok, 'too large' in q.error]")
		if !cmp.Equal(r.Value, []any{false, true, false, true}) {
			t.Errorf("got %v", r.Value)
		}
	})
}

func TestALastExpressionOverItsLimitKeepsWhatTheBlockDid(t *testing.T) {
	s := open(t, Config{Unsafe: true})
	if r, err := exec(t, s, "n = 5\nprint(n)\n'x' * 300000"); !errors.Is(err, ErrOutput) || r.Printed != "5\n" || r.HasValue {
		t.Errorf("got %+v, %v", r, err)
	}
	if r := mustExec(t, s, "n"); r.Value != int64(5) {
		t.Errorf("got %v", r.Value)
	}
}

func TestTheProcessorLimitIsForEachBlock(t *testing.T) {
	s := open(t, Config{Worker: []string{workerPath}, Limits: Limits{CPU: time.Second, Steps: 1 << 40}})
	for sum := time.Duration(0); sum < 3*time.Second/2; { // a block takes some 0.1 s
		r := mustExec(t, s, "for i in range(200000):\n  for j in range(8):\n    pass")
		if sum += r.CPU; r.CPU <= 0 {
			t.Fatal("the worker measured no time")
		}
	}
}

func TestPrintIsCutAndSaysSo(t *testing.T) {
	for name, block := range map[string]string{
		"bytes": "print('é' * 100000)\nprint('more')",
		"lines": "for i in range(2000):\n  print(i)",
		"one":   "print('\\n' * 2000)",
	} {
		t.Run(name, func(t *testing.T) {
			r := mustExec(t, open(t, Config{Unsafe: true}), block)
			text, marked := strings.CutSuffix(r.Printed, "\n[print output cut here: print less, or summarise before printing]\n")
			if !r.Truncated || !marked || !utf8.ValidString(text) {
				t.Fatalf("truncated %v, marked %v", r.Truncated, marked)
			}
			if len(text) > 64<<10 || strings.Count(text, "\n") > 1000 {
				t.Errorf("%d bytes, %d lines", len(text), strings.Count(text, "\n"))
			}
		})
	}
}

func TestErrorsAreCutWithTheirBacktrace(t *testing.T) {
	s := open(t, Config{Unsafe: true})
	_, err := exec(t, s, "def f():\n  fail('é' * 1000000)\ndef g():\n  f()\ng()")
	text := err.Error()
	if len(text) > 4<<10 || !utf8.ValidString(text) || !strings.Contains(text, "in g, line 4") {
		t.Errorf("%d bytes: …%q", len(text), text[len(text)-80:])
	}
}

func TestErrorsTellTheWriterWhatToDo(t *testing.T) {
	tests := []struct{ block, want string }{
		{"reed('x')", "undefined: reed (line 1) (did you mean read?)"},
		{"read('x', strat=1)", `read: unknown argument "strat" (did you mean start?); usage: read(path, start=, lines=)`},
		{"read()", `read: missing argument "path"; usage: read(path, start=, lines=)`},
		{"read('x', 1, 2, 3)", "4 positional arguments, at most 3"},
		{"read('x', path='y')", `argument "path" given twice`},
		{"read(1)", `argument "path" is int, want string`},
		{"read(None)", `argument "path" is NoneType, want string`},
		{"parallel(1)", "usage: parallel("},
		{"parallel([echo])", "parallel: member 0: a builtin_function_or_method, want a tuple of a tool and its arguments; usage: "},
		{"parallel([(len, {})])", "a builtin_function_or_method, want a tool"},
		{"parallel([(echo, [])])", "the arguments are a list, want a dict"},
		{"parallel([(echo, {1: 2})])", "an argument name is int, want string"},
		{"parallel([(echo, {'value': 1})] * 51)", "51 calls, at most 50"},
		{"fail(parallel([(echo, {'value': 'x' * 200000}), (echo, {'value': 'x' * 100000})])[1].error)", "too large: more than 262144 bytes"},
		{"range(1000001)", "range: 1000001 numbers, at most 1000000"},
		{"x = [0] * 1000001\nsorted(x)", "sorted: a list of 1000001 elements"},
		{"zip([1], 'a'.elems(), [0] * 1000001)", "zip: a list of 1000001 elements"},
		{"range(0, 5, 0)", "step argument must not be zero"},
		{"int()", "int: "},
		{"str()", "str: got 0 arguments"},
		{"json.decode()", "json.decode: missing argument for x"},
		{"json.decode(1)", "json.decode: for parameter x: got int, want string"},
		{"json.decode('[\"' + 'a' * 9 + '\\\\')", "unclosed string literal"},
		{"int('9' * 4301)", "at most 4300 digits"},
		{"x = 1 << 500\nfor i in range(6): x = x * x\nstr(x)", "str: an integer of more than 4300 digits"},
		{"x = []\nfor i in range(70): x = [x]\nrepr(x)", "repr: a value nested deeper than 64 levels"},
		{"x = (1,)\nfor i in range(40): x = (x, x)\nstr(x)", "str: a text of more than 4 MiB"},
		{"x = {'a': struct(b=set([1]))}\nfor i in range(70): x = {'a': struct(b=x)}\njson.encode(x)", "json.encode: a value nested"},
		{"str([0] * 5000000)", "str: a text of more than 4 MiB"},
		{"json.decode('[' * 65)", "json.decode: nested deeper than 64 levels"},
		{"json.decode('9' * 4301)", "json.decode: a number of more than 4300 digits"},
		{"json.decode(' ' * 5000000)", "json.decode: a text of 5000000 bytes"},
		{"json.indent('[1]', indent=' ' * 100)", "json.indent: indent of 100 bytes, at most 64"},
		{"attempt(len, x=1)", "attempt: the first argument is a builtin_function_or_method, want a tool"},
		{"attempt()", "usage: attempt(tool, name=value, ...)"},
		{"import os", "there is no import"},
		{"try:\n  pass", "use r = attempt(tool, name=value)"},
		{`print(f"a")`, "there are no f-strings"},
		{"load('a', 'b')", "load is not available"},
		{"\nread = 1", "line 2, column 1: cannot rebind read"},
		{"def len(): pass", "cannot rebind len"},
		{"for (a, [final]) in []: pass", "cannot rebind final"},
		{"if True:\n  print += 1", "cannot rebind print"},
		{"while False:\n  (json) = 1", "cannot rebind json"},
		{"def f():\n  return f()\nf()", "recursion is not available"},
		{"'a' + 1", "convert with str(x) first"},
		{"break", "break not in a loop"},
		{"x = 1\nreturn", "return statement not within a function (line 2)"},
		{"nam", "undefined: nam (line 1)"},
		{strings.Repeat("q", 50), "undefined: qqq"},
		{"name = 1\nprint(nam, nome, zzzzzzzzzz)", "undefined: nam (line 2) (did you mean name?); undefined: nome (line 2) (did you mean name?); undefined: zzzzzzzzzz (line 2)"},
		{"echo([x for x in [len] if x])", "at .value[0]: value cannot cross"},
		{"echo(struct(a=len))", "at .value.a: value cannot cross"},
		{"final({'é'[:1]: 1})", "at key: value cannot cross"},
		{"echo({1: 2})", "a dict key is int, want string"},
		{"echo([1, {'a': len}])", "at .value[1].a: value cannot cross"},
		{"x = []; x.append(x); echo(x)", "the list contains itself"},
		{"x = {}; x['a'] = x; echo(x)", "the dict contains itself"},
		{"echo(float('nan'))", "not a finite number"},
		{"echo(1 << 500 << 500 << 500 << 500 << 500 << 500 << 500 << 500 << 500)", "at most 4096"},
		{"echo('é'[:1])", "not valid UTF-8"},
		{"final(1, 2)", "final: got 2 arguments"},
		{"x = [1]\nfor i in range(40): x = [x]\nfinal(x)", "nested deeper than 32"},
	}
	s := open(t, Config{Unsafe: true})
	for _, tt := range tests {
		if _, err := exec(t, s, tt.block); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q:\n got %v\nwant %s", tt.block, err, tt.want)
		}
	}
}

func TestGuardedBuiltinsAreTheLibrarysOtherwise(t *testing.T) {
	s := open(t, Config{Unsafe: true})
	for block, want := range map[string]any{
		"str([1, 'a', None])": "[1, \"a\", None]", "str('e' * 5000000)[:1]": "e", "json.decode('x', default='d' * 99)[:1]": "d", "str(x=1) if False else repr('a')": `"a"`,
		"int('ff', 16)": int64(255), "int()  if False else int(2.5)": int64(2), "sorted([3, 1, 2], reverse=True)[0]": int64(3),
		"max([1, 5], key=lambda x: -x)": int64(1), "len(range(1000000))": int64(1000000), "str(range)": "<built-in function range>",
		`json.decode('{"a[[[": ["\\\\\\"[", 1.5, "12"]}')["a[[["][0]`: `\"[`, "json.decode('x', default=7)": int64(7),
		"json.encode({'b': 1, 'a': [2]})": `{"a":[2],"b":1}`, "json.indent('[1]', indent=' ')": "[\n 1\n]", `json.decode('"' + 'x' * 9)`: nil,
		"type(json)": "module", "[x for x in zip([1], reversed([2, 3]))]": []any{[]any{int64(1), int64(3)}},
	} {
		r, err := exec(t, s, block)
		if want == nil && err != nil {
			continue
		}
		if err != nil || !cmp.Equal(r.Value, want) {
			t.Errorf("%s: got %v, %v, want %v", block, r.Value, err, want)
		}
	}
}

func TestLocalNamesMayShadow(t *testing.T) {
	s := open(t, Config{Unsafe: true})
	r := mustExec(t, s, "def f(read):\n  len = read\n  return len\n[read for read in [f(1)]]")
	if !r.HasValue {
		t.Error("no value")
	}
}
