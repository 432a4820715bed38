package leases

import (
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/codeact-dev/codeact/policy"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func book(t *testing.T, ls ...Lease) *Book {
	t.Helper()
	b := NewBook()
	for _, l := range ls {
		if err := b.Grant(l); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func TestPeekSaysWhyThereIsNoLease(t *testing.T) {
	spent := New("spent", "spent", policy.AskOnce, noon)
	spent.Uses = 1
	old := New("old", "old", policy.AskOnce, noon.Add(-DefaultTTL))
	gone := New("gone", "gone", policy.AskOnce, noon)
	b := book(t, spent, old, gone, New("mail", "mail_*", policy.AskOnce, noon), New("strict", "strict", policy.AlwaysAsk, noon))
	if err := b.Spend("spent", noon); err != nil {
		t.Fatal(err)
	}
	if !b.Revoke("gone") || b.Revoke("gone") || b.Revoke("nobody") {
		t.Error("revoking reports whether a lease still stood")
	}
	for _, c := range []struct {
		tool string
		tier policy.Tier
		fits func(Lease) bool
		want error
	}{
		{"mail_read", policy.AskOnce, nil, nil},
		{"mail_read", policy.Free, nil, nil},
		{"mail_read", policy.AlwaysAsk, nil, ErrNone}, // the lease serves tier 1 at most
		{"strict", policy.AlwaysAsk, nil, nil},
		{"mail_read", policy.AskOnce, func(Lease) bool { return false }, ErrNone},
		{"mail", policy.AskOnce, nil, ErrNone},
		{"", policy.AskOnce, nil, ErrNone},
		{"spent", policy.AskOnce, nil, ErrSpent},
		{"old", policy.AskOnce, nil, ErrExpired},
		{"gone", policy.AskOnce, nil, ErrRevoked},
	} {
		l, err := b.Peek(c.tool, c.tier, noon, c.fits)
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s at %v: %v, want %v", c.tool, c.tier, err, c.want)
		}
		if err != nil && l.ID != "" {
			t.Errorf("%s: an error came with lease %s", c.tool, l.ID)
		}
	}
	if n := len(b.All()); n != 4 {
		t.Errorf("%d leases listed, want the 4 that were not revoked", n)
	}
}

// FAULTS D4: a lease for which nothing was said ends by itself.
func TestD4LeasesAreFiniteByDefault(t *testing.T) {
	b := book(t, New("l", "fs_write", policy.AskOnce, noon))
	for i := range DefaultUses {
		if err := b.Spend("l", noon); err != nil {
			t.Fatalf("use %d: %v", i+1, err)
		}
	}
	if err := b.Spend("l", noon); !errors.Is(err, ErrSpent) {
		t.Errorf("use %d: %v, want %v", DefaultUses+1, err, ErrSpent)
	}
	b = book(t, New("l", "fs_write", policy.AskOnce, noon))
	if err := b.Spend("l", noon.Add(DefaultTTL-1)); err != nil {
		t.Error(err)
	}
	if err := b.Spend("l", noon.Add(DefaultTTL)); !errors.Is(err, ErrExpired) {
		t.Errorf("at the end: %v, want %v", err, ErrExpired)
	}
}

// FAULTS D7: an empty grant stays empty, also after a round trip through JSON.
func TestD7LeaseForNothingIsNothing(t *testing.T) {
	var zero, back Lease
	text, err := json.Marshal(zero)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(zero, back); d != "" {
		t.Errorf("the zero lease changed in JSON:\n%s", d)
	}
	for _, l := range []Lease{zero, back, {ID: "a", Uses: 3}, {ID: "a", Tool: "x"}, {Tool: "x", Uses: 3}} {
		if l.Names("") || (l.Tool == "" && l.Names("fs_write")) {
			t.Errorf("%+v names a tool", l)
		}
		if err := NewBook().Grant(l); err == nil {
			t.Errorf("%+v was granted", l)
		}
	}
	b := book(t, Lease{ID: "expired", Tool: "x", Uses: 1})
	if _, err := b.Peek("x", policy.Free, noon, nil); !errors.Is(err, ErrExpired) {
		t.Errorf("a lease without an end: %v, want %v", err, ErrExpired)
	}
	if err := b.Grant(Lease{ID: "expired", Tool: "y", Uses: 1}); err == nil {
		t.Error("an id was granted twice")
	}
	if (Lease{Tool: "["}).Names("[") {
		t.Error("a malformed pattern names a tool")
	}
}

func TestSpendIsAtomic(t *testing.T) {
	l := New("l", "x", policy.AskOnce, noon)
	l.Uses = 100
	b := book(t, l)
	var wg sync.WaitGroup
	var mu sync.Mutex
	spent := 0
	for range 4 {
		wg.Go(func() {
			for range 50 {
				if b.Spend("l", noon) == nil {
					mu.Lock()
					spent++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if spent != 100 {
		t.Errorf("%d uses of 100 were spent", spent)
	}
	if err := b.Spend("nobody", noon); !errors.Is(err, ErrNone) {
		t.Errorf("an unknown lease: %v", err)
	}
}

// FAULTS D5, D6: a child shares its parent's counters; it is never a snapshot.
func TestD5D6ChildSharesItsParentsCounters(t *testing.T) {
	l := New("p", "mail_*", policy.AskOnce, noon)
	l.Uses, l.When, l.Bind = 3, "a", map[string]string{"to": `"x"`}
	parent := book(t, New("other", "fs_*", policy.AskOnce, noon), l)
	want := New("c", "mail_send", policy.Free, noon.Add(time.Hour))
	want.When, want.Bind = "b", map[string]string{"cc": `"y"`}
	child, err := parent.Attenuate(want)
	if err != nil {
		t.Fatal(err)
	}
	got := child.All()[0]
	if d := cmp.Diff(Lease{ID: "c", Tool: "mail_send", Tier: policy.Free, Uses: 3, Expires: l.Expires,
		When: "(b) && (a)", Bind: map[string]string{"to": `"x"`, "cc": `"y"`}}, got); d != "" {
		t.Errorf("the child's lease:\n%s", d)
	}
	if err := parent.Spend("p", noon); err != nil {
		t.Fatal(err)
	}
	if err := child.Spend("c", noon); err != nil {
		t.Fatal(err)
	}
	if n := parent.All()[1].Uses; n != 1 {
		t.Errorf("the parent has %d uses left, want 1", n)
	}
	if n := child.All()[0].Uses; n != 1 {
		t.Errorf("the child sees %d uses, want 1", n)
	}
	parent.Revoke("p")
	if err := child.Spend("c", noon); !errors.Is(err, ErrRevoked) {
		t.Errorf("after the parent's lease was revoked: %v", err)
	}
	if _, err := parent.Attenuate(want); !errors.Is(err, ErrNone) {
		t.Errorf("cut from a revoked lease: %v", err)
	}
}

func TestAttenuateRefusesWhatTheParentLacks(t *testing.T) {
	l := New("p", "mail_*", policy.AskOnce, noon)
	l.Bind = map[string]string{"to": `"x"`}
	parent := book(t, l)
	other := New("c", "mail_send", policy.AskOnce, noon)
	other.Bind = map[string]string{"to": `"z"`}
	_, err := parent.Attenuate(other, New("d", "shell", policy.AskOnce, noon), New("e", "mail_*", policy.AskOnce, noon))
	if !errors.Is(err, ErrNone) {
		t.Fatalf("%v, want %v", err, ErrNone)
	}
	child, err := parent.Attenuate(New("e", "mail_read", policy.AskOnce, noon))
	if err != nil || child.All()[0].Bind["to"] != `"x"` {
		t.Errorf("the binding was lost: %v", err)
	}
	if child.All()[0].When != "" {
		t.Error("a condition came from nowhere")
	}
}

func TestAttenuationNeverWidens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(id string) Lease {
			return Lease{ID: id, Tool: rapid.SampledFrom([]string{"a", "ab", "a*", "*", "a?", "[a]*"}).Draw(t, "tool"),
				Tier: policy.Tier(rapid.IntRange(0, 2).Draw(t, "tier")), Uses: rapid.IntRange(1, 5).Draw(t, "uses"),
				Expires: noon.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "ttl")) * time.Minute)}
		}
		p, w := draw("p"), draw("c")
		parent := NewBook()
		if err := parent.Grant(p); err != nil {
			t.Fatal(err)
		}
		child, err := parent.Attenuate(w)
		if err != nil {
			return
		}
		at := noon.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "at")) * time.Minute)
		for _, tool := range []string{"a", "ab", "b"} {
			for tier := policy.AlwaysAsk; tier <= policy.Free; tier++ {
				_, c := child.Peek(tool, tier, at, nil)
				_, p := parent.Peek(tool, tier, at, nil)
				if c == nil && p != nil {
					t.Fatalf("the child may use %s at %v, the parent may not: %v", tool, tier, p)
				}
			}
		}
	})
}

func TestBindsComparesCanonicalValues(t *testing.T) {
	l := Lease{Bind: map[string]string{"to": `"x"`}}
	if !l.Binds(func(string) string { return `"x"` }) || l.Binds(func(string) string { return "" }) {
		t.Error("a bound lease serves exactly the bound value")
	}
}

func TestKnownTiers(t *testing.T) {
	for tool, want := range map[string]policy.Tier{"fs_read": policy.Free, "shell": policy.AskOnce, "secret_delete": policy.AlwaysAsk, "never_heard_of": policy.AlwaysAsk} {
		if got := KnownTier(tool); got != want {
			t.Errorf("%s: %v, want %v", tool, got, want)
		}
	}
}

func TestErrorNamesToolAndLease(t *testing.T) {
	for want, e := range map[string]*Error{"leases: x: no lease": {Tool: "x", Err: ErrNone}, "leases: x: l1: lease spent": {"x", "l1", ErrSpent}} {
		if e.Error() != want {
			t.Errorf("%q, want %q", e, want)
		}
	}
}
