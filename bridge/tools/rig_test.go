package tools_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/bridgetest"
	"github.com/codeact-dev/codeact/bridge/egress"
	"github.com/codeact-dev/codeact/bridge/tools"
	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/interp"
	"github.com/codeact-dev/codeact/policy"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A rig is one run in which tools are called through the bridge, with real files.
// Leases are not what is tested here: every tool is of tier 0.
type rig struct {
	dir     string // the workspace
	spill   string
	journal *bridgetest.Journal
	run     bridge.Run
	door    *bridge.Door
	calls   int
	adapter *bridge.EffectBridgeAdapter
	now     time.Time
	asked   []bridge.Question
}

// A setup is what a test wants other than the default.
type setup struct {
	files  map[string]string // "-> x" is a link to x
	space  workspace.Config  // without Dir
	http   *egress.Client
	tools  []bridge.Tool // nil is every built-in tool
	ask    bool          // every call asks a person, who says yes
	output int           // bytes of a result; 0 is the default
}

func newRig(t *testing.T, s setup) *rig {
	t.Helper()
	root := t.TempDir()
	r := &rig{dir: filepath.Join(root, "ws"), spill: filepath.Join(root, "spill", "own"), journal: bridgetest.NewJournal(),
		now: time.Date(2026, 2, 3, 4, 5, 6, 0, time.FixedZone("", 3600))}
	must(t, os.MkdirAll(r.dir, 0o755))
	for name, text := range s.files {
		r.put(t, name, text)
	}
	s.space.Dir, s.space.SpillDir = r.dir, r.spill
	space, _, err := workspace.Open(s.space)
	must(t, err)
	t.Cleanup(func() { space.Close() })
	if s.tools == nil {
		s.tools, err = tools.Builtin(tools.Names()...)
		must(t, err)
	}
	for i := range s.tools {
		s.tools[i].Tier = policy.Free
		if s.ask {
			s.tools[i].Tier = policy.AlwaysAsk
		}
	}
	r.adapter, err = bridge.New(bridge.Config{Tools: s.tools, HTTP: s.http, MaxOutput: s.output, Approver: r, Now: func() time.Time { return r.now },
		Security: policy.Security{SendsAfterPrivate: true, Named: policy.NamedOff}})
	must(t, err)
	r.run = r.journal.Run("r1")
	r.run.Space = space
	r.open(t)
	return r
}

// open starts the step over, as a run that is resumed does.
func (r *rig) open(t *testing.T) {
	t.Helper()
	door, err := r.adapter.Open(r.run, 1, bridge.Preflight{})
	must(t, err)
	r.door, r.calls = door, 0
}

func (r *rig) put(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(r.dir, name)
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	if to, ok := strings.CutPrefix(text, "-> "); ok {
		must(t, os.Symlink(to, path))
		return
	}
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

// text is a file of the workspace, "" if it is not there.
func (r *rig) text(name string) string {
	data, _ := os.ReadFile(filepath.Join(r.dir, name))
	return string(data)
}

// Approve says yes, and keeps the question.
func (r *rig) Approve(_ context.Context, q bridge.Question) (bridge.Answer, error) {
	r.asked = append(r.asked, q)
	return bridge.Answer{Yes: true}, nil
}

type args = map[string]any

// A reply is what became of one call.
type reply struct {
	value   any
	err     error
	outcome bridge.Outcome // the zero Outcome of a call that did not begin
}

func (r *rig) call(t *testing.T, tool string, a args) reply {
	t.Helper()
	r.calls++
	v, err := r.door.Call(t.Context(), interp.Call{Tool: tool, Args: a, N: r.calls})
	rep := reply{value: v, err: err}
	if rec := r.journal.Records[fmt.Sprintf("%s/1/%d", r.run.ID, r.calls)]; rec.Outcome != nil {
		rep.outcome = *rec.Outcome
	}
	return rep
}

// value is the result of a call that must succeed.
func (r *rig) value(t *testing.T, tool string, a args) any {
	t.Helper()
	rep := r.call(t, tool, a)
	if rep.err != nil {
		t.Fatalf("%s(%v): %v", tool, a, rep.err)
	}
	return rep.value
}

// fails wants a call to be refused or to fail with a text that holds want, and to
// return nothing.
func (r *rig) fails(t *testing.T, tool string, a args, want string) reply {
	t.Helper()
	rep := r.call(t, tool, a)
	switch {
	case rep.err == nil:
		t.Errorf("%s(%v) = %.200v; want an error with %q", tool, a, rep.value, want)
	case !strings.Contains(rep.err.Error(), want):
		t.Errorf("%s(%v): %v; want %q in it", tool, a, rep.err, want)
	case rep.value != nil:
		t.Errorf("%s(%v) failed and returned %v", tool, a, rep.value)
	}
	switch rep.err.(type) {
	case nil, *bridge.CallError, *bridge.ToolError:
	default:
		t.Errorf("%s(%v): a script cannot catch %T", tool, a, rep.err)
	}
	return rep
}

// names is the names of a list of fs_list, or the paths with lines of fs_search.
func names(t *testing.T, v any) string {
	t.Helper()
	list, ok := v.([]any)
	if !ok {
		t.Fatalf("%T is no list", v)
	}
	var all []string
	for _, e := range list {
		m := e.(map[string]any)
		if name, ok := m["name"].(string); ok {
			all = append(all, name)
		} else {
			all = append(all, fmt.Sprintf("%v:%d", m["path"], m["line"]))
		}
	}
	return strings.Join(all, " ")
}
