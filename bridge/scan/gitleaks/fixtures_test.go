// Package gitleaks_test compares package redact with gitleaks, whose rule ids it uses. It is a module of its own, so that gitleaks
// and its dependencies stay out of the program. It says how much of what gitleaks finds is found; what neither finds it does not say.
package gitleaks_test

import (
	"bufio"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A fixture is what gitleaks checks one of its rules with when it generates its configuration: texts that hold a secret, and
// texts that only look so.
type fixture struct {
	Rule                string
	Positives, Negative []string
}

// recorder stands in place of the file of gitleaks that checks the fixtures, which are local variables everywhere.
const recorder = `package utils

import (
	"encoding/json"
	"os"

	"github.com/zricethezav/gitleaks/v8/config"
)

func Validate(rule config.Rule, positives, negatives []string) *config.Rule {
	f, err := os.OpenFile(os.Getenv("FIXTURES"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if err := json.NewEncoder(f).Encode(map[string]any{"Rule": rule.RuleID, "Positives": positives, "Negative": negatives}); err != nil {
		panic(err)
	}
	return &rule
}

func ValidateWithPaths(rule config.Rule, _, _ map[string]string) *config.Rule { return &rule }
`

// seeded stands in place of the file that makes random secrets, so that every run tests the same ones.
const seeded = `package secrets

import "github.com/lucasjones/reggen"

var seed int64

func NewSecret(regex string) string {
	g, err := reggen.NewGenerator(regex)
	if err != nil {
		panic(err)
	}
	seed++
	g.SetSeed(seed)
	return g.Generate(1)
}
`

// fixtures runs the generator of gitleaks, with these two files, in a copy of its module.
func fixtures(t *testing.T) []fixture {
	t.Helper()
	dir := t.TempDir()
	copyModule(t, dir)
	for name, text := range map[string]string{"cmd/generate/config/utils/validate.go": recorder, "cmd/generate/secrets/regen.go": seeded} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Fatalf("gitleaks has changed: %v", err)
		}
		write(t, filepath.Join(dir, name), []byte(text))
	}
	out := filepath.Join(dir, "fixtures.jsonl")
	cmd := exec.Command("go", "run", ".", filepath.Join(dir, "unused.toml"))
	cmd.Dir = filepath.Join(dir, "cmd", "generate", "config")
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "FIXTURES="+out)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the generator of gitleaks: %v\n%s", err, text)
	}
	return decode(t, out)
}

func decode(t *testing.T, name string) (list []fixture) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for d := json.NewDecoder(bufio.NewReader(f)); d.More(); {
		var x fixture
		if err := d.Decode(&x); err != nil {
			t.Fatal(err)
		}
		slices.Sort(x.Positives) // they come out of a map
		list = append(list, x)
	}
	return list
}

// copyModule copies the sources of gitleaks, as go.mod names them.
func copyModule(t *testing.T, to string) {
	t.Helper()
	text, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/zricethezav/gitleaks/v8").Output()
	if err != nil {
		t.Fatal(err)
	}
	from := strings.TrimSpace(string(text))
	err = filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		switch filepath.Ext(path) {
		case ".go", ".mod", ".sum", ".toml", ".tmpl":
		default:
			return nil
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil {
			write(t, filepath.Join(to, rel), data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
