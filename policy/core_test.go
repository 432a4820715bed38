package policy

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheZeroValuesAreTheStrictest(t *testing.T) {
	var c Capabilities
	for f := PrivateData; f <= Destructive; f <<= 1 {
		if !c.Has(f) {
			t.Errorf("a tool that declares nothing lacks %v", f)
		}
	}
	if c.Declared() || c.String() != "undeclared" || len(c.Names()) != 4 {
		t.Errorf("%v", c)
	}
	if (Decision{}).Verdict != Deny || Tier(0) != AlwaysAsk || (Security{}).Trifecta != Deny || (Security{}).Named != NamedDeny {
		t.Error("a zero value allows")
	}
	if got := Narrow(); got.Verdict != Deny || got.Reason == "" {
		t.Errorf("no gate was asked, and the answer is %+v", got)
	}
}

func TestCapabilitiesHaveWhatTheyDeclare(t *testing.T) {
	c := Declare(PrivateData, Destructive)
	if !c.Declared() || !c.Has(PrivateData|Destructive) || c.Has(ExternalSend) || c.Has(PrivateData|ExternalSend) {
		t.Errorf("%v", c)
	}
	for in, want := range map[Capabilities]string{c: "private_data+destructive", Declare(): "none", Declare(1 << 7): "none", {}: "undeclared"} {
		if in.String() != want {
			t.Errorf("%s, want %s", in, want)
		}
	}
	for i, n := range flagNames {
		if f, err := ParseFlag(n); err != nil || f != 1<<i {
			t.Errorf("%s: %v, %v", n, f, err)
		}
	}
	if f, err := ParseFlag("send"); err == nil || f != 0 || !strings.Contains(err.Error(), "external_send") {
		t.Errorf("%v, %v", f, err)
	}
}

// FAULTS D7: an empty grant became the wildcard after it was stored.
func TestD7CapabilitiesKeepEmptyAndUndeclaredApart(t *testing.T) {
	for in, want := range map[Capabilities]string{{}: "null", Declare(): "[]", Declare(ExternalSend): `["external_send"]`} {
		b, err := json.Marshal(in)
		if err != nil || string(b) != want {
			t.Errorf("%v: %s, %v", in, b, err)
		}
		out := Declare(Destructive)
		if err := json.Unmarshal(b, &out); err != nil || out != in {
			t.Errorf("%s became %v, %v", b, out, err)
		}
	}
	for _, bad := range []string{`["send"]`, `"external_send"`, `3`, `{}`} {
		c := Declare()
		if err := json.Unmarshal([]byte(bad), &c); err == nil {
			t.Errorf("%s is %v", bad, c)
		}
	}
}

func TestVerdictsAndTiersAreReadAndWrittenByName(t *testing.T) {
	for v, name := range map[Verdict]string{Deny: "deny", Ask: "ask", Allow: "allow"} {
		b, _ := v.MarshalText()
		back := Allow
		if err := back.UnmarshalText(b); err != nil || back != v || string(b) != name {
			t.Errorf("%s, %v, %v", b, back, err)
		}
	}
	v := Allow
	if err := v.UnmarshalText([]byte("yes")); err == nil || v != Deny {
		t.Errorf("%v, %v", v, err)
	}
	if s := Verdict(9).String(); s != "allow" {
		t.Errorf("%s", s)
	}
	for n, want := range map[int]Tier{0: Free, 1: AskOnce, 2: AlwaysAsk} {
		tier, err := TierOf(n)
		if err != nil || tier != want || tier.Number() != n {
			t.Errorf("%d: %v, %v", n, tier, err)
		}
		b, _ := tier.MarshalText()
		for _, text := range []string{string(b), string(rune('0' + n))} {
			back := Free
			if err := back.UnmarshalText([]byte(text)); err != nil || back != want {
				t.Errorf("%s: %v, %v", text, back, err)
			}
		}
	}
	for _, n := range []int{-1, 3} {
		if tier, err := TierOf(n); err == nil || tier != AlwaysAsk {
			t.Errorf("%d: %v, %v", n, tier, err)
		}
	}
	tier := Free
	if err := tier.UnmarshalText([]byte("never")); err == nil || tier != AlwaysAsk {
		t.Errorf("%v, %v", tier, err)
	}
	if s := Tier(7).String(); s != "free" || Tier(7).Number() != 0 {
		t.Errorf("%s", s)
	}
}

func TestNarrowKeepsEveryReasonOfTheStrictest(t *testing.T) {
	deny := func(reason string) Decision { return Decision{Verdict: Deny, Gate: "g", Reason: reason} }
	ask := Decision{Verdict: Ask, Gate: "a", Reason: "q"}
	for _, c := range []struct {
		in     []Decision
		want   Verdict
		gate   string
		reason string
	}{
		{[]Decision{Allowed("x"), ask}, Ask, "a", "q"},
		{[]Decision{ask, Allowed("x")}, Ask, "a", "q"},
		{[]Decision{ask, deny("no"), ask}, Deny, "g", "no"},
		{[]Decision{deny("one"), deny("two")}, Deny, "g", "one; two"},
		{[]Decision{deny(""), deny("two")}, Deny, "g", "two"},
		{[]Decision{deny("one"), deny("")}, Deny, "g", "one"},
		{[]Decision{deny("one"), deny("one")}, Deny, "g", "one"},
		{[]Decision{{Verdict: Allow, Gate: "x", Reason: "a"}, {Verdict: Allow, Gate: "y", Reason: "b"}}, Allow, "x", "a"},
	} {
		if got := Narrow(c.in...); got.Verdict != c.want || got.Gate != c.gate || got.Reason != c.reason {
			t.Errorf("%v: %+v", c.in, got)
		}
	}
}

func TestTaintComesFromDeclarationsAndContent(t *testing.T) {
	for _, c := range []struct {
		caps     Capabilities
		external bool
		want     string
	}{
		{Declare(), true, "clean"},
		{Declare(PrivateData), false, "private"},
		{Declare(UntrustedInput), false, "clean"},
		{Declare(UntrustedInput), true, "untrusted"},
		{Capabilities{}, true, "private+untrusted"},
		{Capabilities{}, false, "private"},
	} {
		if got := TaintOf(c.caps, c.external, "c1"); got.String() != c.want {
			t.Errorf("%v, external %v: %s, want %s", c.caps, c.external, got, c.want)
		}
	}
}

func TestLabelsHoldsEveryLabel(t *testing.T) {
	all := Labels()
	if len(all) != int(labels) {
		t.Errorf("%d of %d labels", len(all), labels)
	}
	for i, l := range all {
		if int(l) != i {
			t.Errorf("label %d is %v", i, l)
		}
	}
}

func TestTaintKnowsItsSources(t *testing.T) {
	in := []string{"c3", "c1", "c3"}
	got := Tainted(Unvouched, in...)
	if !slices.Equal(got.Sources(Unvouched), []string{"c1", "c3"}) || in[0] != "c3" || got.Clean() || !got.Unvouched() {
		t.Errorf("%v from %v", got.Sources(Unvouched), in)
	}
	got.Sources(Unvouched)[0] = "x"
	if got.Sources(Unvouched)[0] != "c1" {
		t.Error("a caller changed a taint")
	}
	if s := Tainted(Private).Sources(Private); !slices.Equal(s, []string{"?"}) {
		t.Errorf("%v", s)
	}
	if !(Taint{}).Clean() || (Taint{}).String() != "clean" {
		t.Error("nothing is not clean")
	}
	lethal := Tainted(Private, "a").Join(Tainted(Untrusted, "b"))
	if !lethal.Lethal() || Tainted(Private).Lethal() || Tainted(Untrusted).Join(Tainted(Unvouched)).Lethal() {
		t.Error("the trifecta has other legs")
	}
	many := make([]string, 2*maxSources)
	for i := range many {
		many[i] = string(rune('a'+i/26)) + string(rune('a'+i%26))
	}
	if n := len(Tainted(Private, many...).Sources(Private)); n != maxSources {
		t.Errorf("%d sources", n)
	}
	if n := len(Tainted(Private, many[:maxSources]...).Join(Tainted(Private, many[maxSources:]...)).Sources(Private)); n != maxSources {
		t.Errorf("%d sources after a join", n)
	}
}

func TestADamagedRecordLowersNoTaint(t *testing.T) {
	for in, want := range map[string]string{
		`{}`: "clean", `{"private":[]}`: "private", `{"untrusted":["c1"],"unvouched":["c2"]}`: "untrusted+unvouched",
	} {
		var got Taint
		if err := json.Unmarshal([]byte(in), &got); err != nil || got.String() != want {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
	if err := json.Unmarshal([]byte(`{"private":3}`), new(Taint)); err == nil {
		t.Error("a number is a list of calls")
	}
}

func TestTheInterlock(t *testing.T) {
	private, untrusted := Tainted(Private, "p"), Tainted(Untrusted, "u")
	lethal := private.Join(untrusted)
	both := func(r *Request) { r.Held = lethal }
	attended := func(r *Request) { r.Security.Attended = true }
	asks := func(r *Request) { r.Security.Trifecta = Ask }
	precise := func(r *Request) { r.Security.Precise = true }
	proven := func(ts ...Taint) func(*Request) {
		return func(r *Request) {
			r.Args, r.ArgTaint = map[string]any{}, map[string]ArgTaint{}
			for i, t := range ts {
				name := string(rune('a' + i))
				r.Args[name], r.ArgTaint[name] = i, ArgTaint{Taint: t}
			}
		}
	}
	type change = func(*Request)
	for _, c := range []struct {
		name    string
		changes []change
		want    Verdict
		rule    string
	}{
		{"nothing is held", nil, Allow, ""},
		{"private alone", []change{func(r *Request) { r.Held = private }}, Allow, ""},
		{"untrusted alone", []change{func(r *Request) { r.Held = untrusted }}, Allow, ""},
		{"both", []change{both}, Deny, "trifecta"},
		{"one held, one armed by the batch", []change{func(r *Request) { r.Held, r.Turn = private, untrusted }}, Deny, "trifecta"},
		{"both, and no send", []change{both, func(r *Request) { r.Tool.Caps = Declare(PrivateData, Destructive) }}, Allow, ""},
		{"both, and a tool that declares nothing", []change{both, func(r *Request) { r.Tool.Caps = Capabilities{} }}, Deny, "trifecta"},
		{"both, and someone to ask", []change{both, asks, attended}, Ask, "trifecta"},
		{"both, and nobody to ask", []change{both, asks}, Deny, "trifecta"},
		{"both, and attended without ask", []change{both, attended}, Deny, "trifecta"},
		{"both, and switched off", []change{both, func(r *Request) { r.Security.Trifecta = Allow }}, Allow, ""},
		{"no sends after private data", []change{func(r *Request) { r.Held, r.Security.SendsAfterPrivate = private, false }}, Deny, "block-sends-after-private"},
		{"no sends after private data that the batch will read", []change{func(r *Request) { r.Turn, r.Security.SendsAfterPrivate = private, false }}, Deny, "block-sends-after-private"},
		{"sends after untrusted content", []change{func(r *Request) { r.Held, r.Security.SendsAfterPrivate = untrusted, false }}, Allow, ""},
		{"no sends after private data stands where the trifecta asks", []change{both, asks, attended, func(r *Request) { r.Security.SendsAfterPrivate = false }}, Deny, "block-sends-after-private"},
		{"unvouched files arm nothing", []change{func(r *Request) { r.Held = private.Join(Tainted(Unvouched, "f")) }}, Allow, ""},
		{"precise, and proven clean", []change{both, precise, proven(Taint{})}, Allow, ""},
		{"precise, without arguments", []change{both, precise}, Allow, ""},
		{"precise, and one argument carries both", []change{precise, proven(Taint{}, lethal)}, Deny, "trifecta"},
		{"precise, and two arguments carry one each", []change{precise, proven(private, untrusted)}, Deny, "trifecta"},
		{"precise, and an argument without a proof", []change{both, precise, proven(Taint{}), func(r *Request) { r.Args["z"] = 1 }}, Deny, "trifecta"},
		{"precise, and control depends on both", []change{precise, proven(Taint{}), func(r *Request) { r.Control = lethal }}, Deny, "trifecta"},
		{"precise, and the batch arms both", []change{precise, proven(Taint{}), func(r *Request) { r.Turn = lethal }}, Deny, "trifecta"},
		{"proofs without precise", []change{both, proven(Taint{})}, Deny, "trifecta"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := Request{Tool: ToolView{Caps: Declare(ExternalSend)}, Security: Security{SendsAfterPrivate: true}}
			for _, change := range c.changes {
				change(&r)
			}
			d := Interlock(r)
			if d.Verdict != c.want || d.Rule != c.rule || d.Gate != "interlock" {
				t.Errorf("%+v, want %s by %q", d, c.want, c.rule)
			}
			if (d.Verdict == Allow) != (d.Reason == "") || (d.Verdict == Allow) != (d.Values == nil) {
				t.Errorf("a refusal says why and by what, and nothing else does: %+v", d)
			}
		})
	}
}

func TestTheInterlockGivesBothReasonsAndNamesTheCalls(t *testing.T) {
	d := Interlock(Request{Held: Tainted(Private, "p1", "p2").Join(Tainted(Untrusted, "u"))})
	if d.Rule != "trifecta" || d.Reason != interlockReason+"; "+privateReason {
		t.Errorf("%+v", d)
	}
	want := []Value{{"taint.private", "p1"}, {"taint.private", "p2"}, {"taint.untrusted", "u"}}
	if diff := cmp.Diff(want, d.Values); diff != "" {
		t.Error(diff)
	}
}
