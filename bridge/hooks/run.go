package hooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

const (
	maxStdout = 1 << 20 // bytes; more blocks
	maxStderr = 64 << 10

	// waitDelay is how long a pipe may stay open after the hook ended or was killed. Without it a background child that
	// inherited the pipe made a timeout of 1 s last 4 s (measured).
	waitDelay = 500 * time.Millisecond

	exitBlock    = 2
	exitStop     = 49  // Crush's exit code for "end the turn"
	exitNotFound = 127 // of /bin/sh
)

// observeOnly are the events at which nothing is left to decide.
var observeOnly = []string{ApprovalRequest, Notification, RunEnd}

// A Verdict is what all hooks of one event said together.
type Verdict struct {
	Decision      string         // none, ask, deny or stop; the strictest of all
	Reason        string         // of the hooks that did not say none, in the order of the config; as long as they wrote it: to be redacted before it is cut
	UpdatedInput  map[string]any // not nil: the call is to be judged again, from the first gate, with these arguments
	UpdatedOutput any            // not nil: what the model is to see instead
	Prompt        string         // not empty: what the model is to read instead of what the user asked
	Context       string         // what it is to read besides
	Runs          []Ran
	Warnings      []string
}

// A Ran is one hook that ran, for the trace.
type Ran struct {
	Name    string
	Exit    int // -1 without an exit code: killed, or not started
	Ms      int64
	Outcome string // none, ask, deny, stop, failed, or allow_ignored
	Reason  string
}

// Run runs every hook that matches, one after the other, and combines what they say: the strictest wins. All get the same input. At
// ApprovalRequest, Notification and RunEnd hooks only observe.
//
// The zero Verdict is never returned: its empty Decision is no decision, and must deny.
func (s *Set) Run(ctx context.Context, event, tool string, in Input) Verdict {
	if in.TranscriptPath == "" && s.transcript != nil {
		in.TranscriptPath = s.transcript(in.runID())
	}
	var all heard
	for _, h := range s.hooks {
		if h.matches(event, tool) {
			ran, a := s.one(ctx, h, event, tool, in)
			all.add(h, event, ran, a)
		}
	}
	return all.verdict()
}

// heard collects what the hooks of one event say.
type heard struct {
	v                          Verdict
	reasons, prompts, contexts []string
	inputs                     []map[string]any
	outputs                    []any
}

func (all *heard) add(h compiled, event string, ran Ran, a answer) {
	v := &all.v
	observes := slices.Contains(observeOnly, event)
	switch {
	case ran.Outcome == "allow_ignored":
		v.Warnings = append(v.Warnings, "hook_allow_ignored: "+h.title()+": a hook cannot allow a call")
	case ran.Outcome == "failed" && observes:
		v.Warnings = append(v.Warnings, fmt.Sprintf("%s: %s (%s goes on without it)", h.title(), ran.Reason, event))
	case ran.Outcome == "failed" && a.decision == None:
		v.Warnings = append(v.Warnings, h.title()+": "+ran.Reason+" (onFailure: warn)")
	case observes && a.decision != None:
		v.Warnings = append(v.Warnings, fmt.Sprintf("hook_observes_only: %s: %s at %s counts for nothing: %s", h.title(), a.decision, event, a.reason))
	}
	v.Runs = append(v.Runs, ran)
	if observes {
		return
	}
	v.Decision = stricter(v.Decision, a.decision)
	if a.decision != None {
		all.reasons = append(all.reasons, h.title()+": "+a.reason)
	}
	if a.input != nil {
		all.inputs = append(all.inputs, a.input)
	}
	if a.output != nil {
		all.outputs = append(all.outputs, a.output)
	}
	if a.prompt != "" {
		all.prompts = append(all.prompts, a.prompt)
	}
	if a.context != "" {
		all.contexts = append(all.contexts, a.context)
	}
}

func (all *heard) verdict() Verdict {
	v := all.v
	v.Decision = stricter(None, v.Decision)
	if !same(all.inputs) || !same(all.outputs) || !same(all.prompts) {
		v.Decision = stricter(v.Decision, Deny)
		all.reasons = append(all.reasons, "hook_failed:conflict: two hooks changed the same thing in different ways")
	}
	v.Reason = strings.Join(all.reasons, "; ")
	if v.Decision != Deny && v.Decision != Stop {
		v.UpdatedInput, v.UpdatedOutput, v.Prompt = first(all.inputs), first(all.outputs), first(all.prompts)
		v.Context = strings.Join(all.contexts, "\n")
	}
	return v
}

// same reports that all are equal.
func same[T any](list []T) bool {
	for i := 1; i < len(list); i++ {
		if !reflect.DeepEqual(list[0], list[i]) {
			return false
		}
	}
	return true
}

func first[T any](list []T) (v T) {
	if len(list) > 0 {
		v = list[0]
	}
	return v
}

// one runs a hook and reads its answer. A failure is an answer too: deny, unless the hook says warn.
func (s *Set) one(ctx context.Context, h compiled, event, tool string, in Input) (Ran, answer) {
	start := time.Now()
	res := s.start(ctx, h, event, tool, in)
	a, err := res.answer(event)
	ran := Ran{Name: h.title(), Exit: res.exit, Ms: time.Since(start).Milliseconds(), Outcome: a.decision, Reason: a.reason}
	switch {
	case err != nil:
		ran.Outcome, ran.Reason = "failed", "hook_failed:"+err.Error()
		a = answer{decision: Deny}
		if h.OnFailure == "warn" {
			a.decision = None
		}
	case a.allowed && a.decision == None:
		ran.Outcome = "allow_ignored"
	case a.decision != None && ran.Reason == "":
		ran.Reason = "the hook gave no reason"
	}
	a.reason = ran.Reason
	return ran, a
}

// A result is how a hook's process ended.
type result struct {
	exit           int
	stdout, stderr []byte
	err            error // why there is no answer to read
}

func (r result) answer(event string) (answer, error) {
	said := strings.TrimSpace(strings.ToValidUTF8(string(r.stderr), "\ufffd"))
	switch {
	case r.exit == exitBlock: // before r.err: whatever else went wrong, it said no
		a, err := parse(event, r.stdout)
		if err != nil || a.decision != Stop {
			a = answer{decision: Deny, reason: a.reason}
		}
		if said != "" {
			a.reason = said
		}
		return a, nil
	case r.exit == exitStop:
		return answer{decision: Stop, reason: said}, nil
	case r.err != nil:
		return answer{}, r.err
	}
	return parse(event, r.stdout)
}

func (s *Set) start(ctx context.Context, h compiled, event, tool string, in Input) result {
	input, err := in.marshal(event, tool, s.dir, h.ReceivesSecrets)
	if err != nil {
		return result{exit: -1, err: err}
	}
	res, err := spawn(ctx, h.Timeout, maxStdout, func(ctx context.Context) *exec.Cmd {
		cmd := s.command(ctx, h)
		cmd.Dir, cmd.Env, cmd.Stdin = s.dir, s.env(in, event, tool), bytes.NewReader(input)
		return cmd
	})
	switch {
	case res.err == nil:
		res.err = why(err, res, h)
	case errors.Is(res.err, errTimeout):
		res.err = fmt.Errorf("%w; nobody refused", res.err) // the model would else say that the user did
	}
	return res
}

var errTimeout = errors.New("timeout")

// spawn runs one command to its end, in a session of its own. What it left behind, or has not finished by then, is killed. A
// result without an err is an end that err, which is cmd.Run's, explains.
func spawn(ctx context.Context, timeout time.Duration, most int, command func(context.Context) *exec.Cmd) (res result, err error) {
	limit, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	stdout, stderr := &capped{max: most, over: cancel}, &capped{max: maxStderr, over: func() {}}
	cmd := command(limit)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.WaitDelay = waitDelay
	cmd.Cancel = func() error { return killGroup(cmd.Process) }
	detach(cmd)
	err = cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		_ = killGroup(cmd.Process) // a child holds the pipe, so the group still exists
	}
	res = result{exit: -1, stdout: stdout.buf.Bytes(), stderr: stderr.buf.Bytes()}
	if cmd.ProcessState != nil {
		res.exit = cmd.ProcessState.ExitCode()
	}
	switch {
	case stdout.full.Load():
		res.err = fmt.Errorf("output: more than %d bytes on standard output", most)
	case ctx.Err() != nil:
		res.err = errors.New("cancelled: the run ended before it answered")
	case errors.Is(limit.Err(), context.DeadlineExceeded) && err != nil:
		res.err = fmt.Errorf("%w: no answer within %s", errTimeout, timeout)
	}
	return res, err
}

// why explains an end that is neither in time nor an answer.
func why(err error, res result, h compiled) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrWaitDelay):
		return errors.New("output: incomplete, since a process that the hook left behind holds it; redirect that process's output")
	case !errors.As(err, &exit):
		return fmt.Errorf("start: %w", err)
	case res.exit == exitNotFound && h.Args == nil:
		return fmt.Errorf("not found: %s", lastLine(res.stderr))
	case res.exit < 0:
		return fmt.Errorf("killed: %s", exit.ProcessState)
	}
	return fmt.Errorf("exit %d: %s", res.exit, lastLine(res.stderr))
}

func lastLine(b []byte) string {
	s := strings.TrimSpace(strings.ToValidUTF8(string(b), "\ufffd"))
	return s[strings.LastIndexByte(s, '\n')+1:]
}

func (s *Set) command(ctx context.Context, h compiled) *exec.Cmd {
	if h.Args != nil {
		return exec.CommandContext(ctx, h.path, h.Args...)
	}
	return exec.CommandContext(ctx, shell[0], append(shell[1:len(shell):len(shell)], h.Command)...)
}

// inherited are the variables of our own environment that a hook sees: secrets stand in others.
var inherited = []string{"PATH", "HOME", "LANG", "TMPDIR"}

func (s *Set) env(in Input, event, tool string) []string {
	return append(inherit(),
		"CODEACT_RUN_ID="+in.runID(), "CODEACT_EVENT="+event, "CODEACT_TOOL_NAME="+tool,
		"CODEACT_PROJECT_DIR="+s.dir, "CLAUDE_PROJECT_DIR="+s.dir)
}

func inherit() (env []string) {
	for _, name := range slices.Concat(inherited, systemVars) {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// capped keeps the first max bytes that are written to it, and calls over once there are more.
type capped struct {
	buf  bytes.Buffer
	max  int
	over func()
	full atomic.Bool
}

func (c *capped) Write(p []byte) (int, error) {
	room := c.max - c.buf.Len()
	c.buf.Write(p[:min(len(p), room)])
	if len(p) > room && !c.full.Swap(true) {
		c.over()
	}
	return len(p), nil
}
