package store

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// keySize is in bytes: the block that HMAC-SHA-256 is strongest with.
const keySize = 32

// Key returns the secret of a run, made at the first call. It stands beside the traces, never in one, so that a trace
// given away does not give away what was hashed with it.
func (s *Store) Key(runID string) ([]byte, error) {
	if err := checkRunID(runID); err != nil {
		return nil, err
	}
	dir := filepath.Join(filepath.Dir(s.dir), "keys")
	path := filepath.Join(dir, runID)
	key, err := readKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeKey(dir, path); err == nil {
			key, err = readKey(path)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("store: key of run %s: %w", runID, err)
	}
	return key, nil
}

func readKey(path string) ([]byte, error) {
	key, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(key) != keySize {
		return nil, fmt.Errorf("%s holds %d bytes, not %d; a run whose key is lost cannot be resumed", path, len(key), keySize)
	}
	return key, nil
}

// makeKey links a finished file to its name, which fails when another process was first: then that key counts.
func makeKey(dir, path string) error {
	if err := MakeDir(dir); err != nil {
		return err
	}
	key := make([]byte, keySize)
	rand.Read(key) // never fails: it ends the program instead
	if err := Claim(dir, filepath.Base(path), key); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
