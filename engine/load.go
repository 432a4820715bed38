package engine

import (
	"errors"
	"fmt"

	"github.com/codeact-dev/codeact/engine/store"
)

// Load returns the conversation of an earlier run, as its trace tells it. It acts
// on nothing and writes nothing. An error names the line that cannot be folded;
// there is never a part of a conversation, since it could have forgotten its taint.
func Load(s *store.Store, runID string) (*Conversation, error) {
	path, err := s.Find(runID)
	if err != nil {
		return nil, fmt.Errorf("engine: load: %w", err)
	}
	var c *Conversation
	for line, err := range store.ReadFile(path) {
		if err != nil {
			return nil, fmt.Errorf("engine: load %s: %w", runID, err)
		}
		if c == nil {
			c = newConversation(line.RunID, path)
		}
		if err := c.load(s, line); err != nil {
			return nil, fmt.Errorf("engine: load %s: line %d: %w", runID, line.Seq, err)
		}
	}
	return c, nil
}

// The order that every trace has.
var (
	errNotStarted = errors.New("a trace begins with one run.started")
	errAfterEnd   = errors.New("nothing may follow run.completed")
)

// load folds one line.
func (c *Conversation) load(s *store.Store, line store.Line) error {
	e, err := DecodeEvent(line.Type, line.Body, func(digest string) ([]byte, error) { return s.ReadBlob(c.id, digest) })
	if err != nil {
		return err
	}
	_, starts := e.(*RunStarted)
	switch {
	case starts != (c.started == nil):
		return errNotStarted
	case c.ended != nil:
		return errAfterEnd
	}
	return c.apply(e)
}
