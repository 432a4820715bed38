package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/codeact-dev/codeact/engine/assembly"
	"github.com/codeact-dev/codeact/policy"
	"github.com/codeact-dev/codeact/policy/rules"
	"github.com/codeact-dev/codeact/policy/rules/source"
)

func newPolicy(s *sys) *cobra.Command {
	c := &cobra.Command{Use: "policy", Short: "Check, test, explain and format policy files", Args: subcommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(newPolicyCheck(s), newPolicyTest(s), newPolicyExplain(s), newPolicyFmt(s))
	return c
}

// A policySource is where a command takes its rules from.
type policySource struct {
	paths  []string
	task   string
	params []string
}

func (p *policySource) flags(c *cobra.Command, of string) {
	c.Flags().StringVar(&p.task, "task", "", of)
	c.Flags().StringArrayVar(&p.params, "param", nil, "value of a policy parameter, as `NAME=JSON`")
}

func newPolicyCheck(s *sys) *cobra.Command {
	var from policySource
	var strict, asJSON bool
	c := &cobra.Command{
		Use:   "check [FILE|DIR]...",
		Short: "Compile policies and point out what they miss",
		Long: "Compile policy files, or with --task those of a task against its tools. It names tools with a capability\n" +
			"that no rule covers, rules that can never fire, parameters that limit nothing, and known traps.\n" +
			"Exit codes: 0 with warnings or without; 1 with warnings and --strict; 2 with errors.",
		RunE: func(c *cobra.Command, args []string) error {
			from.paths = args
			return checkPolicy(c.Context(), s, from, strict, asJSON)
		},
	}
	from.flags(c, "check the policies of this task `FILE` against its tools")
	c.Flags().BoolVar(&strict, "strict", false, "make warnings an error")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func checkPolicy(ctx context.Context, s *sys, from policySource, strict, asJSON bool) error {
	if from.task == "" && len(from.paths) == 0 {
		return usage(errors.New("give policy files, or --task FILE"))
	}
	p, run, err := from.compiled(ctx, s)
	if err != nil {
		return err
	}
	var ts []policy.ToolView
	if run != nil {
		defer run.Close()
		ts = run.Bridge.Tools()
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

// compiled is the policy of the files, and with a task its own too, behind which
// stands the run that only looks: whoever asks closes it. Without either it is nil.
func (p policySource) compiled(ctx context.Context, s *sys) (*rules.Policy, *assembly.Run, error) {
	switch {
	case p.task != "" && len(p.params) > 0:
		return nil, nil, usage(errors.New("--param goes with policy files; a task has its policyParams"))
	case p.task != "":
		r, err := look(ctx, s, p.task, p.paths)
		if err != nil {
			return nil, nil, err
		}
		return r.Policy, r, nil
	case len(p.paths) == 0:
		return nil, nil, nil
	}
	values, err := policyParams(p.params)
	if err != nil {
		return nil, nil, usage(err)
	}
	files, err := policyFiles(p.paths)
	if err != nil {
		return nil, nil, usage(err)
	}
	c, err := rules.Compile(values, files...)
	if err != nil {
		return nil, nil, usage(err)
	}
	return c, nil, nil
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

// policyFiles reads files and the policies of directories.
func policyFiles(paths []string) ([]rules.File, error) {
	files, err := filesOf(paths, "policy file (*.yaml, *.yml, not *_test.*)", func(path string) bool { return isYAML(path) && !isTest(path) })
	var out []rules.File
	for _, f := range files {
		out = append(out, rules.File{Name: f.Name, Data: f.Data})
	}
	return out, err
}

// filesOf reads files, and those of directories that are wanted. A directory without
// one is an error: a check of nothing must not pass.
func filesOf(paths []string, what string, wanted func(path string) bool) ([]source.File, error) {
	var files []source.File
	for _, root := range paths {
		n := len(files)
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || path != root && !wanted(path) {
				return err
			}
			data, err := os.ReadFile(path)
			files = append(files, source.File{Name: path, Data: data})
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(files) == n {
			return nil, fmt.Errorf("%s holds no %s", root, what)
		}
	}
	return files, nil
}

func isYAML(path string) bool { return slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path)) }

func isTest(path string) bool {
	return strings.HasSuffix(strings.TrimSuffix(path, filepath.Ext(path)), "_test")
}
