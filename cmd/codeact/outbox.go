package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/bridge/scan/redact"
	"github.com/codeact-dev/codeact/engine"
	"github.com/codeact-dev/codeact/engine/assembly"
	"github.com/codeact-dev/codeact/engine/outbox"
	"github.com/codeact-dev/codeact/engine/taskfile"
)

func newOutbox(s *sys) *cobra.Command {
	c := &cobra.Command{Use: "outbox", Short: "List, show, edit, send and drop the drafts of staged tools", Args: subcommand,
		RunE: func(*cobra.Command, []string) error { return listDrafts(s, false) }}
	var asJSON bool
	list := &cobra.Command{Use: "list", Short: "List the drafts, the newest last", Args: none,
		RunE: func(*cobra.Command, []string) error { return listDrafts(s, asJSON) }}
	show := &cobra.Command{Use: "show ID", Short: "Show what a draft would send, and where it comes from", Args: one("a draft", "ID"),
		RunE: func(_ *cobra.Command, args []string) error { return showDraft(s, args[0], asJSON) }}
	for _, c := range []*cobra.Command{list, show} {
		c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	}
	edit := &cobra.Command{Use: "edit ID FILE|-", Short: "Replace the arguments of a draft by the JSON object in a file", Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error { return editDraft(s, args[0], args[1]) }}

	var f sendFlags
	send := &cobra.Command{Use: "send ID", Short: "Send a draft: every gate judges it again, and you are asked", Args: one("a draft", "ID"),
		RunE: func(c *cobra.Command, args []string) error { return f.send(c.Context(), s, args[0]) }}
	send.Flags().StringVar(&f.digest, "digest", "", "the `DIGEST` that outbox show printed: the yes, where no terminal can ask")
	send.Flags().StringArrayVarP(&f.params, "param", "p", nil, "value of a sensitive parameter, as `NAME=VALUE`: drafts do not keep them")
	send.Flags().StringVar(&f.trust, "trust", "", "trust the task for this once, by its `DIGEST`")
	send.Flags().BoolVar(&f.again, "again", false, "also where an earlier try was lost and may have sent it")
	send.Flags().BoolVar(&f.json, "json", false, "print one JSON document at the end")

	var reason string
	var lost bool
	drop := &cobra.Command{Use: "drop ID", Short: "Settle a draft without sending it", Args: one("a draft", "ID"),
		RunE: func(_ *cobra.Command, args []string) error { return dropDraft(s, args[0], reason, lost) }}
	drop.Flags().BoolVar(&lost, "lost", false, "also where its sender was lost and may have sent it")
	drop.Flags().StringVar(&reason, "reason", "", "why, for the record")
	c.AddCommand(list, show, edit, send, drop)
	return c
}

// person refuses what only a person may do inside of a run: an agent must not agree
// to its own work.
func person(s *sys) error {
	if run, ok := s.env("CODEACT_RUN_ID"); ok && run != "" {
		return fmt.Errorf("%w: this is a process of run %s, and what a run asks for only a person may grant", assembly.ErrPrecondition, scan.Line(run, 100))
	}
	return nil
}

func drafts(s *sys) (*outbox.Box, error) {
	home, err := s.home()
	if err != nil {
		return nil, err
	}
	return assembly.Outbox(home), nil
}

func listDrafts(s *sys, asJSON bool) error {
	box, err := drafts(s)
	if err != nil {
		return err
	}
	entries, err := box.List()
	if asJSON {
		rows := []map[string]any{}
		for _, e := range entries {
			rows = append(rows, map[string]any{"id": e.ID, "state": e.State, "tool": e.Tool, "run": e.Run, "call": e.Call, "task": e.Origin.Task,
				"at": e.At, "edited": e.Edited != nil})
		}
		return errors.Join(err, writeJSON(s, rows))
	}
	if len(entries) == 0 && err == nil {
		fmt.Fprintln(s.stderr, "no drafts")
		return nil
	}
	w := tabwriter.NewWriter(s.stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "DRAFT\tSTATE\tTOOL\tSTAGED\tTO")
	for _, e := range entries {
		var to []string
		for _, a := range e.Question.Args {
			if a.Destination {
				to = append(to, a.Value)
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", scan.Line(e.ID, 128), e.State, scan.Line(e.Tool, 64), e.At.Local().Format(time.DateTime), scan.Line(strings.Join(to, ", "), 80))
	}
	return errors.Join(err, w.Flush())
}

func showDraft(s *sys, id string, asJSON bool) error {
	box, err := drafts(s)
	if err != nil {
		return err
	}
	e, err := box.Load(id)
	if err != nil {
		return err
	}
	digest, err := e.Digest()
	if err != nil {
		return err
	}
	args, err := edited(e)
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(s, map[string]any{"id": e.ID, "state": e.State, "digest": digest, "origin": e.Origin, "question": e.Question, "edited": args, "end": e.End})
	}
	warnChanged(s, e, nil)
	fmt.Fprint(s.stdout, strings.Replace(dialog(e.Question), "asks to run", "was staged", 1))
	for _, a := range args {
		fmt.Fprintf(s.stdout, "edited: %s%s = %s\n", scan.Line(a.Name, 100), marks(a), untabbed(a.Value))
	}
	fmt.Fprintf(s.stdout, "task: %s\nstate: %s\ndigest: %s\n", scan.Line(e.Origin.Task, 4096), e.State, digest)
	switch {
	case e.State == outbox.Sending:
		fmt.Fprintln(s.stdout, "! sending it was begun and did not end: it may have been sent")
	case e.End.Digest != "" && e.End.Digest != digest:
		fmt.Fprintf(s.stdout, "! what was sent had the digest %s: its files were changed since\n", scan.Line(e.End.Digest, 100))
	}
	return nil
}

// warnChanged says when the task of a draft is not what it was when the draft was
// made. That stops nothing: every gate judges the draft again.
func warnChanged(s *sys, e outbox.Entry, params map[string]string) {
	if e.Origin.Digest == "" || e.State != outbox.Staged && e.State != outbox.Sending {
		return
	}
	all := maps.Clone(e.Origin.Params)
	if all == nil {
		all = make(map[string]string, len(params))
	}
	maps.Copy(all, params)
	t, err := taskfile.Load(e.Origin.Task, taskfile.Options{Env: s.env, Home: s.userHome, Params: all})
	switch {
	case err != nil:
		fmt.Fprintf(s.stderr, "! whether the task has changed since the draft was made is not known: %s\n", scan.Line(err.Error(), 2000))
	case t.Digest() != e.Origin.Digest:
		fmt.Fprintln(s.stderr, "! the task has changed since the draft was made")
	}
}

// edited is the arguments of a draft that a person changed, as they are shown. What
// is sensitive by its name stays hidden.
func edited(e outbox.Entry) ([]bridge.Arg, error) {
	hidden := make(map[string]bool)
	for _, a := range e.Question.Args {
		hidden[a.Name] = a.Sensitive
	}
	r, err := redact.New(redact.Config{})
	if err != nil {
		return nil, err
	}
	var args []bridge.Arg
	for _, name := range slices.Sorted(maps.Keys(e.Edited)) {
		a := bridge.Arg{Name: name, Sensitive: hidden[name]}
		v, _ := r.Value(e.Edited[name])
		text, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		if a.Value = scan.Visible(string(text)); a.Sensitive {
			a.Value = fmt.Sprintf("(%d bytes)", len(text))
		}
		args = append(args, a)
	}
	return args, nil
}

// maxEdit bounds the file of an edit, in bytes. An argument larger than this is a file, and
// belongs in one.
const maxEdit = 1 << 20

func editDraft(s *sys, id, path string) error {
	if err := person(s); err != nil {
		return err
	}
	box, err := drafts(s)
	if err != nil {
		return err
	}
	in := s.stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return usage(err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxEdit+1))
	switch {
	case err != nil:
		return usage(err)
	case len(data) > maxEdit:
		return usage(fmt.Errorf("%s: longer than %d bytes, which is the most that an edit may have", path, maxEdit))
	}
	v, err := parseJSON(string(data))
	args, ok := v.(map[string]any)
	if err != nil || !ok {
		return usage(fmt.Errorf("%s: want one JSON object with the arguments: %w", path, errors.Join(err, errNoObject)))
	}
	if err := box.Edit(id, args); err != nil {
		return err
	}
	fmt.Fprintf(s.stdout, "edited %s\n", id)
	return nil
}

var errNoObject = errors.New("it is none")

func dropDraft(s *sys, id, reason string, lost bool) error {
	if err := person(s); err != nil {
		return err
	}
	box, err := drafts(s)
	if err != nil {
		return err
	}
	if err := box.Drop(id, outbox.End{By: s.principal(""), At: time.Now(), Reason: reason, Lost: lost}); err != nil {
		return err
	}
	fmt.Fprintf(s.stdout, "dropped %s changed: true\n", id)
	return nil
}

type sendFlags struct {
	digest, trust string
	params        []string
	again, json   bool
}

// send takes the draft in hand, so that nobody else sends or changes it before the
// end is written.
func (f *sendFlags) send(ctx context.Context, s *sys, id string) (err error) {
	if err := person(s); err != nil {
		return err
	}
	box, err := drafts(s)
	if err != nil {
		return err
	}
	h, err := box.Hold(id)
	if err != nil {
		return err
	}
	defer func() {
		if fault := h.Close(); fault != nil {
			err = errors.Join(err, fault)
		}
	}()
	params, err := pairs(f.params)
	if err != nil {
		return usage(err)
	}
	warnChanged(s, h.Entry, params)
	approver, err := f.approver(s, h.Entry)
	if err != nil {
		return err
	}
	return f.deliver(ctx, s, h, approver)
}

// deliver marks the draft, then lets the engine carry its one call through the door.
// Only a call that never began gives the mark back.
func (f *sendFlags) deliver(ctx context.Context, s *sys, h *outbox.Held, by bridge.Approver) error {
	if err := h.Begin(f.again); err != nil {
		if errors.Is(err, outbox.ErrUnknown) {
			err = fmt.Errorf("%w; look at the other side, then give --again, or drop it with --lost", err)
		}
		return err
	}
	o, err := f.carry(ctx, s, h.Entry, by)
	began := len(o.Calls) > 0 && o.Calls[0].Executed
	switch {
	case !began:
		err = errors.Join(err, h.Release())
	case o.Status == engine.Completed:
		err = errors.Join(err, h.Sent(outbox.End{By: s.principal(""), At: time.Now(), Run: o.RunID}))
	default:
		err = errors.Join(err, fmt.Errorf("sending %s was begun and failed, so it may have been sent: %s", h.ID, scan.Line(o.Reason, 2000)))
	}
	return f.report(s, h.ID, o, err)
}

func (f *sendFlags) report(s *sys, id string, o engine.Outcome, err error) error {
	if f.json && o.RunID != "" {
		err = errors.Join(err, writeJSON(s, o))
	}
	switch {
	case err != nil:
		return err
	case o.ExitCode != exitOK:
		fmt.Fprintf(s.stderr, "not sent: %s\n", scan.Line(o.Reason, 2000))
		return exitCode(o.ExitCode)
	case !f.json:
		fmt.Fprintf(s.stdout, "sent %s by run %s\n", id, o.RunID)
	}
	return nil
}

func (f *sendFlags) carry(ctx context.Context, s *sys, e outbox.Entry, by bridge.Approver) (engine.Outcome, error) {
	opt, err := (&runFlags{params: f.params, trust: f.trust}).options(s)
	if err != nil {
		return engine.Outcome{}, err
	}
	opt.Approver = by
	r, err := assembly.OpenDraft(ctx, e, opt)
	if err != nil {
		return engine.Outcome{}, err
	}
	defer r.Close()
	return r.Send(ctx, e.Final())
}

// approver is who says yes: the person at the terminal, or the digest that one
// typed after looking.
func (f *sendFlags) approver(s *sys, e outbox.Entry) (bridge.Approver, error) {
	digest, err := e.Digest()
	switch {
	case err != nil:
		return nil, err
	case f.digest == digest:
		return vouched{s.principal(""), e}, nil
	case f.digest != "":
		return nil, fmt.Errorf("%w: the draft's digest is %s, not the one given: look at what changed", assembly.ErrPrecondition, digest)
	case !s.inTTY || !s.errTTY:
		return nil, fmt.Errorf("%w: without a terminal give the digest that you looked at: --digest %s", assembly.ErrPrecondition, digest)
	}
	p := newProgress(s, "auto")
	return &prompter{sys: s, progress: p}, nil
}

// vouched says yes to the call of one draft, which its digest named.
type vouched struct {
	by string
	e  outbox.Entry
}

func (v vouched) Approve(_ context.Context, q bridge.Question) (bridge.Answer, error) {
	return bridge.Answer{Yes: q.Tool == v.e.Tool, By: v.by}, nil
}
