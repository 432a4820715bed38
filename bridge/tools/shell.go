package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/sandbox"
	"github.com/codeact-dev/codeact/bridge/shellrisk"
	"github.com/codeact-dev/codeact/policy"
)

// shell runs one command in the box of the run. It is confined where the box was
// seen to be, and only then it does not count as something that sends.
func shell(o Options) bridge.Tool {
	t := bridge.Tool{
		Name: "shell",
		Doc: "Runs a command in the workspace and returns {exit_code, stdout, stderr, timed_out}. Give argv=[program, argument, …], which no shell reads, " +
			"or command=\"…\" for a line that sh reads. timeout is in seconds, 120 unless given.",
		Params: bridge.MustSchema(`{"type":"object","properties":{
			"argv":{"type":"array","minItems":1,"maxItems":1000,"items":{"type":"string"}},
			"command":{"type":"string","minLength":1},
			"timeout":{"type":"integer","minimum":1,"maximum":600}}}`),
		Caps:     policy.Declare(policy.PrivateData, policy.Destructive, policy.ExternalSend),
		Commands: []string{"argv", "command"},
		Record:   policy.RecordSpec{Opaque: true},
		Approval: risky,
		Run:      runShell,
	}
	if o.Box == nil {
		return t
	}
	r := o.Box.Report()
	t.Sandboxed = r.Confined
	if r.Confined && r.Network == sandbox.NoNetwork {
		t.Caps = policy.Declare(policy.PrivateData, policy.Destructive)
	}
	return t
}

// risky makes a command ask each time that could end a machine, or that cannot be
// read: a hint, since the box is what holds.
func risky(args map[string]any) bridge.Requirement {
	switch classified(args).Level {
	case shellrisk.Low, shellrisk.Medium:
		return bridge.Never
	}
	return bridge.Always
}

func classified(args map[string]any) shellrisk.Risk {
	if line, ok := args["command"].(string); ok {
		return shellrisk.Classify(line)
	}
	return shellrisk.ClassifyArgv(words(args["argv"]))
}

func words(v any) []string {
	list, _ := v.([]any)
	out := make([]string, len(list))
	for i, e := range list {
		out[i], _ = e.(string) // the schema has seen to it
	}
	return out
}

func runShell(ctx context.Context, p *bridge.Permit) (bridge.Output, error) {
	local := bridge.Output{Local: true}
	argv := words(p.Arg("argv"))
	line, isLine := p.Arg("command").(string)
	if isLine == (len(argv) > 0) {
		return local, errors.New("give either argv or command")
	}
	if isLine {
		argv = []string{"/bin/sh", "-c", line}
	}
	res, err := p.Exec().Run(ctx, sandbox.Command{Argv: argv, Timeout: time.Duration(p.Int("timeout", 0)) * time.Second})
	if err != nil {
		return local, err
	}
	local.Value = map[string]any{"exit_code": int64(res.ExitCode), "timed_out": res.TimedOut, "stdout": printed(res.Stdout), "stderr": printed(res.Stderr)}
	return local, nil
}

// printed is an output as text: what is no text is told by its size alone.
func printed(o sandbox.Output) string {
	text := strings.ToValidUTF8(string(o.Text), "\ufffd")
	if odd := strings.Count(text, "\x00") + strings.Count(text, "\ufffd"); odd > utf8.RuneCountInString(text)/8 { // lists that end each name with NUL have fewer
		return fmt.Sprintf("[%d bytes that are no text]", o.Total)
	}
	return text
}
