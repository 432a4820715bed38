package example

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/codeact-dev/codeact/policy"
	"github.com/codeact-dev/codeact/policy/rules/source"
)

func read(text string, r *policy.Request) []error {
	d := source.NewReader(source.File{Name: "f.yaml", Data: []byte(text)})
	for _, n := range d.Documents() {
		d.Mapping(n, "it", Keys(d, r))
	}
	return d.Errs
}

func TestACallBecomesARequest(t *testing.T) {
	var got policy.Request
	errs := read(`
call:
  {id: r/4/1, tool: t, server: s, tier: 0, capabilities: [private_data], labels: [l], sandboxed: true, pinned: true,
   args: {x: 1, y: [a]}, paths: [a/b, {rel: c, param: p, made: true, writable: true}], url: "https://me@X.org/p?q=1",
   shell: {parsed: true, risk: low, reason: r, writes: [a], network: true}}
taint: {private: true, unvouched: true, turn: {untrusted: true}, control: {private: true}, args: {x: {untrusted: true, origin: user}}}
lease: {id: L, usesLeft: 2, expires: "2026-12-01T00:00:00Z", approvedBy: me}
run: {id: r, mode: unattended, bytesSent: 3, callsThisStep: 4, toolCalls: 5, costUsd: 2}
session: {id: i, user: u}
labels: {env: prod}
now: "2026-11-30T10:00:00Z"
`, &got)
	want := policy.Request{
		Call: "r/4/1", Args: map[string]any{"x": int64(1), "y": []any{"a"}}, ArgsBytes: len(`{"x":1,"y":["a"]}`),
		Tool:  policy.ToolView{Name: "t", Server: "s", Tier: policy.Free, Caps: policy.Declare(policy.PrivateData), Labels: []string{"l"}, Sandboxed: true, Pinned: true},
		Paths: []policy.PathFact{{Rel: "a/b", Abs: "/workspace/a/b"}, {Rel: "c", Abs: "/workspace/c", Param: "p", Made: true, Writable: true}},
		URLs:  []policy.URLFact{{Param: "url", Raw: "https://me@X.org/p?q=1", Scheme: "https", Host: "x.org", Path: "/p", Userinfo: true}},
		Shell: &policy.ShellFact{Parsed: true, Risk: "low", Reason: "r", Writes: []string{"a"}, Network: true},
		Held:  policy.Tainted(policy.Private).Join(policy.Tainted(policy.Unvouched)), Turn: policy.Tainted(policy.Untrusted), Control: policy.Tainted(policy.Private),
		ArgTaint: map[string]policy.ArgTaint{"x": {Taint: policy.Tainted(policy.Untrusted), Origin: "user"}},
		Lease:    policy.LeaseView{ID: "L", UsesLeft: 2, Expires: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), ApprovedBy: "me"},
		Run:      policy.RunView{ID: "r", Mode: "unattended", BytesSent: 3, CallsThisStep: 4, ToolCalls: 5, CostUSD: 2},
		Session:  policy.SessionView{ID: "i", User: "u"}, Labels: map[string]string{"env": "prod"}, Now: time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC),
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(policy.Taint{}, policy.Capabilities{})); errs != nil || diff != "" {
		t.Errorf("%v %s", errs, diff)
	}
}

// The least that can be written is the strictest: a tool that declares nothing.
func TestWhatIsNotWrittenIsNotGranted(t *testing.T) {
	var r policy.Request
	if errs := read("call: {tool: x}", &r); errs != nil || r.Tool.Caps.Declared() || r.Tool.Tier != policy.AlwaysAsk || r.Shell != nil || r.Paths != nil {
		t.Errorf("%+v, %v", r, errs)
	}
}

func TestACallOverridesTheDefaultsItNames(t *testing.T) {
	r := policy.Request{Held: policy.Tainted(policy.Private, "c1").Join(policy.Tainted(policy.Untrusted, "c2")), Labels: map[string]string{"a": "1", "b": "2"},
		Paths: []policy.PathFact{{Rel: "old"}}, Tool: policy.ToolView{Name: "old", Pinned: true}}
	labels := r.Labels
	if errs := read("call: {tool: new, paths: [p], argsBytes: 9, args: {a: 1}}\ntaint: {untrusted: false}\nlabels: {b: '3'}", &r); errs != nil {
		t.Fatal(errs)
	}
	if r.Tool.Name != "new" || !r.Tool.Pinned || len(r.Paths) != 1 || r.Paths[0].Rel != "p" || r.ArgsBytes != 9 || r.Held.Untrusted() || cmp.Diff(r.Held.Sources(policy.Private), []string{"c1"}) != "" {
		t.Errorf("%+v", r)
	}
	if r.Labels["a"] != "1" || r.Labels["b"] != "3" || labels["b"] != "2" {
		t.Errorf("%v, and the defaults %v", r.Labels, labels)
	}
}

func TestFaultsOfACall(t *testing.T) {
	for text, want := range map[string]string{
		"call: {}": "the call has no tool",
		"call: {tool: x, paths: [{writable: true}]}":  "the path has no rel",
		"call: {tool: x, paths: [{rl: a}]}":           `unknown key "rl" in a path (did you mean "rel"?)`,
		"call: {tool: x, paths: a}":                   "paths must be a list, not a string",
		"call: {tool: x, tier: 3}":                    "a tier is free, ask_once or always_ask",
		"call: {tool: x, capabilities: [sends]}":      `capability "sends" is not known`,
		"call: {tool: x, capabilities: [destructve]}": `capability "destructve" is not known (did you mean "destructive"?)`,
		"call: {tool: x}\nrun: {mode: plan}":          `mode "plan" is not known`,
		"call: {tool: x}\ntaint: {secret: true}":      `unknown key "secret" in taint`,
	} {
		var r policy.Request
		errs := read(text, &r)
		if len(errs) == 0 || !strings.Contains(errs[0].Error(), want) {
			t.Errorf("%s: %v, want %s", text, errs, want)
		}
	}
	var r policy.Request
	if errs := read(`call: {tool: x, url: 'http://['}`, &r); errs != nil || r.URLs[0].Err == "" {
		t.Errorf("a URL that is none is a fact: %+v, %v", r.URLs, errs)
	}
}
