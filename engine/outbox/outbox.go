// Package outbox keeps drafts: sends that a run staged and that a person looks at, changes, sends or drops.
//
// A draft holds its arguments as they are, also what is sensitive in them, in files that only their owner may read. Nothing is
// encrypted. The package sends nothing: who does marks the draft before the effect, so that one whose sender was lost in the
// middle is never sent again without being told.
package outbox

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/plain"
	"github.com/codeact-dev/codeact/engine/store"
)

// What keeps a draft from being changed or sent. errors.Is finds them.
var (
	ErrNotFound = errors.New("there is no such draft")
	ErrSettled  = errors.New("the draft was sent or dropped already")

	// ErrUnknown: a sender began and did not come to its end. What it sent may have
	// arrived or not.
	ErrUnknown = errors.New("sending the draft was begun and did not end: it may have been sent")

	// ErrNotLost: to take a draft over, an earlier sender of it must have been lost.
	ErrNotLost = errors.New("no earlier try to send the draft was lost, so there is nothing to take over")
)

// A State says how a draft stands.
type State string

// The states of a draft.
const (
	Staged  State = "staged"
	Sending State = "sending" // begun; the outcome is not known yet, or never will be
	Sent    State = "sent"
	Dropped State = "dropped"
)

// An Origin is the task that a draft comes from, so that it can be opened again.
type Origin struct {
	Task      string            `json:"task"`   // the path of its file
	Digest    string            `json:"digest"` // of the file and what it brings, when the draft was made
	Params    map[string]string `json:"params,omitempty"`
	Workspace string            `json:"workspace,omitempty"`
}

// An Entry is one draft with what became of it.
type Entry struct {
	bridge.Draft
	Origin Origin
	Edited map[string]any // the arguments after a person changed them; nil: nobody did
	State  State
	End    End // of one that was sent or dropped
}

// An End is what became of a draft.
type End struct {
	State  State     `json:"state"`
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	Run    string    `json:"run,omitempty"` // which sent it
	Reason string    `json:"reason,omitempty"`
	Lost   bool      `json:"lost,omitempty"` // its sender was lost, so it may have been sent all the same

	// What was sent, by its Entry.Digest, and whether a person had changed it: Sent sets them.
	Digest string `json:"digest,omitempty"`
	Edited bool   `json:"edited,omitempty"`
}

// Final is the draft as it would be sent.
func (e Entry) Final() bridge.Draft {
	d := e.Draft
	if e.Edited != nil {
		d.Args = e.Edited
	}
	return d
}

// Digest names what would be sent, by whom it was made and with what tool: a yes is
// bound to it. It is the hex SHA-256 of all that.
func (e Entry) Digest() (string, error) {
	d := e.Final()
	args, err := plain.JSON(d.Args)
	if err != nil {
		return "", fmt.Errorf("outbox: %s: %w", e.ID, err)
	}
	text, err := json.Marshal([]string{e.ID, e.Call, e.Tool, e.Pin, e.Origin.Task, args})
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]), err
}

// A Box is a directory of drafts. It is safe for concurrent use, also by several
// processes.
type Box struct{ dir string }

// Open returns the box in dir, which is made when the first draft comes.
func Open(dir string) *Box { return &Box{dir} }

// The files of a draft, in its directory. Each is written once, but for the edit:
// that one of them is there is what a state is.
const (
	draftFile   = "draft.json"
	editFile    = "edit.json"
	sendingFile = "sending"
	endFile     = "end.json"
	lockFile    = "lock" // there while somebody holds the draft, and after a crash
)

// version is of the record. Another one is not read: what it means is not known.
const version = 1

// record is the file of a draft.
type record struct {
	V      int             `json:"v"`
	Origin Origin          `json:"origin"`
	Draft  bridge.Draft    `json:"draft"`
	Args   json.RawMessage `json:"args"` // as package plain writes them
}

// From keeps the drafts of one task in the box.
func (b *Box) From(o Origin) bridge.Outbox { return stager{b, o} }

type stager struct {
	box    *Box
	origin Origin
}

func (s stager) Stage(d bridge.Draft) error {
	args, err := plain.Append(nil, d.Args)
	if err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	if !validID(d.ID) {
		return fmt.Errorf("outbox: id %q: want 1 to 128 of a-z, 0-9 and '-'", d.ID)
	}
	dir := filepath.Join(s.box.dir, d.ID)
	if err := os.MkdirAll(filepath.Dir(s.box.dir), 0o700); err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	for _, level := range []string{s.box.dir, dir} {
		if err := store.MakeDir(level); err != nil {
			return fmt.Errorf("outbox: %w", err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, draftFile)); err == nil {
		return nil // staged by an earlier try of this very call
	}
	return writeJSON(dir, draftFile, record{V: version, Origin: s.origin, Draft: d, Args: args})
}

var idPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,127}$`)

// validID keeps every path that is built from an id inside the box.
func validID(id string) bool { return idPattern.MatchString(id) }

// List returns every draft, the oldest first. One that cannot be read is part of
// the error, and the others are still returned.
func (b *Box) List() ([]Entry, error) {
	dirs, err := os.ReadDir(b.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	var list []Entry
	var faults []error
	for _, d := range dirs {
		e, err := b.Load(d.Name())
		if err != nil {
			faults = append(faults, err)
			continue
		}
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b Entry) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	return list, errors.Join(faults...)
}

// Load reads one draft.
func (b *Box) Load(id string) (Entry, error) {
	fault := func(err error) (Entry, error) { return Entry{}, fmt.Errorf("outbox: %s: %w", id, err) }
	if !validID(id) {
		return fault(ErrNotFound)
	}
	dir := filepath.Join(b.dir, id)
	var r record
	err := readJSON(dir, draftFile, &r)
	if errors.Is(err, fs.ErrNotExist) {
		return fault(ErrNotFound)
	}
	e := Entry{Draft: r.Draft, Origin: r.Origin, State: Staged}
	if err == nil && r.V != version {
		err = fmt.Errorf("its version is %d, and this program reads only %d: use the program that staged it", r.V, version)
	}
	if err == nil {
		e.Args, err = arguments(r.Args)
	}
	if err != nil {
		return fault(err)
	}
	var edit json.RawMessage
	if err := readJSON(dir, editFile, &edit); err == nil {
		if e.Edited, err = arguments(edit); err != nil {
			return fault(err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fault(err)
	}
	if _, err := os.Stat(filepath.Join(dir, sendingFile)); err == nil {
		e.State = Sending
	}
	switch err := readJSON(dir, endFile, &e.End); {
	case err == nil:
		e.State = e.End.State
	case !errors.Is(err, fs.ErrNotExist):
		return fault(err)
	}
	return e, nil
}

func arguments(data json.RawMessage) (map[string]any, error) {
	v, err := plain.Decode(bytes.TrimSpace(data))
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("its arguments are no object")
	}
	return m, nil
}
