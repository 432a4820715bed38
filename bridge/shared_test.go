package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/bridgetest"
	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/interp"
	"github.com/codeact-dev/codeact/policy"
)

// A guest is one of several runs, each of another person, on one adapter.
type guest struct {
	*bridgetest.Journal
	run  bridge.Run
	door *bridge.Door
	done int
	got  []string // what its scripts and its model were given
	dir  string   // of what it spilled
}

// dirs gives each guest directories of its own.
type dirs struct{ root string }

func (d dirs) guest(id string) (*guest, error) {
	dir, err := os.MkdirTemp(d.root, id)
	if err != nil {
		return nil, err
	}
	g := &guest{Journal: bridgetest.NewJournal(), dir: filepath.Join(dir, "spill")}
	g.run = g.Run(id)
	g.run.Attended, g.run.Session = true, policy.SessionView{ID: id, User: id}
	if err := os.Mkdir(filepath.Join(dir, "ws"), 0o700); err != nil {
		return nil, err
	}
	g.run.Space, _, err = workspace.Open(workspace.Config{Dir: filepath.Join(dir, "ws"), SpillDir: g.dir})
	return g, err
}

// An act is one call of a guest.
type act struct{ Tool, To string }

// do has a guest make a call, in steps of six, of which four may run.
func (g *guest) do(b *bridge.EffectBridgeAdapter, a act) (err error) {
	if g.done%6 == 0 {
		if g.door, err = b.Open(g.run, 1+g.done/6, bridge.Preflight{}); err != nil {
			return err
		}
	}
	g.done++
	v, err := g.door.Call(context.Background(), interp.Call{Tool: a.Tool, Args: map[string]any{"to": a.To}})
	g.got = append(g.got, fmt.Sprint(v, err), g.door.Observe(interp.Result{HasValue: true, Value: v}, err).String())
	return nil
}

// all is everything that there is of a guest.
func (g *guest) all() (string, error) {
	list := slices.Clone(g.Events)
	for i, e := range list {
		if o, ended := e.(bridge.Outcome); ended {
			o.Millis = 0 // the machine's, not the run's
			list[i] = o
		}
	}
	events, err := json.Marshal(list)
	if err != nil {
		return "", err
	}
	files, _ := os.ReadDir(g.dir) // there is none of a run that spilled nothing
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	return strings.Join(slices.Concat(strings.SplitAfter(string(events), "},"), g.got, names), "\n"), nil
}

// keeper is an adapter with a tool for everything that a run may have of its own.
func keeper() (*bridge.EffectBridgeAdapter, error) {
	answers := func(text string, err error) func(*bridge.Tool) {
		return func(t *bridge.Tool) {
			t.Run = func(_ context.Context, p *bridge.Permit) (bridge.Output, error) {
				return bridge.Output{Value: text + p.String("to"), Local: !strings.HasPrefix(text, "a page") && !strings.HasPrefix(text, "long")}, err
			}
		}
	}
	var p probe
	return bridge.New(bridge.Config{
		MaxCalls: 4, MaxOutput: 300, Rate: bridge.Rate{N: 12, Per: time.Hour}, Now: func() time.Time { return noon },
		Security: policy.Security{SendsAfterPrivate: true, Named: policy.NamedAsk},
		// Alice leases what she is asked for, bob says yes each time, and the others say no.
		Approver: approverFunc(func(_ context.Context, q bridge.Question) (bridge.Answer, error) {
			who, _, _ := strings.Cut(q.Call, "/")
			a := bridge.Answer{By: who, Yes: who == "alice" || who == "bob"}
			if who == "alice" {
				a.Scope = bridge.ForLease
			}
			return a, nil
		}),
		Tools: []bridge.Tool{
			p.tool("post", sends, tier(policy.AskOnce), answers("posted ", nil)),
			p.tool("page", caps(policy.UntrustedInput), answers("a page of ", nil)),
			p.tool("notes", caps(policy.PrivateData), answers("a note of ", nil)),
			p.tool("big", caps(policy.UntrustedInput), answers(strings.Repeat("long ", 100), nil)),
			p.tool("lost", tier(policy.AskOnce), answers("", bridge.ErrOutcomeUnknown)),
			p.tool("rare", answers("rare ", nil), func(t *bridge.Tool) { t.Rate = bridge.Rate{N: 2, Per: time.Hour} }),
		},
	})
}

// alone is what there is of a guest who has an adapter for himself.
func (d dirs) alone(id string, acts []act) (string, error) {
	b, err := keeper()
	if err != nil {
		return "", err
	}
	g, err := d.guest(id)
	for i := 0; err == nil && i < len(acts); i++ {
		err = g.do(b, acts[i])
	}
	if err != nil {
		return "", err
	}
	return g.all()
}

// D10, D11: counts and consents were kept by the process. Whatever others do on the
// same adapter, leases, answers, counts, rates, taint, spilled results and unknown
// outcomes of a run are what they are when it is alone.
func TestD10D11ARunIsTheSameBesideOthers(t *testing.T) {
	ids := []string{"alice", "bob", "carol"}
	d := dirs{t.TempDir()}
	rapid.Check(t, func(t *rapid.T) {
		anAct := rapid.Custom(func(t *rapid.T) act {
			return act{rapid.SampledFrom([]string{"post", "page", "notes", "big", "lost", "rare"}).Draw(t, "tool"), rapid.SampledFrom([]string{"x@y.test", "z@y.test"}).Draw(t, "to")}
		})
		b, err := keeper()
		if err != nil {
			t.Fatal(err)
		}
		var guests []*guest
		var acts [][]act
		for _, id := range ids {
			g, err := d.guest(id)
			if err != nil {
				t.Fatal(err)
			}
			guests, acts = append(guests, g), append(acts, nil)
		}
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(ids)-1), 1, 30).Draw(t, "turns") {
			a := anAct.Draw(t, "act")
			acts[i] = append(acts[i], a)
			if err := guests[i].do(b, a); err != nil {
				t.Fatal(err)
			}
		}
		for i, g := range guests {
			want, err := d.alone(ids[i], acts[i])
			if err != nil {
				t.Fatal(err)
			}
			if got, err := g.all(); err != nil || got != want {
				t.Fatalf("%s beside others (-alone +beside): %v\n%s", ids[i], err, cmp.Diff(want, got))
			}
		}
	})
}

// The same at the same time, for the race detector.
func TestD10D11RunsThatGoOnAtTheSameTimeShareNothing(t *testing.T) {
	var acts []act
	for _, tool := range []string{"rare", "post", "lost", "rare", "notes", "rare", "post", "lost", "big", "post", "page", "post", "lost", "rare"} {
		acts = append(acts, act{tool, "x@y.test"})
	}
	b, err := keeper()
	if err != nil {
		t.Fatal(err)
	}
	d := dirs{t.TempDir()}
	var wg sync.WaitGroup
	for i := range 12 {
		id := []string{"alice", "bob", "carol", "dave"}[i%4]
		wg.Go(func() {
			g, err := d.guest(id)
			for i := 0; err == nil && i < len(acts); i++ {
				err = g.do(b, acts[i])
			}
			if err != nil {
				t.Error(err)
				return
			}
			want, err := d.alone(id, acts)
			if err != nil {
				t.Error(err)
				return
			}
			if got, err := g.all(); err != nil || got != want {
				t.Errorf("%s (-alone +beside): %v\n%s", id, err, cmp.Diff(want, got))
			}
		})
	}
	wg.Wait()
}

// What the two tests above compare is not empty: alice's run has all that could show
// in another.
func TestARunOnTheSharedAdapterHasItsOwn(t *testing.T) {
	d := dirs{t.TempDir()}
	got, err := d.alone("alice", []act{{"post", "x@y.test"}, {"lost", "a"}, {"rare", "a"}, {"rare", "b"}, {"rare", "c"}, {"post", "x@y.test"}, {"rare", "a"}, {"big", "a"}, {"notes", "a"}, {"post", "x@y.test"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"approved_by":"user:alice"`, `"unknown":true`, "this is call 5", "retry after", "@spill/", "denied by interlock", `"held":{"private":["alice/2/3"],"untrusted":["alice/2/2"]}`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
