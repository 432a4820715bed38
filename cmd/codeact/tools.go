package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/bridge/tools"
	"github.com/codeact-dev/codeact/engine/assembly"
)

func newTools(s *sys) *cobra.Command {
	c := &cobra.Command{Use: "tools", Short: "List the tools that a task grants", Args: subcommand}
	var task string
	var asJSON bool
	list := func(c *cobra.Command, _ []string) error {
		ts, err := granted(c.Context(), s, task)
		if err != nil {
			return err
		}
		return listTools(s, ts, asJSON)
	}
	c.RunE = list
	l := &cobra.Command{Use: "list", Short: "List the built-in tools, or those of a task", Args: none, RunE: list}
	i := &cobra.Command{Use: "inspect NAME", Short: "Show everything that a tool declares", Args: one("the name of a tool", "fs_read"),
		RunE: func(c *cobra.Command, args []string) error {
			ts, err := granted(c.Context(), s, task)
			if err != nil {
				return err
			}
			return inspectTool(s, ts, args[0], asJSON)
		}}
	c.AddCommand(l, i, newPins(s))
	c.PersistentFlags().StringVar(&task, "task", "", "the tools of this task `FILE`, with its overrides")
	c.PersistentFlags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// granted is the built-in tools, or what a task grants. Nothing is started.
func granted(ctx context.Context, s *sys, task string) ([]bridge.Tool, error) {
	if task == "" {
		return tools.Builtin(tools.Names()...)
	}
	r, err := look(ctx, s, task, nil)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for _, name := range slices.Sorted(maps.Keys(r.File.Servers)) {
		fmt.Fprintf(s.stderr, "server %s is not started to be looked at: codeact tools pins diff shows its tools; a task calls them %s_TOOL\n",
			scan.Line(name, 64), strings.ReplaceAll(scan.Line(name, 64), "-", "_"))
	}
	return r.Tools, nil
}

// look assembles a task without starting anything: it needs neither keys nor
// trust.
func look(ctx context.Context, s *sys, task string, policies []string) (*assembly.Run, error) {
	f := runFlags{policies: policies}
	opt, err := f.options(s)
	if err != nil {
		return nil, err
	}
	opt.Look = true
	return opened(ctx, task, opt)
}

type toolJSON struct {
	Name         string          `json:"name"`
	Server       string          `json:"server,omitempty"`
	Signature    string          `json:"signature"`
	Doc          string          `json:"doc"`
	Tier         int             `json:"tier"`
	Capabilities []string        `json:"capabilities"`
	Declared     bool            `json:"declared"`
	Destinations []string        `json:"destinations,omitempty"`
	Paths        []string        `json:"paths,omitempty"`
	URLs         []string        `json:"urls,omitempty"`
	Sensitive    []string        `json:"sensitive,omitempty"`
	Labels       []string        `json:"labels,omitempty"`
	Rate         string          `json:"rate,omitempty"`
	Idempotent   bool            `json:"idempotent"`
	Sandboxed    bool            `json:"sandboxed,omitempty"`
	Pinned       bool            `json:"pinned,omitempty"`
	Params       json.RawMessage `json:"params"`
}

func toJSON(t bridge.Tool) toolJSON {
	j := toolJSON{Name: t.Name, Sandboxed: t.Sandboxed, Pinned: t.Pinned, Server: t.Server, Signature: t.Signature().String(), Doc: t.Doc, Tier: t.Tier.Number(), Capabilities: t.Caps.Names(),
		Declared: t.Caps.Declared(), Destinations: t.Destinations, Paths: t.Paths, URLs: t.URLs, Sensitive: t.Sensitive, Labels: t.Labels,
		Idempotent: t.Idempotent, Params: json.RawMessage(t.Params.JSON())}
	if t.Rate.N > 0 {
		j.Rate = fmt.Sprintf("%d in %v", t.Rate.N, t.Rate.Per)
	}
	return j
}

func listTools(s *sys, ts []bridge.Tool, asJSON bool) error {
	if asJSON {
		list := []toolJSON{}
		for _, t := range ts {
			list = append(list, toJSON(t))
		}
		return writeJSON(s, list)
	}
	w := tabwriter.NewWriter(s.stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "TOOL\tTIER\tCAPABILITIES\tWHAT IT DOES")
	for _, t := range ts {
		doc, _, _ := strings.Cut(t.Doc, "\n")
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", t.Name, t.Tier.Number(), t.Caps, scan.Line(doc, 100))
	}
	return w.Flush()
}

func inspectTool(s *sys, ts []bridge.Tool, name string, asJSON bool) error {
	i := slices.IndexFunc(ts, func(t bridge.Tool) bool { return t.Name == name })
	if i < 0 {
		var names []string
		for _, t := range ts {
			names = append(names, t.Name)
		}
		return usage(fmt.Errorf("there is no tool %q: there are %s", name, strings.Join(names, ", ")))
	}
	j := toJSON(ts[i])
	if asJSON {
		return writeJSON(s, j)
	}
	text, err := json.Marshal(j)
	if err != nil {
		return err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		fmt.Fprintf(s.stdout, "%-13s %s\n", k, scan.Visible(strings.Trim(string(fields[k]), `"`)))
	}
	return nil
}
