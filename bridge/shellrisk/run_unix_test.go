//go:build unix

package shellrisk_test

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree is the content of every file below a directory.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			out[path] = "directory"
			return err
		}
		data, err := os.ReadFile(path)
		out[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Both shells run every line of the low table, since they do not read all lines alike.
func TestLowLinesChangeNoFile(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"a": "b\na\n", "b": "x\n", "f": `{"a":[{"b":1}]}`, "src/a": "x\n", "EOF": "keep\n"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := tree(t, root)
	for _, shell := range []string{"sh", "bash"} {
		for _, line := range lowLines {
			run(t, root, shell, line)
			if diff := cmp.Diff(before, tree(t, root)); diff != "" {
				t.Fatalf("%s -c %q changed files: %s", shell, line, diff)
			}
		}
	}
	run(t, root, "sh", "echo y > b")
	if cmp.Equal(before, tree(t, root)) {
		t.Error("a write was not noticed")
	}
}

// run ignores how the command ends: some programs may be missing, and none is allowed to write for that reason.
func run(t *testing.T, dir, shell, line string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := exec.CommandContext(ctx, shell, "-c", line)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_GLOBAL=/dev/null"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
}
