package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-multierror"
	"github.com/spf13/cobra"

	"github.com/codeact-dev/codeact/policy/rules/format"
	"github.com/codeact-dev/codeact/policy/rules/source"
)

func newPolicyFmt(s *sys) *cobra.Command {
	var check, write bool
	c := &cobra.Command{
		Use:   "fmt FILE|DIR...",
		Short: "Format policy files and tests of policies",
		Long: "Put the keys of policy files and policy tests into the order of the documentation, two spaces a level, and keep\n" +
			"comments and expressions as they are. One file is printed; several need --check or -w.\n" +
			"Exit codes: 0; 1 where --check found a file that is not formatted; 2 with errors, and then nothing is written.",
		RunE: func(_ *cobra.Command, args []string) error { return formatPolicies(s, args, check, write) },
	}
	c.Flags().BoolVar(&check, "check", false, "only name the files that are not formatted")
	c.Flags().BoolVarP(&write, "write", "w", false, "write the files")
	return c
}

func formatPolicies(s *sys, paths []string, check, write bool) error {
	files, err := filesOf(paths, "policy file or test (*.yaml, *.yml)", isYAML)
	switch {
	case err != nil:
		return usage(err)
	case len(files) == 0:
		return usage(errors.New("give policy files"))
	case check && write:
		return usage(errors.New("--check and -w exclude each other"))
	case len(files) > 1 && !check && !write:
		return usage(fmt.Errorf("%d files: add --check to name those that are not formatted, or -w to write them", len(files)))
	}
	var faults *multierror.Error
	texts := make([][]byte, len(files))
	for i, f := range files {
		if texts[i], err = format.File(f); err != nil {
			faults = multierror.Append(faults, err)
		}
	}
	if err := faults.ErrorOrNil(); err != nil {
		return usage(err)
	}
	if !check && !write {
		_, err := s.stdout.Write(texts[0])
		return err
	}
	return settle(s, files, texts, write)
}

// settle names the files whose text is another, and writes them or fails.
func settle(s *sys, files []source.File, texts [][]byte, write bool) error {
	changed := 0
	for i, f := range files {
		if string(f.Data) == string(texts[i]) {
			continue
		}
		changed++
		fmt.Fprintln(s.stdout, s.show(f.Name))
		if write {
			if err := rewrite(f.Name, texts[i]); err != nil {
				return err
			}
		}
	}
	if !write && changed > 0 {
		return exitCode(exitFailed)
	}
	return nil
}

// rewrite replaces the text of a file that is there, by way of a file beside it, so
// that a full disk does not leave half a policy. A link is followed, and the mode
// kept.
func rewrite(path string, text []byte) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // it is gone where all went well
	_, err = f.Write(text)
	if err := errors.Join(err, f.Chmod(info.Mode().Perm()), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
