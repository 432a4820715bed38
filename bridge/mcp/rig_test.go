package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/bridgetest"
	"github.com/codeact-dev/codeact/bridge/mcp"
	"github.com/codeact-dev/codeact/interp"
	"github.com/codeact-dev/codeact/policy"
)

// The test program is a server too, when a test starts it as one.
func TestMain(m *testing.M) {
	switch os.Getenv(envServer) {
	case "":
		goleak.VerifyTestMain(m)
	case "sdk":
		serveSDK()
	default:
		serveHostile()
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tool is the JSON of a tool without parameters.
func tool(name string, more ...string) string {
	return fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object","properties":{},"additionalProperties":true}%s}`,
		name, "Does "+name+".", strings.Join(append([]string{""}, more...), ","))
}

// list is the JSON of a list of tools.
func list(tools ...string) string { return "[" + strings.Join(tools, ",") + "]" }

func named(names ...string) string {
	var tools []string
	for _, n := range names {
		tools = append(tools, tool(n))
	}
	return list(tools...)
}

// server is an entry for the hostile server, which gives these lists of tools.
func server(t testing.TB, name, start string, lists ...string) mcp.Server {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	text, err := json.Marshal(raw(lists))
	must(t, err)
	path := filepath.Join(t.TempDir(), "lists.json")
	must(t, os.WriteFile(path, text, 0o600))
	env := map[string]string{envServer: start, envLists: path, "GORACE": "atexit_sleep_ms=0"} // a race build would wait a second at each exit
	return mcp.Server{Name: name, Command: self, Record: true, Env: env}
}

func raw(lists []string) []json.RawMessage {
	var out []json.RawMessage
	for _, l := range lists {
		out = append(out, json.RawMessage(l))
	}
	return out
}

// A lab is one home in which servers are connected.
type lab struct {
	cfg mcp.Config
	log *logged
}

func newLab(t testing.TB, servers ...mcp.Server) *lab {
	t.Helper()
	l := &lab{log: &logged{came: make(chan struct{}, 1)}}
	l.cfg = mcp.Config{Servers: servers, Log: zerolog.New(l.log), Version: "test"}
	l.pins(t, filepath.Join(t.TempDir(), "pins.json"), "/tasks/a.yaml")
	return l
}

func (l *lab) pins(t testing.TB, path, task string) {
	t.Helper()
	p, err := mcp.OpenPins(path, task)
	must(t, err)
	l.cfg.Pins = p
}

// connect starts the servers, which must succeed.
func (l *lab) connect(t testing.TB) *mcp.Servers {
	t.Helper()
	s, err := mcp.Connect(context.Background(), l.cfg)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// refused wants Connect to fail with a text that holds all of want, and that
// shows nothing that could deceive.
func (l *lab) refused(t *testing.T, want ...string) error {
	t.Helper()
	s, err := mcp.Connect(t.Context(), l.cfg)
	if err == nil {
		s.Close()
		t.Fatalf("connected, want an error with %q", want)
	}
	harmless(t, err.Error())
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q, want %q in it", err, w)
		}
	}
	return err
}

// harmless wants a text without controls, bidi and invisible characters.
func harmless(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r == 0xfeff {
			t.Errorf("%q shows %q as it is", text, r)
		}
	}
	if len(text) > 20000 {
		t.Errorf("a text of %d bytes is shown", len(text))
	}
}

// A logged keeps what was logged, and says when something was.
type logged struct {
	came chan struct{}

	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.came <- struct{}{}:
	default:
	}
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A run calls tools through the bridge.
type run struct {
	door    *bridge.Door
	journal *bridgetest.Journal
	calls   int
	asked   []bridge.Question
}

// newRun opens a run in which nothing asks, unless change says otherwise.
func newRun(t testing.TB, tools []bridge.Tool, change ...func(*bridge.Config)) *run {
	t.Helper()
	r := &run{journal: bridgetest.NewJournal()}
	free := make([]bridge.Tool, len(tools))
	for i, one := range tools {
		free[i] = one
		free[i].Tier = policy.Free
	}
	cfg := bridge.Config{Tools: free, Approver: r, Security: policy.Security{SendsAfterPrivate: true, Named: policy.NamedOff}}
	for _, f := range change {
		f(&cfg)
	}
	adapter, err := bridge.New(cfg)
	must(t, err)
	r.door, err = adapter.Open(r.journal.Run("r1"), 1, bridge.Preflight{})
	must(t, err)
	return r
}

// Approve says no, and keeps the question.
func (r *run) Approve(_ context.Context, q bridge.Question) (bridge.Answer, error) {
	r.asked = append(r.asked, q)
	return bridge.Answer{Reason: "not today"}, nil
}

type args = map[string]any

func (r *run) call(ctx context.Context, name string, a args) (any, error) {
	r.calls++
	return r.door.Call(ctx, interp.Call{Tool: name, Args: a, N: r.calls})
}

// value is the result of a call that must succeed.
func (r *run) value(t testing.TB, name string, a args) any {
	t.Helper()
	v, err := r.call(context.Background(), name, a)
	if err != nil {
		t.Fatalf("%s(%v): %v", name, a, err)
	}
	return v
}

// fails wants a call to fail with a text that holds all of want.
func (r *run) fails(t *testing.T, name string, a args, want ...string) error {
	t.Helper()
	v, err := r.call(t.Context(), name, a)
	if err == nil {
		t.Fatalf("%s(%v) gave %v, want an error with %q", name, a, v, want)
	}
	harmless(t, err.Error())
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%s: error %q, want %q in it", name, err, w)
		}
	}
	return err
}

// hostileRun connects one hostile server with tools of these names.
func hostileRun(t *testing.T, names ...string) *run {
	t.Helper()
	return newRun(t, newLab(t, server(t, "h", "plain", named(names...))).connect(t).Tools())
}
