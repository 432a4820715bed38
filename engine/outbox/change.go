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

// Edit replaces the arguments that would be sent. Those that were staged are kept.
func (b *Box) Edit(id string, args map[string]any) error {
	if err := b.open(id); err != nil {
		return err
	}
	data, err := plain.Append(nil, args)
	if err != nil {
		return fmt.Errorf("outbox: %s: %w", id, err)
	}
	return writeJSON(filepath.Join(b.dir, id), editFile, json.RawMessage(data))
}

// Begin marks a draft before it is sent, durably. Only one caller can: another gets
// ErrUnknown until Settle says how it ended. Again takes over a draft whose sender
// was lost.
func (b *Box) Begin(id string, again bool) error {
	switch err := b.open(id); {
	case errors.Is(err, ErrUnknown) && again:
		return nil
	case err != nil:
		return err
	}
	err := store.Claim(filepath.Join(b.dir, id), sendingFile, nil)
	if errors.Is(err, fs.ErrExist) {
		err = ErrUnknown
	}
	if err != nil {
		return fmt.Errorf("outbox: %s: %w", id, err)
	}
	return nil
}

// Release takes the mark of Begin back: nothing was sent.
func (b *Box) Release(id string) error {
	if err := os.Remove(filepath.Join(b.dir, id, sendingFile)); err != nil {
		return fmt.Errorf("outbox: %s: %w", id, err)
	}
	return nil
}

// Settle records that a draft was sent, after Begin, or dropped. One whose sender was
// lost is dropped only by who says so, with end.Lost.
func (b *Box) Settle(id string, end End) error {
	err := b.open(id)
	if err != nil && (end.State != Sent && !end.Lost || !errors.Is(err, ErrUnknown)) {
		return err
	}
	return writeJSON(filepath.Join(b.dir, id), endFile, end)
}

// open refuses a draft that is not waiting.
func (b *Box) open(id string) error {
	e, err := b.Load(id)
	switch {
	case err != nil:
		return err
	case e.State == Sending:
		return fmt.Errorf("outbox: %s: %w", id, ErrUnknown)
	case e.State != Staged:
		return fmt.Errorf("outbox: %s: %w (%s)", id, ErrSettled, e.State)
	}
	return nil
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
