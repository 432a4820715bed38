package main

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/codeact-dev/codeact/bridge/mcp"
	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/engine/assembly"
)

func newPins(s *sys) *cobra.Command {
	c := &cobra.Command{Use: "pins", Short: "Compare and approve what MCP servers offer", Args: subcommand, RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	var f pinFlags
	diff := &cobra.Command{Use: "diff TASK [SERVER]...", Short: "Start the servers of a task and show what nobody approved", Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return f.diff(c.Context(), s, args[0], args[1:]) }}
	approve := &cobra.Command{Use: "approve TASK [SERVER]...", Short: "Approve what the servers of a task offer now", Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return f.approve(c.Context(), s, args[0], args[1:]) }}
	for _, sub := range []*cobra.Command{diff, approve} {
		sub.Flags().StringArrayVarP(&f.params, "param", "p", nil, "value of a parameter, as `NAME=VALUE`")
		sub.Flags().StringVar(&f.trust, "trust", "", "trust the task for this once, by its `DIGEST`")
	}
	approve.Flags().StringVar(&f.digest, "digest", "", "the `DIGEST` that pins diff printed; needed without a terminal, for one server")
	c.AddCommand(diff, approve)
	return c
}

type pinFlags struct {
	params        []string
	trust, digest string
}

// open assembles the task without starting it.
func (f *pinFlags) open(ctx context.Context, s *sys, task string) (*assembly.Run, error) {
	opt, err := (&runFlags{params: f.params, trust: f.trust}).options(s)
	if err != nil {
		return nil, err
	}
	opt.Look = true
	return opened(ctx, task, opt)
}

// diff exits with 1 where something is not as approved, as diff does.
func (f *pinFlags) diff(ctx context.Context, s *sys, task string, servers []string) error {
	r, err := f.open(ctx, s, task)
	if err != nil {
		return err
	}
	defer r.Close()
	list, err := r.Inspect(ctx, servers...)
	if err != nil {
		return err
	}
	changed := false
	for _, p := range list {
		changed = changed || len(p.Changes) > 0
		fmt.Fprintf(s.stdout, "server %s: %d tools, digest sha256:%s\n", scan.Line(p.Server, 64), len(p.Now.Tools), p.Now.Digest())
		fmt.Fprint(s.stdout, changes(p.Changes))
	}
	if changed {
		return exitCode(exitFailed)
	}
	return nil
}

func (f *pinFlags) approve(ctx context.Context, s *sys, task string, servers []string) error {
	if err := person(s); err != nil {
		return err
	}
	r, err := f.open(ctx, s, task)
	if err != nil {
		return err
	}
	defer r.Close()
	list, err := r.Inspect(ctx, servers...)
	if err != nil {
		return err
	}
	for _, p := range list {
		if len(p.Changes) == 0 {
			fmt.Fprintf(s.stdout, "approved %s changed: false\n", scan.Line(p.Server, 64))
			continue
		}
		if err := f.agreed(ctx, s, p, len(list)); err != nil {
			return err
		}
		if err := r.Approve(ctx, p); err != nil {
			return err
		}
		fmt.Fprintf(s.stdout, "approved %s changed: true\n", scan.Line(p.Server, 64))
	}
	return nil
}

// agreed asks the person at the terminal, or takes the digest of what was looked at.
func (f *pinFlags) agreed(ctx context.Context, s *sys, p assembly.Pinned, of int) error {
	digest := "sha256:" + p.Now.Digest()
	switch {
	case f.digest == digest:
		return nil
	case f.digest != "":
		return fmt.Errorf("%w: what %s offers has the digest %s, not the one given: look at what changed", assembly.ErrPrecondition, scan.Line(p.Server, 64), digest)
	case !s.inTTY || !s.errTTY:
		return fmt.Errorf("%w: without a terminal look at `codeact tools pins diff`, then approve one server by its digest: %s has --digest %s",
			assembly.ErrPrecondition, scan.Line(p.Server, 64), digest)
	}
	by := &prompter{sys: s, progress: newProgress(s, "auto")}
	yes, err := by.Vouch(ctx, p.Server, p.Changes)
	if err == nil && !yes {
		err = fmt.Errorf("%s was not approved", scan.Line(p.Server, 64))
	}
	return err
}

// Vouch shows what a server offers that nobody approved, and asks. What cannot be
// shown in full cannot be approved.
func (p *prompter) Vouch(ctx context.Context, server string, list []mcp.Change) (bool, error) {
	if p.in == nil {
		p.in = bufio.NewReader(p.sys.stdin)
	}
	p.progress.settle()
	text := fmt.Sprintf("\n── the MCP server %s offers what nobody approved ──\n%s", scan.Line(server, 64), changes(list))
	if len(text) > maxPins {
		fmt.Fprintf(p.sys.stderr, "%s offers too much to show (%d bytes): use includeTools to take less of it.\n", scan.Line(server, 64), len(text))
		return false, nil
	}
	if whole, err := p.page(ctx, text); err != nil || !whole {
		return false, err
	}
	p.drop()
	fmt.Fprint(p.sys.stderr, "Its descriptions are a stranger's text, which the model reads. Type yes to approve all of this, anything else to refuse: ")
	word, _, err := p.read(ctx)
	return word == "yes", err
}

// maxPins bounds what of one server a person is shown, in bytes: servers have dozens
// of tools, each with a page of schema.
const maxPins = 1 << 20

// changes is what a server offers against what was approved, escaped.
func changes(list []mcp.Change) string {
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintf(&b, "%s %s\n", c.Kind, scan.Line(c.Tool, 200))
		for _, side := range []struct{ mark, text string }{{"-", c.Before}, {"+", c.After}} {
			if side.text == "" {
				continue
			}
			for line := range strings.Lines(untabbed(side.text)) {
				fmt.Fprintf(&b, "  %s %s\n", side.mark, strings.TrimRight(line, "\n"))
			}
		}
	}
	return b.String()
}
