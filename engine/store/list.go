package store

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/codeact-dev/codeact/spelling"
)

// Info is what a listing tells of one trace.
type Info struct {
	RunID    string // from the file's name
	Path     string
	Started  time.Time // of the first line; zero when that cannot be read
	Size     int64     // in bytes
	Lines    int       // whole ones, up to any damage
	LastType string    // type of the last of these
	Torn     bool      // a crash left part of a line
	Err      error     // why the trace cannot be resumed; nil for a sound one
}

// List reads every trace of the store, newest first. A damaged one is listed with its Err, never left out.
func (s *Store) List() ([]Info, error) {
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	infos := make([]Info, 0, len(names))
	for _, name := range names {
		infos = append(infos, s.inspect(name))
	}
	slices.SortFunc(infos, func(a, b Info) int {
		return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(b.RunID, a.RunID))
	})
	return infos, nil
}

// names returns the names of the trace files without their ending, sorted.
func (s *Store) names() ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), traceExt); ok {
			names = append(names, name)
		}
	}
	return names, nil
}

func (s *Store) inspect(runID string) Info {
	i := Info{RunID: runID, Path: s.file(runID, traceExt)}
	if i.Err = checkRunID(runID); i.Err != nil {
		return i
	}
	f, err := os.Open(i.Path)
	if err != nil {
		i.Err = fmt.Errorf("store: %w", err)
		return i
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil {
		i.Size = info.Size()
	}
	i.Err = i.scan(newScanner(f))
	return i
}

func (i *Info) scan(s *scanner) error {
	for {
		l, err := s.next()
		if err == io.EOF || err == errTorn {
			i.Torn = err == errTorn
			return nil
		}
		if err != nil {
			return err
		}
		if l.RunID != i.RunID {
			return &DamageError{Line: 1, Why: fmt.Sprintf("the file is of run %s", l.RunID)}
		}
		if s.count == 1 {
			i.Started = l.TS
		}
		i.Lines, i.LastType = s.count, l.Type
	}
}

// minPrefix is how much of a run id Find wants to see, in characters: fewer are too likely to mean another run.
const minPrefix = 6

// Find returns the path of the trace that ref means: a run id, the beginning of one, or a path. The error of a ref that
// means none is ErrNoRun and names ids near it.
func (s *Store) Find(ref string) (string, error) {
	names, err := s.names()
	if err != nil {
		return "", err
	}
	if slices.Contains(names, ref) {
		return s.file(ref, traceExt), nil
	}
	if strings.ContainsAny(ref, `/\`) || filepath.Ext(ref) == traceExt {
		return findPath(ref)
	}
	var match []string
	for _, name := range names {
		if strings.HasPrefix(name, ref) {
			match = append(match, name)
		}
	}
	switch {
	case len(match) == 0:
		return "", fmt.Errorf("store: %w: %q%s", ErrNoRun, ref, hint(spelling.Beginnings(ref, names)))
	case len(ref) < minPrefix:
		return "", fmt.Errorf("store: %w: %q is too short for the beginning of an id: give at least %d characters%s",
			ErrNoRun, ref, minPrefix, hint(match))
	case len(match) > 1:
		return "", fmt.Errorf("store: %w: %q begins %d ids: give more of it%s", ErrNoRun, ref, len(match), hint(match))
	}
	return s.file(match[0], traceExt), nil
}

func findPath(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("store: %w: there is no file %s", ErrNoRun, path)
	case err != nil:
		return "", fmt.Errorf("store: %w", err)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("store: %w: %s is not a file", ErrNoRun, path)
	}
	return path, nil
}

// hint lists the first few ids.
func hint(ids []string) string {
	const most = 3
	switch {
	case len(ids) == 0:
		return ""
	case len(ids) > most:
		return fmt.Sprintf(" (%s, …)", strings.Join(ids[:most], ", "))
	}
	return fmt.Sprintf(" (%s)", strings.Join(ids, ", "))
}

// A File is a trace as the file system knows it.
type File struct {
	RunID string
	Path  string
	Size  int64 // in bytes
}

// Since returns the traces that were written to after the moment, by run.
func (s *Store) Since(t time.Time) ([]File, error) {
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	var files []File
	for _, name := range names {
		f := File{RunID: name, Path: s.file(name, traceExt)}
		info, err := os.Stat(f.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed since
			continue
		case err != nil:
			return nil, fmt.Errorf("store: %w", err)
		case info.ModTime().Before(t):
			continue
		}
		f.Size = info.Size()
		files = append(files, f)
	}
	return files, nil
}
