package assembly_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/engine/assembly"
)

// started has a command for a secret and a server. Each leaves a file when it runs; the
// server is none, so a task that gets that far ends there.
const started = mocks + "secrets: [{name: S, command: [sh, get.sh]}]\nmcpServers: {m: {command: sh, args: [server.sh], pin: record}}\n"

func newStarting(t *testing.T, task string, files map[string]string) place {
	t.Helper()
	p := newPlace(t, task, map[string]string{"get.sh": "touch asked; echo hunter-22-hunter\n", "server.sh": "touch served\n"})
	for name, text := range files {
		write(t, filepath.Join(p.dir, name), text)
	}
	return p
}

func (p place) has(name string) bool {
	_, err := os.Stat(filepath.Join(p.dir, name))
	return err == nil
}

// A server is a program with the user's rights. Whatever can refuse the run without it
// does so first, and so do the commands of secrets, of which one may ask a person.
func TestNothingIsStartedForARunThatIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		task          string
		want          string
		asked, served bool
	}{
		"nothing else is wrong":      {head + ws + final + started, "mcp: m: it did not start", true, true},
		"a policy":                   {head + ws + final + started + "policies: [server.sh]\n", "server.sh", false, false},
		"an override":                {head + ws + final + strings.Replace(started, "tools.yaml}", "tools.yaml, overrides: {nope: {tier: 2}}}", 1), "no tool of this name", false, false},
		"a staged tool":              {head + ws + final + strings.Replace(started, "tools.yaml}", "tools.yaml, staged: [note]}", 1), "sends nothing", false, false},
		"a lease":                    {head + ws + final + started + "leases: [{tool: nothing}]\n", "names none of the task's tools", false, false},
		"the condition of a lease":   {head + ws + final + started + "leases: [{tool: order, when: '1 +'}]\n", "leases[0].when", false, false},
		"a hook":                     {head + ws + final + started + strings.Replace(guard, "matcher: note", "matcher: nothing", 1), "fits none of this task's tools", false, false},
		"a model's key":              {head + ws + live + started, "ANTHROPIC_API_KEY", false, false},
		"the file of the output":     {head + ws + final + started + "output: {file: ../x}\n", "output.file", false, false},
		"the workspace":              {head + "workspace: {dir: nowhere}\n" + final + started, "there is no directory", false, false},
		"a secret that is not there": {head + ws + final + strings.Replace(started, "secrets: [", "secrets: [NONE, ", 1), "secret NONE", true, false},
		"a secret in the goal":       {strings.Replace(head, "Do the work.", "Send hunter-22-hunter.", 1) + ws + final + started, "goal holds the value", true, false},
		"a parameter in plain words": {head + ws + final + started + "parameters: {pin: {type: string, sensitive: true, default: password}}\n", "parameters.pin", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newStarting(t, c.task, nil)
			digest := p.digest(t)
			if p.has("asked") || p.has("served") {
				t.Fatal("it was started before it was trusted")
			}
			r, err := p.open(t, func(o *assembly.Options) { o.Trust = digest })
			if err == nil {
				r.Close()
				t.Fatal("it opened")
			}
			if !strings.Contains(err.Error(), c.want) || p.has("asked") != c.asked || p.has("served") != c.served {
				t.Errorf("asked: %v, want %v; served: %v, want %v; %v", p.has("asked"), c.asked, p.has("served"), c.served, err)
			}
		})
	}
}

// Who gave up before a run began waits for none of its programs.
func TestTheEndOfTheContextStopsWhatOpenStarts(t *testing.T) {
	for name, setting := range map[string]string{
		"a secret": "secrets: [{name: S, command: [sh, get.sh]}]\n",
		"a server": "mcpServers: {m: {command: sh, args: [server.sh], pin: record}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			p := newStarting(t, head+ws+final+setting, nil)
			digest := p.digest(t)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := assembly.Open(ctx, filepath.Join(p.dir, "task.yaml"), assembly.Options{Home: p.home, UserHome: filepath.Dir(p.home), Unsafe: true, Trust: digest})
			if !errors.Is(err, context.Canceled) || errors.Is(err, assembly.ErrCredential) || p.has("asked") || p.has("served") {
				t.Errorf("asked: %v, served: %v; %v", p.has("asked"), p.has("served"), err)
			}
		})
	}
}
