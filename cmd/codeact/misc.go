package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"go.starlark.net/starlark"

	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/engine/assembly"
	"github.com/codeact-dev/codeact/engine/taskfile"
)

func newVersion(s *sys) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "version", Short: "Print the version", Args: none, RunE: func(*cobra.Command, []string) error {
		if !asJSON {
			fmt.Fprintf(s.stdout, "codeact %s %s/%s\n", version(), runtime.GOOS, runtime.GOARCH)
			return nil
		}
		return writeJSON(s, map[string]any{"version": version(), "go": runtime.Version(), "os": runtime.GOOS,
			"arch": runtime.GOARCH, "starlark": starlark.CompilerVersion})
	}}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func newSchema(s *sys) *cobra.Command {
	return &cobra.Command{Use: "schema KIND", Short: "Print the JSON Schema of a file: task, mock, script or home", Args: one("a kind of file", "task"),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := taskfile.Schema(args[0])
			if err != nil {
				return usage(err)
			}
			_, err = fmt.Fprintln(s.stdout, strings.TrimSpace(string(text)))
			return err
		}}
}

// newTrust vouches for a task: for every byte of it and of what it names.
func newTrust(s *sys) *cobra.Command {
	var digest string
	var print bool
	var params []string
	c := &cobra.Command{Use: "trust TASK", Short: "Trust a task file, with all that it brings, as it stands now", Args: one("a task file", "task.yaml"),
		RunE: func(_ *cobra.Command, args []string) error { return trust(s, args[0], params, digest, print) }}
	c.Flags().StringVar(&digest, "digest", "", "the `DIGEST` that was looked at; needed without a terminal")
	c.Flags().StringArrayVarP(&params, "param", "p", nil, "value of a parameter, as `NAME=VALUE`: it may choose a file")
	c.Flags().BoolVar(&print, "print", false, "only print the digest")
	c.AddCommand(&cobra.Command{Use: "list", Short: "List what is trusted", Args: none, RunE: func(*cobra.Command, []string) error { return listTrusted(s) }},
		&cobra.Command{Use: "revoke DIGEST|TASK", Short: "Trust a task no longer: one state of it, or all", Args: one("a digest or a task file", "task.yaml"),
			RunE: func(_ *cobra.Command, args []string) error { return revokeTrust(s, args[0]) }})
	return c
}

func listTrusted(s *sys) error {
	home, err := s.home()
	if err != nil {
		return err
	}
	list, err := assembly.TrustList(home)
	for _, t := range list {
		fmt.Fprintln(s.stdout, scan.Line(t, 400))
	}
	return err
}

func revokeTrust(s *sys, digest string) error {
	if err := person(s); err != nil {
		return err
	}
	home, err := s.home()
	if err != nil {
		return err
	}
	if !strings.HasPrefix(digest, "sha256:") {
		if digest, err = filepath.Abs(digest); err != nil {
			return err
		}
	}
	n, err := assembly.Revoke(home, digest)
	if err == nil && n == 0 {
		err = fmt.Errorf("nothing of %s is trusted: codeact trust list shows what is", scan.Line(digest, 4096))
	}
	if err == nil {
		fmt.Fprintf(s.stdout, "revoked %s: %d\n", scan.Line(digest, 4096), n)
	}
	return err
}

func trust(s *sys, path string, params []string, digest string, print bool) error {
	home, err := s.home()
	if err != nil {
		return err
	}
	values, err := pairs(params)
	if err != nil {
		return usage(err)
	}
	if !print {
		if err := person(s); err != nil {
			return err
		}
	}
	t, err := taskfile.Load(path, taskfile.Options{Env: s.env, Home: s.userHome, Params: values})
	if err != nil {
		return usage(err)
	}
	if print {
		fmt.Fprintln(s.stdout, t.Digest())
		return nil
	}
	fmt.Fprintf(s.stderr, "%s\n  %s\n", scan.Line(path, 4096), t.Digest())
	for _, f := range t.Files {
		fmt.Fprintf(s.stderr, "  file %s (%s) sha256:%s\n", scan.Line(f.Path, 4096), scan.Line(f.Why, 200), f.SHA256)
	}
	for _, n := range t.NeedsTrust() {
		fmt.Fprintf(s.stderr, "  runs %s\n", scan.Line(n, 4096))
	}
	switch {
	case digest == t.Digest():
	case digest != "":
		return fmt.Errorf("%w: the task's digest is %s, not the one given: look at what changed", assembly.ErrPrecondition, t.Digest())
	case !s.inTTY || !s.errTTY:
		return fmt.Errorf("%w: without a terminal give the digest that you looked at: --digest %s", assembly.ErrPrecondition, t.Digest())
	default:
		flushTerminal(os.Stdin)
		fmt.Fprint(s.stderr, "Type yes to trust it: ")
		word, err := bufio.NewReader(s.stdin).ReadString('\n')
		if err != nil || strings.TrimSpace(word) != "yes" {
			return errors.New("not trusted")
		}
	}
	where, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	changed, err := assembly.Trust(home, t.Digest(), where)
	if err == nil {
		fmt.Fprintf(s.stdout, "trusted %s changed: %v\n", t.Digest(), changed)
	}
	return err
}
