package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/codeact-dev/codeact/bridge/sandbox/boxproxy"
)

// startForwarder lets this box reach the host's proxy, whose socket is at path, by forwardAddr. It returns once that listens.
func startForwarder(path string) error {
	if path == "" {
		return nil
	}
	cmd := exec.Command("/proc/self/exe", marker, roleLaunch, path)
	cmd.Env = []string{}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("forwarder: %w: %s", err, out)
	}
	return nil
}

// launch starts the forwarder, waits until it listens, and ends, so that the forwarder is no child of the command.
func launch() error {
	if len(os.Args) < 4 {
		return errors.New("want a socket")
	}
	cmd := exec.Command("/proc/self/exe", marker, roleForward, os.Args[3])
	cmd.Env = []string{}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	if said, err := io.ReadAll(io.LimitReader(out, 1)); err != nil || len(said) == 0 {
		return fmt.Errorf("it does not listen on %s: %w", forwardAddr, errors.Join(err, cmd.Wait()))
	}
	return nil
}

// forward serves forwardAddr until the box ends.
func forward() error {
	if len(os.Args) < 4 {
		return errors.New("want a socket")
	}
	return boxproxy.Forward(forwardAddr, os.Args[3], func() error {
		if _, err := os.Stdout.WriteString("l"); err != nil {
			return err
		}
		return os.Stdout.Close()
	})
}
