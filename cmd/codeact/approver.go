package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/policy"
)

// maxDialog is the most text that a question may have, in bytes, before it can no
// longer be approved: what nobody can read through must not be agreed to.
const maxDialog = 64 << 10

// A prompter asks on the terminal. Only a typed "yes" or "lease" agrees: an empty
// line, the end of input and any other word are no.
type prompter struct {
	sys      *sys
	progress *progress
	in       *bufio.Reader

	flush func()                     // drops what was typed before the question stood there; nil uses the terminal
	size  func() (width, height int) // of the terminal; nil asks it
	here  func() bool                // whether the terminal is still there; nil asks it
}

// Approve shows the question and reads the answer.
func (p *prompter) Approve(ctx context.Context, q bridge.Question) (bridge.Answer, error) {
	if p.in == nil {
		p.in = bufio.NewReader(p.sys.stdin)
	}
	p.progress.settle()
	if shown, a, err := p.present(ctx, q); err != nil || !shown {
		return a, err
	}
	return p.word(ctx, q, "")
}

// present shows a question in full, or answers it with no where that cannot be.
func (p *prompter) present(ctx context.Context, q bridge.Question) (shown bool, no bridge.Answer, err error) {
	no.By = p.sys.principal("")
	text := dialog(q)
	if len(text) > maxDialog {
		fmt.Fprintf(p.sys.stderr, "A call of %s asks, and its arguments are too long to show (%d bytes): denied.\n", scan.Line(q.Tool, 64), len(text))
		no.Reason = "the question was too long to be shown in full"
		return false, no, nil
	}
	if shown, err = p.page(ctx, text); !shown {
		no.Reason = "the person stopped reading"
	}
	return shown, no, err
}

// word reads the answer to a question that was shown.
func (p *prompter) word(ctx context.Context, q bridge.Question, which string) (bridge.Answer, error) {
	choices := "Type yes to allow this call, anything else to deny it: "
	if q.Lease != "" {
		choices = "Type yes to allow this call, lease to allow all that the lease says, anything else to deny it: "
	}
	p.drop()
	fmt.Fprint(p.sys.stderr, which+choices)
	word, _, err := p.read(ctx)
	if err != nil {
		return bridge.Answer{}, err
	}
	a := bridge.Answer{By: p.sys.principal("")}
	switch {
	case word == "yes":
		a.Yes = true
	case word == "lease" && q.Lease != "":
		a.Yes, a.Scope = true, bridge.ForLease
	default:
		fmt.Fprintln(p.sys.stderr, "Denied.")
	}
	return a, nil
}

// ApproveAll asks about the calls of a batch: all are shown before any is answered,
// then each is answered, so that a yes to one is given in sight of the others.
func (p *prompter) ApproveAll(ctx context.Context, qs []bridge.Question) ([]bridge.Answer, error) {
	if p.in == nil {
		p.in = bufio.NewReader(p.sys.stdin)
	}
	p.progress.settle()
	as := make([]bridge.Answer, len(qs))
	shown := make([]bool, len(qs))
	fmt.Fprintf(p.sys.stderr, "\n%d calls of one batch ask; they would run at the same time.\n", len(qs))
	for i, q := range qs {
		var err error
		if shown[i], as[i], err = p.present(ctx, q); err != nil {
			return nil, err
		}
	}
	for i, q := range qs {
		if !shown[i] {
			continue
		}
		var err error
		if as[i], err = p.word(ctx, q, fmt.Sprintf("%d of %d, %s (call %s): ", i+1, len(qs), scan.Line(q.Tool, 64), scan.Line(q.Call, 200))); err != nil {
			return nil, err
		}
	}
	return as, nil
}

// read reads one line; ended says that the input ended instead, which is an empty
// word, and so no. The goroutine ends with the line, or with the process.
func (p *prompter) read(ctx context.Context) (word string, ended bool, err error) {
	type line struct {
		text  string
		ended bool
	}
	lines := make(chan line, 1)
	go func() {
		text, err := p.in.ReadString('\n')
		if err != nil {
			text = "" // a line that was not ended was not meant
		}
		lines <- line{strings.ToLower(strings.TrimSpace(text)), err != nil}
	}()
	select {
	case l := <-lines:
		if l.ended && p.gone() {
			return "", true, p.left(ctx)
		}
		return l.text, l.ended, nil
	case <-ctx.Done():
		return "", false, ctx.Err()
	}
}

// gone reports whether the terminal that was there is no longer.
func (p *prompter) gone() bool {
	if p.here != nil {
		return !p.here()
	}
	return !term.IsTerminal(int(os.Stdin.Fd()))
}

// hangUp is how long the signal of a hang-up may be on its way.
const hangUp = time.Second

// left is how a question ends when the person's terminal went away: nobody said
// no, so it stays open, and the signal of the hang-up ends the run.
func (p *prompter) left(ctx context.Context) error {
	timer := time.NewTimer(hangUp)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return fmt.Errorf("the terminal is gone: %w", bridge.ErrPaused)
	}
}

// page shows the text, a screen at a time, and reports whether all of it was
// shown and read.
func (p *prompter) page(ctx context.Context, text string) (bool, error) {
	width, height := p.screen()
	lines := folded(text, width)
	for start := 0; start < len(lines); start += height {
		for _, l := range lines[start:min(start+height, len(lines))] {
			fmt.Fprintln(p.sys.stderr, l)
		}
		if left := len(lines) - start - height; left > 0 {
			p.drop()
			fmt.Fprintf(p.sys.stderr, "-- %d more lines: Enter goes on, q denies -- ", left)
			word, ended, err := p.read(ctx)
			if err != nil || ended || word != "" {
				return false, err
			}
		}
	}
	return true, nil
}

// screen is how much of the terminal a page may fill, in columns and lines. Four
// lines stay free for what is asked below, which may be folded.
func (p *prompter) screen() (width, height int) {
	width, height, err := term.GetSize(int(os.Stderr.Fd()))
	if p.size != nil {
		width, height = p.size()
		err = nil
	}
	if err != nil || width < 20 || height < 8 {
		width, height = 80, 24
	}
	return width, height - 4
}

// drop forgets keys that were pressed before the question was there.
func (p *prompter) drop() {
	if p.flush != nil {
		p.flush()
		return
	}
	p.in.Discard(p.in.Buffered())
	flushTerminal(os.Stdin)
}

// dialog is the whole question, every part of it escaped.
func dialog(q bridge.Question) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	name := q.Tool
	if q.Server != "" {
		name += " of server " + q.Server + " (not pinned)"
		if q.Pinned {
			name = q.Tool + " of server " + q.Server + " (pinned)"
		}
	}
	say("\n── %s asks to run (call %s) ──", scan.Line(name, 200), scan.Line(q.Call, 200))
	if q.Unknown {
		say("! An earlier try of this call began, and how it ended is not known: it may have happened already.")
	}
	for _, d := range q.Gates {
		rule := d.Gate
		if d.Rule != "" {
			rule += "/" + d.Rule
		}
		say("why:  %s  (%s)", scan.Line(d.Reason, 2000), scan.Line(rule, 200))
	}
	for _, a := range q.Args {
		say("  %s%s = %s", scan.Line(a.Name, 100), marks(a), untabbed(a.Value))
		for _, s := range a.Seen {
			say("      seen in %s", scan.Line(s, 400))
		}
	}
	for _, u := range q.Unnamed {
		text := fmt.Sprintf("nobody named %s = %s", scan.Line(u.Param, 100), scan.Line(u.Value, 400))
		if u.Near != "" {
			text += "; nearest to it you wrote " + scan.Line(u.Near, 200)
		}
		say("%s", text)
	}
	for _, f := range q.Paths {
		say("path: %s → %s", scan.Line(f.Param, 100), scan.Line(f.Abs, 4096))
	}
	for _, u := range q.URLs {
		say("host: %s → %s", scan.Line(u.Param, 100), scan.Line(u.Host+":"+u.Port, 300))
	}
	if sh := q.Shell; sh != nil {
		risk := sh.Risk
		if !sh.Parsed {
			risk = "could not be read as a command"
		}
		say("risk: %s  %s", scan.Line(risk, 100), scan.Line(sh.Reason, 400))
	}
	for _, f := range q.Files {
		say("runs: %s  sha256:%s", scan.Line(f.Path, 4096), scan.Line(f.SHA256, 64))
	}
	can := strings.Join(q.Capabilities, ", ")
	if can == "" {
		can = "nothing beyond its answer"
	}
	say("it can: %s", scan.Line(can, 400))
	say("this conversation holds: %s", held(q.Held))
	if q.Lease != "" {
		say("lease would allow: %s", scan.Line(q.Lease, 4096))
	}
	if q.Diff != "" {
		say("change:\n%s", untabbed(q.Diff))
	}
	return b.String()
}

func marks(a bridge.Arg) string {
	var ms []string
	if a.Destination {
		ms = append(ms, "destination")
	}
	if a.Sensitive {
		ms = append(ms, "not shown")
	}
	if !a.Taint.Clean() {
		ms = append(ms, "may come from "+a.Taint.String()+" content")
	}
	if ms == nil {
		return ""
	}
	return " (" + strings.Join(ms, "; ") + ")"
}

func held(t policy.Taint) string {
	if t.Clean() {
		return "nothing private and nothing from outside"
	}
	var parts []string
	for _, l := range []policy.Label{policy.Private, policy.Untrusted, policy.Unvouched} {
		if ids := t.Sources(l); len(ids) > 0 {
			slices.Sort(ids)
			parts = append(parts, fmt.Sprintf("%s (from %s)", l, scan.Line(strings.Join(ids, ", "), 300)))
		}
	}
	return strings.Join(parts, ", ")
}
