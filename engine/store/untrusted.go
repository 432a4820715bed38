package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// untrustedIndex is a file of digests, one hex line each, that only grows. Several processes add to it.
type untrustedIndex struct {
	path string

	mu   sync.Mutex
	set  map[[sha256.Size]byte]struct{} // guarded by mu
	read int64                          // bytes of the file that are in set; guarded by mu
}

// parseDigest accepts the lower-case hex of a SHA-256 and nothing else.
func parseDigest(s string) (d [sha256.Size]byte, ok bool) {
	raw, err := hex.DecodeString(s)
	if err != nil || len(raw) != len(d) || hex.EncodeToString(raw) != s {
		return d, false
	}
	return [sha256.Size]byte(raw), true
}

func checkDigest(s string) error {
	if _, ok := parseDigest(s); !ok {
		return fmt.Errorf("store: digest %q: want 64 lower-case hex digits", s)
	}
	return nil
}

// MarkUntrusted remembers, for every later run, that the content with this hex SHA-256 came from outside.
// It is on the disk when MarkUntrusted returns nil.
func (s *Store) MarkUntrusted(sha256 string) error {
	d, ok := parseDigest(sha256)
	if !ok {
		return checkDigest(sha256)
	}
	x := &s.index
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.refresh(); err != nil {
		return fmt.Errorf("store: untrusted index: %w", err)
	}
	if _, known := x.set[d]; known {
		return nil
	}
	if err := x.append(sha256); err != nil {
		return fmt.Errorf("store: untrusted index: %w", err)
	}
	x.add(d)
	return nil
}

// add has a Precondition: x.mu is held.
func (x *untrustedIndex) add(d [sha256.Size]byte) {
	if x.set == nil {
		x.set = make(map[[sha256.Size]byte]struct{})
	}
	x.set[d] = struct{}{}
}

// append writes one line with one write(2). It starts with a newline as well: half a line that a crash left at the end
// must not swallow this one. Precondition: x.mu is held.
func (x *untrustedIndex) append(digest string) error {
	f, err := os.OpenFile(x.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, fileMode)
	if err != nil {
		return err
	}
	_, err = f.WriteString("\n" + digest + "\n")
	if err == nil {
		err = f.Sync()
	}
	if err == nil && x.read == 0 {
		err = syncDir(filepath.Dir(x.path)) // the file may be new
	}
	return errors.Join(err, f.Close())
}

// Untrusted reports whether the content with this hex SHA-256 was ever marked, here or in another process. What is no
// digest, and anything while the index cannot be read, is untrusted.
func (s *Store) Untrusted(sha256 string) bool {
	d, ok := parseDigest(sha256)
	if !ok {
		return true
	}
	x := &s.index
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.refresh(); err != nil {
		return true
	}
	_, marked := x.set[d]
	return marked
}

// refresh takes in what was added since the last time. Precondition: x.mu is held.
func (x *untrustedIndex) refresh() error {
	info, err := os.Stat(x.path)
	if errors.Is(err, fs.ErrNotExist) {
		x.read = 0
		return nil // what was marked stays marked, also when the file is taken away
	}
	if err != nil || info.Size() == x.read {
		return err
	}
	if info.Size() < x.read {
		x.read = 0
	}
	f, err := os.Open(x.path)
	if err != nil {
		return err
	}
	defer f.Close()
	added, err := io.ReadAll(io.NewSectionReader(f, x.read, info.Size()-x.read))
	if err != nil {
		return err
	}
	whole := added[:bytes.LastIndexByte(added, '\n')+1]
	for line := range bytes.Lines(whole) {
		// Anything else is an empty line or half a line of a write that never succeeded.
		if d, ok := parseDigest(string(bytes.TrimSuffix(line, []byte("\n")))); ok {
			x.add(d)
		}
	}
	x.read += int64(len(whole))
	return nil
}
