package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Blob keeps data beside the trace under its SHA-256, which it returns in hex, flushed to the disk. Data that is there
// already is not written again.
func (t *Trace) Blob(data []byte) (digest string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.usable(); err != nil {
		return "", err
	}
	digest = hashLine(data)
	if err := putBlob(t.blobs, digest, data); err != nil {
		return "", fmt.Errorf("store: run %s: blob: %w", t.runID, err)
	}
	return digest, nil
}

// putBlob writes a file that is whole or not there. One that is there and damaged is replaced.
func putBlob(dir, digest string, data []byte) error {
	path := filepath.Join(dir, digest)
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return nil
	}
	if err := MakeDir(dir); err != nil {
		return err
	}
	temp, err := writeTemp(dir, data)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return syncDir(dir)
}

// ReadBlob returns the blob of a run. Errors: fs.ErrNotExist, and ErrDigest when the content was changed.
func (s *Store) ReadBlob(runID, digest string) ([]byte, error) {
	if err := errors.Join(checkRunID(runID), checkDigest(digest)); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(s.file(runID, blobsExt), digest))
	if err != nil {
		return nil, fmt.Errorf("store: run %s: blob: %w", runID, err)
	}
	if hashLine(data) != digest {
		return nil, fmt.Errorf("store: run %s: blob %s: %w", runID, digest, ErrDigest)
	}
	return data, nil
}
