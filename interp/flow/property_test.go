package flow

import (
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"go.starlark.net/starlark"
	"pgregory.net/rapid"
)

var flowSteps = flag.Uint64("flow.steps", 0, "run TestNonInterference for this many interpreter steps and print the figures")

// variation says which calls answer differently in the two worlds.
type variation struct {
	tool string
	half bool // only about half of its positions
	kind int
}

func (v variation) varies(tool string, block int, pos string) bool {
	if tool != v.tool {
		return false
	}
	h := fnv.New32a()
	fmt.Fprint(h, block, pos)
	return !v.half || h.Sum32()%2 == 0
}

// secrets are pairs of answers that differ in value, length, type, truth or failure.
var secrets = [][2]func() starlark.Value{
	{text("a"), text("b")},
	{text(""), text("xyz")},
	{text("a"), func() starlark.Value { return starlark.NewList([]starlark.Value{starlark.String("b")}) }},
	{func() starlark.Value { return starlark.NewList(nil) }, func() starlark.Value {
		return starlark.NewList([]starlark.Value{starlark.MakeInt(1), starlark.MakeInt(0)})
	}},
	{func() starlark.Value { return starlark.None }, func() starlark.Value { return starlark.MakeInt(7) }},
	{func() starlark.Value { return nil }, text("ok")},
	{func() starlark.Value { return new(starlark.Dict) }, func() starlark.Value { return starlark.False }},
}

func text(s string) func() starlark.Value { return func() starlark.Value { return starlark.String(s) } }

// world is a machine in which the calls of v answer as in its first or second world; all other answers follow from the
// arguments.
func world(v variation, second int) *machine {
	var m *machine
	m = newMachine(testTools, func(tool, args string) starlark.Value {
		last := m.calls[len(m.calls)-1]
		if v.varies(tool, last.Block, last.Pos) {
			return secrets[v.kind][second]()
		}
		h := fnv.New32a() // and not the text: quotes in quotes would grow without end
		fmt.Fprint(h, tool, args)
		own := starlark.String(fmt.Sprintf("%s-%x", tool, h.Sum32()))
		if tool == "fetch" {
			return starlark.NewList([]starlark.Value{own, starlark.String("row")})
		}
		return own
	})
	return m
}

// implicit says whether a block was ended by an error that the analysis does not count as a flow.
func implicit(err error) bool {
	return err != nil && !errors.Is(err, errEnded) && !strings.HasPrefix(err.Error(), "fail:")
}

// trial runs one program in two worlds beside its analysis. It returns the steps and the clean calls that it compared.
type trial struct {
	v     variation
	a     *Analyzer
	one   *machine
	two   *machine
	tools map[CallRef][]string
	over  int // blocks over budget
}

func newTrial(v variation) *trial {
	return &trial{v, New(testTools, Limits{Steps: 8_000}), world(v, 0), world(v, 1), map[CallRef][]string{}, 0}
}

// clean says whether f is proven not to depend on a call that varies.
func (t *trial) clean(f Flow) bool {
	return f.Proven && !slices.ContainsFunc(f.Calls, func(c CallRef) bool {
		return slices.ContainsFunc(t.tools[c], func(tool string) bool { return t.v.varies(tool, c.Block, c.Pos) })
	})
}

// block returns how many calls were compared, and whether the run can go on.
func (t *trial) block(src string) (compared int, more bool, err error) {
	r, err := t.a.Block(src)
	if err != nil {
		return 0, false, fmt.Errorf("the generator wrote a bad block: %w", err)
	}
	if r.OverBudget {
		t.over++
	}
	sites := map[[2]string]Site{}
	for _, s := range r.Sites {
		ref := CallRef{t.a.n, s.Pos}
		t.tools[ref] = append(t.tools[ref], s.Tool)
		sites[[2]string{s.Pos, s.Tool}] = s
	}
	from, from2 := len(t.one.calls), len(t.two.calls)
	err1, err2 := t.one.block(src), t.two.block(src)
	x, y := t.one.calls[from:], t.two.calls[from2:]
	for _, c := range append(slices.Clone(x), y...) {
		if !slices.Contains(r.Tools, c.Tool) {
			return 0, false, fmt.Errorf("block %d called %s, not within %v", t.a.n, c.Tool, r.Tools)
		}
	}
	x, y = t.cleanCalls(x, sites), t.cleanCalls(y, sites)
	if len(x) < len(y) && !implicit(err1) || len(y) < len(x) && !implicit(err2) {
		return 0, false, fmt.Errorf("block %d made %d clean calls or %d\n%v, %v\n%v, %v", t.a.n, len(x), len(y), x, err1, y, err2)
	}
	for i := range min(len(x), len(y)) {
		if err := t.same(x[i], y[i], sites); err != nil {
			return 0, false, err
		}
	}
	if err1 != nil && err2 != nil {
		t.a.Failed()
	}
	return min(len(x), len(y)), (err1 == nil) == (err2 == nil), nil
}

func (t *trial) cleanCalls(calls []made, sites map[[2]string]Site) []made {
	return slices.DeleteFunc(slices.Clone(calls), func(c made) bool {
		s, ok := sites[[2]string{c.Pos, c.Tool}]
		return !ok || !t.clean(s.Control)
	})
}

// same compares two calls that are proven to be one.
func (t *trial) same(x, y made, sites map[[2]string]Site) error {
	if x.Pos != y.Pos || x.Tool != y.Tool {
		return fmt.Errorf("the clean call %+v is %+v in the other world", x, y)
	}
	s := sites[[2]string{x.Pos, x.Tool}]
	for _, f := range s.Args {
		if !t.clean(f) {
			return nil
		}
	}
	if x.Arg != y.Arg {
		return fmt.Errorf("the clean arguments of %+v are %+v in the other world", x, y)
	}
	return nil
}

// run plays a generated program. The error holds the program.
func (t *trial) run(blocks []string) (compared int, err error) {
	for _, src := range blocks {
		n, more, err := t.block(src)
		compared += n
		if err != nil {
			return compared, fmt.Errorf("%+v: %w\n---\n%s", t.v, err, strings.Join(blocks, "---\n"))
		}
		if !more {
			break
		}
	}
	return compared, nil
}

func variationOf(intn func(int) int) variation {
	return variation{tool: testTools[[]int{0, 0, 0, 0, 0, 1, 2, 3}[intn(8)]].Name, half: intn(4) == 0, kind: intn(len(secrets))}
}

// TestSound holds, over generated programs, that no tool is called but those announced, and that a call which is proven
// clean of what varies between two worlds is the same in both.
func TestSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		intn := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "") }
		v := variationOf(intn)
		if _, err := newTrial(v).run((&generator{intn: intn}).program()); err != nil {
			t.Fatal(err)
		}
	})
}

// TestNonInterference is TestSound without shrinking, for as long as asked: go test -run NonInterference -flow.steps=N.
func TestNonInterference(t *testing.T) {
	want, deadline := *flowSteps, time.Time{}
	seed := uint64(1)
	if want == 0 {
		want, deadline = 1<<62, time.Now().Add(3*time.Second)
	} else {
		seed = uint64(time.Now().UnixNano())
	}
	rnd := rand.New(rand.NewPCG(seed, 0))
	var programs, steps, compared, over uint64
	for steps < want && (deadline.IsZero() || time.Now().Before(deadline)) {
		tr := newTrial(variationOf(rnd.IntN))
		n, err := tr.run((&generator{intn: rnd.IntN}).program())
		if err != nil {
			t.Fatalf("seed %d, program %d: %v", seed, programs, err)
		}
		over += uint64(tr.over)
		programs, steps, compared = programs+1, steps+tr.one.steps+tr.two.steps, compared+uint64(n)
	}
	if compared < programs {
		t.Errorf("only %d clean calls in %d programs: the property says nothing", compared, programs)
	}
	t.Logf("%d programs, %d steps, %d clean calls compared, %d blocks over budget, seed %d", programs, steps, compared, over, seed)
}
