package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/codeact-dev/codeact/engine"
	"github.com/codeact-dev/codeact/engine/assembly"
	"github.com/codeact-dev/codeact/engine/store"
)

// runFlags are what run adds to a task file. They can only narrow what it grants.
type runFlags struct {
	params, policies, limits                               []string
	model, workspace, mode, onAsk, trust, principal, color string
	output, refusals                                       string
	json, jsonl, noInput                                   bool
}

func newRun(s *sys) *cobra.Command {
	f := new(runFlags)
	c := &cobra.Command{
		Use:   "run TASK.yaml|-",
		Short: "Run a task",
		Long: "Run a task file; - reads it from standard input.\n\n" +
			"Exit codes: 0 finished, nothing refused; 1 failed; 2 usage or a fault in a file; 3 finished, something was refused;\n" +
			"4 a key or secret is missing; 5 a limit ended the run; 6 a security precondition is not met, nothing ran;\n" +
			"8 paused, somebody must answer; 130 and 143 stopped by a signal.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.Context(), s, args[0]) },
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
	fs.StringVar(&f.principal, "principal", "", "who runs it; the user of the system unless given")
	fs.StringVar(&f.refusals, "refusals", "", "`ok` ends with 0 instead of 3 when calls were refused")
	fs.StringVarP(&f.output, "output", "o", "", "write the output to `FILE` instead of standard output")
	fs.BoolVar(&f.json, "json", false, "print one JSON document at the end")
	fs.BoolVar(&f.jsonl, "jsonl", false, "print the events, one JSON line each")
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
	return errors.Join(faults...)
}

func (f *runFlags) run(ctx context.Context, s *sys, path string) error {
	if err := f.check(); err != nil {
		return usage(err)
	}
	p := newProgress(s, f.color)
	r, err := f.open(s, path, p)
	if err != nil {
		return err
	}
	defer r.Close()
	p.start(r)
	o, err := r.Do(ctx)
	if err != nil {
		if o.Trace != "" {
			fmt.Fprintln(s.stderr, "trace: "+o.Trace)
		}
		return err
	}
	p.end(o, r)
	if err := f.print(s, o); err != nil {
		return err
	}
	if o.ExitCode == exitRefusals && f.refusals == "ok" {
		return nil
	}
	if o.ExitCode != exitOK {
		return exitCode(o.ExitCode)
	}
	return nil
}

// open assembles the run. What is wrong with a file is a usage error.
func (f *runFlags) open(s *sys, path string, p *progress) (*assembly.Run, error) {
	home, err := s.home()
	if err != nil {
		return nil, err
	}
	params, err := pairs(f.params)
	if err != nil {
		return nil, usage(err)
	}
	cwd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	opt := assembly.Options{Home: home, UserHome: s.userHome, Cwd: cwd, Stdin: s.stdin, Env: s.env, Params: params, Model: f.model, Workspace: f.workspace,
		Mode: f.mode, OnAsk: f.onAsk, Policies: f.policies, Limits: f.limits, Trust: f.trust, Principal: s.principal(f.principal),
		Worker: s.worker, Version: version(), OnText: p.text,
		Observe: func(e engine.Event, l store.Line) {
			if f.jsonl {
				fmt.Fprintf(s.stdout, "%s\n", l.Body)
			}
			p.event(e)
		}}
	if s.inTTY && s.errTTY && !f.noInput && path != "-" {
		opt.Approver = &prompter{sys: s, progress: p}
	}
	r, err := assembly.Open(path, opt)
	if err != nil && !errors.Is(err, assembly.ErrCredential) && !errors.Is(err, assembly.ErrPrecondition) {
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

// print writes the result. Standard output carries nothing else.
func (f *runFlags) print(s *sys, o engine.Outcome) error {
	out, err := f.sink(s)
	if err != nil {
		return err
	}
	switch {
	case f.json:
		if o.ExitCode == exitRefusals && f.refusals == "ok" {
			o.ExitCode = exitOK
		}
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		err = enc.Encode(o)
	case f.jsonl && f.output == "", string(o.Output) == "null":
	default:
		_, err = fmt.Fprintln(out, readable(o.Output))
	}
	if file, ok := out.(*os.File); ok && f.output != "" {
		err = errors.Join(err, file.Close())
	}
	return err
}

func (f *runFlags) sink(s *sys) (interface{ Write([]byte) (int, error) }, error) {
	if f.output == "" {
		return s.stdout, nil
	}
	return os.Create(f.output)
}

// readable is the final value as a person reads it: a text as it is, anything else
// as indented JSON. It was made visible before it got here.
func readable(output json.RawMessage) string {
	var text string
	if json.Unmarshal(output, &text) == nil {
		return text
	}
	var v any
	if json.Unmarshal(output, &v) != nil {
		return string(output)
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return string(output)
	}
	return string(b)
}
