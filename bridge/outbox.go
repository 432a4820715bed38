package bridge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/codeact-dev/codeact/policy"
)

// An Outbox keeps drafts: sends that a person looks at before they happen.
//
// Stage is durable before it returns. The same call staged again is the same
// draft.
type Outbox interface {
	Stage(Draft) error
}

// A Draft is a send that did not happen. Its arguments are as they are, also what
// is sensitive in them: who keeps it must keep it from others.
type Draft struct {
	ID       string         `json:"id"`
	Run      string         `json:"run"`
	Call     string         `json:"call"`
	Tool     string         `json:"tool"`
	Pin      string         `json:"pin"` // of the tool's definition
	Args     map[string]any `json:"-"`   // plain data; the outbox encodes it with package plain
	Question Question       `json:"question"`
	Held     policy.Taint   `json:"held"`
	At       time.Time      `json:"at"`
}

var errNoOutbox = errors.New("this run has no outbox")

// stage makes a draft of a call that is to wait for a person. If that fails the
// call fails: it is never performed instead.
func (p *passage) stage(ctx context.Context) error {
	if !p.tool.Staged {
		return nil
	}
	p.staged, p.out.Local = true, true
	p.outcome = Outcome{Call: p.id, Tool: p.tool.Name}
	id, err := p.draft(ctx)
	if err != nil {
		p.failure = fmt.Errorf("nothing was sent, and no draft was kept: %w", err)
		p.outcome.Failed = p.failure.Error()
		return nil
	}
	p.outcome.Draft = id
	p.outcome.Value = map[string]any{"staged": true, "draft": id, "note": "nothing was sent: a person looks at the draft and sends or drops it"}
	return nil
}

func (p *passage) draft(ctx context.Context) (id string, err error) {
	if p.d.run.Outbox == nil {
		return "", errNoOutbox
	}
	q, err := p.question(ctx)
	if err != nil {
		return "", fmt.Errorf("nobody could see what it would do: %w", err)
	}
	q.Lease, q.Expires = "", time.Time{} // a draft is sent once, and does not expire
	id = "d-" + strings.ReplaceAll(p.id, "/", "-")
	return id, p.d.run.Outbox.Stage(Draft{ID: id, Run: p.d.run.ID, Call: p.id, Tool: p.tool.Name, Pin: p.b.pins[p.tool.Name],
		Args: maps.Clone(p.args), Question: q, Held: p.req.Held.Join(p.req.Turn), At: p.b.cfg.Now()})
}
