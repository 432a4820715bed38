package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/codeact-dev/codeact/bridge/mcp"
)

func TestDiff(t *testing.T) {
	a := mcp.Definition{Name: "a", Description: "d", Schema: "{}", Hints: "{}"}
	with := func(f func(*mcp.Definition)) mcp.Pin {
		d := a
		f(&d)
		return mcp.Pin{Identity: "i", Tools: []mcp.Definition{d}}
	}
	same := mcp.Pin{Identity: "i", Tools: []mcp.Definition{a}}
	for _, tt := range []struct {
		name string
		now  mcp.Pin
		want []mcp.Change
	}{
		{"nothing", same, nil},
		{"command", mcp.Pin{Identity: "j", Tools: same.Tools}, []mcp.Change{{Kind: mcp.Command, Before: "i", After: "j"}}},
		{"description", with(func(d *mcp.Definition) { d.Description = "e" }), []mcp.Change{{Tool: "a", Kind: mcp.Description, Before: "d", After: "e"}}},
		{"schema", with(func(d *mcp.Definition) { d.Schema = "[]" }), []mcp.Change{{Tool: "a", Kind: mcp.Schema, Before: "{}", After: "[]"}}},
		{"hints", with(func(d *mcp.Definition) { d.Hints = "[]" }), []mcp.Change{{Tool: "a", Kind: mcp.Hints, Before: "{}", After: "[]"}}},
		{"name", with(func(d *mcp.Definition) { d.Name = "b" }), []mcp.Change{{Tool: "b", Kind: mcp.Added, After: "d\n{}\n{}"}, {Tool: "a", Kind: mcp.Removed, Before: "d\n{}\n{}"}}},
		{"none left", mcp.Pin{Identity: "i"}, []mcp.Change{{Tool: "a", Kind: mcp.Removed, Before: "d\n{}\n{}"}}},
	} {
		if d := cmp.Diff(tt.want, mcp.Diff(same, tt.now)); d != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, d)
		}
	}
}

// Two pins differ exactly when diff says so, and then their digests differ too.
func TestDiffFindsEveryDifference(t *testing.T) {
	text := rapid.SampledFrom([]string{"", "a", "b"})
	pins := rapid.Custom(func(t *rapid.T) mcp.Pin {
		p := mcp.Pin{Identity: text.Draw(t, "identity")}
		for _, name := range []string{"x", "y", "z"} {
			if rapid.Bool().Draw(t, name) {
				p.Tools = append(p.Tools, mcp.Definition{Name: name, Description: text.Draw(t, "d"), Schema: text.Draw(t, "s"), Hints: text.Draw(t, "h")})
			}
		}
		return p
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := pins.Draw(t, "a"), pins.Draw(t, "b")
		if same := cmp.Equal(a, b); same != (len(mcp.Diff(a, b)) == 0) || same != (a.Digest() == b.Digest()) {
			t.Fatalf("equal is %v, diff %v, digests %v", same, mcp.Diff(a, b), a.Digest() == b.Digest())
		}
	})
}

func TestPinsAreKeptByTaskAndServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pins.json")
	open := func(task string) *mcp.Pins {
		p, err := mcp.OpenPins(path, task)
		must(t, err)
		return p
	}
	pin := mcp.Pin{Identity: "i", Tools: []mcp.Definition{{Name: "a", Description: "</b>\u202e"}}}
	must(t, open("one").Approve(t.Context(), "s", pin))
	for _, tt := range []struct {
		task, server string
		want         int
	}{{"one", "s", 0}, {"one", "other", 2}, {"two", "s", 2}} {
		got, err := open(tt.task).Diff(tt.server, pin)
		must(t, err)
		if len(got) != tt.want {
			t.Errorf("%s %s: %d changes, want %d", tt.task, tt.server, len(got), tt.want)
		}
	}
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the pins have mode %v, want 0600", info.Mode())
	}
}

func TestPinsThatCannotBeTrusted(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		mode       os.FileMode
		want       string
	}{
		{"others may write", `{"version":1,"tasks":{}}`, 0o666, "may be written by others"},
		{"no JSON", `{`, 0o600, "unexpected EOF"},
		{"more than there is", `{"version":1,"tasks":{},"trust":"all"}`, 0o600, "unknown field"},
		{"two files in one", `{"version":1,"tasks":{}}{}`, 0o600, "text after the end"},
		{"another version", `{"version":2,"tasks":{}}`, 0o600, "version 2"},
		{"tools out of order", `{"version":1,"tasks":{"t":{"s":{"identity":"","tools":[{"name":"b"},{"name":"a"}]}}}}`, 0o600, "out of order"},
		{"empty", ``, 0o600, "EOF"},
	} {
		path := filepath.Join(t.TempDir(), "pins.json")
		must(t, os.WriteFile(path, []byte(tt.text), 0o600))
		must(t, os.Chmod(path, tt.mode))
		if _, err := mcp.OpenPins(path, "t"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	if _, err := mcp.OpenPins(filepath.Join(t.TempDir()), "t"); err == nil {
		t.Error("a directory was opened as pins")
	}
}

func TestPinsOfManyWritersAreAllKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pins.json")
	errs := make(chan error)
	for i := range 6 {
		go func() { // each opens the file as another program would
			p, err := mcp.OpenPins(path, fmt.Sprint("task", i%2))
			if err == nil {
				err = p.Approve(context.Background(), fmt.Sprint("s", i), mcp.Pin{Identity: fmt.Sprint(i)})
			}
			errs <- err
		}()
	}
	for range 6 {
		must(t, <-errs)
	}
	for i := range 6 {
		p, err := mcp.OpenPins(path, fmt.Sprint("task", i%2))
		must(t, err)
		if got, err := p.Diff(fmt.Sprint("s", i), mcp.Pin{Identity: fmt.Sprint(i)}); err != nil || len(got) > 0 {
			t.Errorf("pin %d: %v, %v", i, got, err)
		}
	}
}

func TestALockThatStaysIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pins.json")
	must(t, os.WriteFile(path+".lock", nil, 0o600))
	p, err := mcp.OpenPins(path, "t")
	must(t, err)
	if err := p.Approve(t.Context(), "s", mcp.Pin{}); err == nil || !strings.Contains(err.Error(), "remove "+path+".lock") {
		t.Errorf("%v: want what to remove", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Approve(ctx, "s", mcp.Pin{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v: want that it was cancelled", err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the pins were written: %v", err)
	}
}

func FuzzPins(f *testing.F) {
	f.Add([]byte(`{"version":1,"tasks":{"t":{"s":{"identity":"i","tools":[{"name":"a","description":"","schema":"","hints":""}]}}}}`))
	f.Add([]byte(`{"version":1,"tasks":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "pins.json")
		must(t, os.WriteFile(path, data, 0o600))
		p, err := mcp.OpenPins(path, "t")
		if err != nil {
			return
		}
		pin := mcp.Pin{Identity: "new"}
		must(t, p.Approve(t.Context(), "s", pin))
		if got, err := p.Diff("s", pin); err != nil || len(got) > 0 {
			t.Errorf("approved, and differs in %v, %v", got, err)
		}
	})
}
