package bridge_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/leases"
	"github.com/codeact-dev/codeact/policy"
)

func TestApprovalRaisesATierAndNeverLowersIt(t *testing.T) {
	for _, tt := range []struct {
		tier policy.Tier
		says bridge.Requirement
		rule string
	}{
		{policy.Free, bridge.Never, ""}, {policy.Free, bridge.Once, "tier-1"}, {policy.Free, bridge.Always, "arguments"},
		{policy.AskOnce, bridge.Never, "tier-1"}, {policy.AskOnce, bridge.Always, "arguments"}, {policy.AlwaysAsk, bridge.Never, "tier-2"},
		{policy.AlwaysAsk, bridge.Once, "tier-2"}, {policy.Free, 9, "arguments"},
	} {
		var p probe
		r := newRig(t, bridge.Config{Tools: []bridge.Tool{p.tool("sh", tier(tt.tier), func(t *bridge.Tool) {
			t.Approval = func(map[string]any) bridge.Requirement { return tt.says }
		})}})
		r.call(t, "sh", nil)
		if d := event[bridge.Decided](t, r.Journal); d.Decision.Rule != tt.rule || (p.ran == 1) != (tt.rule == "") {
			t.Errorf("tier %v with %d: %s, ran %d", tt.tier, tt.says, d.Decision.Rule, p.ran)
		}
	}
}

func TestALeaseServesOnlyTheCallsItsConditionHoldsFor(t *testing.T) {
	for when, serves := range map[string]bool{
		`args.n < 10`: true, `args.n < 5`: false, `args.missing == 1`: false, `this is no CEL`: false, ``: true,
	} {
		var p probe
		r := newRig(t, bridge.Config{Tools: []bridge.Tool{p.tool("pay", tier(policy.AskOnce))}})
		l := leases.New("l", "pay", policy.AskOnce, noon)
		l.When = when
		if err := r.State.Leases.Grant(l); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := r.call(t, "pay", map[string]any{"n": int64(7)}); (err == nil) != serves {
				t.Errorf("%q: %v", when, err)
			}
		}
	}
}

func TestALeaseOfATaskNobodyTrustsCoversNoSends(t *testing.T) {
	dir := t.TempDir()
	destroys := func(t *bridge.Tool) { t.Caps, t.Paths = policy.Declare(policy.Destructive), []string{"to"} }
	for _, tt := range []struct {
		name    string
		mod     func(*bridge.Tool)
		trusted bool
		to      string
		runs    bool
	}{
		{"a send", sends, false, "bob", false}, {"a trusted send", sends, true, "bob", true}, {"nothing of it", caps(), false, "bob", true},
		{"what is writable", destroys, false, "drafts/a", true}, {"what is not", destroys, false, "other", false},
	} {
		var p probe
		r := newRig(t, bridge.Config{TaskTrusted: tt.trusted, TaskDigest: "sha256:abc", Security: policy.Security{Named: policy.NamedOff},
			Tools: []bridge.Tool{p.tool("x", tt.mod, tier(policy.AskOnce))}}, space(t, dir, workspace.Config{Writable: []string{"drafts/**"}}))
		l := leases.New("l", "x", policy.AskOnce, noon)
		l.ApprovedBy = "task sha256:abc"
		if err := r.State.Leases.Grant(l); err != nil {
			t.Fatal(err)
		}
		_, err := r.call(t, "x", map[string]any{"to": tt.to})
		if (err == nil) != tt.runs || err != nil && !strings.Contains(err.Error(), "--trust sha256:abc") {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// A lease is bound to the file and not to how its path is written.
func TestALeaseIsBoundToResolvedPaths(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to string) {
		os.Remove(filepath.Join(dir, "l"))
		if err := os.Symlink(to, filepath.Join(dir, "l")); err != nil {
			t.Skip(err)
		}
	}
	link("a")
	for name, wrap := range map[string]func(string) any{"text": func(s string) any { return s }, "list": func(s string) any { return []any{s} }} {
		link("a")
		var p probe
		a := says(bridge.Answer{Yes: true, Scope: bridge.ForLease}, nil)
		r := newRig(t, bridge.Config{Approver: a, Tools: []bridge.Tool{p.tool("del", tier(policy.AskOnce), func(t *bridge.Tool) { t.Paths = []string{"body"} })}},
			space(t, dir, workspace.Config{}))
		for i, tt := range []struct {
			path  string
			to    string
			asked int
		}{{"a", "a", 1}, {"./a", "a", 1}, {"l", "a", 1}, {"l", "b", 2}} {
			link(tt.to)
			if _, err := r.call(t, "del", map[string]any{"body": wrap(tt.path)}); err != nil {
				t.Fatal(err)
			}
			if len(a.asked) != tt.asked {
				t.Errorf("%s %d: %d questions after %s, want %d", name, i, len(a.asked), tt.path, tt.asked)
			}
		}
		if _, err := r.call(t, "del", map[string]any{"body": wrap("../a")}); err == nil || len(a.asked) != 2 {
			t.Errorf("%s: a path that leads out is asked about: %v", name, err)
		}
	}
}

// A yes to a call without a destination is none to one with any destination.
func TestALeaseIsBoundToWhatWasNotGiven(t *testing.T) {
	var p probe
	a := says(bridge.Answer{Yes: true, Scope: bridge.ForLease}, nil)
	r := newRig(t, bridge.Config{Approver: a, Tools: []bridge.Tool{p.tool("post", sends, tier(policy.AskOnce), func(t *bridge.Tool) { t.Sensitive = []string{"to"} })}})
	for i, to := range []any{nil, nil, "bob", "bob", "eve"} {
		args := map[string]any{}
		if to != nil {
			args["to"] = to
		}
		if _, err := r.call(t, "post", args); err != nil {
			t.Fatal(err)
		}
		if want := []int{1, 1, 2, 2, 3}[i]; len(a.asked) != want {
			t.Errorf("%d questions after %v, want %d", len(a.asked), to, want)
		}
	}
	if !strings.Contains(a.asked[0].Lease, "post with no to,") || strings.Contains(a.asked[1].Lease, "bob") {
		t.Errorf("offered %q and %q", a.asked[0].Lease, a.asked[1].Lease)
	}
}

// All that a tool in a box can change is what the operator made writable, so a task
// that nobody vouches for may lease it to itself.
func TestALeaseOfAnUntrustedTaskCoversABox(t *testing.T) {
	for _, boxed := range []bool{true, false} {
		var p probe
		r := newRig(t, bridge.Config{TaskDigest: "sha256:1", Tools: []bridge.Tool{p.tool("sh", caps(policy.Destructive), tier(policy.AskOnce), func(t *bridge.Tool) { t.Sandboxed = boxed })}})
		l := leases.New("l1", "sh", policy.AskOnce, noon)
		l.ApprovedBy = "task sha256:1"
		if err := r.State.Leases.Grant(l); err != nil {
			t.Fatal(err)
		}
		_, err := r.call(t, "sh", nil)
		if (err == nil) != boxed || (p.ran == 1) != boxed {
			t.Errorf("in a box %v: ran %d, %v", boxed, p.ran, err)
		}
	}
}
