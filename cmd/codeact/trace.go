package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/engine/store"
)

func newTrace(s *sys) *cobra.Command {
	c := &cobra.Command{Use: "trace", Short: "List, show and verify the records of runs", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return listTraces(s, false) }}
	var asJSON bool
	list := &cobra.Command{Use: "list", Short: "List the runs of the home, newest first", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return listTraces(s, asJSON) }}
	list.Flags().BoolVar(&asJSON, "json", false, "print JSON")

	var content, raw bool
	show := &cobra.Command{Use: "show RUN|FILE", Short: "Show the events of a run", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return showTrace(s, args[0], content, raw) }}
	show.Flags().BoolVar(&content, "content", false, "show also what agents and tools wrote, escaped")
	show.Flags().BoolVar(&raw, "json", false, "print the events as they stand in the file")

	verify := &cobra.Command{Use: "verify RUN|FILE", Short: "Check that a trace is whole and unchanged", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return verifyTrace(s, args[0]) }}
	c.AddCommand(list, show, verify)
	return c
}

// traces is the store of the home.
func traces(s *sys) (*store.Store, error) {
	home, err := s.home()
	if err != nil {
		return nil, err
	}
	return store.Open(filepath.Join(home, "traces"))
}

func listTraces(s *sys, asJSON bool) error {
	st, err := traces(s)
	if err != nil {
		return err
	}
	infos, err := st.List()
	if err != nil {
		return err
	}
	if asJSON {
		rows := []map[string]any{}
		for _, i := range infos {
			row := map[string]any{"run_id": i.RunID, "path": i.Path, "started": i.Started, "bytes": i.Size, "last": i.LastType}
			if i.Err != nil {
				row["error"] = i.Err.Error()
			}
			rows = append(rows, row)
		}
		return json.NewEncoder(s.stdout).Encode(rows)
	}
	w := tabwriter.NewWriter(s.stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tSTARTED\tSIZE\tLAST EVENT")
	for _, i := range infos {
		last := i.LastType
		if i.Err != nil {
			last = "damaged: " + i.Err.Error()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", i.RunID, i.Started.Local().Format("2006-01-02 15:04:05"), size(int(i.Size)), scan.Line(last, 200))
	}
	return w.Flush()
}

// find is the file of a run id or a path.
func find(s *sys, ref string) (string, error) {
	st, err := traces(s)
	if err != nil {
		return "", err
	}
	return st.Find(ref)
}

func showTrace(s *sys, ref string, content, raw bool) error {
	path, err := find(s, ref)
	if err != nil {
		return err
	}
	for line, err := range store.ReadFile(path) {
		if err != nil {
			return err
		}
		if raw {
			fmt.Fprintf(s.stdout, "%s\n", line.Body)
			continue
		}
		text, err := summary(line, content)
		if err != nil {
			return err
		}
		fmt.Fprintln(s.stdout, text)
	}
	return nil
}

// chain are the keys of every line, which the summary shows in front or not at
// all. written are those that hold what agents and tools wrote.
var (
	chain   = []string{"v", "seq", "ts", "run_id", "type", "prev"}
	written = []string{"args", "code", "text", "observation", "value", "output", "goal", "user", "reason", "diff", "failed", "gates", "decision", "paths", "urls"}
)

// summary is one event on one line: what happened, and with content also what was
// written, escaped.
func summary(l store.Line, content bool) (string, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(l.Body, &fields); err != nil {
		return "", fmt.Errorf("line %d: %w", l.Seq, err)
	}
	text := fmt.Sprintf("%4d %s %-18s", l.Seq, l.TS.Local().Format("15:04:05.000"), l.Type)
	if verdict := verdictOf(fields["decision"]); verdict != "" {
		text += " " + verdict
	}
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		if slices.Contains(chain, k) || !content && slices.Contains(written, k) {
			continue
		}
		if v := strings.Trim(string(fields[k]), `"`); v != "" && v != "null" && v != "{}" && v != "[]" && v != "false" {
			most := 80
			if content {
				most = 4000
			}
			text += " " + k + "=" + scan.Line(v, most)
		}
	}
	return text, nil
}

func verdictOf(raw json.RawMessage) string {
	var d struct{ Verdict, Gate, Rule string }
	if len(raw) == 0 || json.Unmarshal(raw, &d) != nil {
		return ""
	}
	return strings.TrimRight(scan.Line(d.Verdict+" "+d.Gate+"/"+d.Rule, 120), " /")
}

func verifyTrace(s *sys, ref string) error {
	path, err := find(s, ref)
	if err != nil {
		return err
	}
	r, err := store.Verify(path)
	if err != nil {
		return errors.New(scan.Line(path, 4096) + ": " + err.Error())
	}
	state := "whole"
	if r.Torn {
		state = "whole but for a torn last line, which is cut when the run is resumed"
	}
	fmt.Fprintf(s.stdout, "%s: %d lines, chain intact, %s\n", scan.Line(path, 4096), r.Lines, state)
	return nil
}
