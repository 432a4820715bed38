package sandbox_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/bridge/sandbox"
)

func TestAReportSaysWhatWasSeen(t *testing.T) {
	all := []string{sandbox.SawFiles, sandbox.SawWrites, sandbox.SawNetwork, sandbox.SawNoNewPrivs, sandbox.SawSeccomp, sandbox.SawCapless,
		sandbox.SawLimits, sandbox.SawProcesses, sandbox.SawSignals, sandbox.SawEnviron}
	for kind, want := range map[string][]string{sandbox.Bwrap: append(slices.Clone(all), sandbox.SawMasks, sandbox.SawReadOnly), sandbox.Landlock: all} {
		w := newWorld(t)
		r := w.open(t, sandbox.Config{Kind: kind}).Report()
		slices.Sort(want)
		if r.Kind != kind || r.Network != sandbox.NoNetwork || !r.Confined || !slices.Equal(r.Enforced, want) || r.Missed != nil || r.Tried != nil {
			t.Errorf("%s: got %+v, want %s", kind, r, want)
		}
	}
	w := newWorld(t)
	r := w.open(t, sandbox.Config{Kind: sandbox.None}).Report()
	missed := strings.Join(r.Missed, "\n")
	if r.Kind != sandbox.None || r.Network != sandbox.HostNet || r.Confined || !strings.Contains(missed, "files: read ") ||
		!strings.Contains(missed, "writes: wrote ") || !strings.Contains(missed, "network: ") || !strings.Contains(missed, "seccomp: ") ||
		!slices.Contains(r.Enforced, sandbox.SawLimits) || !strings.Contains(missed, "environ: ") {
		t.Errorf("none: got %+v", r)
	}
}

func TestTheCanaryLeavesNothing(t *testing.T) {
	for _, kind := range everyKind {
		t.Run(kind, func(t *testing.T) { // each with a TMPDIR of its own
			w := newWorld(t)
			tmp := w.path("tmp")
			if err := os.Mkdir(tmp, 0o700); err != nil {
				t.Fatal(err)
			}
			t.Setenv("TMPDIR", tmp)
			before := w.snapshot(t)
			run(t, w.open(t, sandbox.Config{Kind: kind}), "sh", "-c", "mkdir $TMPDIR/d; chmod 0 $TMPDIR/d")
			if after := w.snapshot(t); after != before {
				t.Errorf("%s: before\n%s\nafter\n%s", kind, before, after)
			}
		})
	}
}

// A socket needs a short path, and the canary's are where TMPDIR says if that is short.
func TestALongTMPDIRIsNoObstacle(t *testing.T) {
	w := newWorld(t)
	tmp := w.path(strings.Repeat("d", 100))
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", tmp)
	for _, kind := range confining {
		if r := w.open(t, sandbox.Config{Kind: kind}).Report(); !slices.Contains(r.Enforced, sandbox.SawNetwork) {
			t.Errorf("%s: got %+v", kind, r)
		}
	}
}

func TestTheHostNetworkIsTheOperatorsChoice(t *testing.T) {
	address := listen(t, "tcp4", "127.0.0.1:0")
	path := ""
	for _, kind := range confining {
		w := newWorld(t)
		path = listen(t, "unix", w.path("ws/drafts/sock"))
		box := w.open(t, sandbox.Config{Kind: kind, Network: sandbox.HostNet})
		if r := box.Report(); !r.Confined || r.Network != sandbox.HostNet || slices.Contains(r.Enforced, sandbox.SawNetwork) {
			t.Errorf("%s: got %+v", kind, r)
		}
		if r := run(t, box, w.program(kind), attackMarker, "connect", "tcp4", address); r.ExitCode != 0 {
			t.Errorf("%s: %s", kind, r.Stdout.Text)
		}
		// One in the workspace is a part of the host for bubblewrap; landlock has none of them.
		if r := run(t, box, w.program(kind), attackMarker, "connect", "unix", path); (r.ExitCode == 0) != (kind == sandbox.Bwrap) {
			t.Errorf("%s: a socket with a path: %s", kind, r.Stdout.Text)
		}
	}
}

// Fake bwraps, in the order of their cunning. (FAULTS B31)
var fakes = []struct{ name, script, want string }{
	{"does nothing", `exit 0`, "did not come up"},
	{"fails", `echo "bwrap: No permissions to create new namespace" >&2; exit 1`, "No permissions to create new namespace"},
	{"says what a canary would", `echo '{"Inside":"","Not":{}}'; printf r >&4`, "the canary did not come back"},
	{"shows all", `exec REAL --dev-bind / / --tmpfs /run --ro-bind SELF /run/codeact/stage --unshare-net -- "$@"`, "files: read "},
	{"leaves the network", `exec REAL --args 5 --share-net -- "$@"`, "network: connected to tcp4 127.0.0.1:"},
	{"lets everything be written", `exec REAL --args 5 --bind WS WS -- "$@"`, "writes: wrote "},
	{"does not mask", `d=$(echo TMP/codeact-canary-*/in); exec REAL --args 5 --ro-bind $d $d -- "$@"`, "masks: read "},
	{"lets what is read-only be changed", `d=$(echo TMP/codeact-canary-*/in/writable); exec REAL --args 5 --bind $d $d -- "$@"`, "read_only: changed "},
	{"keeps capabilities", `exec REAL --args 5 --cap-add ALL -- "$@"`, ""}, // dropped by our own process
}

func TestB31AFakeBwrapIsFoundOut(t *testing.T) {
	real, err := exec.LookPath("bwrap")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fakes {
		t.Run(f.name, func(t *testing.T) {
			w := newWorld(t)
			tmp := w.path("tmp")
			script := strings.NewReplacer("REAL", real, "SELF", w.self, "WS", w.dir, "TMP", tmp).Replace(f.script)
			w.write(t, "fake/bwrap", "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift\n"+script+"\n")
			if err := errors.Join(os.Chmod(w.path("fake/bwrap"), 0o755), os.Mkdir(tmp, 0o700)); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", w.path("fake")+":/usr/bin:/bin")
			t.Setenv("TMPDIR", tmp)
			box, err := sandbox.Open(context.Background(), sandbox.Config{Kind: sandbox.Bwrap, Dir: w.dir})
			if f.want == "" {
				if err != nil || !slices.Contains(box.Report().Enforced, sandbox.SawCapless) {
					t.Errorf("%s: got %v", f.name, err)
				}
				return
			}
			var unavailable *sandbox.Unavailable
			if !errors.Is(err, sandbox.ErrUnavailable) || !errors.As(err, &unavailable) || !strings.Contains(err.Error(), f.want) {
				t.Errorf("%s: got %v, want %s", f.name, err, f.want)
			}
			r := w.open(t, sandbox.Config{}).Report()
			if r.Kind != sandbox.Landlock || len(r.Tried) != 1 || !strings.HasPrefix(r.Tried[0], "bwrap: ") || !strings.Contains(r.Tried[0], f.want) {
				t.Errorf("%s: auto: got %+v", f.name, r)
			}
		})
	}
}

func TestWithoutBwrapItIsLandlock(t *testing.T) {
	w := newWorld(t)
	t.Setenv("PATH", w.path("nothing"))
	r := w.open(t, sandbox.Config{}).Report()
	if r.Kind != sandbox.Landlock || len(r.Tried) != 1 || !strings.Contains(r.Tried[0], "executable file not found") {
		t.Errorf("got %+v", r)
	}
	_, err := sandbox.Open(t.Context(), sandbox.Config{Dir: w.dir, Network: sandbox.Allowlist, Dial: refuseAll})
	if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "landlock: the network allowlist needs bubblewrap") {
		t.Errorf("got %v", err)
	}
}

func TestOpenListensToItsContext(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sandbox.Open(ctx, sandbox.Config{Dir: w.dir}); !errors.Is(err, context.Canceled) || errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

func TestAConfigIsCheckedAsAWhole(t *testing.T) {
	w := newWorld(t)
	if err := os.Symlink("ws", w.path("link")); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]sandbox.Config{
		`kind "docker"`:              {Kind: "docker"},
		`network "all"`:              {Network: "all"},
		"nothing that dials":         {Network: sandbox.Allowlist},
		"leads to " + w.dir:          {Dir: w.path("link")},
		"not a directory":            {Dir: w.path("ws/src/main.go")},
		"no such file":               {Dir: w.path("none")},
		`"ws": want a clean`:         {Dir: "ws"},
		"/: cannot be shown":         {Dir: "/"},
		"/tmp: cannot be shown":      {Dir: "/tmp"},
		"/proc/self: belongs to":     {Dir: "/proc/self"},
		"read: /dev: belongs":        {Read: []string{"/dev"}},
		"read: /: cannot":            {Read: []string{"/"}},
		"writable \"" + w.home:       {Writable: []string{w.home}},
		"writable \"" + w.dir + "/.": {Writable: []string{w.dir + "/../home"}},
		`read-only "task.yaml"`:      {ReadOnly: []string{"task.yaml"}},
		"read-only \"/a/../b\"":      {ReadOnly: []string{"/a/../b"}},
		`env "NAME"`:                 {Env: []string{"NAME"}},
		`env "": want`:               {Env: []string{"=x"}},
		"one is below 0":             {Limits: sandbox.Limits{Processes: -1}},
	} {
		if c.Dir == "" {
			c.Dir = w.dir
		}
		if _, err := sandbox.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	_, err := sandbox.Open(t.Context(), sandbox.Config{Kind: "x", Network: "y", Dir: "z"})
	for _, want := range []string{`"x"`, `"y"`, `"z"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %s in %v", want, err)
		}
	}
}

// The workspace may be anywhere, also where the box has something of its own.
func TestAWorkspaceUnderTmpIsShown(t *testing.T) {
	for _, base := range []string{"/tmp", "/var/tmp"} {
		dir, err := os.MkdirTemp(base, "codeact-ws-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		showsAndKeeps(t, dir)
	}
}

func showsAndKeeps(t *testing.T, dir string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("here"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, kind := range confining {
		box, err := sandbox.Open(t.Context(), sandbox.Config{Kind: kind, Dir: dir, Writable: []string{dir}})
		if err != nil {
			t.Fatal(err)
		}
		if r := run(t, box, "sh", "-c", "cat file; echo "+kind+" > made; ls /tmp"); !strings.HasPrefix(string(r.Stdout.Text), "here") {
			t.Errorf("%s: %s", kind, r.Stdout.Text)
		}
		if b, err := os.ReadFile(filepath.Join(dir, "made")); err != nil || string(b) != kind+"\n" {
			t.Errorf("%s: %q, %v", kind, b, err)
		}
	}
}
