package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/egress"
	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/policy"
)

// traced is everything that the journal was given, as text.
func traced(t *testing.T, r *rig) string {
	t.Helper()
	var b strings.Builder
	for _, e := range r.Events {
		fmt.Fprintf(&b, "%+v\n", e)
		if text, err := json.Marshal(e); err == nil {
			b.Write(text)
		}
	}
	return b.String()
}

// A sensitive value is nowhere but in the tool: not in the trace, a question, a
// lease, a hook, a reason or the error that the model reads, wherever it stands.
func TestD13ASensitiveValueReachesTheToolAlone(t *testing.T) {
	const secret = "hunter2-hunter2"
	nested := func(v any) map[string]any { return map[string]any{"card": map[string]any{"pin": v}} }
	tests := []struct {
		name      string
		sensitive []string
		args      map[string]any
		mod       func(*bridge.Tool)
	}{
		{"top level", []string{"to"}, map[string]any{"to": secret}, nil},
		{"nested", []string{"*.pin"}, map[string]any{"body": nested(secret)}, nil},
		{"in a list", []string{"*.pin"}, map[string]any{"body": []any{nested(secret)}}, nil},
		{"dotted", []string{"body.card.pin"}, map[string]any{"body": nested(secret)}, nil},
		{"a destination", []string{"to"}, map[string]any{"to": secret}, sends},
		{"a path", []string{"to"}, map[string]any{"to": secret}, func(t *bridge.Tool) { t.Paths = []string{"to"} }},
		{"a URL", []string{"to"}, map[string]any{"to": "https://a.test/" + secret}, func(t *bridge.Tool) { t.URLs = []string{"to"} }},
		{"a bad path", []string{"to"}, map[string]any{"to": "../" + secret}, func(t *bridge.Tool) { t.Paths = []string{"to"} }},
		{"a bad URL", []string{"to"}, map[string]any{"to": secret + "://x"}, func(t *bridge.Tool) { t.URLs = []string{"to"} }},
		{"of the wrong type", []string{"n"}, map[string]any{"n": secret}, nil},
		{"quoted by a rule", []string{"to"}, map[string]any{"to": secret, "n": int64(13)}, nil},
		{"quoted by a hook", []string{"to"}, map[string]any{"to": secret, "n": int64(14)}, nil},
		{"of a tool that nobody knows", nil, map[string]any{"password": secret, "x.y": []any{secret}}, func(t *bridge.Tool) { t.Name = "other" }},
		{"deep", []string{"*.pin"}, map[string]any{"body": []any{secret, deep(63)}}, nil},
	}
	dir := t.TempDir()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p probe
			var told strings.Builder
			hooked := hook{before: func(c bridge.HookCall) bridge.HookResult {
				c.Secret = nil // for hooks that the operator lets see secrets
				fmt.Fprintf(&told, "%+v", c)
				if tt.args["n"] == int64(14) {
					return denial("I know " + secret)
				}
				return fine
			}}
			a := says(bridge.Answer{Yes: true, Scope: bridge.ForLease}, nil)
			mods := []func(*bridge.Tool){tier(policy.AskOnce), func(t *bridge.Tool) { t.Sensitive = tt.sensitive }}
			if tt.mod != nil {
				mods = append(mods, tt.mod)
			}
			r := newRig(t, bridge.Config{Tools: []bridge.Tool{p.tool("pay", mods...)}, Approver: a, Hooks: []bridge.Hook{hooked},
				Policy: rulesOf(t, "  matchConditions:\n    - {name: n, expression: 'has(args.n) && args.n == 13'}\n"+
					"  validations:\n    - {expression: 'false', messageExpression: '\"not to \" + string(args.to)'}\n")}, space(t, dir, workspace.Config{}))
			_, err := r.call(t, "pay", tt.args)
			all := traced(t, r) + told.String() + fmt.Sprint(err)
			for _, q := range a.asked {
				all += fmt.Sprintf("%+v", q)
			}
			if strings.Contains(all, secret) {
				i := strings.Index(all, secret)
				t.Errorf("it stands in …%s", all[max(0, i-200):min(len(all), i+100)])
			}
			if err == nil && fmt.Sprint(p.args) != fmt.Sprint(tt.args) {
				t.Errorf("the tool got %v", p.args)
			}
			if len(r.Events) == 0 {
				t.Error("nothing was recorded")
			}
		})
	}
}

// Two runs hash one value differently, so that a trace cannot be searched for it.
func TestTheHashOfASensitiveValueIsKeyed(t *testing.T) {
	var hashes []string
	for key := range 2 {
		var p probe
		r := newRig(t, bridge.Config{Tools: []bridge.Tool{p.tool("pay", func(t *bridge.Tool) { t.Sensitive = []string{"to"} }), p.tool("note")}},
			func(r *bridge.Run) { r.Key[0] = byte(key) })
		for _, tool := range []string{"pay", "note"} {
			if _, err := r.call(t, tool, map[string]any{"to": "4711"}); err != nil {
				t.Fatal(err)
			}
			hashes = append(hashes, event[bridge.Decided](t, r.Journal).ArgHash)
		}
	}
	if hashes[0] == hashes[2] || hashes[1] != hashes[3] {
		t.Errorf("the hashes are %q", hashes)
	}
}

func TestAFactThatHoldsASecretIsRedacted(t *testing.T) {
	var p probe
	r := newRig(t, bridge.Config{Tools: []bridge.Tool{p.tool("get", func(t *bridge.Tool) { t.URLs = []string{"to"} })}})
	if _, err := r.call(t, "get", map[string]any{"to": "https://a.test/" + token}); err != nil {
		t.Fatal(err)
	}
	if all := traced(t, r); strings.Contains(all, token) || event[bridge.Decided](t, r.Journal).URLs[0].Host != "a.test" {
		t.Errorf("recorded %s", all)
	}
}

func TestSchemas(t *testing.T) {
	s := bridge.MustSchema(`{"type": "object", "required": ["b"], "properties": {"a": {"type": "integer", "default": 7, "x-id": true}, "b": {"type": "string", "description": "B"}}}`)
	var p probe
	r := newRig(t, bridge.Config{Tools: []bridge.Tool{p.tool("x", func(t *bridge.Tool) { t.Params = s }), p.tool("none", func(t *bridge.Tool) { t.Params = bridge.Schema{} })}})
	if sig := r.b.Signatures()[0]; sig.Params[0].Name != "b" || sig.Params[0].Doc != "B" || sig.Params[1].Required {
		t.Errorf("the signature is %+v", sig)
	}
	if v := r.b.Tools()[0]; v.IDs[0] != "a" || v.Params[0] != "a" {
		t.Errorf("a policy sees %+v", v)
	}
	if _, err := r.call(t, "x", map[string]any{"b": "x"}); err != nil || p.args["a"] != int64(7) {
		t.Errorf("the default is %v: %v", p.args["a"], err)
	}
	if _, err := r.call(t, "none", nil); err != nil || r.b.Pin("none") == "" {
		t.Error(err)
	}
	_, err := r.call(t, "none", map[string]any{"a": int64(1)})
	wantErr(t, err, bridge.ErrBadCall, "it takes no parameters")
	for text, want := range map[string]string{
		`{`: "unexpected end", `[]`: "schema", `{"type": "array"}`: "want an object",
		`{"type": "object", "properties": {"a": {"$ref": "#/nope"}}}`:              "schema",
		`{"type": "object", "properties": {"a": {"default": 1e999}}}`:              "cannot unmarshal number",
		`{"type": "object", "properties": {"a": {"type": "string", "default": }}}`: "invalid",
	} {
		if _, err := bridge.ParseSchema([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a constant that is wrong does not panic")
		}
	}()
	bridge.MustSchema(`{}`)
}

// The cheap check accepts only what the validator accepts.
func TestTheCheapCheckAgreesWithTheValidator(t *testing.T) {
	props := `"properties": {"s": {"type": "string"}, "i": {"type": "integer"}, "n": {"type": "number"}, "b": {"type": "boolean"}}, "required": ["s"]`
	call := func(schema string) func(map[string]any) error {
		var p probe
		r := newRig(t, bridge.Config{MaxCalls: 1 << 30, Tools: []bridge.Tool{p.tool("x", func(t *bridge.Tool) { t.Params = bridge.MustSchema(schema) })}})
		return func(args map[string]any) error { _, err := r.call(t, "x", args); return err }
	}
	cheap, whole := call(`{"type": "object", `+props+`}`), call(`{"type": "object", "minProperties": 0, `+props+`}`)
	value := rapid.OneOf(rapid.Just[any]("x"), rapid.Just[any](true), rapid.Just[any](int64(1)), rapid.Just[any](1.0), rapid.Just[any](1.5),
		rapid.Just[any](nil), rapid.Just[any]([]byte("x")), rapid.Just[any](new(big.Int).Lsh(big.NewInt(1), 80)), rapid.Just[any]([]any{}), rapid.Just[any](map[string]any{}))
	rapid.Check(t, func(rt *rapid.T) {
		args := rapid.MapOfN(rapid.SampledFrom([]string{"s", "i", "n", "b", "z"}), value, 0, 5).Draw(rt, "args")
		a, b := cheap(args), whole(args)
		if (a == nil) != (b == nil) {
			rt.Fatalf("%v: %v, but the validator %v", args, a, b)
		}
		if a != nil && !errors.Is(a, bridge.ErrBadCall) {
			rt.Fatal(a)
		}
	})
}

func TestNewNamesEveryFault(t *testing.T) {
	bad := bridge.Tool{Name: "Print it", Rate: bridge.Rate{N: 1}, Paths: []string{"p"}, Destinations: []string{"d"}, URLs: []string{"u"}, Sensitive: []string{"s", "s.t"}}
	var p probe
	_, err := bridge.New(bridge.Config{MaxCalls: -1, MaxOutput: -1, ApprovalTTL: -1, Tools: []bridge.Tool{bad, p.tool("a"), p.tool("a"), p.tool("final")}})
	if err == nil {
		t.Fatal("no fault")
	}
	for _, want := range []string{"MaxCalls", "MaxOutput", "ApprovalTTL", `tool "Print it": the name must match`, "no Run", "a rate needs", `Paths names "p"`,
		`Destinations names "d"`, `URLs names "u"`, `Sensitive names "s"`, `tool "a": there are two`, `tool "final": the name`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "s.t") {
		t.Error("a dotted name is refused")
	}
}

func TestOpenNeedsARun(t *testing.T) {
	b, err := bridge.New(bridge.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if b.MaxCalls() != bridge.DefaultMaxCalls || b.PolicyDigest() != "" || b.Security() != (policy.Security{}) || len(b.RecordSpecs()) != 0 {
		t.Error("the defaults are others")
	}
	good := newRig(t, bridge.Config{}).Run("r")
	for name, spoil := range map[string]func(*bridge.Run){
		"id": func(r *bridge.Run) { r.ID = "" }, "journal": func(r *bridge.Run) { r.Journal = nil }, "state": func(r *bridge.Run) { r.State = nil },
		"key": func(r *bridge.Run) { r.Key = make([]byte, 15) }, "leases": func(r *bridge.Run) { r.State = &bridge.State{} },
	} {
		run := good
		spoil(&run)
		if _, err := b.Open(run, 1, bridge.Preflight{}); err == nil {
			t.Errorf("a run without %s is opened", name)
		}
	}
}

func TestABlockWithASecretIsNotRun(t *testing.T) {
	r := newRig(t, bridge.Config{Redactor: redactor(t, map[string]string{"DB": "correct-horse"})})
	for code, want := range map[string]string{
		`x = 1`: "", `x = "correct-horse"`: "the secret DB", `x = "` + token + `"`: "looks like a secret (github-pat)",
	} {
		err := r.b.CheckBlock(code)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "horse")) {
			t.Errorf("%s: %v", code, err)
		}
	}
	if got := r.b.Clean([]any{"correct-horse", "\x1b"}); fmt.Sprint(got) != `[[redacted:known-secret] \x1b]` {
		t.Errorf("cleaned to %v", got)
	}
	if got := r.b.CleanText("a correct-horse"); got != "a [redacted:known-secret]" {
		t.Errorf("cleaned to %q", got)
	}
}

func TestAPermitGivesWhatTheCallHas(t *testing.T) {
	var got []any
	var p probe
	cfg := bridge.Config{Tools: []bridge.Tool{p.tool("x", func(t *bridge.Tool) {
		t.Run = func(ctx context.Context, p *bridge.Permit) (bridge.Output, error) {
			_, noSecret := p.Secret("DB")
			_, noNet := p.HTTP().Do(ctx, egress.Request{})
			_, _, noFile := p.Root().ReadFile("a", 10)
			noWrite := p.Root().Write("a", nil)
			got = []any{p.Call(), p.Now(), p.Arg("to"), p.String("n"), p.Int("n", 1), p.Int("to", 2), p.Int("body", 3), noSecret, noNet, noFile, noWrite}
			return bridge.Output{}, nil
		}
	})}}
	r := newRig(t, cfg)
	if _, err := r.call(t, "x", map[string]any{"to": "bob", "n": int64(5), "body": 6.0}); err != nil {
		t.Fatal(err)
	}
	want := []any{"r1/1/1", noon, "bob", "", 5, 2, 6}
	for i, w := range want {
		if got[i] != w {
			t.Errorf("%d is %v, want %v", i, got[i], w)
		}
	}
	for _, err := range got[len(want):] {
		if err == nil {
			t.Errorf("a run without anything gives it: %v", got)
		}
	}
	r.cfg.Secrets = func(name string) (string, error) { return "value of " + name, nil }
	r.cfg.Tools[0].Run = func(_ context.Context, p *bridge.Permit) (bridge.Output, error) {
		v, err := p.Secret("DB")
		return bridge.Output{Value: v}, err
	}
	r.resume(t)
	r.door.Call(t.Context(), call("x", map[string]any{"to": "bob", "n": int64(5), "body": 6.0}))
	if v, err := r.door.Call(t.Context(), call("x", nil)); v != any("value of DB") || err != nil {
		t.Error(v, err)
	}
}

// A tool opens what was judged, and what it writes while third-party content is
// about is third-party content.
func TestARootOpensWhatWasJudged(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, untrusted := range []bool{false, true} {
		var p probe
		r := newRig(t, bridge.Config{Tools: []bridge.Tool{p.tool("x", caps(policy.UntrustedInput), func(t *bridge.Tool) {
			t.Paths = []string{"to"}
			t.Run = func(_ context.Context, p *bridge.Permit) (bridge.Output, error) {
				if _, _, err := p.Root().ReadFile("b", 3); err == nil {
					return bridge.Output{}, errors.New("it read what was not judged")
				}
				data, more, err := p.Root().ReadFile("a", 3)
				if err != nil || string(data) != "123" || !more {
					return bridge.Output{}, fmt.Errorf("%q %v %w", data, more, err)
				}
				return bridge.Output{Local: !untrusted}, p.Root().Write("a", []byte("new"))
			}
		})}}, space(t, dir, workspace.Config{Writable: []string{"a"}}))
		if err := os.WriteFile(filepath.Join(dir, "a"), []byte("12345"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := r.call(t, "x", map[string]any{"to": "a"}); err != nil {
			t.Fatal(err)
		}
		o := event[bridge.Outcome](t, r.Journal)
		if len(o.Wrote) != 1 || o.Wrote[0].Untrusted != untrusted || !o.Taint.Unvouched() {
			t.Errorf("untrusted %v: %+v", untrusted, o)
		}
	}
}
