package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/engine/store"
)

func newTrace(s *sys) *cobra.Command {
	c := &cobra.Command{Use: "trace", Short: "List, show and verify the records of runs", Args: subcommand,
		RunE: func(*cobra.Command, []string) error { return listTraces(s, false) }}
	var asJSON bool
	list := &cobra.Command{Use: "list", Short: "List the runs of the home, newest first", Args: none,
		RunE: func(*cobra.Command, []string) error { return listTraces(s, asJSON) }}
	list.Flags().BoolVar(&asJSON, "json", false, "print JSON")

	var content, raw bool
	show := &cobra.Command{Use: "show RUN|FILE", Short: "Show the events of a run", Args: one("a run or a trace file", "RUN"),
		RunE: func(_ *cobra.Command, args []string) error { return showTrace(s, args[0], content, raw) }}
	show.Flags().BoolVar(&content, "content", false, "show also what agents and tools wrote, escaped")
	show.Flags().BoolVar(&raw, "json", false, "print the events as they stand in the file")

	verify := &cobra.Command{Use: "verify RUN|FILE", Short: "Check that a trace is whole and unchanged", Args: one("a run or a trace file", "RUN"),
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
	st, err := store.Open(filepath.Join(home, "traces"))
	if err != nil {
		return nil, fmt.Errorf("%w; set CODEACT_HOME to a directory that you may write to", err)
	}
	return st, nil
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
		return writeJSON(s, rows)
	}
	w := tabwriter.NewWriter(s.stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tSTARTED\tSIZE\tLAST EVENT")
	for _, i := range infos {
		last := i.LastType
		if i.Err != nil {
			last = "damaged: " + i.Err.Error()
		}
		started := "-"
		if !i.Started.IsZero() {
			started = i.Started.Local().Format(time.DateTime)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", i.RunID, started, size(int(i.Size)), scan.Line(last, 200))
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
			fmt.Fprintln(s.stdout, s.machine(line.Body))
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
