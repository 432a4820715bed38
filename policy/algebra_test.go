package policy

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var taints = rapid.Custom(func(t *rapid.T) Taint {
	var out Taint
	for l := range labels {
		// More calls than a label keeps, from a pool that makes them meet.
		ids := rapid.SliceOfN(rapid.IntRange(0, 60), 0, 50).Draw(t, l.String())
		for _, id := range ids {
			out = out.Join(Tainted(l, fmt.Sprintf("c%02d", id)))
		}
	}
	return out
})

var capabilities = rapid.Custom(func(t *rapid.T) Capabilities {
	if rapid.Bool().Draw(t, "undeclared") {
		return Capabilities{}
	}
	return Declare(Flag(rapid.Uint8().Draw(t, "flags")))
})

var decisions = rapid.Custom(func(t *rapid.T) Decision {
	return Decision{
		Verdict: Verdict(rapid.IntRange(0, 2).Draw(t, "verdict")),
		Gate:    rapid.SampledFrom([]string{"a", "b"}).Draw(t, "gate"),
		Reason:  rapid.SampledFrom([]string{"", "one", "two", "three"}).Draw(t, "reason"),
	}
})

func TestJoinIsASemilattice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := taints.Draw(t, "a"), taints.Draw(t, "b"), taints.Draw(t, "c")
		switch {
		case !a.Join(b).equal(b.Join(a)):
			t.Fatal("Join is not commutative")
		case !a.Join(b).Join(c).equal(a.Join(b.Join(c))):
			t.Fatal("Join is not associative")
		case !a.Join(a).equal(a) || !a.Join(Taint{}).equal(a) || !(Taint{}).Join(a).equal(a):
			t.Fatal("Join is not idempotent, or has another unit")
		case a.Covers(b) != a.Join(b).equal(a) || !a.Covers(Taint{}):
			t.Fatal("Covers is not the order of Join")
		}
	})
}

func TestJoinLowersNothingAndIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := taints.Draw(t, "a"), taints.Draw(t, "b"), taints.Draw(t, "c")
		before := a.String()
		j := a.Join(b)
		for l := range labels {
			if (a.Has(l) || b.Has(l)) != j.Has(l) {
				t.Fatalf("%s: %v joined with %v is %v", l, a, b, j)
			}
			if n := len(j.Sources(l)); n > maxSources {
				t.Fatalf("%d sources", n)
			}
			if a.Has(l) && !a.Join(b).Join(c).Has(l) {
				t.Fatalf("%s was lost", l)
			}
		}
		if a.String() != before {
			t.Fatal("Join changed its receiver")
		}
		if j.Clean() != (a.Clean() && b.Clean()) || (a.Lethal() || b.Lethal()) && !j.Lethal() {
			t.Fatalf("%v joined with %v is %v", a, b, j)
		}
	})
}

func TestUnionLowersNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := capabilities.Draw(t, "a"), capabilities.Draw(t, "b"), capabilities.Draw(t, "c")
		// Flags behind an undeclared set are not seen, so sets are compared by what they have.
		same := func(x, y Capabilities) bool { return x.Declared() == y.Declared() && x.String() == y.String() }
		switch {
		case !same(a.Union(b), b.Union(a)):
			t.Fatal("Union is not commutative")
		case !same(a.Union(b).Union(c), a.Union(b.Union(c))):
			t.Fatal("Union is not associative")
		case !same(a.Union(a), a) || !same(a.Union(Declare()), a):
			t.Fatal("Union is not idempotent, or has another unit")
		case a.Union(b).Declared() != (a.Declared() && b.Declared()):
			t.Fatal("an undeclared set was declared by a union")
		}
		for f := PrivateData; f <= Destructive; f <<= 1 {
			if a.Union(b).Has(f) != (a.Has(f) || b.Has(f)) {
				t.Fatalf("%v: %v with %v is %v", f, a, b, a.Union(b))
			}
		}
	})
}

func TestNarrowIsTheStrictestInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ds := rapid.SliceOfN(decisions, 1, 6).Draw(t, "decisions")
		shuffled := rapid.Permutation(ds).Draw(t, "shuffled")
		got, other := Narrow(ds...), Narrow(shuffled...)
		strictest := Allow
		for _, d := range ds {
			strictest = min(strictest, d.Verdict)
		}
		if got.Verdict != strictest || other.Verdict != strictest {
			t.Fatalf("%v and %v, want %v", got, other, strictest)
		}
		for _, d := range ds {
			if d.Verdict == strictest && strictest != Allow && !strings.Contains(got.Reason, d.Reason) {
				t.Fatalf("the reason %q is lost in %q", d.Reason, got.Reason)
			}
		}
		for i := range ds {
			split := Narrow(ds[:i+1]...)
			for _, d := range ds[i+1:] {
				split = split.Narrow(d)
			}
			if split.Verdict != strictest {
				t.Fatal("Narrow is not associative")
			}
			if more := got.Narrow(ds[i]); more.Verdict != strictest {
				t.Fatal("Narrow is not idempotent")
			}
		}
	})
}

func TestNarrowNeverWidens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := decisions.Draw(t, "a"), decisions.Draw(t, "b"), decisions.Draw(t, "c")
		n := a.Narrow(b)
		if n.Verdict > a.Verdict || n.Verdict > b.Verdict {
			t.Fatalf("%v with %v is %v", a, b, n)
		}
		if a.Verdict <= b.Verdict && a.Narrow(c).Verdict > b.Narrow(c).Verdict {
			t.Fatal("Narrow is not monotone")
		}
		if d := a.Narrow(a); cmp.Diff(d, a) != "" {
			t.Fatalf("%v with itself is %v", a, d)
		}
	})
}

func TestStricterIsTheTierThatAsksMore(t *testing.T) {
	tiers := rapid.Map(rapid.IntRange(0, 2), func(n int) Tier { return Tier(n) })
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := tiers.Draw(t, "a"), tiers.Draw(t, "b"), tiers.Draw(t, "c")
		if a.Stricter(b) != b.Stricter(a) || a.Stricter(b.Stricter(c)) != a.Stricter(b).Stricter(c) || a.Stricter(a) != a || a.Stricter(b).Number() < a.Number() {
			t.Fatalf("%v %v %v", a, b, c)
		}
	})
}

func TestWhatIsStoredComesBackAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type record struct {
			Taint   Taint
			Caps    Capabilities
			Tier    Tier
			Verdict Verdict
			D       Decision
		}
		in := record{taints.Draw(t, "taint"), capabilities.Draw(t, "caps"), Tier(rapid.IntRange(0, 2).Draw(t, "tier")), Verdict(rapid.IntRange(0, 2).Draw(t, "verdict")), decisions.Draw(t, "d")}
		b, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		out := record{Taint: Tainted(Private, "old"), Caps: Declare(Destructive), Tier: Free, Verdict: Allow}
		if err := json.Unmarshal(b, &out); err != nil {
			t.Fatal(err)
		}
		if !out.Taint.equal(in.Taint) || out.Caps != in.Caps || out.Tier != in.Tier || out.Verdict != in.Verdict || cmp.Diff(out.D, in.D) != "" {
			t.Fatalf("%s became %+v", b, out)
		}
	})
}

// More taint, more capabilities, or less attendance never makes the interlock
// milder.
func TestTheInterlockIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Request{
			Tool: ToolView{Caps: capabilities.Draw(t, "caps")},
			Held: taints.Draw(t, "held"), Turn: taints.Draw(t, "turn"), Control: taints.Draw(t, "control"),
			Args: map[string]any{"a": 1}, ArgTaint: map[string]ArgTaint{"a": {Taint: taints.Draw(t, "arg")}},
			Security: Security{
				Trifecta: Verdict(rapid.IntRange(0, 2).Draw(t, "trifecta")), Attended: rapid.Bool().Draw(t, "attended"),
				Precise: rapid.Bool().Draw(t, "precise"), SendsAfterPrivate: rapid.Bool().Draw(t, "sends"),
			},
		}
		more := taints.Draw(t, "more")
		base := Interlock(r).Verdict
		for name, change := range map[string]func(*Request){
			"held":       func(r *Request) { r.Held = r.Held.Join(more) },
			"turn":       func(r *Request) { r.Turn = r.Turn.Join(more) },
			"control":    func(r *Request) { r.Control = r.Control.Join(more) },
			"argument":   func(r *Request) { r.ArgTaint = map[string]ArgTaint{"a": {Taint: r.ArgTaint["a"].Taint.Join(more)}} },
			"undeclared": func(r *Request) { r.Tool.Caps = Capabilities{} },
			"unattended": func(r *Request) { r.Security.Attended = false },
			"block":      func(r *Request) { r.Security.Trifecta = Deny },
			"private":    func(r *Request) { r.Security.SendsAfterPrivate = false },
		} {
			s := r
			change(&s)
			if got := Interlock(s).Verdict; got > base {
				t.Fatalf("more %s turned %s into %s", name, base, got)
			}
		}
	})
}
