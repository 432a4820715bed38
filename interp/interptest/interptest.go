// Package interptest builds a worker program for the tests of packages that run blocks.
//
// A test binary should not be its own worker: one built with -race dies under the worker's memory limit.
package interptest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
)

const program = "github.com/codeact-dev/codeact/interp/internal/workermain"

var build = sync.OnceValues(func() (dir string, err error) {
	dir, err = os.MkdirTemp("", "codeact-worker-")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // a test may run the program as another user
		os.RemoveAll(dir)
		return "", fmt.Errorf("interptest: %w", err)
	}
	cmd := exec.Command("go", "build", "-race=false", "-cover=false", "-o", binary(dir), program)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		return "", fmt.Errorf("interptest: build: %w\n%s", err, out)
	}
	return dir, nil
})

// Worker builds the program once a process and returns its path, for interp.Config.Worker, and the function that
// removes it. It is for TestMain, and panics if there is no program.
func Worker() (path string, cleanup func()) {
	dir, err := build()
	if err != nil {
		panic(err)
	}
	return binary(dir), func() { os.RemoveAll(dir) }
}

func binary(dir string) string {
	name := "worker"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(dir, name)
}
