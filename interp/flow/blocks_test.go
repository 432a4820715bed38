package flow

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.starlark.net/starlark"

	"github.com/google/go-cmp/cmp"
)

func TestFlowsAcrossBlocks(t *testing.T) {
	for _, c := range []struct {
		name   string
		blocks []string
		want   string
	}{
		{"a result of an earlier block", []string{"s = secret()", "send(s)"}, "1 body=S if=2"},
		{"a literal of an earlier block", []string{"x = \"a\"", "send(x, to=\"b\")"}, "1 body=1 to=2 if=2"},
		{"a function of an earlier block", []string{"def f(x):\n    send(x)", "f(secret())"}, "block#1:2 body=S if=12"},
		{"its literals are of its block", []string{"def f():\n    return \"a\"", "send(f())"}, "1 body=1 if=2"},
		{"a function sees the globals of its own block", []string{"x = clock()\ndef f():\n    return x", "x = secret()\nsend(f())"}, "2 body=C if=2"},
		{"a function sees the last value of its own block", []string{"x = 1\ndef f():\n    return x\nx = clock()", "send(f())"}, "1 body=C if=2"},
		{"containers are shared by blocks", []string{"l = []\ndef f():\n    return l", "l.append(secret())\nsend(f())"}, "2 body=1S if=2"},
		{"a helper applied to a function of a later block", []string{"def f(g):\n    return g()", "x = secret()\nsend(f(lambda: x))"}, "2 body=S if=2"},
		{"a fail of an earlier block is not control", []string{"if secret():\n    fail(\"\")", "send(1)"}, "1 body=2 if=2"},
		{"what follows a fail is", []string{"if secret():\n    fail(\"\")\nx = 1", "send(x)"}, "1 body=1S if=2"},
		{"a condition on an earlier literal", []string{"x = 1", "if x:\n    send(2)"}, "2 body=2 if=12"},
		{"a name that is only used", []string{"x = 1", "y = x", "send(y)"}, "1 body=1 if=3"},

		{"failed: a name bound twice", []string{"x = 1\nsecret()[0]\nx = 2", "!", "send(x)"}, "1 body=? if=2"},
		{"failed: a name bound again", []string{"x = 1", "secret()[0]\nx = 2", "!", "send(x)"}, "1 body=? if=3"},
		{"failed: a name bound in a loop", []string{"for i in [1, 2]:\n    secret()[i]", "!", "send(i)"}, "1 body=? if=2"},
		{"failed: a name bound once", []string{"x = clock()\nsecret()[0]", "!", "send(x)"}, "1 body=C if=2"},
		{"failed: a container that was mutated", []string{"l = []", "secret()[0]\nl.append(1)", "!", "send(l)"}, "1 body=? if=3"},
		{"failed: an alias that may not have been made", []string{"a, b = [], []\nx = a\nsecret()[0]\nx = b", "!", "x.append(1)\nsend(a)"}, "2 body=? if=2"},
		{"failed: what the block does not touch", []string{"x = clock()", "y = secret()[0]", "!", "send(x)"}, "1 body=C if=3"},
		{"failed: a function seen by its own block", []string{"x = 1\ndef f():\n    return x\nsecret()[0]\nx = 2", "!", "send(f())"}, "1 body=? if=2"},
		{"failed twice is failed", []string{"x = 1\nx = 2", "!", "!", "send(x)"}, "1 body=? if=2"},
		{"failed before any block", []string{"!", "send(1)"}, "1 body=1 if=1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := sends(t, Limits{}, c.blocks...); got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}

// block analyses src and fails the test if it cannot be read.
func block(t testing.TB, a *Analyzer, src string) *Report {
	t.Helper()
	r, err := a.Block(src)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestToolsAreThoseNamedSoFar(t *testing.T) {
	a := New(testTools, Limits{})
	for _, c := range []struct {
		src  string
		want []string
	}{
		{"x = 1", nil},
		{"f = send", []string{"send"}},
		{"f(1)", []string{"send"}},
		{"def g(clock): return clock(send=1)\ng(lambda send: secret)", []string{"secret", "send"}},
	} {
		if r := block(t, a, c.src); !cmp.Equal(r.Tools, c.want) {
			t.Errorf("%s: tools %v, want %v", c.src, r.Tools, c.want)
		}
	}
}

func TestUnknownNames(t *testing.T) {
	a := New(testTools, Limits{})
	block(t, a, "rows = 1")
	r := block(t, a, "def f():\n  return secrte() + rwos\nsedn(qqqqqq, secrte, x)\n[y for y in lenn(\"\")]")
	want := []Name{{"secrte", 2, 10, "secret"}, {"rwos", 2, 21, "rows"}, {"sedn", 3, 1, "send"}, {"qqqqqq", 3, 6, ""}, {"x", 3, 22, ""},
		{"lenn", 4, 13, "len"}}
	if d := cmp.Diff(want, r.Unknown); d != "" {
		t.Error(d)
	}
	many := block(t, a, manyNames(500))
	if len(many.Unknown) != maxUnknown {
		t.Errorf("%d names, want %d", len(many.Unknown), maxUnknown)
	}
	long := strings.Repeat("a", 100)
	if r := block(t, a, long+"0 = 1\n"+long+"1"); r.Unknown[0].Near != "" {
		t.Errorf("a name of 101 bytes was compared: %+v", r.Unknown)
	}
}

func TestANameIsComparedWithSoManyOthers(t *testing.T) {
	for n, want := range map[int]string{maxKnown - 100: "zebras", maxKnown: ""} {
		var tools []Tool
		for i := range n {
			tools = append(tools, Tool{Name: fmt.Sprintf("tool%d", i)})
		}
		a := New(tools, Limits{})
		block(t, a, "zebras = 1")
		if r := block(t, a, "zebra"); r.Unknown[0].Near != want {
			t.Errorf("with %d tools: %q, want %q", n, r.Unknown[0].Near, want)
		}
	}
}

func manyNames(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "undefined_%d\n", i)
	}
	return b.String()
}

// A call of an unknown name may be anything: the block would not run, but the report must not claim otherwise.
func TestAnUnknownFunctionMayDoAnything(t *testing.T) {
	src := "l = []\ndef f(x):\n    send(x)\nf(1)\nsend(2)\nwhat(l)\nsend(l)\nsend(3)"
	if got, want := sends(t, Limits{}, src), "5 body=1 if=1\n7 body=? if=?\n8 body=1 if=?"; got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestConstantArguments(t *testing.T) {
	for _, c := range []struct {
		src  string
		want map[string]string
	}{
		{`send("a\n", to=-1)`, map[string]string{"body": "a\n"}},
		{`send(("a"), to=None)`, map[string]string{"body": "a", "to": "None"}},
		{`send(12345678901234567890, to=0x10)`, map[string]string{"body": "12345678901234567890", "to": "16"}},
		{`send(b"xy", to=True)`, map[string]string{"body": "xy", "to": "True"}},
		{`send("a", **{"to": "b"})`, map[string]string{}},
		{`attempt(send, body="a", to=clock())`, map[string]string{"body": "a"}},
		{`parallel([(send, {"body": "a", "to": "c"}), (send, {"body": "a", "to": "d"})])`, map[string]string{"body": "a"}},
		{`parallel([(send, {"body": "a"}), (send, {"body": "a", "to": "d"})])`, map[string]string{"body": "a"}},
		{`parallel([(send, {"body": "a", "to": "d"}), (send, {"body": "a"})])`, map[string]string{"body": "a"}},
	} {
		for _, s := range block(t, New(testTools, Limits{}), c.src).Sites {
			if s.Tool == "send" && !cmp.Equal(s.Const, c.want) {
				t.Errorf("%s: %q, want %q", c.src, s.Const, c.want)
			}
		}
	}
}

func TestACallOfFlowIsAPositionOfItsBlock(t *testing.T) {
	a := New(testTools, Limits{})
	block(t, a, "def f():\n    return secret()\nx = f()")
	r := block(t, a, "send([x, f()])")
	want := []Site{
		{Pos: "block#1:2:18", Tool: "secret", Args: map[string]Flow{}, Control: Flow{Proven: true, Blocks: []int{1, 2}}, Const: map[string]string{}},
		{Pos: "block:1:5", Tool: "send", Args: map[string]Flow{"body": {Proven: true,
			Calls: []CallRef{{1, "block:2:18"}, {2, "block#1:2:18"}}, Blocks: []int{2}}},
			Control: Flow{Proven: true, Blocks: []int{2}}, Const: map[string]string{}},
	}
	if d := cmp.Diff(want, r.Sites); d != "" {
		t.Error(d)
	}
}

func TestUnreadableBlocks(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"syntax", "x = (", "flow: block 2:1:6: got end of file, want primary expression"},
		{"resolver", "x = 1\nreturn x", "flow: block 2:2:1: return statement not within a function"},
		{"load", "load(\"a\", \"b\")", "flow: block 2:1:1: load is not available; json, math and struct are already there"},
		{"rebound tool", "x = 1\ndef send(): pass", "flow: block 2:2:5: cannot rebind send: it is a tool or a builtin; choose another name"},
		{"rebound builtin", "for len in []: pass", "flow: block 2:1:5: cannot rebind len: it is a tool or a builtin; choose another name"},
		{"too long", strings.Repeat("#", 1000) + "send", "flow: block 2:0:0: 1004 bytes, at most 500: write a shorter block"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := New(testTools, Limits{SourceBytes: 500})
			block(t, a, "y, l = clock(), []")
			r, err := a.Block(c.src)
			var fault *Error
			if !errors.As(err, &fault) || err.Error() != c.want || errors.Unwrap(err) == nil {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if strings.Contains(c.src, "send") != cmp.Equal(r.Tools, []string{"clock", "send"}) || r.Sites != nil {
				t.Errorf("report %+v", r)
			}
		})
	}
}

// TestAnUnreadableBlockMayHaveRun: what its text names is unproven afterwards, unless Refused says that it did not run.
func TestAnUnreadableBlockMayHaveRun(t *testing.T) {
	const before, bad, after = "x, y, l = clock(), str(clock()), []\ndef f(a):\n    send(a)", "x = l.append(f)) + send", "send(x)\nsend(y)\nsend(l)\nf(1)"
	for _, c := range []struct {
		name string
		do   func(a *Analyzer)
		n    int
		want []string
	}{
		{"ran", func(*Analyzer) {}, 3, []string{"block:1:5 false true", "block:2:5 true true", "block:3:5 false true"}},
		{"counted", func(a *Analyzer) { a.Refused(true) }, 3, []string{"block:1:5 true true", "block:2:5 true true", "block:3:5 true true", "block#1:3:9 true true"}},
		{"not sent", func(a *Analyzer) { a.Refused(false) }, 2, []string{"block:1:5 true true", "block:2:5 true true", "block:3:5 true true", "block#1:3:9 true true"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := New(testTools, Limits{})
			block(t, a, before)
			if _, err := a.Block(bad); err == nil {
				t.Fatal("the block is readable")
			}
			c.do(a)
			var got []string
			for _, s := range block(t, a, after).Sites {
				for _, f := range s.Args {
					got = append(got, fmt.Sprintf("%s %v %v", s.Pos, f.Proven, s.Control.Proven))
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if a.n != c.n {
				t.Errorf("block %d, want %d", a.n, c.n)
			}
		})
	}
}

func TestRefusedRestoresNamesAndValues(t *testing.T) {
	a := New(testTools, Limits{})
	a.Refused(false) // before any block
	block(t, a, "x = 1")
	block(t, a, "x = secret()\nz = 2")
	a.Refused(false)
	a.Failed() // of a block that did not run
	r := block(t, a, "send(x)\nz")
	if got := r.Sites[0].Args["body"]; !cmp.Equal(got, Flow{Proven: true, Blocks: []int{1}}) {
		t.Errorf("x comes from %+v", got)
	}
	if len(r.Unknown) != 1 || !cmp.Equal(r.Tools, []string{"send"}) {
		t.Errorf("report %+v", r)
	}
}

func TestOverBudgetProvesNothing(t *testing.T) {
	a := New(testTools, Limits{Steps: 40})
	block(t, a, "x = 1\ny = 2")
	r := block(t, a, "x = 3\nsend(x)\n"+strings.Repeat("len(\"a\")\n", 40))
	if !r.OverBudget || r.Sites != nil || !cmp.Equal(r.Tools, []string{"send"}) {
		t.Errorf("report %+v", r)
	}
	after := block(t, a, "send(x)\nsend(y)")
	if after.Sites[0].Args["body"].Proven || !after.Sites[1].Args["body"].Proven {
		t.Errorf("x or y: %+v", after.Sites)
	}
}

// TestHostileBlocksEnd: sources whose analysis would be exponential, or deep, end over budget or well, and soon.
func TestHostileBlocksEnd(t *testing.T) {
	var calls, lambdas strings.Builder
	for i := range 40 {
		fmt.Fprintf(&calls, "def f%d(x):\n    f%d(x)\n    return f%d(x)\n", i, i+1, i+1)
		fmt.Fprintf(&lambdas, "g%d = lambda f: f(g%d, f)\n", i, (i+1)%40)
	}
	calls.WriteString("def f40(x): send(x)\nf0(1)\n")
	lambdas.WriteString("g0(g1)\n")
	loops := ""
	for i := range 30 {
		loops += strings.Repeat(" ", i) + "for x in [x]:\n"
	}
	for name, src := range map[string]string{
		"calls": calls.String(), "lambdas": lambdas.String(), "loops": "x = 1\n" + loops + strings.Repeat(" ", 30) + "x = secret()\n",
		"minus": "x = 1" + strings.Repeat("-1", 20_000), "calls of calls": "f" + strings.Repeat("()", 20_000),
		"elif":  "if 1: pass\n" + strings.Repeat("elif 1: pass\n", 4_000),
		"y":     "(lambda f: f(f))(lambda f: f(f))",
		"names": manyNames(3_000),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			a := New(testTools, Limits{})
			block(t, a, src)
			if d := time.Since(start); d > 5*time.Second {
				t.Errorf("%v", d)
			}
			block(t, a, "send(1)")
		})
	}
}

// TestFullHeapsProveLess: a run that has used up its memory goes on without proofs.
func TestFullHeapsProveLess(t *testing.T) {
	a := New(testTools, Limits{})
	a.heap.nodes = append(a.heap.nodes, make([]node, maxClasses)...)
	for c := range a.heap.nodes {
		a.heap.nodes[c].parent = class(c)
	}
	a.heap.words = maxLabelWords
	r := block(t, a, "l = [clock()]\nsend(l)\nsend(1)")
	for _, s := range r.Sites {
		if s.Args["body"].Proven {
			t.Errorf("proven in a full heap: %+v", s)
		}
	}
}

func TestManyCalls(t *testing.T) {
	var src strings.Builder
	for i := range 200 {
		fmt.Fprintf(&src, "x%d = clock()\n", i)
	}
	src.WriteString("send([x199, x0], to=[x0, x199])\n")
	r := block(t, New(testTools, Limits{}), src.String())
	s := r.Sites[len(r.Sites)-1]
	want := []CallRef{{1, "block:1:11"}, {1, "block:200:13"}} // x0 = clock(), x199 = clock()
	if d := cmp.Diff([2][]CallRef{want, want}, [2][]CallRef{s.Args["body"].Calls, s.Args["to"].Calls}); d != "" {
		t.Error(d)
	}
}

// TestNamesOfTheLibrary holds that the lists of names are the library's, so that none is misspelt or forgotten.
func TestNamesOfTheLibrary(t *testing.T) {
	for name := range starlark.Universe {
		if !universe[name] {
			t.Errorf("universe lacks %s", name)
		}
	}
	if len(universe) != len(starlark.Universe) {
		t.Errorf("%d names, want %d", len(universe), len(starlark.Universe))
	}
	methods := map[string]bool{}
	for _, v := range []starlark.HasAttrs{starlark.String(""), starlark.Bytes(""), &starlark.List{}, &starlark.Dict{}, &starlark.Set{}} {
		for _, name := range v.AttrNames() {
			methods[name] = true
		}
	}
	for _, list := range []map[string]bool{scalarMethods, stringLists, readers} {
		for name := range list {
			if !methods[name] {
				t.Errorf("%s is no method", name)
			}
		}
	}
	for _, mutator := range strings.Fields("add append clear discard extend insert pop popitem remove setdefault update") {
		if !methods[mutator] || scalarMethods[mutator] || stringLists[mutator] || readers[mutator] {
			t.Errorf("%s must be a method that may mutate", mutator)
		}
	}
}
