package assembly_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/engine/assembly"
)

// A home that others may write to permits nothing: they could have written the
// permits.
func TestAHomeThatOthersMayWriteIsRefused(t *testing.T) {
	for name, spoil := range map[string]func(home string) error{
		"the directory": func(home string) error { return os.Chmod(home, 0o777) },
		"the permits":   func(home string) error { return os.Chmod(filepath.Join(home, "config.yaml"), 0o666) },
		"the trusted digests": func(home string) error {
			path := filepath.Join(home, "trusted")
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o622))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, home := t.TempDir(), filepath.Join(t.TempDir(), "home")
			task := filepath.Join(dir, "task.yaml")
			if err := errors.Join(os.Mkdir(home, 0o700),
				os.WriteFile(filepath.Join(home, "config.yaml"), []byte("apiVersion: codeact.dev/v1\nkind: Home\n"), 0o600),
				os.WriteFile(task, []byte("apiVersion: codeact.dev/v1\nkind: Task\nmetadata: {name: t}\ngoal: g\nworkspace: {dir: .}\nmodel: {provider: scripted, script: [{code: final(1)}]}\n"), 0o600)); err != nil {
				t.Fatal(err)
			}
			opt := assembly.Options{Home: home, UserHome: t.TempDir(), Unsafe: true, Principal: "tester"}
			r, err := assembly.Open(t.Context(), task, opt)
			if err != nil {
				t.Fatal(err)
			}
			r.Close()
			if err := spoil(home); err != nil {
				t.Fatal(err)
			}
			if _, err = assembly.Open(t.Context(), task, opt); err == nil || !strings.Contains(err.Error(), "may write") {
				t.Errorf("opened with %v", err)
			}
		})
	}
}
