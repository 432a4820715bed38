package main

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The document of run --json has these keys and no others, each also when it is
// empty, so that a program can read them without asking. (SURFACES 5)
func TestDocument(t *testing.T) {
	top := []string{"approvals", "blocked_sends", "calls", "denied", "exit_code", "lessons", "output", "reason", "run_id", "status", "steps", "taint", "trace", "usage"}
	for name, c := range map[string]struct {
		args []string
		code int
	}{
		"denied":           {[]string{"--on-ask", "deny"}, 3},
		"paused":           {nil, 8},
		"limit":            {[]string{"--on-ask", "deny", "--limit", "steps=1"}, 5},
		"refused to start": {[]string{"--workspace", "/"}, 6},
		"usage":            {[]string{"--limit", "steps=many"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, strings.Replace(posting(`"hello"`), "        final", "    - code: |\n        final", 1), "tools.yaml", postTool)
			out, log, code := s.run(append([]string{"run", "--json", "task.yaml"}, c.args...)...)
			if code != c.code {
				t.Errorf("exit code %d, want %d\n%s", code, c.code, log)
			}
			var doc map[string]json.RawMessage
			if err := json.Unmarshal([]byte(out), &doc); err != nil {
				t.Fatalf("%v in %s", err, out)
			}
			if d := cmp.Diff(top, slices.Sorted(maps.Keys(doc))); d != "" {
				t.Error(d)
			}
			for k, v := range doc {
				if string(v) == "null" && k != "output" {
					t.Errorf("%s is null", k)
				}
			}
			for key, want := range map[string][]string{
				"usage": {"cost_usd", "input", "output"},
				"taint": {"private", "untrusted", "unvouched"},
			} {
				if d := cmp.Diff(want, keysOf(t, doc[key])); d != "" {
					t.Errorf("%s: %s", key, d)
				}
			}
		})
	}
}

// Each member of a list has its own keys.
func TestDocumentLists(t *testing.T) {
	s := newStage(t, posting(`"hello"`), "tools.yaml", postTool)
	out, log, code := s.run("run", "--json", "--on-ask", "deny", "task.yaml")
	if code != 3 {
		t.Fatalf("exit code %d\n%s", code, log)
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string][]string{
		"denied":  {"call", "gate", "reason", "tool"},
		"calls":   {"args", "asked", "decision", "error", "executed", "external", "gate", "id", "ms", "rule", "step", "tool"},
		"lessons": {"id", "state"},
	} {
		var list []json.RawMessage
		if err := json.Unmarshal(doc[key], &list); err != nil || len(list) != 1 {
			t.Fatalf("%s is %s, %v; want one member", key, doc[key], err)
		}
		if d := cmp.Diff(want, keysOf(t, list[0])); d != "" {
			t.Errorf("%s: %s", key, d)
		}
	}
	paused := newStage(t, posting(`"hello"`), "tools.yaml", postTool)
	out, _, _ = paused.run("run", "--json", "task.yaml")
	var asked struct {
		Approvals []json.RawMessage `json:"approvals"`
	}
	if err := json.Unmarshal([]byte(out), &asked); err != nil || len(asked.Approvals) != 1 {
		t.Fatalf("%s, %v; want one approval", out, err)
	}
	if d := cmp.Diff([]string{"at", "call", "id", "state", "tool"}, keysOf(t, asked.Approvals[0])); d != "" {
		t.Error(d)
	}
}

func keysOf(t *testing.T, raw json.RawMessage) []string {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(m))
}

// The events that are printed are the lines of the trace, from the first to the
// last, however the run ends.
func TestEventsAreTheTrace(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		last string
	}{
		"completed": {[]string{"--on-ask", "deny"}, "run.completed"},
		"paused":    {nil, "run.paused"},
		"limit":     {[]string{"--limit", "toolCalls=1", "--limit", "steps=1", "--on-ask", "deny"}, "run.completed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, posting(`"hello"`), "tools.yaml", postTool)
			out, log, _ := s.run(append([]string{"run", "--jsonl", "task.yaml"}, c.args...)...)
			if d := cmp.Diff(s.trace(), out); d != "" {
				t.Errorf("%s\n%s", d, log)
			}
			first, _, _ := strings.Cut(out, "\n")
			for line, want := range map[string]string{first: "run.started", last(out): c.last} {
				var e struct{ Type string }
				if err := json.Unmarshal([]byte(line), &e); err != nil || e.Type != want {
					t.Errorf("%q, %v; want %s", line, err, want)
				}
			}
		})
	}
}

// An output that cannot be kept is known before anything is done.
func TestOutputIsOpenedFirst(t *testing.T) {
	s := newStage(t, posting(`"hello"`), "tools.yaml", postTool)
	if _, log, code := s.run("run", "-o", ".", "task.yaml"); code != 2 || !strings.Contains(log, "--output: open .: is a directory") {
		t.Errorf("exit code %d\n%s", code, log)
	}
	if _, err := os.Stat(s.home + "/traces"); err == nil {
		if list, _ := os.ReadDir(s.home + "/traces"); len(list) > 0 {
			t.Errorf("%d files in traces: the run had begun", len(list))
		}
	}
	out, log, code := s.run("run", "--on-ask", "deny", "-o", "/dev/null", "task.yaml")
	if code != 3 || out != "" {
		t.Errorf("exit code %d, %q\n%s", code, out, log)
	}
	if info, err := os.Stat("/dev/null"); err != nil || info.Mode().IsRegular() {
		t.Errorf("/dev/null is %v, %v", info, err)
	}
}
