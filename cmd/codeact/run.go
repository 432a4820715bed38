package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/engine"
	"github.com/codeact-dev/codeact/engine/assembly"
	"github.com/codeact-dev/codeact/engine/store"
)

// runFlags are what run adds to a task file. They can only narrow what it grants.
type runFlags struct {
	params, policies, limits                                        []string
	model, workspace, mode, onAsk, trust, sandbox, principal, color string
	output, refusals                                                string
	json, jsonl, noInput, verbose                                   bool
}

func newRun(s *sys) *cobra.Command {
	f := new(runFlags)
	c := &cobra.Command{
		Use:   "run TASK.yaml|-",
		Short: "Run a task",
		Long: "Run a task file; - reads it from standard input.\n\n" +
			"Exit codes: 0 finished, nothing refused; 1 failed; 2 usage or a fault in a file; 3 finished, something was refused;\n" +
			"4 a key or secret is missing; 5 a limit ended the run; 6 a security precondition is not met, nothing ran;\n" +
			"8 paused, somebody must answer; 129, 130 and 143 stopped by a signal.",
		Example: "  codeact run task.yaml\n  codeact run task.yaml -p mailbox=support --limit steps=10\n  codeact run --json --no-input task.yaml > report.json",
		Args:    one("a task file", "task.yaml"),
		RunE:    func(c *cobra.Command, args []string) error { return f.run(c.Context(), s, args[0]) },
	}
	fs := c.Flags()
	fs.StringArrayVarP(&f.params, "param", "p", nil, "value of a parameter, as `NAME=VALUE`")
	fs.StringArrayVar(&f.policies, "policy", nil, "one more policy `FILE`")
	fs.StringArrayVar(&f.limits, "limit", nil, "a lower limit, as `NAME=VALUE`: steps=10")
	fs.StringVar(&f.model, "model", "", "model instead of the task's, as `PROVIDER/NAME[@BASEURL]`")
	fs.StringVar(&f.workspace, "workspace", "", "`DIR` instead of the task's workspace")
	fs.StringVar(&f.mode, "mode", "", "interactive, unattended, or plan: tools of tier 0 only")
	fs.StringVar(&f.onAsk, "on-ask", "", "what a question does when nobody can answer: pause or deny")
	fs.StringVar(&f.trust, "trust", "", "trust the task with this `DIGEST`, for this run")
	fs.StringVar(&f.sandbox, "sandbox", "", "`best-effort` also runs where the interpreter cannot be confined as required; needs a permit")
	fs.StringVar(&f.principal, "principal", "", "who runs it; the user of the system unless given")
	fs.StringVar(&f.refusals, "refusals", "", "`ok` ends with 0 instead of 3 when calls were refused")
	fs.StringVarP(&f.output, "output", "o", "", "write the output to `FILE` instead of standard output")
	fs.BoolVar(&f.json, "json", false, "print one JSON document at the end")
	fs.BoolVar(&f.jsonl, "jsonl", false, "print the events, one JSON line each")
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "show every call, and log what the engine does")
	fs.BoolVar(&f.noInput, "no-input", false, "never ask: a question pauses the run, or is denied")
	fs.StringVar(&f.color, "color", "auto", "auto, always or never")
	return c
}

func (f *runFlags) check() error {
	var faults []error
	if f.json && f.jsonl {
		faults = append(faults, errors.New("give --json or --jsonl, not both"))
	}
	if f.refusals != "" && f.refusals != "ok" {
		faults = append(faults, fmt.Errorf("--refusals=%s: want ok", f.refusals))
	}
	if f.color != "auto" && f.color != "always" && f.color != "never" {
		faults = append(faults, fmt.Errorf("--color=%s: want auto, always or never", f.color))
	}
	if f.sandbox != "" && f.sandbox != "best-effort" {
		faults = append(faults, fmt.Errorf("--sandbox=%s: want best-effort", f.sandbox))
	}
	return errors.Join(faults...)
}

func (f *runFlags) run(ctx context.Context, s *sys, path string) error {
	if err := f.check(); err != nil {
		return usage(err)
	}
	p := newProgress(s, f.color)
	p.every = f.verbose
	r, file, err := f.open(ctx, s, path, p)
	if err != nil {
		return f.refused(ctx, s, err)
	}
	defer r.Close()
	p.start(r)
	o, err := r.Do(ctx)
	if o.Status == "" { // it did not start, or its trace could not be written to the end
		if file != nil {
			file.Close()
		}
		if o.Trace != "" {
			return fmt.Errorf("%w; what was done until then stands in %s", err, o.Trace)
		}
		return f.refused(ctx, s, err)
	}
	if o.Status == engine.Cancelled {
		o.ExitCode = signalled(ctx)
	}
	if o.ExitCode == exitRefusals && f.refusals == "ok" {
		o.ExitCode = exitOK
	}
	p.end(o)
	if err := errors.Join(err, f.print(s, o, file)); err != nil {
		return err
	}
	if o.ExitCode != exitOK {
		return exitCode(o.ExitCode)
	}
	return nil
}

// refused reports a run that did not start. Whoever asked for a document gets one.
func (f *runFlags) refused(ctx context.Context, s *sys, err error) error {
	if err == nil {
		err = errors.New("the run ended without a status")
	}
	if !f.json {
		return err
	}
	return errors.Join(err, writeJSON(s, engine.Outcome{Status: engine.RefusedToStart, ExitCode: codeOf(ctx, err), Reason: s.show(message(err)),
		Output: json.RawMessage("null"), Denied: []engine.Denial{}, Approvals: []engine.ApprovalReport{}, Calls: []engine.CallReport{},
		Lessons: []engine.LessonReport{}}))
}

// open assembles the run, and opens the file for its output before anything is
// done: a run whose result cannot be kept should not begin.
func (f *runFlags) open(ctx context.Context, s *sys, path string, p *progress) (*assembly.Run, *os.File, error) {
	opt, err := f.options(s)
	if err != nil {
		return nil, nil, err
	}
	opt.OnText = p.text
	if f.verbose {
		opt.Log = console(s.stderr, p.color)
	}
	opt.Observe = func(e engine.Event, l store.Line) {
		if f.jsonl {
			fmt.Fprintln(s.stdout, s.machine(l.Body))
		}
		p.event(e)
	}
	if s.inTTY && s.errTTY && !f.noInput && path != "-" {
		opt.Approver = &prompter{sys: s, progress: p}
	}
	r, err := opened(ctx, path, opt)
	if err != nil || f.output == "" {
		return r, nil, err
	}
	file, err := os.OpenFile(f.output, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		r.Close()
		return nil, nil, usage(fmt.Errorf("--output: %w", err))
	}
	return r, file, nil
}

// console is a log for people, in which nothing that a server wrote steers the
// terminal: zerolog quotes some of a value, and nothing of a message or a key.
func console(w io.Writer, color bool) zerolog.Logger {
	escape := func(e map[string]any) error {
		for k, v := range maps.Clone(e) {
			switch text := v.(type) {
			case string:
				v = scan.Line(text, 1000)
			case json.Number, bool, nil:
			default:
				raw, err := json.Marshal(v)
				if err != nil {
					return err
				}
				v = scan.Line(string(raw), 1000)
			}
			delete(e, k)
			e[scan.Line(k, 60)] = v
		}
		return nil
	}
	return zerolog.New(zerolog.ConsoleWriter{Out: w, NoColor: !color, FormatPrepare: escape}).With().Timestamp().Logger()
}

// options is what the flags and the surroundings add to a task.
func (f *runFlags) options(s *sys) (assembly.Options, error) {
	home, err := s.home()
	if err != nil {
		return assembly.Options{}, err
	}
	params, err := pairs(f.params)
	if err != nil {
		return assembly.Options{}, usage(err)
	}
	cwd, err := os.Getwd()
	return assembly.Options{Home: home, UserHome: s.userHome, Cwd: cwd, Stdin: s.stdin, Env: s.env, Params: params, Model: f.model, Workspace: f.workspace,
		Mode: f.mode, OnAsk: f.onAsk, Policies: f.policies, Limits: f.limits, Trust: f.trust, BestEffort: f.sandbox != "", Principal: s.principal(f.principal),
		Worker: s.worker, Version: version()}, err
}

// opened assembles a run. Unless the error says otherwise, a file or a flag is
// wrong.
func opened(ctx context.Context, path string, opt assembly.Options) (*assembly.Run, error) {
	r, err := assembly.Open(ctx, path, opt)
	switch {
	case errors.Is(err, assembly.ErrState):
		return nil, fmt.Errorf("%w; set CODEACT_HOME to a directory that you may write to", err)
	case err != nil && !errors.Is(err, assembly.ErrCredential) && !errors.Is(err, assembly.ErrPrecondition):
		return nil, usage(err)
	}
	return r, err
}

func pairs(list []string) (map[string]string, error) {
	m := make(map[string]string, len(list))
	for _, kv := range list {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" {
			return nil, fmt.Errorf("--param %q: want NAME=VALUE", kv)
		}
		if _, twice := m[k]; twice {
			return nil, fmt.Errorf("--param %s is given twice", k)
		}
		m[k] = v
	}
	return m, nil
}

// print writes the result: the value to file when there is one, else to standard
// output, which carries nothing else. A document or events stay on standard output.
func (f *runFlags) print(s *sys, o engine.Outcome, file *os.File) error {
	var faults []error
	if file != nil {
		_ = file.Truncate(0) // a pipe or a device has no length
		if string(o.Output) != "null" {
			_, err := fmt.Fprintln(file, readable(o.Output))
			faults = append(faults, err)
		}
		faults = append(faults, file.Close())
	}
	switch {
	case f.json:
		faults = append(faults, writeJSON(s, o))
	case f.jsonl, file != nil, string(o.Output) == "null":
	default:
		_, err := fmt.Fprintln(s.stdout, readable(o.Output))
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// readable is the final value as a person reads it: a text as it is, anything else
// as indented JSON. It was made visible before it got here.
func readable(output json.RawMessage) string {
	var text string
	if json.Unmarshal(output, &text) == nil {
		return text
	}
	var b bytes.Buffer
	if json.Indent(&b, output, "", "  ") != nil {
		return string(output)
	}
	return b.String()
}
