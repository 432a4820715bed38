package main

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen soon, on a busy machine.
const patience = 10 * time.Second

const endless = `model: {provider: scripted, script: [{code: "t = (1,)\nfor i in range(60):\n  t = (t, t)\nprint({t: 1})"}]}
limits: {wallTime: 5m}
`

const hooked = `tools: {mock: tools.yaml}
hooks:
  PreToolUse: [{matcher: look, hooks: [{type: command, command: "touch began; sleep 300", timeout: 400}]}]
model: {provider: scripted, script: [{code: "final(look())"}]}
`

const lookTool = `apiVersion: codeact.dev/v1
kind: MockTools
tools:
  - {name: look, tier: 0, capabilities: [], responses: [{value: fine, external: false}]}
`

// Wherever a run waits, a signal ends it: with a whole trace that says so, with no
// process left, and with the signal's exit code.
func TestSignals(t *testing.T) {
	signals := map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129}
	for where, task := range map[string]string{"block": endless, "tool": hooked, "model": endless} {
		for sig, code := range signals {
			t.Run(fmt.Sprintf("%s/%v", where, sig), func(t *testing.T) {
				t.Parallel()
				s := newStage(t, task, "tools.yaml", lookTool)
				args := []string{"run", "--json", "task.yaml"}
				began := func(log string) bool { return strings.Contains(log, "step 1/") && len(s.processes()) > 1 }
				switch where {
				case "tool":
					out, _, _ := s.run("trust", "--print", "task.yaml")
					args = append(args, "--trust", strings.TrimSpace(out))
					began = func(string) bool { _, err := os.Stat(filepath.Join(s.dir, "began")); return err == nil }
				case "model":
					m := newSilentModel(t)
					args = append(args, "--model", "openai-compatible/mute@"+m.URL)
					began = func(string) bool { return m.asked() }
				}
				stdout, got := s.interrupt(sig, began, args...)
				if got != code {
					t.Errorf("exit code %d, want %d", got, code)
				}
				for _, want := range []string{`"status": "cancelled"`, fmt.Sprintf(`"exit_code": %d`, code)} {
					if !strings.Contains(stdout, want) {
						t.Errorf("no %s in\n%s", want, stdout)
					}
				}
				if end := last(s.trace()); !strings.Contains(end, `"type":"run.completed","status":"cancelled"`) {
					t.Errorf("the trace ends with %s", end)
				}
				eventually(t, "its processes are gone", func() bool { return len(s.processes()) == 0 })
			})
		}
	}
}

// A run that is still beginning ends as one that runs: what it waits for is stopped.
func TestASignalStopsWhatARunStarts(t *testing.T) {
	const silent = "touch began; exec sleep 1000\n"
	for name, setting := range map[string]string{
		"secret": "secrets: [{name: S, command: [sh, silent.sh]}]\n",
		"server": "mcpServers: {m: {command: sh, args: [silent.sh], pin: record}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, endless+setting, "tools.yaml", lookTool, "silent.sh", silent)
			digest, _, _ := s.run("trust", "--print", "task.yaml")
			began := func(string) bool { _, err := os.Stat(filepath.Join(s.dir, "began")); return err == nil }
			if _, code := s.interrupt(syscall.SIGINT, began, "run", "--trust", strings.TrimSpace(digest), "task.yaml"); code != 130 {
				t.Errorf("exit code %d, want 130", code)
			}
			eventually(t, "its processes are gone", func() bool { return len(s.processes()) == 0 })
		})
	}
}

// A program that is killed outright takes its idle worker along. One that computes
// ends by its own limit of processor time.
func TestKilledLeavesNoWorker(t *testing.T) {
	s := newStage(t, endless)
	m := newSilentModel(t)
	began := func(string) bool { return m.asked() && len(s.processes()) > 1 }
	_, code := s.interrupt(syscall.SIGKILL, began, "run", "--model", "openai-compatible/mute@"+m.URL, "task.yaml")
	if code != -1 {
		t.Errorf("exit code %d, want none", code)
	}
	eventually(t, "its worker is gone", func() bool { return len(s.processes()) == 0 })
	if out, _, code := s.run("trace", "list"); code != 0 || !strings.Contains(out, "step.started") {
		t.Errorf("exit code %d, list\n%s\nwant a run that stopped in its first step", code, out)
	}
}

// interrupt starts the program, waits until it began, and sends it a signal.
func (s *stage) interrupt(sig syscall.Signal, began func(log string) bool, args ...string) (stdout string, code int) {
	s.t.Helper()
	var out bytes.Buffer
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	c := s.command(args...)
	c.Stdout, c.Stderr = &out, log
	if err := c.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	defer c.Process.Kill()
	eventually(s.t, "it began", func() bool {
		text, _ := os.ReadFile(log.Name())
		return began(string(text))
	})
	if err := c.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(patience):
		s.t.Fatalf("it still runs %v after %v", patience, sig)
	}
	return out.String(), c.ProcessState.ExitCode()
}

// processes are those that this stage started: the program, its workers and its
// hooks, told by the environment or, where a worker has none, by the parent.
func (s *stage) processes() []string {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	mine := map[string]bool{}
	for _, d := range dirs {
		env, _ := os.ReadFile(d + "/environ")
		if bytes.Contains(env, []byte("CODEACT_HOME="+s.home)) || bytes.Contains(env, []byte(s.dir)) {
			mine[filepath.Base(d)] = true
		}
	}
	for _, d := range dirs {
		exe, _ := os.Readlink(d + "/exe")
		stat, _ := os.ReadFile(d + "/stat")
		_, rest, _ := strings.Cut(string(stat), ") ")
		if f := strings.Fields(rest); len(f) > 1 && strings.HasPrefix(exe, program) && (mine[f[1]] || orphan(f[1])) && f[0] != "Z" {
			mine[filepath.Base(d)] = true
		}
	}
	var list []string
	for pid := range mine {
		list = append(list, pid)
	}
	return list
}

// orphan reports a parent that took in a process whose own is gone.
func orphan(ppid string) bool {
	comm, _ := os.ReadFile("/proc/" + ppid + "/comm")
	return ppid == "1" || strings.HasPrefix(string(comm), "systemd")
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not after %v: %s", patience, what)
		}
	}
}

// A silentModel is a server that takes questions and never answers.
type silentModel struct {
	*httptest.Server
	requests chan struct{}
}

func newSilentModel(t *testing.T) *silentModel {
	if l, err := net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Skipf("there is no loopback: %v", err)
	} else {
		l.Close()
	}
	m := &silentModel{requests: make(chan struct{}, 16)}
	over := make(chan struct{})
	m.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		m.requests <- struct{}{}
		select {
		case <-r.Context().Done():
		case <-over:
		}
	}))
	t.Cleanup(func() { close(over); m.Close() })
	return m
}

func (m *silentModel) asked() bool { return len(m.requests) > 0 }

// The home of a user without rights is made for that user alone.
func TestUnprivileged(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the other tests run unprivileged already")
	}
	base, err := os.MkdirTemp("", "codeact-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	const nobody = 65534
	if err := os.Chown(base, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	task := filepath.Join(base, "task.yaml")
	text := strings.Replace(header, "workspace: {dir: ., writable: [\"**\"]}\n", "", 1) + "model: {provider: scripted, script: [{code: \"final('ran')\"}]}\n"
	if err := os.WriteFile(task, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program, "run", task)
	c.Dir, c.Env = base, []string{"HOME=" + base, "PATH=" + os.Getenv("PATH")}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	var log bytes.Buffer
	c.Stderr = &log
	out, err := c.Output()
	if err != nil || string(out) != "ran\n" {
		t.Fatalf("%q, %v\n%s", out, err, &log)
	}
	for _, dir := range []string{".codeact", ".codeact/traces", ".codeact/work"} {
		info, err := os.Stat(filepath.Join(base, dir))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o700 || info.Sys().(*syscall.Stat_t).Uid != nobody {
			t.Errorf("%s: %v of uid %d, want 0700 of %d", dir, info.Mode(), info.Sys().(*syscall.Stat_t).Uid, nobody)
		}
	}
	// A home that cannot be written is no fault of the task.
	c = exec.Command(program, "run", task)
	c.Dir, c.Env = base, []string{"HOME=/"}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	all, _ := c.CombinedOutput()
	if code := c.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(all), "set CODEACT_HOME to a directory that you may write to") {
		t.Errorf("exit code %d, want 1 and what to do, have\n%s", code, all)
	}
}
