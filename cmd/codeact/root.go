package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/codeact-dev/codeact/bridge/scan"
)

// A sys is what the program is surrounded by. Tests make their own.
type sys struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            func(string) (string, bool)
	userHome       string // which no workspace may hold
	ownHome        string // from the environment, for ~/.codeact; "" without one

	inTTY, outTTY, errTTY bool

	worker []string // of the interpreter; nil is this program
}

// show makes text of files, models and tools fit for a terminal.
func (s *sys) show(text string) string { return scan.Visible(text) }

// home is codeact's own directory: $CODEACT_HOME, else ~/.codeact.
func (s *sys) home() (string, error) {
	home := filepath.Join(s.ownHome, ".codeact")
	if h, ok := s.env("CODEACT_HOME"); ok && h != "" {
		var err error
		if home, err = filepath.Abs(h); err != nil {
			return "", err
		}
	} else if s.ownHome == "" {
		return "", errors.New("there is no home directory: set CODEACT_HOME to a directory of your own")
	}
	if info, err := os.Stat(home); err == nil && !info.IsDir() {
		return "", fmt.Errorf("%s is not a directory: set CODEACT_HOME to a directory of your own", home)
	}
	return home, nil
}

// principal is who runs it.
func (s *sys) principal(flag string) string {
	if flag != "" {
		return flag
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return fmt.Sprintf("uid:%d", os.Getuid())
}

// version is the module's, with the commit where the build knows it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

func newRoot(s *sys) *cobra.Command {
	root := &cobra.Command{
		Use:   "codeact",
		Short: "Run agents that act by writing Starlark, through one guarded door",
		Long: "Run agents that act by writing Starlark, through one guarded door.\n\n" +
			"A task file says what to do, with which model, tools and rules. What it does not grant is refused or\n" +
			"asked, and everything that happens stands in a trace.\n\n" +
			"State is kept in $CODEACT_HOME, or in ~/.codeact without it.",
		Example:       "  codeact doctor                   try what this machine can enforce\n  codeact run task.yaml            run a task\n  codeact trace show RUN           see what it did\n  codeact policy check rules.yaml  find what rules miss",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          subcommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetIn(s.stdin)
	root.SetOut(s.stdout)
	root.SetErr(s.stderr)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage(fmt.Errorf("%w; see %s --help", err, c.CommandPath()))
	})
	root.AddCommand(newRun(s), newTrace(s), newTools(s), newPolicy(s), newOutbox(s), newTrust(s), newSchema(s), newDoctor(s), newVersion(s))
	for _, c := range commandsOf(root) {
		wrapArgs(c)
	}
	return root
}

// subcommand refuses a word that is no command of c, and names the nearest one.
func subcommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	c.SuggestionsMinimumDistance = 2 // letters
	hint := ""
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf(" (did you mean %q?)", near[0])
	}
	return fmt.Errorf("%s has no command %q%s", c.CommandPath(), args[0], hint)
}

// one asks for exactly one argument, and says what it is.
func one(what, example string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch len(args) {
		case 1:
			return nil
		case 0:
			return fmt.Errorf("give %s: %s %s", what, c.CommandPath(), example)
		}
		return fmt.Errorf("want %s, have %d arguments: %q", what, len(args), args)
	}
}

// none refuses arguments.
func none(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments, have %q", c.CommandPath(), args)
	}
	return nil
}

// commandsOf is every command below c, itself too.
func commandsOf(c *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		list = append(list, commandsOf(sub)...)
	}
	return list
}

// wrapArgs makes a wrong number of arguments a usage error, with exit code 2.
func wrapArgs(c *cobra.Command) {
	check := c.Args
	if check == nil {
		return
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return usage(fmt.Errorf("%w; see %s --help", err, c.CommandPath()))
		}
		return nil
	}
}
