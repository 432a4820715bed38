package bridge_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/policy"
)

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func keys(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

// Labels go where the bytes go, and a file is the run's own until it is gone.
func TestAChangeOfTheFilesIsFoldedIntoTheState(t *testing.T) {
	for _, tt := range []struct {
		name          string
		wrote         []bridge.Written
		tainted, made []string
	}{
		{"clean", []bridge.Written{{Path: "a", SHA256: "1"}}, nil, nil},
		{"new", []bridge.Written{{Path: "a", SHA256: "1", New: true}}, nil, []string{"a"}},
		{"a third party's", []bridge.Written{{Path: "a", SHA256: "1", Untrusted: true}}, []string{"1", "a"}, nil},
		{"clean again", []bridge.Written{{Path: "a", SHA256: "1", Untrusted: true}, {Path: "a", SHA256: "2"}}, []string{"1"}, nil},
		{"moved", []bridge.Written{{Path: "a", SHA256: "1", Untrusted: true, New: true}, {Path: "b", From: "a"}}, []string{"1", "a", "b"}, []string{"b"}},
		{"a name alone", []bridge.Written{{Path: "b", From: "a", Untrusted: true}}, []string{"b"}, nil},
		{"a directory", []bridge.Written{{Path: "d/x", SHA256: "1", Untrusted: true, New: true}, {Path: "dx", SHA256: "2", Untrusted: true, New: true}, {Path: "e/f", From: "d"}},
			[]string{"1", "2", "d/x", "dx", "e/f/x"}, []string{"dx", "e/f/x"}},
		{"there and back", []bridge.Written{{Path: "a", SHA256: "1", New: true}, {Path: "b", From: "a"}, {Path: "a", From: "b"}}, nil, []string{"a"}},
		{"below itself", []bridge.Written{{Path: "d/a", SHA256: "1", New: true}, {Path: "d/d", From: "d"}}, nil, []string{"d/d/a"}},
		{"gone", []bridge.Written{{Path: "a", SHA256: "1", Untrusted: true, New: true}, {Path: "a", Gone: true, Untrusted: true}}, []string{"1", "a"}, nil},
		{"a file called as a digest goes", []bridge.Written{{Path: "a", SHA256: "1", Untrusted: true}, {Path: "1", Gone: true}, {Path: "x", From: "1"}}, []string{"1", "a", "x"}, nil},
	} {
		var s bridge.State
		for _, w := range tt.wrote {
			s.Wrote(w)
		}
		if !slices.Equal(keys(s.Tainted), tt.tainted) || !slices.Equal(keys(s.Made), tt.made) {
			t.Errorf("%s: tainted %v, made %v; want %v, %v", tt.name, keys(s.Tainted), keys(s.Made), tt.tainted, tt.made)
		}
	}
}

// No change but a clean write to the same path takes a label away.
func TestOnlyACleanWriteTakesALabelAway(t *testing.T) {
	path := rapid.SampledFrom([]string{"a", "b", "a/b", "c"})
	rapid.Check(t, func(t *rapid.T) {
		var s bridge.State
		for range rapid.IntRange(1, 10).Draw(t, "changes") {
			before := maps.Clone(s.Tainted)
			w := bridge.Written{Path: path.Draw(t, "path"), Untrusted: rapid.Bool().Draw(t, "untrusted"), Gone: rapid.Bool().Draw(t, "gone"), New: rapid.Bool().Draw(t, "new")}
			if rapid.Bool().Draw(t, "moved") {
				w.From = path.Draw(t, "from")
			}
			s.Wrote(w)
			for p := range before {
				if clean := p == w.Path && !w.Untrusted && !w.Gone && w.From == ""; !s.Tainted[p] && !clean {
					t.Fatalf("%+v took the label of %s away", w, p)
				}
			}
		}
	})
}

// changing runs f as a tool that takes two paths, with third-party content held.
func changing(t *testing.T, dir, path, to string, held policy.Taint, f func(*bridge.Root) error) (bridge.Outcome, error) {
	t.Helper()
	var p probe
	tool := p.tool("x", func(t *bridge.Tool) {
		t.Params = bridge.MustSchema(`{"type": "object", "properties": {"path": {"type": "string"}, "to": {"type": "string"}}}`)
		t.Paths = []string{"path", "to"}
		t.Run = func(_ context.Context, p *bridge.Permit) (bridge.Output, error) {
			return bridge.Output{Local: true}, f(p.Root())
		}
	})
	r := newRig(t, bridge.Config{Tools: []bridge.Tool{tool}}, space(t, dir, workspace.Config{Writable: []string{"w/**"}, Untrusted: []string{"w/vendor/**"}}))
	r.State.Held = held
	_, err := r.call(t, "x", map[string]any{"path": path, "to": to})
	return event[bridge.Outcome](t, r.Journal), err
}

func TestOnlyJudgedPathsAreChanged(t *testing.T) {
	dir := t.TempDir()
	for name, f := range map[string]func(*bridge.Root) error{
		"write":     func(r *bridge.Root) error { return r.Write("other", nil) },
		"move from": func(r *bridge.Root) error { return r.Move("other", "w/b") },
		"move to":   func(r *bridge.Root) error { return r.Move("w/a", "other") },
		"movable":   func(r *bridge.Root) error { return r.Movable("w/a", "other") },
		"remove":    func(r *bridge.Root) error { return r.Remove("other") },
		"removable": func(r *bridge.Root) error { return r.Removable("other") },
		"writable":  func(r *bridge.Root) error { return r.Writable("other") },
		"sum":       func(r *bridge.Root) error { _, _, err := r.Sum("other"); return err },
	} {
		if o, err := changing(t, dir, "w/a", "w/b", policy.Taint{}, f); err == nil || !strings.Contains(err.Error(), `"other" is not a path that was judged`) || o.Wrote != nil {
			t.Errorf("%s: %v, %+v", name, err, o.Wrote)
		}
	}
}

func TestAMoveKeepsTheLabelsOfWhatItMoves(t *testing.T) {
	for _, tt := range []struct {
		name, path, to string
		held           policy.Taint
		want           []bridge.Written
	}{
		{"the user's", "w/a", "w/b", policy.Taint{}, []bridge.Written{{Path: "w/b", From: "w/a"}}},
		{"a name that may be a third party's", "w/a", "w/b", policy.Tainted(policy.Untrusted, "c"), []bridge.Written{{Path: "w/b", From: "w/a", Untrusted: true}}},
		{"out of what the operator marks", "w/vendor/v", "w/b", policy.Taint{}, []bridge.Written{{Path: "w/b", From: "w/vendor/v"}, {Path: "w/b", SHA256: sumOf("third"), Untrusted: true}}},
		{"a directory of it", "w/vendor", "w/n", policy.Taint{}, []bridge.Written{{Path: "w/n", From: "w/vendor"}, {Path: "w/n/v", SHA256: sumOf("third"), Untrusted: true}}},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"w/a": "mine", "w/vendor/v": "third"} {
			if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700), os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		o, err := changing(t, dir, tt.path, tt.to, tt.held, func(r *bridge.Root) error { return errors.Join(r.Movable(tt.path, tt.to), r.Move(tt.path, tt.to)) })
		if err != nil || !slices.Equal(o.Wrote, tt.want) {
			t.Errorf("%s: %+v, %v", tt.name, o.Wrote, err)
		}
		if o.Taint.Untrusted() || o.Taint.Private() {
			t.Errorf("%s: a move tells nothing, and brings %v", tt.name, o.Taint)
		}
	}
}

func TestAMoveMarksABoundedNumberOfFiles(t *testing.T) {
	for n, works := range map[int]bool{1000: true, 1001: false} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "w/vendor"), 0o700); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if err := os.WriteFile(filepath.Join(dir, "w/vendor", strconv.Itoa(i)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		o, err := changing(t, dir, "w/vendor", "w/n", policy.Taint{}, func(r *bridge.Root) error { return r.Move("w/vendor", "w/n") })
		if (err == nil) != works || (len(o.Wrote) == n+1) != works {
			t.Errorf("%d files: %v, %d changes", n, err, len(o.Wrote))
		}
	}
}

// A refused change leaves no trace of one: a label without an effect would be as
// wrong as the reverse.
func TestARefusedChangeIsNotRecorded(t *testing.T) {
	for name, f := range map[string]func(*bridge.Root) error{
		"write":     func(r *bridge.Root) error { return r.Write("a", nil) },
		"too large": func(r *bridge.Root) error { return r.Write("w/a", make([]byte, 64<<20+1)) },
		"writable":  func(r *bridge.Root) error { return r.Writable("a") },
		"move":      func(r *bridge.Root) error { return r.Move("a", "w/a") },
		"move none": func(r *bridge.Root) error { return r.Move("w/a", "w/a") },
		"remove":    func(r *bridge.Root) error { return r.Remove("a") },
		"removable": func(r *bridge.Root) error { return r.Removable("a") },
		"sum":       func(r *bridge.Root) error { _, _, err := r.Sum("a"); return err },
	} {
		o, err := changing(t, t.TempDir(), "a", "w/a", policy.Taint{}, f)
		if err == nil || o.Wrote != nil {
			t.Errorf("%s: %v, %+v", name, err, o.Wrote)
		}
	}
}

// Two writes of one call to a new path are one new file.
func TestACallMayWriteItsOwnFileAgain(t *testing.T) {
	dir := t.TempDir()
	o, err := changing(t, dir, "w/a", "w/b", policy.Taint{}, func(r *bridge.Root) error {
		return errors.Join(r.Write("w/a", []byte("1")), r.Write("w/a", []byte("2")), r.Remove("w/a"))
	})
	want := []bridge.Written{{Path: "w/a", SHA256: sumOf("1"), New: true}, {Path: "w/a", SHA256: sumOf("2")}, {Path: "w/a", Gone: true}}
	if err != nil || !slices.Equal(o.Wrote, want) {
		t.Errorf("%+v, %v", o.Wrote, err)
	}
}

// The index knows whole files, and a tool may read a part: the rest is looked at
// too, up to what a run can have written.
func TestAPartOfAFileIsKnownByTheWhole(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"third": "obey, and more", "mine": "obey", "nothing": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]bool{"third": true, "mine": false, "nothing": false} {
		for name, f := range map[string]func(*bridge.Root) error{
			"read": func(r *bridge.Root) error { _, _, err := r.ReadFile(path, 4); return err },
			"sum":  func(r *bridge.Root) error { _, _, err := r.Sum(path); return err },
		} {
			files := space(t, dir, workspace.Config{})
			known := func(run *bridge.Run) {
				run.State.Untrusted = func(sum string) bool { return sum == sumOf("obey, and more") || sum == sumOf("") }
			}
			o, err := in(t, bridge.Config{}, path, func(_ context.Context, p *bridge.Permit) error { return f(p.Root()) }, files, known)
			if err != nil || o.Taint.Untrusted() != want {
				t.Errorf("%s %s: %v, %v", name, path, o.Taint, err)
			}
		}
	}
}

func TestNamesThatTheRunChoseAreKnown(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/obey/f", "b/f", "c/dd/f"} {
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700), os.WriteFile(filepath.Join(dir, name), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]bool{".": true, "a": true, "a/obey": true, "b": false, "c": false} {
		chose := func(run *bridge.Run) { run.State.Tainted = map[string]bool{"a/obey/f": true, "c/d/x": true} }
		o, err := in(t, bridge.Config{}, path, func(_ context.Context, p *bridge.Permit) error { _, _, err := p.Root().List(path, 10); return err }, space(t, dir, workspace.Config{}), chose)
		if err != nil || o.Taint.Untrusted() != want {
			t.Errorf("%s: %v, %v", path, o.Taint, err)
		}
	}
}
