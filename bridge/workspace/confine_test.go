package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestABoxGetsTheSpaceAsDirectories(t *testing.T) {
	dir, extra := t.TempDir(), t.TempDir()
	for _, p := range []string{"src/a.go", "src/.env", "keys/deep/x.pem", ".env", "secrets/a", "secrets/b/c", "task.yaml"} {
		path := filepath.Join(dir, p)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(extra, "y.pem"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "secrets"), filepath.Join(dir, "link.pem")); err != nil {
		t.Fatal(err)
	}
	s, _, err := Open(Config{Dir: dir, Writable: []string{"src/**", "out/", "notes/*.md"}, ReadDeny: []string{".env", "*.pem", "secrets/**", "secrets"},
		Protected: []string{filepath.Join(dir, "task.yaml"), "/elsewhere/config.yaml"}, Read: []Extra{{Name: "lib", Path: extra}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, err := s.Confine()
	if err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	lib, err := filepath.EvalSymlinks(extra)
	if err != nil {
		t.Fatal(err)
	}
	want := Confines{Dir: real, Writable: []string{real + "/src", real + "/out"}, Unwritable: []string{"notes/*.md"}, Read: []string{lib},
		Protected: []string{real + "/task.yaml"},
		Hidden:    []string{real + "/.env", real + "/keys/deep/x.pem", real + "/link.pem", real + "/secrets", real + "/src/.env", lib + "/y.pem"}}
	slices.Sort(want.Hidden)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestAGlobThatIsNoDirectoryIsNotWritableInABox(t *testing.T) {
	for glob, want := range map[string]string{"**/*": "", "a/**/*": "a", "a/b/**/*": "a/b", "*/x/**/*": "-", "a/*": "-", "a": "-", "a{b,c}/**/*": "-"} {
		dir, ok := prefix(glob)
		if !ok {
			dir = "-"
		}
		if dir != want {
			t.Errorf("prefix(%q) = %q, want %q", glob, dir, want)
		}
	}
}
