package assembly_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/codeact-dev/codeact/bridge"
	bridgetools "github.com/codeact-dev/codeact/bridge/tools"
	"github.com/codeact-dev/codeact/engine"
	"github.com/codeact-dev/codeact/engine/assembly"
	"github.com/codeact-dev/codeact/policy"
)

// A setting is one that says something about safety, with all that a task may write
// there. looser is by value what the home must permit: "" is only shown.
type setting struct {
	path   string
	values []any
	looser map[string]string
}

var settings = []setting{
	{"security.trifecta", []any{"block", "ask", "allow"}, map[string]string{"ask": "trifecta.ask", "allow": "trifecta.allow"}},
	{"security.interlock", []any{"floor", "precise"}, map[string]string{"precise": "interlock.precise"}},
	{"security.named", []any{"ask", "deny", "off"}, map[string]string{"off": "named.off"}},
	{"security.blockPrivateIPs", []any{true, false}, map[string]string{"false": "private-ips"}},
	{"workspace.sandbox.required", []any{true, false}, map[string]string{"false": "sandbox.optional"}},
	{"workspace.sandbox.kind", []any{"auto", "bwrap", "landlock", "none"}, map[string]string{"none": "sandbox.optional"}},
	{"workspace.sandbox.network", []any{"none", "allowlist", "host"}, map[string]string{"host": ""}},
	{"security.markUntrusted", []any{true, false}, map[string]string{"false": ""}},
	{"security.scanOutputs.injection", []any{"off", "warn", "block"}, map[string]string{"off": ""}},
	{"security.scanOutputs.secrets", []any{"off", "redact", "block"}, map[string]string{"off": ""}},
	{"security.provenance", []any{"precise", "floor"}, nil},
	{"security.blockSendsAfterPrivate", []any{true, false}, nil},
	{"security.destinations", []any{[]any{"eve@x.test"}, []any{}}, nil},
	{"security.identity", []any{[]any{"eve@x.test"}}, nil},
	{"security.allowedDomains", []any{[]any{"127.0.0.1"}}, nil},
	{"approvals.mode", []any{"unattended", "deny"}, nil},
	{"approvals.onAsk", []any{"pause", "deny"}, nil},
	{"limits.callsPerStep", []any{10, 500}, nil},
	{"redact.params", []any{[]any{"to"}}, nil},
	{"tools.callRate", []any{"100/s"}, nil},
	{"tools.overrides", []any{
		map[string]any{"http_fetch": map[string]any{"tier": 0}, "mail": map[string]any{"tier": 0}, "fs_write": map[string]any{"tier": 0}},
		map[string]any{"http_fetch": map[string]any{"tier": 2, "addCapabilities": []any{"private_data"}}, "mail": map[string]any{"destinations": []any{"to"}}},
	}, nil},
	{"leases", []any{[]any{map[string]any{"tool": "*", "tier": 1, "uses": 50}}, []any{map[string]any{"tool": "mail", "tier": 2}}}, nil},
	{"policies", []any{[]any{"lax.yaml"}}, nil},
	{"reflection.autoApply", []any{false}, nil},
}

const (
	rule = "apiVersion: codeact.dev/v1\nkind: ToolCallPolicy\nmetadata: {name: %s}\nspec:\n  validations: [{expression: '%s', message: m}]\n"
	note = `{"name": "note", "tier": 0, "capabilities": ["private_data"], "effect": "append", "responses": [{"value": "private", "external": false}]}`
	page = `{"name": "page", "tier": 0, "capabilities": ["untrusted_input"], "responses": [{"value": "orders"}]}`
	mail = `{"name": "mail", "tier": 1, "capabilities": ["external_send"], "destinations": ["to"], "effect": "append", "params": {"type": "object", "properties": {"to": {"type": "string"}}}, "responses": [{"value": "ok", "external": false}]}`
)

// A world is a home and a task, as they were drawn, and what a run did in them.
type world struct {
	place
	permits  []string
	private  bool // the home opens the server
	closed   bool // a rule and a hook of the home refuse note
	written  map[string]any
	missing  []string // permits that the task needs and the home does not give
	loosened []string
	hits     *atomic.Int32
}

// set writes a value under a path of keys.
func set(m map[string]any, path string, v any) {
	key, rest, deeper := strings.Cut(path, ".")
	if !deeper {
		m[key] = v
		return
	}
	if m[key] == nil {
		m[key] = map[string]any{}
	}
	set(m[key].(map[string]any), rest, v)
}

// put writes the files of the world. JSON is YAML.
func (w *world) put(t *testing.T, server string, blocks ...string) {
	t.Helper()
	var script []any
	for _, b := range blocks {
		script = append(script, map[string]any{"code": b})
	}
	task := map[string]any{"apiVersion": "codeact.dev/v1", "kind": "Task", "metadata": map[string]any{"name": "t"}, "goal": "Do the work.",
		"model": map[string]any{"provider": "scripted", "script": script}}
	set(task, "workspace.dir", "ws")
	set(task, "tools.builtin", []any{"http_fetch", "fs_write"})
	set(task, "tools.mock", "tools.yaml")
	for path, v := range w.written {
		set(task, path, v)
	}
	home := map[string]any{"apiVersion": "codeact.dev/v1", "kind": "Home", "permit": w.permits}
	if w.private {
		set(home, "security.allowPrivate", []any{strings.TrimPrefix(server, "http://")})
	}
	if w.closed {
		set(home, "policies", []any{"closed.yaml"})
		set(home, "hooks.PreToolUse", []any{map[string]any{"matcher": "mail", "hooks": []any{map[string]any{"type": "command", "command": "exit 2"}}}})
	}
	w.place = newPlace(t, "", map[string]string{
		"tools.yaml": `{"apiVersion": "codeact.dev/v1", "kind": "MockTools", "effects": "effects.jsonl", "tools": [` + note + "," + page + "," + mail + "]}",
		"lax.yaml":   fmt.Sprintf(rule, "lax", "true"),
	})
	write(t, filepath.Join(w.home, "closed.yaml"), fmt.Sprintf(rule, "closed", `tool.name != "note"`))
	for path, v := range map[string]any{filepath.Join(w.dir, "task.yaml"): task, filepath.Join(w.home, "config.yaml"): home} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		write(t, path, string(text))
	}
}

// draw makes a world up.
func draw(t *rapid.T) *world {
	w := &world{written: map[string]any{}, hits: new(atomic.Int32), private: rapid.Bool().Draw(t, "private"), closed: rapid.Bool().Draw(t, "closed")}
	for _, p := range []string{"trifecta.ask", "trifecta.allow", "interlock.precise", "named.off", "sandbox.optional", "private-ips", "unsandboxed-shell", "autoapply"} {
		if rapid.IntRange(0, 3).Draw(t, "permit "+p) > 0 {
			w.permits = append(w.permits, p)
		}
	}
	w.permits = append([]string{}, w.permits...)
	for _, s := range settings {
		if rapid.Bool().Draw(t, "write "+s.path) {
			continue
		}
		v := rapid.SampledFrom(s.values).Draw(t, s.path)
		w.written[s.path] = v
		permit, looser := s.looser[fmt.Sprint(v)]
		if looser {
			w.loosened = append(w.loosened, s.path+": "+fmt.Sprint(v))
		}
		if permit != "" && !slices.Contains(w.permits, permit) {
			w.missing = append(w.missing, permit)
		}
	}
	return w
}

// loose reports whether the task wrote the value, and the home permits it.
func (w *world) loose(path, value, permit string) bool {
	return fmt.Sprint(w.written[path]) == value && slices.Contains(w.permits, permit)
}

// tempted is a model that read something private and a page, and then sends.
var tempted = []string{"attempt(note)\nprint(attempt(page).value)", "attempt(mail, to=\"eve@x.test\")\nfinal(1)"}

// Whatever a task writes, its run is no looser than the home permits: what needs a
// permit refuses without it, by its name, before anything is done; and what does run
// sends, fetches and skips rules no further than that.
func TestM4ATaskIsNeverLooserThanItsHome(t *testing.T) {
	var hits *atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { hits.Add(1); fmt.Fprint(rw, "private") }))
	defer server.Close()
	builtin, err := bridgetools.Builtin("http_fetch", "fs_write")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		w := draw(rt)
		hits = w.hits
		fetches := rapid.Bool().Draw(rt, "fetches")
		blocks := tempted
		if fetches {
			blocks = []string{fmt.Sprintf("attempt(http_fetch, url=%q)\nfinal(1)", server.URL)}
		}
		w.put(t, server.URL, blocks...)
		trust := rapid.Bool().Draw(rt, "trusted")
		r, err := w.open(t, func(o *assembly.Options) {
			if trust {
				o.Trust = w.is(t)
			}
		})
		if err == nil {
			defer r.Close()
		}
		if len(w.missing) > 0 {
			w.refuses(rt, err)
			return
		}
		if err != nil {
			rt.Fatalf("all is permitted: %v", err)
		}
		w.keeps(rt, r, builtin)
		if _, err := r.Do(t.Context()); err != nil {
			rt.Fatal(err)
		}
		w.did(rt, trust)
	})
}

// is the digest of the task.
func (w *world) is(t *testing.T) string {
	t.Helper()
	r, err := w.open(t, func(o *assembly.Options) { o.Look = true })
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return r.File.Digest()
}

// refuses checks an error that must name every missing permit.
func (w *world) refuses(t *rapid.T, err error) {
	if !errors.Is(err, assembly.ErrPrecondition) {
		t.Fatalf("%v are missing, and it gave %v", w.missing, err)
	}
	for _, p := range w.missing {
		if !strings.Contains(err.Error(), "permit: ["+p+"]") {
			t.Errorf("%s is not named: %v", p, err)
		}
	}
	if _, err := os.Stat(filepath.Join(w.home, "traces")); err == nil {
		t.Error("a run was begun")
	}
}

// keeps checks what was assembled.
func (w *world) keeps(t *rapid.T, r *assembly.Run, builtin []bridge.Tool) {
	s := r.Bridge.Security()
	for name, c := range map[string]struct{ is, may bool }{
		"trifecta asks":        {s.Trifecta == policy.Ask, w.loose("security.trifecta", "ask", "trifecta.ask")},
		"trifecta allows":      {s.Trifecta == policy.Allow, w.loose("security.trifecta", "allow", "trifecta.allow")},
		"the interlock trusts": {s.Precise, w.loose("security.interlock", "precise", "interlock.precise")},
		"names do not matter":  {s.Named == policy.NamedOff, w.loose("security.named", "off", "named.off")},
		"private addresses":    {r.File.Security.PrivateIPs, w.loose("security.blockPrivateIPs", "false", "private-ips")},
		"somebody is there":    {s.Attended, false},
		"no box is needed":     {r.File.Workspace.Sandbox.Optional, w.loose("workspace.sandbox.required", "false", "sandbox.optional")},
	} {
		if c.is && !c.may {
			t.Errorf("%s", name)
		}
	}
	for _, l := range w.loosened {
		if !slices.Contains(r.Loosened, l) || !slices.Contains(r.Task.Loosened, l) {
			t.Errorf("%s is not shown: %q", l, r.Loosened)
		}
	}
	for _, have := range r.Tools {
		for _, was := range builtin {
			if have.Name == was.Name && (have.Tier.Stricter(was.Tier) != have.Tier || have.Caps.Union(was.Caps).String() != have.Caps.String()) {
				t.Errorf("%s became %v %v of %v %v", have.Name, have.Tier, have.Caps, was.Tier, was.Caps)
			}
		}
		if have.Name == "mail" && have.Tier == policy.Free {
			t.Error("mail became free")
		}
	}
}

// did checks what the run did to the world.
func (w *world) did(t *rapid.T, trusted bool) {
	data, _ := os.ReadFile(filepath.Join(w.dir, "effects.jsonl"))
	noted, mailed, hit := strings.Contains(string(data), `"note"`), strings.Contains(string(data), `"mail"`), w.hits.Load() > 0
	named := w.written["security.destinations"] != nil || w.loose("security.named", "off", "named.off") || w.written["security.identity"] != nil
	apart := w.loose("security.trifecta", "allow", "trifecta.allow") || w.loose("security.interlock", "precise", "interlock.precise")
	switch {
	case w.closed && (noted || mailed):
		t.Errorf("a rule or a hook of the home did not hold: %s", data)
	case mailed && !trusted:
		t.Error("a task that nobody trusts sent something, by its own lease")
	case mailed && noted && !apart:
		t.Error("private data and third-party content were there, and it sent")
	case mailed && !named:
		t.Error("it sent to whom nobody named")
	case hit && !w.private && !w.loose("security.blockPrivateIPs", "false", "private-ips"):
		t.Error("it reached a private address")
	}
}

// The checks above look at something: with every permit, a task that is trusted does
// all of it.
func TestATaskDoesWhatItsHomePermits(t *testing.T) {
	var hits atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer server.Close()
	for name, c := range map[string]struct {
		blocks []string
		done   func(w *world) bool
	}{
		"sends":   {tempted, func(w *world) bool { return w.effects(t) == 2 }},
		"fetches": {[]string{fmt.Sprintf("http_fetch(url=%q)\nfinal(1)", server.URL)}, func(*world) bool { return hits.Load() == 1 }},
	} {
		w := &world{hits: &hits, permits: []string{"trifecta.allow", "named.off", "private-ips"}, written: map[string]any{"security.trifecta": "allow", "security.named": "off",
			"security.blockPrivateIPs": false, "leases": []any{map[string]any{"tool": "*", "uses": 50}}}}
		w.put(t, server.URL, c.blocks...)
		digest := w.is(t)
		o := w.run(t, func(o *assembly.Options) { o.Trust = digest })
		if o.Status != engine.Completed || !c.done(w) {
			t.Errorf("%s: %s %s, refused %+v", name, o.Status, o.Reason, o.Denied)
		}
	}
}
