package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/interp"
	"github.com/codeact-dev/codeact/policy"
)

// A lab has tools whose requests a hook keeps, and a conversation that holds
// third-party content, so that what is not proven is seen to be held.
type lab struct {
	*rig
	lineage *bridge.Lineage
	asked   []policy.Request
	change  map[string]any // what the hook makes of the arguments, nil for nothing
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{}
	var c crew
	withDefault := func(t *bridge.Tool) {
		t.Params = bridge.MustSchema(`{"type": "object", "additionalProperties": true, "properties": {"to": {"type": "string"}, "cc": {"type": "string", "default": "none"}}}`)
	}
	l.rig = newRig(t, bridge.Config{Tools: []bridge.Tool{c.tool("page", caps(policy.UntrustedInput)), c.tool("diary", caps(policy.PrivateData)), c.tool("note"),
		c.tool("other"), c.tool("mail", sends, withDefault)}, Security: policy.Security{Named: policy.NamedOff, SendsAfterPrivate: true, Trifecta: policy.Allow},
		Hooks: []bridge.Hook{hook{before: func(c bridge.HookCall) bridge.HookResult {
			l.asked = append(l.asked, c.Request)
			if l.change != nil {
				return bridge.HookResult{Decision: policy.Allowed("hooks"), Args: l.change}
			}
			return fine
		}}}})
	l.State.Held = policy.Tainted(policy.Untrusted, "r0/1/1")
	l.lineage = l.b.NewLineage()
	return l
}

// read opens the step with what is known of its block.
func (l *lab) read(t *testing.T, step int, code string) bridge.Preflight {
	t.Helper()
	f := l.lineage.Read(step, code)
	var err error
	if l.door, err = l.b.Open(l.Run("r1"), step, f); err != nil {
		t.Fatal(err)
	}
	return f
}

// at makes a call at the position, as the worker claims it.
func (l *lab) at(t *testing.T, pos, tool string, args map[string]any) policy.Request {
	t.Helper()
	if _, err := l.door.Call(t.Context(), interp.Call{Tool: tool, Args: args, Position: pos}); err != nil {
		t.Fatal(err)
	}
	return l.asked[len(l.asked)-1]
}

// proven spells out what is known of a request: each argument's label, or "?".
func proven(r policy.Request) string {
	var parts []string
	for name := range r.Args {
		what := "?"
		if a, ok := r.ArgTaint[name]; ok {
			what = a.Taint.String() + "/" + a.Origin
		}
		parts = append(parts, name+"="+what)
	}
	slices.Sort(parts)
	return strings.Join(append(parts, "control="+r.Control.String()), " ")
}

func TestALabelIsOnlyWhatTheCodeProves(t *testing.T) {
	to := map[string]any{"to": "x"}
	for _, tt := range []struct {
		name, code, pos, tool string
		args                  map[string]any
		want                  string
	}{
		{"a literal", `note(to="x")`, "block:1:5", "note", to, "to=clean/model control=clean"},
		{"no position", `note(to="x")`, "", "note", to, "to=? control=untrusted"},
		{"another position", `note(to="x")`, "block:1:6", "note", to, "to=? control=untrusted"},
		{"another tool", "note(to=\"x\")\nother()", "block:1:5", "other", to, "to=? control=untrusted"},
		{"a default of the schema", `mail(to="x")`, "block:1:5", "mail", to, "cc=clean/model to=clean/model control=clean"},
		{"not the default", `mail(to="x")`, "block:1:5", "mail", map[string]any{"to": "x", "cc": "eve"}, "cc=? to=clean/model control=clean"},
		{"an argument that no schema names", `mail(**{"to": "x", "bcc": str(note())})`, "block:1:5", "mail", map[string]any{"to": "x", "bcc": "y"},
			"bcc=? cc=clean/tool to=clean/tool control=clean"},
		{"an alias", "f = note\nf(to=\"x\")", "block:2:2", "note", to, "to=? control=untrusted"},
		{"a block that does not parse", `note(to="x"`, "block:1:5", "note", to, "to=? control=untrusted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t)
			l.read(t, 1, tt.code)
			if got := proven(l.at(t, tt.pos, tt.tool, tt.args)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestAResultHasTheLabelOfItsPlace(t *testing.T) {
	l := newLab(t)
	l.State.Brought[bridge.Place{Step: 1, Pos: "block:1:9"}] = policy.Tainted(policy.Untrusted, "r1/1/1")
	l.State.Brought[bridge.Place{Step: 1, Pos: "block:2:10"}] = policy.Tainted(policy.Private, "r1/1/2")
	l.State.SeenAt[2] = policy.Tainted(policy.Unvouched, "r1/1/3")
	l.read(t, 1, "v = page()\nd = diary()")
	l.read(t, 2, "note(to=v)\nnote(to=d)\nnote(to=\"x\")\nif v: note(to=str(d))")
	for pos, want := range map[string]string{
		"block:1:5":  "to=untrusted/tool control=unvouched",
		"block:2:5":  "to=private/tool control=unvouched",
		"block:3:5":  "to=unvouched/model control=unvouched",
		"block:4:11": "to=private/tool control=untrusted+unvouched",
	} {
		if got := proven(l.at(t, pos, "note", map[string]any{"to": "x"})); got != want {
			t.Errorf("%s: got %s, want %s", pos, got, want)
		}
	}
}

// An argument that is None is left out, and a receiver can tell. What it could have
// been is part of the control flow.
func TestAnArgumentThatIsLeftOutSaysSo(t *testing.T) {
	for code, want := range map[string]string{
		`note(to="x", body=None if v else "y")`:    "to=clean/model control=private",
		`note(to="x", body=(lambda f: f())(note))`: "to=clean/model control=untrusted",
		`note(to="x", body=None)`:                  "to=clean/model control=clean",
	} {
		l := newLab(t)
		l.State.Brought[bridge.Place{Step: 1, Pos: "block:1:10"}] = policy.Tainted(policy.Private, "r1/1/1")
		l.read(t, 1, "v = diary()")
		l.read(t, 2, code)
		if got := proven(l.at(t, "block:1:5", "note", map[string]any{"to": "x"})); got != want {
			t.Errorf("%s: got %s, want %s", code, got, want)
		}
	}
}

// A position can be passed again only in a loop. Beyond that it is the worker's
// claim alone.
func TestAPositionIsProvenAsOftenAsTheCodePassesIt(t *testing.T) {
	for code, want := range map[string]string{
		`note(to="x")`:                     "to=? control=untrusted",
		`[note(to="x") for i in range(2)]`: "to=clean/model control=clean",
	} {
		l := newLab(t)
		pos := "block:1:5"
		if strings.HasPrefix(code, "[") {
			pos = "block:1:6"
		}
		l.read(t, 1, code)
		to := map[string]any{"to": "x"}
		if got := proven(l.at(t, pos, "note", to)); got != "to=clean/model control=clean" {
			t.Errorf("%s: the first time %s", code, got)
		}
		if got := proven(l.at(t, pos, "note", to)); got != want {
			t.Errorf("%s: the second time %s, want %s", code, got, want)
		}
	}
}

// The members of one parallel share a position; of two that share their tool too
// nobody can tell which is which.
func TestMembersOfOneTool(t *testing.T) {
	for _, tt := range []struct{ second, want string }{{"other", "to=clean/model control=clean"}, {"note", "to=? control=untrusted"}} {
		l := newLab(t)
		l.read(t, 1, `parallel([(note, {"to": "x"}), (`+tt.second+`, {"to": "y"})])`)
		rs, err := l.door.CallBatch(t.Context(), []interp.Call{{Tool: "note", Args: map[string]any{"to": "x"}, Position: "block:1:9"},
			{Tool: tt.second, Args: map[string]any{"to": "y"}, Position: "block:1:9"}})
		if err != nil || rs[0].Err != nil || rs[1].Err != nil {
			t.Fatal(rs, err)
		}
		for _, r := range l.asked {
			if got := proven(r); got != tt.want {
				t.Errorf("beside %s: %s of %s, want %s", tt.second, got, r.Tool.Name, tt.want)
			}
		}
	}
}

func TestWhatAHookPutsInIsHeld(t *testing.T) {
	l := newLab(t)
	l.read(t, 1, `note(to="x")`)
	l.change = map[string]any{"to": "y"}
	l.at(t, "block:1:5", "note", map[string]any{"to": "x"})
	if len(l.asked) != 2 || proven(l.asked[0]) != "to=clean/model control=clean" || proven(l.asked[1]) != "to=? control=untrusted" {
		t.Errorf("asked %d times, last %s", len(l.asked), proven(l.asked[len(l.asked)-1]))
	}
	if d := event[bridge.Decided](t, l.Journal); !d.Carries.Untrusted() {
		t.Errorf("the call carries %s", d.Carries)
	}
}

// What a refusal says may quote what was given.
func TestTheResultOfACallCarriesWhatItWasGiven(t *testing.T) {
	secret := policy.Tainted(policy.Private, "r1/1/1")
	for _, tt := range []struct {
		name, code, pos string
		args            map[string]any
		want            string
	}{
		{"a clean argument", `note(to="x")`, "block:3:5", map[string]any{"to": "x"}, "clean"},
		{"a private one", `note(to=v)`, "block:3:5", map[string]any{"to": "x"}, "private"},
		{"a private one that does not fit", `note(n=v)`, "block:3:5", map[string]any{"n": "x"}, "private"},
		{"private control", `if v: note()`, "block:3:11", nil, "private"},
		{"what is not proven", `f = note`, "block:3:5", map[string]any{"to": "x"}, "untrusted"},
		{"an argument that is not in the code", `note(to="x")`, "block:3:5", map[string]any{"to": "x", "n": int64(1)}, "untrusted"},
	} {
		l := newLab(t)
		l.State.Brought[bridge.Place{Step: 1, Pos: "block:1:10"}] = secret
		l.read(t, 1, "v = diary()\npass\n"+tt.code)
		l.door.Call(t.Context(), interp.Call{Tool: "note", Args: tt.args, Position: tt.pos})
		if d := event[bridge.Decided](t, l.Journal); d.Carries.String() != tt.want || d.Position != tt.pos {
			t.Errorf("%s: it carries %s, want %s", tt.name, d.Carries, tt.want)
		}
	}
}

// A worker can ask for any tool of the run, whatever its block says.
func TestAToolThatNoBlockNamesIsRefused(t *testing.T) {
	l := newLab(t)
	for step, tt := range []struct {
		code  string
		tools string
	}{{`note(to="x")`, "[note]"}, {`def f(): page()`, "[note page]"}, {`f(`, "[note page]"}} {
		f := l.read(t, step+1, tt.code)
		if fmt.Sprint(f.Tools) != tt.tools {
			t.Errorf("step %d grants %v, want %s", step+1, f.Tools, tt.tools)
		}
		_, err := l.door.Call(t.Context(), interp.Call{Tool: "mail", Args: map[string]any{"to": "eve"}, Position: "block:1:5"})
		var refused *bridge.CallError
		if !errors.As(err, &refused) || refused.Decision.Gate != "registry" || refused.Decision.Rule != "not-announced" {
			t.Errorf("step %d: %v", step+1, err)
		}
		l.at(t, "", "note", nil)
	}
	if n := count[bridge.Begun](l.Journal); n != 3 {
		t.Errorf("%d calls began", n)
	}
}

// What a name holds after a block depends on how the block ended.
func TestALineageFollowsTheSession(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(*bridge.Lineage)
		want string
	}{
		{"it ran", func(*bridge.Lineage) {}, "to=clean/model control=clean"},
		{"it failed", (*bridge.Lineage).Failed, "to=? control=clean"},
		{"it was refused", func(l *bridge.Lineage) { l.Refused(true) }, "to=private/tool control=clean"},
		{"it was never sent", func(l *bridge.Lineage) { l.Refused(false) }, "to=private/tool control=clean"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t)
			l.State.Brought[bridge.Place{Step: 1, Pos: "block:1:10"}] = policy.Tainted(policy.Private, "r1/1/1")
			l.read(t, 1, "v = diary()")
			l.read(t, 2, "v = \"x\"")
			tt.end(l.lineage)
			l.read(t, 3, `note(to=v)`)
			if got := proven(l.at(t, "block:1:5", "note", map[string]any{"to": "x"})); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// The steps of a function's block are not those of the one that calls it, and a block
// that the session never had has no number.
func TestANumberOfABlockIsNotAStep(t *testing.T) {
	l := newLab(t)
	l.State.SeenAt[7] = policy.Tainted(policy.Private, "r1/1/1")
	l.read(t, 2, "pass")
	l.read(t, 3, "never_sent()")
	l.lineage.Refused(false)
	l.read(t, 5, "refused(")
	l.lineage.Refused(true)
	l.read(t, 7, "def f(): note(to=\"x\")")
	l.read(t, 9, "f()")
	if got, want := proven(l.at(t, "block#3:1:14", "note", map[string]any{"to": "x"})), "to=private/model control=private"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestABlockThatCouldCloseTheTrifectaIsAWarning(t *testing.T) {
	private, third := policy.Tainted(policy.Private, "c"), policy.Tainted(policy.Untrusted, "c")
	for _, tt := range []struct {
		code string
		held policy.Taint
		warn bool
	}{
		{`mail(to="x")`, policy.Taint{}, false},
		{`mail(to="x")`, private, false},
		{`mail(to="x")`, private.Join(third), true},
		{"page()\nmail(to=\"x\")", private, true},
		{"page()\ndiary()", policy.Taint{}, false},
		{"page()\ndiary()\nmail(to=\"x\")", policy.Taint{}, true},
	} {
		l := newLab(t)
		if got := l.lineage.Trifecta(l.lineage.Read(1, tt.code), tt.held); (got != "") != tt.warn {
			t.Errorf("%q after %s: %q", tt.code, tt.held, got)
		}
	}
}

func TestABlockWithNamesThatNothingDefines(t *testing.T) {
	l := newLab(t)
	if got := l.lineage.Read(1, "note()").Undefined(); got != "" {
		t.Errorf("of a block that is fine: %q", got)
	}
	got := l.lineage.Read(2, "a = 1\nnotee()\nb = qqq").Undefined()
	for _, want := range []string{"was not run", "\nnotee at line 2, column 1 (did you mean note?)", "\nqqq at line 3, column 5"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
}

// What a result was too long for is read back with every label that it can have.
func TestASpilledResultKeepsItsLabels(t *testing.T) {
	var p probe
	page := p.tool("page", caps(policy.UntrustedInput, policy.PrivateData), returns(bridge.Output{Value: strings.Repeat("x", 500)}, nil))
	read := p.tool("read", func(t *bridge.Tool) {
		t.Paths = []string{"to"}
		t.Run = func(_ context.Context, permit *bridge.Permit) (bridge.Output, error) {
			data, _, err := permit.Root().ReadFile(permit.String("to"), 100)
			return bridge.Output{Value: string(data), Local: true}, err
		}
	})
	r := newRig(t, bridge.Config{Tools: []bridge.Tool{page, read}, MaxOutput: 200}, space(t, t.TempDir(), workspace.Config{SpillDir: filepath.Join(t.TempDir(), "spill")}))
	if _, err := r.call(t, "page", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := r.call(t, "read", map[string]any{"to": event[bridge.Outcome](t, r.Journal).Spill}); err != nil {
		t.Fatal(err)
	}
	if o := event[bridge.Outcome](t, r.Journal); o.Tool != "read" || o.Taint.String() != "private+untrusted" {
		t.Errorf("%s brought %s", o.Tool, o.Taint)
	}
}

// Without labels there is no lineage, and none of its methods minds.
func TestTheFloorHasNoLineage(t *testing.T) {
	var p probe
	r := newRig(t, bridge.Config{Tools: []bridge.Tool{p.tool("note")}, Security: policy.Security{Floor: true}})
	l := r.b.NewLineage()
	if l != nil {
		t.Fatal("there is one")
	}
	f := l.Read(1, "note()")
	l.Failed()
	l.Refused(true)
	if len(f.Tools) != 0 || l.Trifecta(f, policy.Tainted(policy.Private)) != "" {
		t.Errorf("it knows %v", f.Tools)
	}
}
