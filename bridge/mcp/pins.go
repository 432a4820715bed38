package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Pin is what a person approved of one server.
type Pin struct {
	Identity string       `json:"identity"` // the command or url, as JSON without secret values
	Tools    []Definition `json:"tools"`    // by name
}

// Digest names the pin by its SHA-256, for a trace.
func (p Pin) Digest() string {
	text, _ := json.Marshal(p) // texts always have a form
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// A Kind is a kind of Change.
type Kind string

// The kinds of change.
const (
	Added       Kind = "added"
	Removed     Kind = "removed"
	Description Kind = "description"
	Schema      Kind = "schema"
	Hints       Kind = "hints"
	Command     Kind = "command" // of the server; Tool is ""
)

// A Change is one difference between what was approved and what a server is now.
// Its texts are the server's own, not fit to be shown.
type Change struct {
	Tool   string `json:"tool,omitempty"` // the server's name of it
	Kind   Kind   `json:"kind"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// diff compares what was approved with what is now.
func diff(old, now Pin) []Change {
	var list []Change
	if old.Identity != now.Identity {
		list = append(list, Change{"", Command, old.Identity, now.Identity})
	}
	was := map[string]Definition{}
	for _, d := range old.Tools {
		was[d.Name] = d
	}
	for _, d := range now.Tools {
		b, known := was[d.Name]
		delete(was, d.Name)
		if !known {
			list = append(list, Change{d.Name, Added, "", d.text()})
			continue
		}
		for _, c := range []Change{{d.Name, Description, b.Description, d.Description}, {d.Name, Schema, b.Schema, d.Schema}, {d.Name, Hints, b.Hints, d.Hints}} {
			if c.Before != c.After {
				list = append(list, c)
			}
		}
	}
	for _, d := range old.Tools {
		if _, gone := was[d.Name]; gone {
			list = append(list, Change{d.Name, Removed, d.text(), ""})
		}
	}
	return list
}

// Pins are the approvals of one task, in a file that all tasks of a home share.
// They are safe for concurrent use, also by several programs.
type Pins struct {
	path, task string

	mu sync.Mutex // keeps the goroutines of this program from waiting for the lock file
}

// pinFile is the file: approvals by task and server.
type pinFile struct {
	Version int                       `json:"version"`
	Tasks   map[string]map[string]Pin `json:"tasks"`
}

// maxPinFile bounds the file, in bytes.
const maxPinFile = 64 << 20

// OpenPins opens the pins of a task, which is known by any name that only it has,
// as its path. The file is made when the first pin is stored.
func OpenPins(path, task string) (*Pins, error) {
	p := &Pins{path: path, task: task}
	_, err := p.read()
	return p, err
}

// Diff returns what of a server nobody approved, as it is now: nothing when all is
// as it was. Without an approval everything is Added.
func (p *Pins) Diff(server string, now Pin) ([]Change, error) {
	old, _, err := p.get(server)
	if err != nil {
		return nil, err
	}
	return diff(old, now), nil
}

// Approve stores what a person approved.
func (p *Pins) Approve(ctx context.Context, server string, now Pin) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	lock, err := p.lock(ctx)
	if err != nil {
		return err
	}
	done := false
	defer func() {
		if !done {
			lock.Close()
			os.Remove(lock.Name())
		}
	}()
	f, err := p.read()
	if err != nil {
		return err
	}
	if f.Tasks[p.task] == nil {
		f.Tasks[p.task] = map[string]Pin{}
	}
	f.Tasks[p.task][server] = now
	text, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		return fmt.Errorf("mcp: pins: %w", err)
	}
	if _, err := lock.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("mcp: pins: %w", err)
	}
	// A file that was not written whole must not take the place of the pins.
	if err := errors.Join(lock.Sync(), lock.Close()); err != nil {
		return fmt.Errorf("mcp: pins: %w", err)
	}
	if err := os.Rename(lock.Name(), p.path); err != nil {
		return fmt.Errorf("mcp: pins: %w", err)
	}
	done = true
	return nil
}

// lockTries times lockWait is how long another program may take to store a pin.
const (
	lockTries = 100
	lockWait  = 20 * time.Millisecond
)

// lock makes the file that will replace the pins. There can be one at a time, so it
// is the lock as well.
func (p *Pins) lock(ctx context.Context) (*os.File, error) {
	name := p.path + ".lock"
	for range lockTries {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			if err != nil {
				err = fmt.Errorf("mcp: pins: %w", err)
			}
			return f, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("mcp: pins: %w", ctx.Err())
		case <-time.After(lockWait):
		}
	}
	return nil, fmt.Errorf("mcp: pins: another program is storing one; if none is running, remove %s", name)
}

func (p *Pins) get(server string) (Pin, bool, error) {
	f, err := p.read()
	if err != nil {
		return Pin{}, false, err
	}
	pin, ok := f.Tasks[p.task][server]
	return pin, ok, nil
}

// read reads the file strictly. Whoever can write it can approve anything, so a
// file that others may write is refused.
func (p *Pins) read() (pinFile, error) {
	empty := pinFile{Version: 1, Tasks: map[string]map[string]Pin{}}
	f, err := os.Open(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return empty, nil
	}
	if err != nil {
		return empty, fmt.Errorf("mcp: pins: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return empty, fmt.Errorf("mcp: pins: %w", err)
	}
	if !private(info.Mode()) {
		return empty, fmt.Errorf("mcp: pins: %s may be written by others: chmod 600 it", p.path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxPinFile+1))
	if err != nil {
		return empty, fmt.Errorf("mcp: pins: %w", err)
	}
	out, err := decodePins(data)
	if err != nil {
		return empty, fmt.Errorf("mcp: pins: %s: %w: approve the tools again after removing it", p.path, err)
	}
	return out, nil
}

func decodePins(data []byte) (pinFile, error) {
	var f pinFile
	if len(data) > maxPinFile {
		return f, fmt.Errorf("over %d bytes", maxPinFile)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return f, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return f, errors.New("text after the end")
	}
	if f.Version != 1 {
		return f, fmt.Errorf("version %d is not known", f.Version)
	}
	if f.Tasks == nil {
		f.Tasks = map[string]map[string]Pin{}
	}
	for _, servers := range f.Tasks {
		for _, pin := range servers {
			if !slices.IsSortedFunc(pin.Tools, func(a, b Definition) int { return strings.Compare(a.Name, b.Name) }) {
				return f, errors.New("tools out of order")
			}
		}
	}
	return f, nil
}

// ready says whether the server may be started at all: not when it is certain
// already that nobody will approve what it is.
func (p *Pins) ready(s Server, c *Config) error {
	pin, ok, err := p.get(s.Name)
	switch {
	case err != nil:
		return err
	case c.Ask != nil || !ok && s.Record:
		return nil
	case !ok:
		return &PinError{Task: p.task, Server: s.Name, Err: ErrUnpinned}
	case pin.Identity != c.identity(s):
		return &PinError{Task: p.task, Server: s.Name, Changes: []Change{{"", Command, pin.Identity, c.identity(s)}}, Err: ErrDrift}
	}
	return nil
}
