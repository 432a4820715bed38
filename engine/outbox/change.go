package outbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/codeact-dev/codeact/bridge/plain"
	"github.com/codeact-dev/codeact/engine/store"
)

// BusyError says that somebody else, here or in another process, has the draft in
// hand.
type BusyError struct {
	ID  string
	PID int // 0 when the other has not yet written it down
}

func (e *BusyError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("outbox: %s is being sent or changed by another process; wait until it ends", e.ID)
	}
	return fmt.Sprintf("outbox: %s is being sent or changed by process %d; wait until it ends or stop it", e.ID, e.PID)
}

// Held is a draft in the hand of one who sends it: until Close, or the end of the
// process, nobody else sends, edits or drops it. It is not safe for concurrent use.
type Held struct {
	Entry // as it stood when it was taken
	dir   string
	begun bool
	free  func() error
}

// Hold takes a draft in hand. Errors: ErrNotFound, and *BusyError while somebody else
// has it; it never waits.
func (b *Box) Hold(id string) (*Held, error) {
	fault := func(err error) (*Held, error) { return nil, fmt.Errorf("outbox: %s: %w", id, err) }
	if !validID(id) {
		return fault(ErrNotFound)
	}
	dir := filepath.Join(b.dir, id)
	free, err := store.Lock(filepath.Join(dir, lockFile))
	var held *store.HeldError
	switch {
	case errors.As(err, &held):
		return nil, &BusyError{ID: id, PID: held.PID}
	case errors.Is(err, fs.ErrNotExist):
		return fault(ErrNotFound)
	case err != nil:
		return fault(err)
	}
	e, err := b.Load(id)
	if err != nil {
		return nil, errors.Join(err, free())
	}
	return &Held{Entry: e, dir: dir, free: free}, nil
}

// Close gives the draft out of the hand. One that Begin marked, and neither Release
// nor Sent came to, stays in doubt.
func (h *Held) Close() error {
	if err := h.free(); err != nil {
		return fmt.Errorf("outbox: %s: %w", h.ID, err)
	}
	return nil
}

// Begin marks the draft before it is sent, durably. Again takes over one whose sender
// was lost, and no other.
func (h *Held) Begin(again bool) error {
	if err := h.open(again); err != nil {
		return err
	}
	if h.State != Sending {
		if err := store.Claim(h.dir, sendingFile, nil); err != nil {
			return fmt.Errorf("outbox: %s: %w", h.ID, err)
		}
	}
	h.begun = true
	return nil
}

// Release takes back what Begin did: nothing was sent. A draft that was in doubt
// before stays so.
func (h *Held) Release() error {
	h.begun = false
	if h.State == Sending {
		return nil
	}
	if err := os.Remove(filepath.Join(h.dir, sendingFile)); err != nil {
		return fmt.Errorf("outbox: %s: %w", h.ID, err)
	}
	return nil
}

// Sent records that the draft was sent, after Begin, and what it was.
func (h *Held) Sent(end End) error {
	if !h.begun {
		return fmt.Errorf("outbox: %s: it is said to be sent, and sending it was not begun", h.ID)
	}
	digest, err := h.Digest()
	if err != nil {
		return err
	}
	end.State, end.Digest, end.Edited = Sent, digest, h.Edited != nil
	return writeJSON(h.dir, endFile, end)
}

// open refuses a draft that is not waiting. With lost it must be one whose sender was
// lost.
func (h *Held) open(lost bool) error {
	switch {
	case h.State == Staged && lost:
		return fmt.Errorf("outbox: %s: %w", h.ID, ErrNotLost)
	case h.State == Sending && !lost:
		return fmt.Errorf("outbox: %s: %w", h.ID, ErrUnknown)
	case h.State != Staged && h.State != Sending:
		return fmt.Errorf("outbox: %s: %w (%s)", h.ID, ErrSettled, h.State)
	}
	return nil
}

// Edit replaces the arguments that would be sent. Those that were staged are kept.
func (b *Box) Edit(id string, args map[string]any) error {
	data, err := plain.Append(nil, args)
	if err != nil {
		return fmt.Errorf("outbox: %s: %w", id, err)
	}
	h, err := b.Hold(id)
	if err != nil {
		return err
	}
	if err = h.open(false); err == nil {
		err = writeJSON(h.dir, editFile, json.RawMessage(data))
	}
	return errors.Join(err, h.Close())
}

// Drop settles a draft without sending it. One whose sender was lost is dropped only
// by who says so, with end.Lost.
func (b *Box) Drop(id string, end End) error {
	h, err := b.Hold(id)
	if err != nil {
		return err
	}
	end.State = Dropped
	if err = h.open(end.Lost); err == nil {
		err = writeJSON(h.dir, endFile, end)
	}
	return errors.Join(err, h.Close())
}

// writeJSON puts a whole file in its place, or leaves what was there.
func writeJSON(dir, name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	return store.Replace(dir, name, append(data, '\n'))
}

func readJSON(dir, name string, v any) error {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
