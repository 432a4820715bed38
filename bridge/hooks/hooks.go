// Package hooks runs the operator's commands at fixed points of a run and reads their verdicts: none, ask, deny or stop.
//
// A hook is a program with all the rights of the user who runs codeact: nothing here confines it, and whoever may write its file
// decides what runs. That is why a task file with hooks must be trusted first. A hook can only narrow: an allow is recorded and
// ignored, and a hook that fails, hangs or answers what cannot be read blocks the call. What a hook says is not scanned; its texts
// are to be made visible and redacted before they are shown.
package hooks

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-multierror"
)

// The events that a hook may be for.
const (
	PreToolUse       = "PreToolUse"
	PostToolUse      = "PostToolUse"
	ApprovalRequest  = "ApprovalRequest"
	RunStart         = "RunStart"
	RunEnd           = "RunEnd"
	Notification     = "Notification"
	LessonProposed   = "LessonProposed"
	UserPromptSubmit = "UserPromptSubmit"
)

var events = []string{PreToolUse, PostToolUse, ApprovalRequest, RunStart, RunEnd, Notification, LessonProposed, UserPromptSubmit}

// Events lists every event.
func Events() []string { return slices.Clone(events) }

// toolEvents are those whose matcher is read against a tool's name.
var toolEvents = []string{PreToolUse, PostToolUse, ApprovalRequest}

const (
	defaultTimeout = 10 * time.Second
	maxTimeout     = 600 * time.Second
)

// A Hook is one command, as the task file or the home config gives it.
type Hook struct {
	Event           string        // one of the events above
	Matcher         string        // regular expression for the whole tool name; "" and "*" match all
	Name            string        // for messages; "" means the command
	Command         string        // a shell command, or a program if Args is not nil
	Args            []string      // not nil: the program's arguments, and no shell
	Timeout         time.Duration // 0 means 10 s; at most 600 s
	OnFailure       string        // "" or "block": a hook that fails denies; "warn": it is only reported
	ReceivesSecrets bool          // gets sensitive parameters as they are
}

// title names the hook in messages.
func (h Hook) title() string {
	if h.Name != "" {
		return h.Name
	}
	return h.Command
}

// A Set is a list of hooks that was checked. It does not change, and is safe for concurrent use.
type Set struct {
	hooks      []compiled
	dir        string
	transcript func(runID string) string
}

// WithTranscript returns the set with where a run's transcript is, which hooks are told. It must be redacted; nobody keeps a hook from
// writing to it.
func (s *Set) WithTranscript(path func(runID string) string) *Set {
	return &Set{hooks: s.hooks, dir: s.dir, transcript: path}
}

type compiled struct {
	Hook
	match *regexp.Regexp // nil matches all
	path  string         // of the program, where there is no shell
}

// Compile checks hs and returns every fault at once. dir is where the hooks run, and what their relative paths are relative to.
func Compile(hs []Hook, dir string) (*Set, error) {
	faults := &multierror.Error{}
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = isDir(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("hooks: directory: %w", err)
	}
	s := &Set{dir: dir}
	for i, h := range hs {
		c, errs := compile(h, dir)
		for _, err := range errs {
			faults = multierror.Append(faults, fmt.Errorf("hooks: %s[%d] %s: %w", h.Event, i, h.title(), err))
		}
		s.hooks = append(s.hooks, c)
	}
	if err := faults.ErrorOrNil(); err != nil {
		return nil, err
	}
	return s, nil
}

func isDir(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s: not a directory", dir)
	}
	return err
}

func compile(h Hook, dir string) (c compiled, errs []error) {
	c.Hook = h
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if !slices.Contains(events, h.Event) {
		bad("event %q: want one of %s", h.Event, strings.Join(events, ", "))
	}
	if h.Matcher != "" && h.Matcher != "*" {
		if !slices.Contains(toolEvents, h.Event) {
			bad("matcher %q: %s is about no tool, so it would never run; leave the matcher out", h.Matcher, h.Event)
		}
		if _, err := regexp.Compile(h.Matcher); err != nil {
			bad("matcher: %w; several tools are written a|b, all tools *", err)
		} else {
			c.match = regexp.MustCompile(`^(?:` + h.Matcher + `)$`)
		}
	}
	switch {
	case h.Timeout < 0 || h.Timeout > maxTimeout:
		bad("timeout %s: want more than 0 and at most %s", h.Timeout, maxTimeout)
	case h.Timeout == 0:
		c.Timeout = defaultTimeout
	}
	if h.OnFailure != "" && h.OnFailure != "block" && h.OnFailure != "warn" {
		bad("onFailure %q: want block or warn", h.OnFailure)
	}
	var err error
	if c.path, err = program(h, dir); err != nil {
		bad("command: %w", err)
	}
	return c, errs
}

// program finds what the hook runs. A shell command is only checked where its first word is a path.
func program(h Hook, dir string) (string, error) {
	if strings.TrimSpace(h.Command) == "" {
		return "", fmt.Errorf("is empty")
	}
	if h.Args != nil {
		if strings.ContainsRune(h.Command, '/') || filepath.IsAbs(h.Command) {
			path := under(dir, h.Command)
			return path, runnable(path)
		}
		return exec.LookPath(h.Command)
	}
	word := strings.NewReplacer("${CLAUDE_PROJECT_DIR}", dir, "$CLAUDE_PROJECT_DIR", dir, "${CODEACT_PROJECT_DIR}", dir, "$CODEACT_PROJECT_DIR", dir).Replace(firstWord(h.Command))
	if strings.ContainsRune(word, '/') && !strings.ContainsAny(word, "$`*?(") && !strings.HasPrefix(word, "~") {
		return "", runnable(under(dir, word))
	}
	return "", nil
}

func under(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

func runnable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: not a file", path)
	case !executable(info.Mode()):
		return fmt.Errorf("%s: not executable; chmod +x it", path)
	}
	return nil
}

// assignment is what may stand before a shell command: NAME=value.
var assignment = regexp.MustCompile(`^\s*[A-Za-z_][A-Za-z0-9_]*=[^\s"'` + "`" + `]*\s+`)

// firstWord is the program of a simple shell command, without its quotes.
func firstWord(command string) string {
	for assignment.MatchString(command) {
		command = command[len(assignment.FindString(command)):]
	}
	command = strings.TrimSpace(command)
	if command[0] == '"' || command[0] == '\'' {
		if word, _, closed := strings.Cut(command[1:], command[:1]); closed {
			return word
		}
	}
	if end := strings.IndexAny(command, " \t\n;&|<>"); end >= 0 {
		return command[:end]
	}
	return command
}

func (c compiled) matches(event, tool string) bool {
	return c.Event == event && (c.match == nil || c.match.MatchString(tool))
}

// Match lists the hooks for this event and tool, in the order in which they were given.
func (s *Set) Match(event, tool string) []Hook {
	var out []Hook
	for _, c := range s.hooks {
		if c.matches(event, tool) {
			out = append(out, c.Hook)
		}
	}
	return out
}

// Unmatched lists the hooks that can never run with these tools: a typing error that would otherwise look like a control.
func (s *Set) Unmatched(tools []string) []Hook {
	var out []Hook
	for _, c := range s.hooks {
		never := !slices.ContainsFunc(tools, func(t string) bool { return c.matches(c.Event, t) })
		if c.match != nil && never {
			out = append(out, c.Hook)
		}
	}
	return out
}
