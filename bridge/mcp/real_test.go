package mcp_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/mcp"
)

// installed returns the program of a server that npm installed.
func installed(t *testing.T, name string) mcp.Server {
	t.Helper()
	path, err := filepath.Abs("testdata/servers/node_modules/@modelcontextprotocol/server-" + name + "/dist/index.js")
	must(t, err)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: run \"npm ci --ignore-scripts\" in bridge/mcp/testdata/servers", err)
	}
	node, err := exec.LookPath("node")
	must(t, err)
	return mcp.Server{Name: name, Command: node, Args: []string{path}, Record: true}
}

func byName(t *testing.T, tools []bridge.Tool, want ...string) {
	t.Helper()
	has := map[string]bool{}
	for _, one := range tools {
		has[one.Name] = true
		harmless(t, one.Doc)
		if one.Doc == "" {
			t.Errorf("%s has no description", one.Name)
		}
	}
	for _, w := range want {
		if !has[w] {
			t.Errorf("there is no %s in %v", w, has)
		}
	}
}

func TestTheOfficialFilesystemServer(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello\nworld\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "a.png"), []byte("\x89PNG\r\n"), 0o600))
	s := installed(t, "filesystem")
	s.Args = append(s.Args, dir)
	l := newLab(t, s)
	l.cfg.Spill = func(name string, data []byte) (string, error) { return fmt.Sprint("@spill/", len(data)), nil }
	got := l.connect(t)
	byName(t, got.Tools(), "filesystem_read_text_file", "filesystem_edit_file", "filesystem_list_directory", "filesystem_read_media_file")
	r := newRun(t, got.Tools())
	file := filepath.Join(dir, "a.txt")
	if v := fmt.Sprint(r.value(t, "filesystem_read_text_file", args{"path": file})); !strings.Contains(v, "hello\nworld") {
		t.Errorf("read %q", v)
	}
	r.value(t, "filesystem_edit_file", args{"path": file, "edits": []any{map[string]any{"oldText": "world", "newText": "Ada"}}})
	if text, _ := os.ReadFile(file); string(text) != "hello\nAda\n" {
		t.Errorf("the file holds %q after the edit", text)
	}
	if v := fmt.Sprint(r.value(t, "filesystem_read_media_file", args{"path": filepath.Join(dir, "a.png")})); !strings.Contains(v, "@spill/6") {
		t.Errorf("the image is %v, want where its bytes are", v)
	}
	r.fails(t, "filesystem_read_text_file", args{"path": "/etc/passwd"}, "ccess denied")
	r.fails(t, "filesystem_read_text_file", args{"path": file, "lines": int64(1)}, "lines")
	r.fails(t, "filesystem_edit_file", args{"path": file, "edits": []any{map[string]any{"oldText": int64(1)}}}, "edits")
}

func TestTheOfficialEverythingServer(t *testing.T) {
	t.Setenv("MCP_TEST_SECRET_OF_OURS", "hunter2hunter2")
	l := newLab(t, installed(t, "everything"))
	l.cfg.Spill = func(name string, data []byte) (string, error) { return "@spill/" + name, nil }
	got := l.connect(t)
	byName(t, got.Tools(), "everything_echo", "everything_get_sum", "everything_get_tiny_image", "everything_get_structured_content")
	r := newRun(t, got.Tools())
	if v := r.value(t, "everything_echo", args{"message": "Ada"}); v != "Echo: Ada" {
		t.Errorf("echo gave %v", v)
	}
	if v := fmt.Sprint(r.value(t, "everything_get_sum", args{"a": int64(2), "b": 3.5})); !strings.Contains(v, "5.5") {
		t.Errorf("the sum is %v", v)
	}
	v, _ := r.value(t, "everything_get_tiny_image", nil).(map[string]any)
	if text := fmt.Sprint(v["items"]); !strings.Contains(text, "@spill/") || !strings.Contains(text, "image/png") {
		t.Errorf("the image is %v", v)
	}
	if v, ok := r.value(t, "everything_get_structured_content", args{"location": "New York"}).(map[string]any); !ok || v["temperature"] == nil {
		t.Errorf("the structured content is %v", v)
	}
	r.fails(t, "everything_get_sum", args{"a": "two", "b": int64(1)}, "a")
	if env := fmt.Sprint(r.value(t, "everything_get_env", nil)); !strings.Contains(env, "PATH") || strings.Contains(env, "hunter2hunter2") {
		t.Errorf("the environment is %v", env)
	}
	must(t, got.Check(t.Context()))
}

// A server of the newest revision of the protocol, over standard input and output.
func TestTheSDKsOwnServer(t *testing.T) {
	s := server(t, "good", "sdk", "[]")
	r := newRun(t, newLab(t, s).connect(t).Tools())
	if v, _ := r.value(t, "good_greet", args{"name": "Ada"}).(map[string]any); v["text"] != "Hi Ada" {
		t.Errorf("got %v", v)
	}
	if v := sdk.SupportedProtocolVersions()[0]; v != "2026-07-28" {
		t.Errorf("the newest revision is %s: look what is new in it", v)
	}
}
