package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const auditTask = "../../testdata/tasks/dependency-audit/task.yaml"

// BenchmarkFirstEvent is the time from the start of the process to the first event
// of the main job.
func BenchmarkFirstEvent(b *testing.B) {
	home := b.TempDir()
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), program, "run", "--jsonl", auditTask)
		cmd.Env = append(os.Environ(), "CODEACT_HOME="+home)
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil || !strings.Contains(line, `"run.started"`) {
			b.Fatalf("%q, %v", line, err)
		}
		b.StopTimer()
		cmd.Process.Kill()
		cmd.Wait()
		b.StartTimer()
	}
}

// BenchmarkIdleRun reports the memory of a run that waits for its model: resident
// and proportional, of the program and of its workers together, in MiB.
func BenchmarkIdleRun(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // a model that never answers
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	dir, home := b.TempDir(), b.TempDir()
	task := filepath.Join(dir, "task.yaml")
	text := fmt.Sprintf("apiVersion: codeact.dev/v1\nkind: Task\nmetadata: {name: idle}\ngoal: wait\nworkspace: {dir: .}\n"+
		"model: {provider: openai-compatible, name: m, baseUrl: \"http://%s/v1\"}\ntools: {builtin: [fs_read, http_fetch]}\n", l.Addr())
	if err := os.WriteFile(task, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	var rss, pss float64
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), program, "run", task)
		cmd.Env = append(os.Environ(), "CODEACT_HOME="+home)
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		l.(*net.TCPListener).SetDeadline(time.Now().Add(20 * time.Second))
		if _, err := l.Accept(); err != nil { // the model is asked: the run waits
			b.Fatal(err)
		}
		rss, pss = memory(b, cmd.Process.Pid)
		cmd.Process.Kill()
		cmd.Wait()
	}
	b.ReportMetric(rss, "MiB-rss")
	b.ReportMetric(pss, "MiB-pss")
}

// memory adds up a process and its children, from what the kernel says of each.
func memory(b *testing.B, pid int) (rss, pss float64) {
	pids := []int{pid}
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		b.Fatal(err)
	}
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, t := range tasks {
		more, _ := os.ReadFile(t)
		data = append(append(data, ' '), more...)
	}
	seen := map[string]bool{}
	for _, word := range strings.Fields(string(data)) {
		if !seen[word] {
			seen[word] = true
			var child int
			fmt.Sscan(word, &child)
			pids = append(pids, child)
		}
	}
	for _, p := range pids {
		rollup, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", p))
		if err != nil {
			b.Fatal(err)
		}
		for line := range strings.Lines(string(rollup)) {
			var kb float64
			if n, _ := fmt.Sscanf(line, "Rss: %f kB", &kb); n == 1 {
				rss += kb / 1024
			}
			if n, _ := fmt.Sscanf(line, "Pss: %f kB", &kb); n == 1 {
				pss += kb / 1024
			}
		}
	}
	return rss, pss
}
