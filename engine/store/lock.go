package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// errHeld is what tryLock returns when somebody else holds the lock.
var errHeld = errors.New("lock is held")

// runLock is the right to write one run, or to what else its file stands for. The system drops it when the process dies, however it dies.
//
// The lock is on a file beside the trace, not on the trace: a Windows lock would keep readers out, and the owner's pid
// needs a place. The file is removed at release, and left by a crash without harm.
type runLock struct {
	f    *os.File
	path string
}

// HeldError says that somebody else, here or in another process, holds a lock.
type HeldError struct {
	PID int // 0 when the owner has not yet written it down
}

func (e *HeldError) Error() string {
	if e.PID == 0 {
		return "held by another process"
	}
	return fmt.Sprintf("held by process %d", e.PID)
}

// Lock takes the lock that the file at path stands for, in a directory that is there, or returns a *HeldError; it never waits.
// The system drops the lock when the process dies, however it dies.
func Lock(path string) (unlock func() error, err error) {
	l, err := takeLock(path)
	if err != nil {
		return nil, fmt.Errorf("store: lock: %w", err)
	}
	return l.release, nil
}

// lockRun takes the lock of a run or returns a *LockedError; it never waits.
func (s *Store) lockRun(runID string) (*runLock, error) {
	l, err := takeLock(s.file(runID, lockExt))
	var held *HeldError
	switch {
	case errors.As(err, &held):
		return nil, &LockedError{RunID: runID, PID: held.PID}
	case err != nil:
		return nil, fmt.Errorf("store: run %s: lock: %w", runID, err)
	}
	return l, nil
}

func takeLock(path string) (*runLock, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, fileMode)
		if err != nil {
			return nil, err
		}
		if err := tryLock(f); err != nil {
			pid := readPID(f)
			f.Close()
			if errors.Is(err, errHeld) {
				return nil, &HeldError{PID: pid}
			}
			return nil, err
		}
		if !stillAt(f, path) { // its last owner removed it between our open and our lock
			f.Close()
			continue
		}
		l := &runLock{f: f, path: path}
		if err := l.writePID(); err != nil {
			l.release()
			return nil, err
		}
		return l, nil
	}
}

func stillAt(f *os.File, path string) bool {
	open, err1 := f.Stat()
	named, err2 := os.Stat(path)
	return err1 == nil && err2 == nil && os.SameFile(open, named)
}

// writePID leaves the pid for the message of a second writer. It is flushed nowhere: after a crash it means nothing.
func (l *runLock) writePID() error {
	if err := l.f.Truncate(0); err != nil {
		return err
	}
	_, err := l.f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// readPID returns 0 when the owner has taken the lock but not yet written its pid.
func readPID(f *os.File) int {
	text, _ := io.ReadAll(io.LimitReader(f, 32)) // what cannot be read is an unknown owner
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid < 0 {
		return 0
	}
	return pid
}
