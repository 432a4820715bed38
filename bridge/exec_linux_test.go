package bridge_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/sandbox"
	"github.com/codeact-dev/codeact/bridge/tools"
	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/policy"
)

// boxed is a rig whose shell runs in a real box over dir, of which out is writable.
func boxed(t *testing.T, dir string, mods ...func(*bridge.Run)) *rig {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "out"), 0o755); err != nil {
		t.Fatal(err)
	}
	cfg := workspace.Config{Writable: []string{"out/**"}, Untrusted: []string{"mail/**"}, ReadDeny: []string{"secrets/**"}}
	box, err := sandbox.Open(t.Context(), sandbox.Config{Kind: sandbox.Bwrap, Dir: dir, Writable: []string{filepath.Join(dir, "out")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	ts, err := tools.BuiltinWith(tools.Options{Box: box}, "shell", "fs_read")
	if err != nil {
		t.Fatal(err)
	}
	ts[0].Tier = policy.Free
	return newRig(t, bridge.Config{Tools: ts, Box: box, Approver: says(yes, nil)}, append(mods, space(t, dir, cfg))...)
}

func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func shellOf(t *testing.T, r *rig, line string) (map[string]any, error) {
	t.Helper()
	v, err := r.call(t, "shell", map[string]any{"command": line})
	m, _ := v.(map[string]any)
	return m, err
}

func TestWhatACommandBringsInIsWhatItCouldRead(t *testing.T) {
	for _, tt := range []struct {
		name      string
		files     map[string]string
		known     string // content that an earlier run wrote from outside
		untrusted bool
	}{
		{name: "ordinary files", files: map[string]string{"a.txt": "x"}},
		{name: "a place that others fill", files: map[string]string{"mail/1.eml": "x"}, untrusted: true},
		{name: "what an earlier run wrote from outside", files: map[string]string{"a.txt": "from the web"}, known: "from the web", untrusted: true},
		{name: "an empty file is nobody's", files: map[string]string{"a.txt": ""}, known: ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, tt.files)
			r := boxed(t, dir, func(run *bridge.Run) {
				run.State.Untrusted = func(sum string) bool { return sum == sha(tt.known) }
			})
			if m, err := shellOf(t, r, "true"); err != nil || m["exit_code"] != int64(0) {
				t.Fatalf("%v, %v", m, err)
			}
			if h := r.State.Held; !h.Private() || !h.Unvouched() || h.Untrusted() != tt.untrusted {
				t.Errorf("held %v", h)
			}
		})
	}
}

func TestWhatACommandLeavesIsRecorded(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"out/old": "1", "out/gone": "1", "out/same": "1", "mail/1.eml": "x"})
	r := boxed(t, dir)
	m, err := shellOf(t, r, "echo 2 > out/old; echo 2 > out/new; rm out/gone; touch out/same; echo 2 > /tmp/x")
	if err != nil || m["exit_code"] != int64(0) {
		t.Fatalf("%v, %v", m, err)
	}
	want := []bridge.Written{
		{Path: "out/new", SHA256: sha("2\n"), Untrusted: true, New: true}, // it could have come from the mail
		{Path: "out/old", SHA256: sha("2\n"), Untrusted: true},
		{Path: "out/gone", Gone: true},
	}
	for i := range want {
		if want[i].Gone {
			want[i].Untrusted = true
		}
	}
	if d := cmp.Diff(want, event[bridge.Outcome](t, r.Journal).Wrote); d != "" {
		t.Error(d)
	}
	if !r.State.Tainted["out/new"] || !r.State.Made["out/new"] || r.State.Tainted["out/same"] {
		t.Errorf("%v, %v", r.State.Tainted, r.State.Made)
	}
}

func TestB16ACommandIsJudgedByWhatItWrites(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"src/a.go": "package a"})
	r := boxed(t, dir)
	for _, tt := range []struct{ line, want string }{
		{"echo x > src/a.go", "the command writes src/a.go, which is not within workspace.writable"}, // FAULTS B16
		{"git log -p > ../f", "the command writes a file: command: "},
		{"cp out/x ../../etc/passwd", "the command writes a file: command: "},
		{"echo x > " + dir + "/src/a.go", "the command writes src/a.go"},
		{"cat src/a.go | tee secrets/x", "the command writes a file: command: "},
	} {
		if _, err := shellOf(t, r, tt.line); !errors.Is(err, bridge.ErrDenied) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.line, err)
		}
	}
	for _, line := range []string{"echo x > out/a", "echo x > /tmp/a", "echo x > /dev/null", "echo x > $PWD/out/b", "cd out && echo x > c", "mkdir -p out out/deep", "echo x > ~/a"} {
		if m, err := shellOf(t, r, line); err != nil || m["exit_code"] != int64(0) {
			t.Errorf("%s: %v, %v", line, m, err)
		}
	}
	d := event[bridge.Decided](t, r.Journal)
	if d.Shell == nil {
		t.Error("the trace does not say what the command was taken for")
	}
}

func TestB55AYesIsBoundToTheScriptsOfTheCommand(t *testing.T) { // FAULTS B55
	dir := t.TempDir()
	put(t, dir, map[string]string{"deploy.sh": "echo one"})
	r := boxed(t, dir)
	a := &approver{answer: func(q bridge.Question) (bridge.Answer, error) {
		if len(q.Files) != 1 || q.Files[0].Path != "deploy.sh" || q.Files[0].SHA256 != sha("echo one") {
			t.Errorf("files %+v", q.Files)
		}
		put(t, dir, map[string]string{"deploy.sh": "echo two"})
		return yes, nil
	}}
	r.cfg.Approver, r.cfg.Tools[0].Tier = a, policy.AlwaysAsk
	r.resume(t)
	_, err := shellOf(t, r, "sh deploy.sh")
	wantErr(t, err, bridge.ErrDenied, "what it would do is not what was shown any more")
}

func TestAShellSaysWhatItIs(t *testing.T) {
	bare, err := tools.Builtin("shell")
	if err != nil {
		t.Fatal(err)
	}
	in := boxed(t, t.TempDir()).cfg.Tools[0]
	if s := bare[0]; s.Sandboxed || !s.Caps.Has(policy.ExternalSend) {
		t.Errorf("a shell without a box: sandboxed %v, %v", s.Sandboxed, s.Caps.Names())
	}
	if !in.Sandboxed || in.Caps.Has(policy.ExternalSend) || !in.Caps.Has(policy.PrivateData) || !in.Caps.Has(policy.Destructive) {
		t.Errorf("a shell in a box: %v", in.Caps.Names())
	}
}

func TestTheShellTakesOneForm(t *testing.T) {
	r := boxed(t, t.TempDir())
	for _, args := range []map[string]any{{}, {"command": "true", "argv": []any{"true"}}} {
		if _, err := r.call(t, "shell", args); err == nil || !strings.Contains(err.Error(), "give either argv or command") {
			t.Errorf("%v: %v", args, err)
		}
	}
	v, err := r.call(t, "shell", map[string]any{"argv": []any{"printf", "%s|", "a b", "$HOME", "*"}})
	if m, _ := v.(map[string]any); err != nil || m["stdout"] != "a b|$HOME|*|" {
		t.Errorf("%v, %v", v, err)
	}
	v, err = r.call(t, "shell", map[string]any{"argv": []any{"head", "-c", "4000", "/bin/sh"}})
	if m, _ := v.(map[string]any); err != nil || m["stdout"] != "[4000 bytes that are no text]" {
		t.Errorf("%v, %v", v, err)
	}
}

func sha(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func TestACommandWithANetworkBringsInThirdPartyContent(t *testing.T) {
	dir := t.TempDir()
	r := boxed(t, dir)
	box, err := sandbox.Open(t.Context(), sandbox.Config{Kind: sandbox.Bwrap, Network: sandbox.HostNet, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	r.cfg.Box = box
	r.resume(t)
	if _, err := shellOf(t, r, "true"); err != nil {
		t.Fatal(err)
	}
	if o := event[bridge.Outcome](t, r.Journal); !r.State.Held.Untrusted() || !o.External {
		t.Errorf("held %v, external %v", r.State.Held, o.External)
	}
}

// An MCP server on this machine can write files behind the door.
func TestWhatAnUnconfinedToolLeavesIsRecorded(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"old": "1", "same": "1", "gone": "1"})
	var p probe
	server := p.tool("mail_save", caps(policy.UntrustedInput), func(t *bridge.Tool) {
		t.Unconfined = true
		t.Run = func(context.Context, *bridge.Permit) (bridge.Output, error) {
			err := errors.Join(os.WriteFile(filepath.Join(dir, "old"), []byte("from the web"), 0o600),
				os.WriteFile(filepath.Join(dir, "new"), []byte("from the web"), 0o600), os.Remove(filepath.Join(dir, "gone")))
			return bridge.Output{Value: "saved"}, err
		}
	})
	r := newRig(t, bridge.Config{Tools: []bridge.Tool{server}}, space(t, dir, workspace.Config{}))
	if _, err := r.call(t, "mail_save", nil); err != nil {
		t.Fatal(err)
	}
	want := []bridge.Written{{Path: "new", SHA256: sha("from the web"), Untrusted: true, New: true}, {Path: "old", SHA256: sha("from the web"), Untrusted: true},
		{Path: "gone", Gone: true, Untrusted: true}}
	if d := cmp.Diff(want, event[bridge.Outcome](t, r.Journal).Wrote); d != "" {
		t.Error(d)
	}
}

func TestALeaseOfACommandIsForThatCommand(t *testing.T) {
	r := boxed(t, t.TempDir())
	a := &approver{answer: func(q bridge.Question) (bridge.Answer, error) {
		return bridge.Answer{Yes: true, Scope: bridge.ForLease, By: "alice"}, nil
	}}
	r.cfg.Approver, r.cfg.Tools[0].Tier = a, policy.AskOnce
	r.resume(t)
	for i, line := range []string{"make -n", "make -n", "make -B"} {
		if _, err := shellOf(t, r, line); err != nil {
			t.Fatal(err)
		}
		if want := []int{1, 1, 2}[i]; len(a.asked) != want {
			t.Errorf("%s: asked %d times, want %d", line, len(a.asked), want)
		}
	}
}

// What a command sends through the proxy of its box is in the record of the call.
func TestWhatACommandSendsIsRecorded(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("hello")) }))
	defer site.Close()
	dir := t.TempDir()
	r := boxed(t, dir)
	box, err := sandbox.Open(t.Context(), sandbox.Config{Kind: sandbox.Bwrap, Network: sandbox.Allowlist, Dir: dir,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, site.Listener.Addr().String())
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	r.cfg.Box = box
	r.resume(t)
	m, err := shellOf(t, r, `perl -e 'use IO::Socket::INET; $ENV{http_proxy} =~ m#//([^/]+)#; $s = IO::Socket::INET->new($1) or die "$!"; `+
		`print $s "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n"; print <$s>'`)
	if err != nil || !strings.Contains(m["stdout"].(string), "hello") {
		t.Fatalf("%v, %v", m, err)
	}
	if o := event[bridge.Outcome](t, r.Journal); o.Sent["a.test"] < 20 || len(o.Sent) != 1 {
		t.Errorf("sent %v", o.Sent)
	}
}

// Where nobody can tell what an unconfined tool changed, nothing runs, or all of it
// counts as a third party's.
func TestAnUnconfinedToolIsWatchedOrNotRun(t *testing.T) {
	for _, tt := range []struct {
		name  string
		early bool // the files are gone before it runs
		want  string
		ran   bool
	}{
		{"before", true, "the workspace could not be looked at, so nothing was run", false},
		{"after", false, "what it changed in the workspace could not be told", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files, _, err := workspace.Open(workspace.Config{Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			ran := false
			var p probe
			server := p.tool("mail_save", func(t *bridge.Tool) {
				t.Unconfined = true
				t.Run = func(context.Context, *bridge.Permit) (bridge.Output, error) {
					ran = true
					return bridge.Output{Value: "saved"}, files.Close()
				}
			})
			r := newRig(t, bridge.Config{Tools: []bridge.Tool{server}}, func(run *bridge.Run) { run.Space = files })
			if tt.early {
				if err := files.Close(); err != nil {
					t.Fatal(err)
				}
			}
			_, err = r.call(t, "mail_save", nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) || ran != tt.ran {
				t.Errorf("ran %v: %v", ran, err)
			}
			if tt.ran && !r.State.Tainted["."] {
				t.Errorf("tainted %v", r.State.Tainted)
			}
		})
	}
}
