package taskfile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const homeHead = "apiVersion: codeact.dev/v1\nkind: Home\n"

func TestNoHomeFilePermitsNothing(t *testing.T) {
	h, err := LoadHome(filepath.Join(t.TempDir(), "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if h.Permit != nil || h.Permits("trifecta.ask") || h.Model != nil || h.Hooks != nil {
		t.Errorf("home = %+v", h)
	}
}

func TestTheHomeGivesWhatTheTaskDoesNotWrite(t *testing.T) {
	dir := write(t, "config.yaml", homeHead+`permit: [trifecta.ask, autoapply]
security: {allowPrivate: ["127.0.0.1:8080", "[::1]:80", "db.local:5432"]}
policies: [p.yaml]
hooks: {RunEnd: [{hooks: [{type: command, command: logger}]}]}
model: {provider: scripted, script: s.yaml}
limits: {steps: 7, wallTime: 5m, tokens: 1k, costUsd: 1}
`, "p.yaml", "p", "s.yaml", script)
	h, err := LoadHome(dir + "/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !h.Permits("trifecta.ask") || h.Permits("trifecta.allow") || len(h.Security.AllowPrivate) != 3 ||
		!slices.Equal(h.Policies, []string{dir + "/p.yaml"}) || h.Hooks["RunEnd"][0].Hooks[0].Command != "logger" || len(h.Files) != 2 {
		t.Errorf("home = %+v", h)
	}
	task := mustLoad(t, head+"limits: {steps: 9, tokens: 2k}\n", Options{})
	task.Default(h)
	want := Limits{WallTime: 5 * time.Minute, Steps: 9, ToolCalls: 400, CallsPerStep: 50, Tokens: 2000, CostUSD: 1, IdenticalCalls: 3, OutputBytesPerCall: 256 << 10}
	if task.Limits != want || task.Model.Script == nil {
		t.Errorf("task has %+v and %+v", task.Limits, task.Model)
	}
	own := mustLoad(t, head+"model: {provider: anthropic, name: m}\n", Options{})
	own.Default(h)
	if own.Model.Provider != "anthropic" {
		t.Errorf("the home's model %+v replaced the task's", own.Model)
	}
	own.Default(new(Home))
	if own.Limits.Steps != 40 {
		t.Errorf("limits without a home are %+v", own.Limits)
	}
}

func TestFaultsOfTheHome(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"permit", homeHead + "permit: [trifecta.al]\n", `config.yaml:3:10: permit[0]: "trifecta.al": want one of trifecta.ask, trifecta.allow,`},
		{"address", homeHead + "security: {allowPrivate: [localhost]}\n", `config.yaml:3:27: security.allowPrivate[0]: "localhost" does not match`},
		{"key", homeHead + "polices: []\n", `config.yaml:3:1: polices: unknown key (did you mean "policies"?)`},
		{"limit", homeHead + "limits: {wallTime: 9999999h}\n", `config.yaml:3:20: limits.wallTime: "9999999h": too long`},
		{"policy", homeHead + "policies: [no.yaml]\n", `config.yaml:3:12: policies[0]: file "no.yaml": no such file or directory`},
		{"script", homeHead + "model: {provider: scripted, script: bad.yaml}\n", `bad.yaml:1:1: missing key "kind"`},
		{"empty", "", "config.yaml:1:1: empty: want a Home"},
		{"syntax", "a: b: c", "config.yaml:1:4: mapping value is not allowed in this context"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := write(t, "config.yaml", tt.text, "bad.yaml", "a: 1\n")
			h, err := LoadHome(dir + "/config.yaml")
			if h != nil || !strings.HasPrefix(faults(t, err, dir)[0], tt.want) {
				t.Errorf("LoadHome = %v, %v", h, err)
			}
		})
	}
}

func TestAHomeThatOthersMayWriteIsRefused(t *testing.T) {
	path := write(t, "config.yaml", homeHead) + "/config.yaml"
	for mode, ok := range map[os.FileMode]bool{0o600: true, 0o644: true, 0o620: false, 0o602: false, 0o666: false} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := LoadHome(path)
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "chmod go-w it") {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	if _, err := LoadHome(filepath.Dir(path)); err == nil {
		t.Error("a directory was read as the configuration")
	}
	if _, err := LoadHome(path + "/x"); err == nil {
		t.Error("a path through a file was read as no configuration")
	}
}

func TestEachLoosenedSettingNamesItsPermit(t *testing.T) {
	tests := []struct {
		setting, text string
		permit        string // "" needs none
	}{
		{"security.trifecta: ask", "security:\n  trifecta: ask\n", "trifecta.ask"},
		{"security.trifecta: allow", "security:\n  trifecta: allow\n", "trifecta.allow"},
		{"security.interlock: precise", "security:\n  interlock: precise\n", "interlock.precise"},
		{"security.named: off", "security:\n  named: 'off'\n", "named.off"},
		{"workspace.sandbox.required: false", "workspace: {sandbox:\n  {required: false}}\n", "sandbox.optional"},
		{"workspace.sandbox.kind: none", "workspace: {sandbox:\n  {kind: none}}\n", "sandbox.optional"},
		{"security.blockPrivateIPs: false", "security:\n  blockPrivateIPs: False\n", "private-ips"},
		{"reflection.autoApply: true", "reflection:\n  autoApply: true\n", "autoapply"},
		{"security.markUntrusted: false", "security:\n  markUntrusted: false\n", ""},
		{"mcpServers.m.trustAnnotations: true", "mcpServers: {m:\n  {command: x, trustAnnotations: true}}\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.setting, func(t *testing.T) {
			task := mustLoad(t, head+tt.text, Options{})
			loosened, missing := task.Loosened(nil)
			if !slices.Equal(loosened, []string{tt.setting}) {
				t.Errorf("loosened = %q", loosened)
			}
			var want []Permit
			if tt.permit != "" {
				want = []Permit{{tt.permit, tt.setting, 6}}
			}
			if diff := cmp.Diff(want, missing); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
			if _, missing := task.Loosened(&Home{Permit: []string{tt.permit}}); len(missing) != 0 {
				t.Errorf("with the permit, missing = %v", missing)
			}
		})
	}
	strict := mustLoad(t, head+"security: {trifecta: block, named: deny, blockPrivateIPs: true}\nreflection: {autoApply: false}\n", Options{})
	if loosened, missing := strict.Loosened(nil); len(loosened)+len(missing) != 0 {
		t.Errorf("a strict task loosens %v, needs %v", loosened, missing)
	}
}
