package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/codeact-dev/codeact/policy"
	"github.com/codeact-dev/codeact/policy/rules"
)

func newPolicy(s *sys) *cobra.Command {
	c := &cobra.Command{Use: "policy", Short: "Check policy files", Args: subcommand, RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	var task string
	var params []string
	var strict, asJSON bool
	check := &cobra.Command{
		Use:   "check [FILE|DIR]...",
		Short: "Compile policies and point out what they miss",
		Long: "Compile policy files, or with --task those of a task against its tools.\n" +
			"Exit codes: 0 with warnings or without; 1 with warnings and --strict; 2 with errors.",
		RunE: func(_ *cobra.Command, args []string) error { return checkPolicy(s, args, task, params, strict, asJSON) },
	}
	check.Flags().StringVar(&task, "task", "", "check the policies of this task `FILE` against its tools")
	check.Flags().StringArrayVar(&params, "param", nil, "value of a policy parameter, as `NAME=JSON`")
	check.Flags().BoolVar(&strict, "strict", false, "make warnings an error")
	check.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.AddCommand(check)
	return c
}

func checkPolicy(s *sys, paths []string, task string, params []string, strict, asJSON bool) error {
	p, ts, err := compiled(s, paths, task, params)
	if err != nil {
		return err
	}
	warnings := p.Check(ts)
	if asJSON {
		list := []rules.Warning{}
		err = writeJSON(s, map[string]any{"files": p.Files(), "rules": p.Rules(), "warnings": append(list, warnings...)})
	} else {
		fmt.Fprintf(s.stdout, "policies: %d files, %d rules\n", p.Files(), p.Rules())
		for _, w := range warnings {
			fmt.Fprintln(s.stdout, s.show(w.String()))
		}
	}
	if err == nil && strict && len(warnings) > 0 {
		return exitCode(exitFailed)
	}
	return err
}

// compiled is the policy of the files, or of a task with its tools.
func compiled(s *sys, paths []string, task string, params []string) (*rules.Policy, []policy.ToolView, error) {
	switch {
	case task == "" && len(paths) == 0:
		return nil, nil, usage(errors.New("give policy files, or --task FILE"))
	case task != "" && len(params) > 0:
		return nil, nil, usage(errors.New("--param goes with policy files; a task has its policyParams"))
	case task != "":
		r, err := look(s, task, paths)
		if err != nil {
			return nil, nil, err
		}
		defer r.Close()
		return r.Policy, r.Bridge.Tools(), nil
	}
	values, err := policyParams(params)
	if err != nil {
		return nil, nil, usage(err)
	}
	files, err := policyFiles(paths)
	if err != nil {
		return nil, nil, usage(err)
	}
	p, err := rules.Compile(values, files...)
	if err != nil {
		return nil, nil, usage(err)
	}
	return p, nil, nil
}

func policyParams(list []string) (map[string]any, error) {
	values := map[string]any{}
	for _, kv := range list {
		k, text, ok := strings.Cut(kv, "=")
		v, err := parseJSON(text)
		if !ok || k == "" || err != nil {
			return nil, fmt.Errorf("--param %q: want NAME=JSON, as limit=5 or hosts='[\"a.example\"]'", kv)
		}
		values[k] = v
	}
	return values, nil
}

// parseJSON reads one value, a whole number as an int64: a policy tells 5 from 5.0.
func parseJSON(text string) (any, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("there is more behind the value")
	}
	return numbers(v)
}

// numbers replaces every json.Number in v.
func numbers(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, nil
		}
		return v.Float64()
	case []any:
		for i := range v {
			if v[i], err = numbers(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k := range v {
			if v[k], err = numbers(v[k]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// policyFiles reads files and the policies of directories. A directory without one
// is an error: a check of nothing must not pass.
func policyFiles(paths []string) ([]rules.File, error) {
	var files []rules.File
	for _, root := range paths {
		n := len(files)
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || path != root && !isPolicy(path) {
				return err
			}
			data, err := os.ReadFile(path)
			files = append(files, rules.File{Name: path, Data: data})
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(files) == n {
			return nil, fmt.Errorf("%s holds no policy file (*.yaml, *.yml, not *_test.*)", root)
		}
	}
	return files, nil
}

func isPolicy(path string) bool {
	ext := filepath.Ext(path)
	return (ext == ".yaml" || ext == ".yml") && !strings.HasSuffix(strings.TrimSuffix(path, ext), "_test")
}
