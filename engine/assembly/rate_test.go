package assembly_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/engine/assembly"
)

// A rate of whoever runs a task counts over all runs of the home, and over nobody
// else's. (FAULTS D10, D21)
func TestARateOfTheUserCountsOverRuns(t *testing.T) {
	task := head + ws + "tools: {mock: tools.yaml, overrides: {note: {userRateLimit: 3/d}}}\n" +
		code("[attempt(note, n=i) for i in range(2)]")
	p := newPlace(t, task, nil)
	as := func(who string) int {
		before := p.effects(t)
		p.run(t, func(o *assembly.Options) { o.Principal = who })
		return p.effects(t) - before
	}
	for i, run := range []struct {
		who  string
		want int
	}{{"alice", 2}, {"alice", 1}, {"bob", 2}, {"alice", 0}, {"bob", 1}} {
		if got := as(run.who); got != run.want {
			t.Errorf("run %d, of %s: %d effects, want %d", i+1, run.who, got, run.want)
		}
	}
}

// What cannot be counted must not look like nothing.
func TestARateRefusesWhereATraceCannotBeRead(t *testing.T) {
	p := newPlace(t, head+ws+"tools: {mock: tools.yaml, overrides: {note: {userRateLimit: 3/d}}}\n"+code("attempt(note, n=1)"), nil)
	p.run(t, nil)
	traces, err := filepath.Glob(filepath.Join(p.home, "traces", "*.jsonl"))
	if err != nil || len(traces) != 1 {
		t.Fatal(traces, err)
	}
	data, err := os.ReadFile(traces[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(traces[0], []byte(strings.Replace(string(data), `"tool":"note"`, `"tool":"nota"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	o := p.run(t, nil)
	if len(o.Denied) != 1 || o.Denied[0].Rule != "rate-user" || !strings.Contains(o.Denied[0].Reason, "cannot be counted") {
		t.Errorf("denied %+v", o.Denied)
	}
}
