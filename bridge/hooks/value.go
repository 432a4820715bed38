package hooks

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// maxValue bounds what a command may print as a value, in bytes.
const maxValue = 64 << 10

// A Value is what a command printed, as one that fetches a secret. Its texts hold whatever the command wrote: they are to be
// redacted before they are shown.
type Value struct {
	Text   string // standard output, without the newlines at its end
	Stderr string
}

// Read runs argv in dir, without a shell and without our environment, and returns what it printed. Words with a slash are relative to
// dir. A command that does not end with 0 within limit, or prints nothing or more than 64 KiB, is an error, which quotes nothing.
func Read(ctx context.Context, argv []string, dir string, limit time.Duration) (Value, error) {
	if len(argv) == 0 || argv[0] == "" {
		return Value{}, errors.New("the command is empty")
	}
	path := argv[0]
	if strings.ContainsRune(path, '/') {
		path = under(dir, filepath.FromSlash(path))
	}
	res, err := spawn(ctx, limit, maxValue, func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, path, argv[1:]...)
		cmd.Dir, cmd.Env = dir, inherit()
		return cmd
	})
	v := Value{Text: strings.TrimRight(string(res.stdout), "\r\n"), Stderr: strings.TrimSpace(string(res.stderr))}
	var exit *exec.ExitError
	switch {
	case res.err != nil:
		err = res.err
	case errors.As(err, &exit):
		err = fmt.Errorf("it ended with %s", exit.ProcessState)
	case errors.Is(err, exec.ErrWaitDelay):
		err = errors.New("a process that it left behind holds its output: redirect that process's output")
	case err != nil:
		err = fmt.Errorf("start: %w", err)
	case v.Text == "":
		err = errors.New("it printed nothing")
	}
	return v, err
}
