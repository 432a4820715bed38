//go:build unix

package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/mcp"
)

func TestResultsArePlainData(t *testing.T) {
	schema := `{"name":"%s","inputSchema":{"type":"object","properties":{"file-path":{"type":"string"},"from":{"type":"string"},"n":{},"b":{}}}}`
	r := newRun(t, newLab(t, server(t, "h", "plain", list(fmt.Sprintf(schema, "echo"), fmt.Sprintf(schema, "same"), tool("data"), tool("differs"), tool("badutf8"), tool("mixed"), tool("token")))).connect(t).Tools())
	huge, _ := new(big.Int).SetString("12345678901234567890", 10)
	for _, tt := range []struct {
		name string
		args args
		want any
	}{
		{"h_echo", args{"file_path": "a", "from_": "b"}, `{"file-path":"a","from":"b"}`},
		{"h_echo", args{"b": []byte("text"), "n": []any{[]byte{0xff}, map[string]any{"k": []byte("v")}}}, `{"b":"text","n":["/w==",{"k":"v"}]}`},
		{"h_echo", args{"n": huge}, `{"n":12345678901234567890}`},
		{"h_same", args{"n": huge, "b": 1.5}, map[string]any{"n": huge, "b": 1.5}},
		{"h_same", args{"n": int64(3)}, map[string]any{"n": int64(3)}},
		{"h_data", nil, map[string]any{"big": 12345678901234567890.0, "n": int64(3), "half": 0.5, "list": []any{int64(1), nil, true}}},
		{"h_differs", nil, map[string]any{"n": int64(2)}},
		{"h_badutf8", nil, "a\ufffd\ufffdb"},
		{"h_token", nil, `{"progressToken":"r1/1/9"}`},
		{"h_mixed", nil, map[string]any{"text": "see", "structured": map[string]any{"n": int64(1)}, "items": []any{
			map[string]any{"kind": "image", "media_type": "image/png", "bytes": int64(5), "note": "its bytes are left out: this run keeps no files"},
			map[string]any{"kind": "resource", "uri": "file:///x", "media_type": "text/plain", "text": "inside"},
			map[string]any{"kind": "resource", "uri": "file:///y", "media_type": "", "bytes": int64(3), "note": "its bytes are left out: this run keeps no files"},
			map[string]any{"kind": "link", "uri": "https://a.test/", "name": "a", "title": "", "media_type": "", "description": "", "bytes": int64(9)},
			map[string]any{"kind": "audio", "media_type": "audio/wav", "bytes": int64(2), "note": "its bytes are left out: this run keeps no files"},
			map[string]any{"kind": "unknown", "note": "left out: it is no kind of content that a tool returns"},
		}}},
	} {
		got := r.value(t, tt.name, tt.args)
		if d := cmp.Diff(tt.want, got, cmp.Comparer(func(a, b *big.Int) bool { return a.Cmp(b) == 0 })); d != "" {
			t.Errorf("%s(%v): -want +got\n%s", tt.name, tt.args, d)
		}
	}
}

func TestBytesAreSpilled(t *testing.T) {
	l := newLab(t, server(t, "h", "plain", named("mixed")))
	kept := map[string]string{}
	l.cfg.Spill = func(name string, data []byte) (string, error) {
		if strings.HasSuffix(name, ".wav") {
			return "", errors.New("the disk is full")
		}
		kept[name] = string(data)
		return "@spill/" + name, nil
	}
	v := newRun(t, l.connect(t).Tools()).value(t, "h_mixed", nil)
	want := map[string]string{"r1-1-1-1-2cf24dba.png": "hello", "r1-1-1-3-ae4b3280.bin": "\x00\x01\x02"}
	if d := cmp.Diff(want, kept); d != "" {
		t.Errorf("kept -want +got\n%s", d)
	}
	items := v.(map[string]any)["items"].([]any)
	if got := items[0].(map[string]any)["path"]; got != "@spill/r1-1-1-1-2cf24dba.png" {
		t.Errorf("the image is at %v", got)
	}
	if got := items[4].(map[string]any)["note"]; got != "its bytes could not be kept: the disk is full" {
		t.Errorf("of the sound it says %v", got)
	}
}

// What the server answered is known, whatever it is; what it did not answer is not.
func TestHowCallsFail(t *testing.T) {
	for _, tt := range []struct {
		tool    string
		want    []string
		unknown bool
	}{
		{"fail", []string{`no such \x1b[31mmail`}, false},
		{"refuse", []string{`bad \u{202e} arguments (code -32602)`}, false},
		{"ask", []string{"asks for input"}, false},
		{"many", []string{"300 blocks, over 256"}, false},
		{"die", []string{"exit status 7", "out of memory", "may have happened"}, true},
		{"garbage", []string{"cannot be used", "may have happened"}, true},
		{"badid", []string{"may have happened"}, true},
		{"nonsense", []string{"may have happened"}, true},
		{"big", []string{"cannot be used", "may have happened"}, true},
		{"unreadable", []string{"may have happened"}, true},
	} {
		t.Run(tt.tool, func(t *testing.T) {
			err := hostileRun(t, tt.tool).fails(t, "h_"+tt.tool, nil, tt.want...)
			if got := errors.Is(err, bridge.ErrOutcomeUnknown); got != tt.unknown {
				t.Errorf("outcome unknown is %v, want %v: %v", got, tt.unknown, err)
			}
			var e *mcp.Error
			if !errors.As(err, &e) || e.Server != "h" || e.Tool != tt.tool {
				t.Errorf("error %#v does not say which server and tool", err)
			}
		})
	}
}

func TestASlowCallEndsInItsTime(t *testing.T) {
	s := server(t, "h", "plain", named("slow"))
	s.Timeout = 50 * time.Millisecond
	err := newRun(t, newLab(t, s).connect(t).Tools()).fails(t, "h_slow", nil, "did not answer in time")
	if !errors.Is(err, bridge.ErrOutcomeUnknown) {
		t.Errorf("%v: want an unknown outcome", err)
	}
}

func TestCancellationReachesTheServer(t *testing.T) {
	l := newLab(t, server(t, "h", "plain", named("slow", "stopped")))
	r := newRun(t, l.connect(t).Tools())
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // ends with the call: the server tells its progress at once
		<-l.log.came
		cancel()
	}()
	if _, err := r.call(ctx, "h_slow", nil); !errors.Is(err, bridge.ErrOutcomeUnknown) {
		t.Errorf("the cancelled call ended with %v, want an unknown outcome", err)
	}
	if got := r.value(t, "h_stopped", nil); got != "1 cancelled" {
		t.Errorf("the server says %q", got)
	}
	if !strings.Contains(l.log.String(), "mcp_progress") || !strings.Contains(l.log.String(), "under way") {
		t.Errorf("progress was not logged: %s", l.log)
	}
}

func TestNothingIsOfferedToTheServer(t *testing.T) {
	r := hostileRun(t, "roots", "sample")
	for _, name := range []string{"h_roots", "h_sample"} {
		got := r.value(t, name, nil).(string)
		if !strings.Contains(got, "-32601") {
			t.Errorf("%s: the client answered %s, want a refusal", name, got)
		}
	}
}

func TestOnlySoMuchChatterIsLogged(t *testing.T) {
	l := newLab(t, server(t, "h", "plain", named("chatter")))
	newRun(t, l.connect(t).Tools()).value(t, "h_chatter", nil)
	<-l.log.came // what comes unasked is handled beside the answer
	if n := strings.Count(l.log.String(), "mcp_progress"); n < 1 || n > 1000 {
		t.Errorf("%d reports of 5000 were logged, want 1000 at most", n)
	}
	for line := range strings.Lines(l.log.String()) {
		harmless(t, line)
	}
}

// A flood ends the server, and not the patience of the run: of 300,000 messages no
// more than 10,000 are read. The next call starts it again.
func TestAFloodOfMessagesEndsTheServer(t *testing.T) {
	for _, name := range []string{"alarms", "logs", "steps", "answers"} {
		t.Run(name, func(t *testing.T) {
			r := hostileRun(t, name, "few")
			err := r.fails(t, "h_"+name, nil, "more than 10000 messages that nobody asked for", "may have happened")
			if !errors.Is(err, bridge.ErrOutcomeUnknown) {
				t.Errorf("%v: what was sent has an unknown outcome", err)
			}
			if got := r.value(t, "h_few", nil); got != "done" {
				t.Errorf("the next call gave %v", got)
			}
			r.value(t, "h_few", nil) // each call has messages of its own
		})
	}
}

func TestADeadServerIsStartedAgainTwice(t *testing.T) {
	r := hostileRun(t, "die", "die-2", "die-3", "echo")
	for _, name := range []string{"h_die", "h_die_2"} {
		r.fails(t, name, nil, "exit status 7")
		r.value(t, "h_echo", nil)
	}
	r.fails(t, "h_die_3", nil, "exit status 7")
	err := r.fails(t, "h_echo", nil, "not started a third time", "out of memory")
	if errors.Is(err, bridge.ErrOutcomeUnknown) {
		t.Errorf("%v: a call that was never sent has a known outcome", err)
	}
}

func TestTheEnvironmentIsCleared(t *testing.T) {
	t.Setenv("MCP_TEST_SECRET_OF_OURS", "hunter2hunter2")
	s := server(t, "h", "plain", named("env"))
	s.Env["TOKEN"] = "declared"
	got := newRun(t, newLab(t, s).connect(t).Tools()).value(t, "h_env", nil).(string)
	for _, line := range strings.Split(got, "\n") {
		name, _, _ := strings.Cut(line, "=")
		switch name {
		case "PATH", "HOME", "LANG", "TMPDIR", "TOKEN", "GORACE", envServer, envLists, "PWD":
		default:
			t.Errorf("the server sees %s", name)
		}
	}
	if !strings.Contains(got, "TOKEN=declared") {
		t.Errorf("the declared variable is missing in %s", got)
	}
}

// B40: a secret of the environment that a server writes everywhere.
func TestB40ASecretOnStandardErrorIsRedacted(t *testing.T) {
	const secret = "s3cr3t-of-the-mail-account"
	redact := func(s string) string { return strings.ReplaceAll(s, secret, "[redacted]") }
	s := server(t, "h", "plain", named("flood", "leak"))
	s.Env["TOKEN"] = secret
	l := newLab(t, s)
	l.cfg.Redact = redact
	r := newRun(t, l.connect(t).Tools())
	if err := r.fails(t, "h_leak", nil, "bad token [redacted]"); strings.Contains(err.Error(), secret) {
		t.Errorf("%v: shows the secret", err)
	}
	<-l.log.came
	err := r.fails(t, "h_flood", nil, "the token is [redacted]")
	// The cut can fall anywhere: no part of the secret may stand at it.
	if text := err.Error(); strings.Contains(text, "mail-account") || strings.Contains(text, "s3cr3t") {
		t.Errorf("the error shows a part of the secret: %s", text)
	}
	if text := l.log.String(); strings.Contains(text, secret) || !strings.Contains(text, "token [redacted]") {
		t.Errorf("the log shows the secret, or not the message: %s", text)
	}

	exits := server(t, "x", "exit", named())
	exits.Env["TOKEN"] = secret
	l = newLab(t, exits)
	l.cfg.Redact = redact
	if err := l.refused(t, "exit status 3", `no \x1b]0;account`, "[redacted]"); strings.Contains(err.Error(), secret) {
		t.Errorf("%v: shows the secret", err)
	}
}

// A server ends by itself, or is ended; a child of it that holds its pipes open ends
// too.
func TestWhatAServerStartedEndsWithIt(t *testing.T) {
	for name, end := range map[string]func(*run, *mcp.Servers){
		"closed": func(_ *run, s *mcp.Servers) { must(t, s.Close()) },
		"died":   func(r *run, _ *mcp.Servers) { r.fails(t, "h_die", nil, "exit status 7") },
	} {
		t.Run(name, func(t *testing.T) { testChildEnds(t, end) })
	}
}

func testChildEnds(t *testing.T, end func(*run, *mcp.Servers)) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	must(t, syscall.Mkfifo(fifo, 0o600))
	one := server(t, "h", "plain", named("spawn", "die"))
	one.Env[envFIFO] = fifo
	s, err := mcp.Connect(t.Context(), newLab(t, one).cfg)
	must(t, err)
	r := newRun(t, s.Tools())
	opened := make(chan *os.File)
	go func() {
		f, _ := os.Open(fifo) // waits for the child; nil fails below
		opened <- f
	}()
	if got := r.value(t, "h_spawn", nil); got != "<nil>" {
		t.Fatalf("the server started nothing: %v", got)
	}
	f := <-opened
	defer f.Close()
	end(r, s)
	if _, err := io.ReadAll(f); err != nil { // ends when the child is dead, and in a thousand seconds otherwise
		t.Error(err)
	}
	must(t, s.Close())
	r.fails(t, "h_spawn", nil, "it was closed")
}

func TestAStubbornServerIsKilled(t *testing.T) {
	s, err := mcp.Connect(t.Context(), newLab(t, server(t, "h", "stubborn", named("echo"))).cfg)
	must(t, err)
	must(t, s.Close()) // it returns when the server is dead, and never otherwise
}

func TestCallsOfOneServerAtTheSameTime(t *testing.T) {
	tools := newLab(t, server(t, "h", "plain", list(`{"name":"echo","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}`))).connect(t).Tools()
	errs := make(chan error)
	for i := range 16 {
		r := newRun(t, tools)
		go func() {
			v, err := r.call(context.Background(), "h_echo", args{"n": int64(i)})
			if err == nil && v != fmt.Sprintf(`{"n":%d}`, i) {
				err = fmt.Errorf("call %d got %v", i, v)
			}
			errs <- err
		}()
	}
	for range 16 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
