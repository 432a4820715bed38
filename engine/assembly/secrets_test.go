package assembly_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/engine"
	"github.com/codeact-dev/codeact/engine/assembly"
	"github.com/codeact-dev/codeact/engine/store"
)

// shows is a task whose script prints the given secret and where it is not redacted
// says so: a script that knows the value already, put together from two parts.
func shows(first, second string) string {
	return code(`print("` + first + `" + "` + second + `")`)
}

// observed is what the model read.
func observed(events []engine.Event) string {
	var b strings.Builder
	for _, e := range events {
		if s, ok := e.(*engine.StepCompleted); ok {
			b.WriteString(s.Observation)
		}
	}
	return b.String()
}

func TestSecretsOfACommand(t *testing.T) {
	task := head + ws + mocks + shows("hunter-22", "-hunter") + "secrets: [{name: S, command: [./get.sh, vault]}]\n"
	script := "#!/bin/sh\necho run >> \"${0%/*}/runs\"\nprintf 'hunter-22-%s\\n' \"${1#vault}hunter\"\n"
	p := newPlace(t, task, map[string]string{"get.sh": script})
	if err := os.Chmod(filepath.Join(p.dir, "get.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := p.open(t, nil); !errors.Is(err, assembly.ErrPrecondition) || !strings.Contains(err.Error(), `secret S: ["./get.sh" "vault"]`) {
		t.Errorf("a task that nobody trusts: %v", err)
	}
	p.must(t, func(o *assembly.Options) { o.Look = true })
	if _, err := os.Stat(filepath.Join(p.dir, "runs")); err == nil {
		t.Error("the command ran for a task that nobody trusts, or that was only looked at")
	}
	o, events := p.trusting(t, nil)
	if text := observed(events); o.Status != engine.Completed || !strings.Contains(text, "[redacted:known-secret]") || strings.Contains(text, "hunter-22-hunter") {
		t.Errorf("%s %s; the model reads %q", o.Status, o.Reason, text)
	}
	if runs, err := os.ReadFile(filepath.Join(p.dir, "runs")); err != nil || string(runs) != "run\n" {
		t.Errorf("the command ran %q, %v", runs, err)
	}
	write(t, filepath.Join(p.dir, "get.sh"), script+"# \n")
	if _, err := p.open(t, func(o *assembly.Options) { o.Trust = "" }); !errors.Is(err, assembly.ErrPrecondition) {
		t.Errorf("a changed command: %v", err)
	}
}

// Where secrets are mounted, a link leads to each.
func TestASecretFileMayStandBehindALink(t *testing.T) {
	p := newPlace(t, head+ws+shows("hunter-22", "-hunter")+"secrets: [{name: S, file: link}]\n", map[string]string{"real": "hunter-22-hunter\r\n"})
	if err := errors.Join(os.Chmod(filepath.Join(p.dir, "real"), 0o600), os.Symlink("real", filepath.Join(p.dir, "link"))); err != nil {
		t.Fatal(err)
	}
	var events []engine.Event
	p.run(t, func(o *assembly.Options) {
		o.Observe = func(e engine.Event, _ store.Line) { events = append(events, e) }
	})
	if text := observed(events); !strings.Contains(text, "[redacted:known-secret]") {
		t.Errorf("the model reads %q", text)
	}
}

// A sensitive parameter that no redactor could find would stand in every trace.
func TestASensitiveParameterMustBeFindable(t *testing.T) {
	task := head + ws + final + "parameters:\n  pin: {type: string, sensitive: true, default: ''}\n"
	p := newPlace(t, task, nil)
	p.must(t, nil) // there is nothing to keep
	for value, want := range map[string]string{"1": "too short", "true": "too short", "password": "ordinary text"} {
		_, err := p.open(t, func(o *assembly.Options) { o.Params = map[string]string{"pin": value} })
		if err == nil || !strings.Contains(err.Error(), "task.yaml:8:") || !strings.Contains(err.Error(), "parameters.pin: it is sensitive") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "default: ''") {
			t.Errorf("%q: %v", value, err)
		}
	}
	p.must(t, func(o *assembly.Options) { o.Params = map[string]string{"pin": "hunter-22"} })
}

// A script can have the names of secrets, and nothing else.
func TestSecretListNamesWhatTheTaskDeclares(t *testing.T) {
	p := newPlace(t, head+ws+"tools: {builtin: [secret_list]}\nsecrets: [TOKEN, {name: OTHER, env: X}]\n"+code("print(secret_list())"), nil)
	var events []engine.Event
	o := p.run(t, func(o *assembly.Options) {
		env("TOKEN", "X")(o)
		o.Observe = func(e engine.Event, _ store.Line) { events = append(events, e) }
	})
	if text := observed(events); o.Status != engine.Completed || !strings.Contains(text, `["OTHER", "TOKEN"]`) || strings.Contains(text, "value-of") {
		t.Errorf("%s %s: %q", o.Status, o.Reason, text)
	}
}
