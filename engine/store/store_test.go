package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// newStore has a parent of its own, where keys and the index go.
func newStore(t testing.TB) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "traces"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type body map[string]any

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// writeRun makes a closed trace of n lines and returns its path.
func writeRun(t testing.TB, s *Store, runID string, n int) string {
	t.Helper()
	tr := must[*Trace](t)(s.Create(runID))
	for i := range n {
		must[Line](t)(tr.Append("call.completed", body{"n": i, "text": "caf\u00e9 \U0001f642 <a>"}, noon, false))
	}
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	return tr.Path()
}

func readLines(t testing.TB, path string) []Line {
	t.Helper()
	var lines []Line
	for l, err := range ReadFile(path) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	return lines
}

// checkByHand reads a trace with nothing of this package: the format as the design page states it.
func checkByHand(t testing.TB, path string, wantLines int) {
	t.Helper()
	data := must[[]byte](t)(os.ReadFile(path))
	text, ok := strings.CutSuffix(string(data), "\n")
	if !ok {
		t.Fatalf("%s does not end with a newline", path)
	}
	prev := strings.Repeat("0", 64)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		var got struct {
			V                             int
			Seq                           int
			TS, Run_ID, Type, Prev, Extra string
		}
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		if got.V != 1 || got.Seq != i+1 || got.Prev != prev || got.Type == "" || got.Run_ID == "" {
			t.Fatalf("line %d: %s", i+1, line)
		}
		sum := sha256.Sum256([]byte(line))
		prev = hex.EncodeToString(sum[:])
	}
	if len(lines) != wantLines {
		t.Fatalf("%s has %d lines, want %d", path, len(lines), wantLines)
	}
}

func TestALineHasTheFormatOfTheDesign(t *testing.T) {
	s := newStore(t)
	tr := must[*Trace](t)(s.Create("r1"))
	defer tr.Close()
	zone := time.FixedZone("", 3600)
	must[Line](t)(tr.Append("run.started", json.RawMessage("{ \"goal\" : \"a<b\\n\" }"), noon.In(zone), true))
	must[Line](t)(tr.Append("step.started", struct{}{}, noon.Add(time.Nanosecond), false))

	first := `{"v":1,"seq":1,"ts":"2026-03-01T12:00:00Z","run_id":"r1","type":"run.started","goal":"a<b\n","prev":"` + zeroPrev + `"}`
	sum := sha256.Sum256([]byte(first))
	second := `{"v":1,"seq":2,"ts":"2026-03-01T12:00:00.000000001Z","run_id":"r1","type":"step.started","prev":"` + hex.EncodeToString(sum[:]) + `"}`
	got := string(must[[]byte](t)(os.ReadFile(tr.Path())))
	if diff := cmp.Diff(first+"\n"+second+"\n", got); diff != "" {
		t.Error(diff)
	}
}

func TestFilesAreForTheOwnerOnly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps no such bits")
	}
	s := newStore(t)
	tr := must[*Trace](t)(s.Create("r1"))
	defer tr.Close()
	digest := must[string](t)(tr.Blob([]byte("x")))
	must[[]byte](t)(s.Key("r1"))
	if err := s.MarkUntrusted(digest); err != nil {
		t.Fatal(err)
	}
	seen := 0
	err := filepath.WalkDir(filepath.Dir(s.dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == filepath.Dir(s.dir) {
			return err
		}
		want := fs.FileMode(fileMode)
		if d.IsDir() {
			want = dirMode
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
		}
		seen++
		return err
	})
	// traces, trace, lock, blobs, blob, keys, key, index
	if err != nil || seen != 8 {
		t.Errorf("walked over %d files: %v", seen, err)
	}
}

func TestOpenRefusesADirectoryThatCannotKeepTraces(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file); err == nil {
		t.Error("opened a file")
	}
	if runtime.GOOS == "windows" {
		return
	}
	shared := filepath.Join(dir, "shared")
	if err := errors.Join(os.Mkdir(shared, 0o700), os.Chmod(shared, 0o777)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(shared); err == nil || !strings.Contains(err.Error(), "chmod o-w") {
		t.Errorf("a directory that everyone may write: %v", err)
	}
}

func TestARunIDCannotLeaveTheStore(t *testing.T) {
	s := newStore(t)
	for _, id := range []string{"", "..", "../x", "a/b", `a\b`, "A", "-a", "a.b", "a\n", "a\x00", "é", strings.Repeat("a", 82)} {
		_, err1 := s.Create(id)
		_, _, err2 := s.Resume(id)
		_, err3 := s.Key(id)
		_, err4 := s.ReadBlob(id, zeroPrev)
		for i, err := range []error{err1, err2, err3, err4} {
			if err == nil || !strings.Contains(err.Error(), "want 1 to 81") {
				t.Errorf("%q at entry %d: %v", id, i, err)
			}
		}
	}
	if got := must[[]os.DirEntry](t)(os.ReadDir(filepath.Dir(s.dir))); len(got) != 1 {
		t.Errorf("something was made: %v", got)
	}
	must[*Trace](t)(s.Create(strings.Repeat("a", 81))).Close()
}

func TestBlobsAreKeptByDigest(t *testing.T) {
	s := newStore(t)
	tr := must[*Trace](t)(s.Create("r1"))
	data := []byte("large\x00content")
	digest := must[string](t)(tr.Blob(data))
	if want := fmt.Sprintf("%x", sha256.Sum256(data)); digest != want {
		t.Fatalf("digest %s, want %s", digest, want)
	}
	if got := must[[]byte](t)(s.ReadBlob("r1", digest)); string(got) != string(data) {
		t.Errorf("read %q", got)
	}
	if _, err := s.ReadBlob("r1", zeroPrev); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a blob that is not there: %v", err)
	}
	if _, err := s.ReadBlob("r1", "../"+digest); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a path for a digest: %v", err)
	}

	path := filepath.Join(s.dir, "r1.blobs", digest)
	if err := os.WriteFile(path, []byte("larger content"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ReadBlob("r1", digest); !errors.Is(err, ErrDigest) {
		t.Errorf("a changed blob: %v", err)
	}
	must[string](t)(tr.Blob(data)) // replaces the changed one
	must[string](t)(tr.Blob(data)) // finds the sound one
	must[[]byte](t)(s.ReadBlob("r1", digest))
	if left := must[[]os.DirEntry](t)(os.ReadDir(filepath.Dir(path))); len(left) != 1 {
		t.Errorf("files left behind: %v", left)
	}
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Blob(data); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("a blob after Close: %v", err)
	}
}

func TestABlobThatCannotBeWrittenIsAnError(t *testing.T) {
	s := newStore(t)
	tr := must[*Trace](t)(s.Create("r1"))
	defer tr.Close()
	digest := hashLine([]byte("x"))
	dir := filepath.Join(s.dir, "r1.blobs")
	if err := os.MkdirAll(filepath.Join(dir, digest, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Blob([]byte("x")); err == nil {
		t.Error("wrote over a directory")
	}
	if left := must[[]os.DirEntry](t)(os.ReadDir(dir)); len(left) != 1 {
		t.Errorf("files left behind: %v", left)
	}
	if err := errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Blob([]byte("x")); err == nil {
		t.Error("wrote below a file")
	}
	if err := errors.Join(os.Remove(dir), os.Rename(s.dir, s.dir+"2")); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Blob([]byte("x")); err == nil {
		t.Error("wrote into a store that is gone")
	}
	if err := os.Rename(s.dir+"2", s.dir); err != nil {
		t.Fatal(err)
	}
	must[Line](t)(tr.Append("a.b", body{}, noon, true)) // the trace itself is sound
}

func TestAKeyIsMadeOnceAndStandsOutsideTheTraces(t *testing.T) {
	s := newStore(t)
	key := must[[]byte](t)(s.Key("r1"))
	if len(key) != 32 || string(key) == string(make([]byte, 32)) {
		t.Fatalf("key %x", key)
	}
	if again := must[[]byte](t)(s.Key("r1")); string(again) != string(key) {
		t.Error("the key changed")
	}
	if other := must[[]byte](t)(s.Key("r2")); string(other) == string(key) {
		t.Error("two runs share a key")
	}
	keys := filepath.Join(filepath.Dir(s.dir), "keys")
	if err := makeKey(keys, filepath.Join(keys, "r1")); err != nil { // a process that came second
		t.Fatal(err)
	}
	if again := must[[]byte](t)(s.Key("r1")); string(again) != string(key) {
		t.Error("the second process replaced the key")
	}
	if left := must[[]os.DirEntry](t)(os.ReadDir(keys)); len(left) != 2 {
		t.Errorf("files left behind: %v", left)
	}
	if err := os.WriteFile(filepath.Join(keys, "r1"), key[:31], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Key("r1"); err == nil || !strings.Contains(err.Error(), "31 bytes") {
		t.Errorf("a short key: %v", err)
	}
	if err := errors.Join(os.RemoveAll(keys), os.WriteFile(keys, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Key("r1"); err == nil {
		t.Error("made a key below a file")
	}
}
