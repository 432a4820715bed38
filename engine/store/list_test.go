package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestListIsNewestFirstAndHidesNothing(t *testing.T) {
	s := newStore(t)
	for id, started := range map[string]time.Time{"new": noon.Add(time.Hour), "old": noon, "old-too": noon, "torn": noon.Add(-1), "bent": noon.Add(-2)} {
		tr := must[*Trace](t)(s.Create(id))
		must[Line](t)(tr.Append("run.started", body{}, started, false))
		must[Line](t)(tr.Append("run.paused", body{}, started.Add(time.Minute), false))
		must[Line](t)(tr.Append("run.completed", body{}, started.Add(-time.Minute), false))
		tr.Close()
	}
	appendText(t, s.file("torn", traceExt), `{"v":1`)
	bend(t, s.file("bent", traceExt), "paused", "paused!")
	writeRun(t, s, "empty", 0)
	if err := errors.Join(
		os.Rename(writeRun(t, s, "moved", 1), s.file("moved-2", traceExt)),
		os.WriteFile(s.file("Not An Id", traceExt), nil, 0o600),
		os.Symlink("nowhere", s.file("gone", traceExt)),
		os.WriteFile(filepath.Join(s.dir, "notes.txt"), nil, 0o600),
	); err != nil {
		t.Fatal(err)
	}

	type row struct {
		RunID, LastType, Err string
		Lines                int
		Torn                 bool
	}
	want := []row{
		{"new", "run.completed", "", 3, false},
		{"old-too", "run.completed", "", 3, false},
		{"old", "run.completed", "", 3, false},
		{"torn", "run.completed", "", 3, true},
		{"bent", "run.paused!", "its bytes do not have the hash that line 3 recorded", 2, false},
		{"moved-2", "", "the file is of run moved", 0, false},
		{"gone", "", "no such file", 0, false},
		{"empty", "", "no whole line", 0, false},
		{"Not An Id", "", "want 1 to 81", 0, false},
	}
	infos := must[[]Info](t)(s.List())
	var got []row
	for i, info := range infos {
		r := row{info.RunID, info.LastType, "", info.Lines, info.Torn}
		if info.Err != nil {
			r.Err = info.Err.Error()
			if i < len(want) && want[i].Err != "" && strings.Contains(r.Err, want[i].Err) {
				r.Err = want[i].Err
			}
		}
		got = append(got, r)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	if first := infos[0]; !first.Started.Equal(noon.Add(time.Hour)) || first.Path != s.file("new", traceExt) || first.Size != sizeOf(t, first.Path) {
		t.Errorf("%+v", first)
	}
}

func sizeOf(t *testing.T, path string) int64 {
	t.Helper()
	return must[os.FileInfo](t)(os.Stat(path)).Size()
}

func bend(t *testing.T, path, old, new string) {
	t.Helper()
	data := must[[]byte](t)(os.ReadFile(path))
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), old, new, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFind(t *testing.T) {
	s := newStore(t)
	for _, id := range []string{"triage-1a", "triage-1b", "triage-1c", "triage-1d", "post-99", "abc", "abc-long"} {
		writeRun(t, s, id, 1)
	}
	elsewhere := filepath.Join(t.TempDir(), "copy.jsonl")
	if err := os.WriteFile(elsewhere, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{
		"triage-1a": s.file("triage-1a", traceExt),
		"post-9":    s.file("post-99", traceExt),
		"abc":       s.file("abc", traceExt), // a whole id, though short and a beginning of another
		elsewhere:   elsewhere,
	} {
		if got, err := s.Find(ref); err != nil || got != want {
			t.Errorf("%s: %s, %v", ref, got, err)
		}
	}
	for ref, want := range map[string]string{
		"triage":                  `"triage" begins 4 ids: give more of it (triage-1a, triage-1b, triage-1c, …)`,
		"pos":                     `"pos" is too short for the beginning of an id: give at least 6 characters (post-99)`,
		"":                        `"" is too short`,
		"past-99":                 `no such run: "past-99" (post-99)`,
		"tirage-1b":               `no such run: "tirage-1b" (triage-1b, triage-1a, triage-1c, …)`,
		"something":               `no such run: "something"`,
		elsewhere + "x.jsonl":     "there is no file",
		filepath.Dir(elsewhere):   "is not a file",
		"copy.jsonl":              "there is no file copy.jsonl",
		elsewhere + "/below/it":   "",
		strings.Repeat("x/", 5e3): "",
	} {
		_, err := s.Find(ref)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: got %v, want %s", ref, err, want)
		}
		if want != "" && !errors.Is(err, ErrNoRun) {
			t.Errorf("%.40s: %v is not ErrNoRun", ref, err)
		}
	}
	if _, err := s.Find("something"); err == nil || strings.Contains(err.Error(), "(") {
		t.Errorf("names ids that are not near: %v", err)
	}
}
