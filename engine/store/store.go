// Package store keeps the trace of each run: one append-only JSONL file, every line chained to the one before by SHA-256.
//
// The chain shows that a line was changed, moved or taken out. It does not show that lines were taken off the end, nor a
// change inside the last line, and whoever can write the file can rewrite all of it: keep Report.Last elsewhere to notice
// either. Nothing is encrypted, and nothing is redacted here: what must not stand in a trace must not be given to Append.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
)

const (
	traceExt = ".jsonl"
	lockExt  = ".lock"
	blobsExt = ".blobs"

	dirMode  = 0o700
	fileMode = 0o600
)

// ErrNoRun is returned for a run that the store does not hold.
var ErrNoRun = errors.New("no such run")

// ErrDigest is returned for stored content that no longer has the digest it is named by.
var ErrDigest = errors.New("content does not match its digest")

// LockedError says that another Trace, here or in another process, is writing the run.
type LockedError struct {
	RunID string
	PID   int // 0 when the owner has not yet written it down
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("store: run %s is being written by another process; wait until it ends", e.RunID)
	}
	return fmt.Sprintf("store: run %s is being written by process %d; wait until it ends or stop it", e.RunID, e.PID)
}

// DamageError says where a trace stops being what was written. Its text is what `trace verify` prints.
type DamageError struct {
	Line   int   // counted from 1
	Offset int64 // in bytes from the start of the file: the very byte where it is known, else the start of the line
	Why    string
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("broken at line %d, byte %d: %s", e.Line, e.Offset, e.Why)
}

// Store is a directory of traces. It is safe for concurrent use, also by several processes.
type Store struct {
	dir   string
	index untrustedIndex
}

// Open returns the store in dir and makes dir when it is missing. A directory that everyone may write is refused:
// another user could put files where traces will be.
//
// Keys and the index of untrusted digests stand beside dir, in its parent.
func Open(dir string) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	// Windows keeps no such bits: Go makes them up there.
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0 {
		return nil, fmt.Errorf("store: %s: everyone may write to it; run chmod o-w on it or name another directory", dir)
	}
	return &Store{dir: dir, index: untrustedIndex{path: filepath.Join(filepath.Dir(dir), "untrusted.idx")}}, nil
}

var runIDPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,80}$`)

// checkRunID keeps every path that is built from a run id inside the store.
func checkRunID(id string) error {
	if !runIDPattern.MatchString(id) {
		return fmt.Errorf("store: run id %q: want 1 to 81 of a-z, 0-9 and '-', not starting with '-'", id)
	}
	return nil
}

func (s *Store) file(runID, ext string) string {
	return filepath.Join(s.dir, runID+ext)
}

// writeTemp puts data, flushed, in a new file of mode 0600 in dir, for the caller to move to its name.
func writeTemp(dir string, data []byte) (path string, err error) {
	f, err := os.CreateTemp(dir, ".tmp-*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// Replace puts data, flushed, under a name in dir, or leaves what was there. The file has mode 0600.
func Replace(dir, name string, data []byte) error {
	temp, err := writeTemp(dir, data)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if err := os.Rename(temp, filepath.Join(dir, name)); err != nil {
		return fmt.Errorf("store: %w", errors.Join(err, os.Remove(temp)))
	}
	return syncDir(dir)
}

// Claim puts data, flushed, under a name in dir that nobody has yet: of several processes one succeeds, and the others get an
// error that is fs.ErrExist.
func Claim(dir, name string, data []byte) error {
	temp, err := writeTemp(dir, data)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if err := errors.Join(os.Link(temp, filepath.Join(dir, name)), os.Remove(temp), syncDir(dir)); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// MakeDir makes one directory of mode 0700 below an existing one, so that it outlives a power cut.
func MakeDir(path string) error {
	err := os.Mkdir(path, dirMode)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}
