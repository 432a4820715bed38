package assembly

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/engine"
	"github.com/codeact-dev/codeact/engine/models"
	"github.com/codeact-dev/codeact/engine/outbox"
	"github.com/codeact-dev/codeact/policy"
)

// stage marks the tools whose calls become drafts. The tool of a draft that is being
// sent is not one of them: it asks, whatever its tier.
func (r *Run) stage(ts []bridge.Tool) (faults []error) {
	for _, name := range r.File.Tools.Staged {
		i := slices.IndexFunc(ts, func(t bridge.Tool) bool { return t.Name == name })
		switch {
		case i < 0 && r.unseen(name):
		case i < 0:
			faults = append(faults, r.File.Fault("$.tools.staged", "there is no tool %q in the task", name))
		case !ts[i].Caps.Has(policy.ExternalSend):
			faults = append(faults, r.File.Fault("$.tools.staged", "%s sends nothing, so there is nothing to stage: it has not the capability external_send", name))
		default:
			ts[i].Staged = name != r.opt.Send
		}
	}
	for i := range ts {
		if ts[i].Name == r.opt.Send {
			ts[i].Tier = policy.AlwaysAsk
		}
	}
	return faults
}

// drafts is where the run keeps what it stages. Sensitive parameters are not kept:
// who sends a draft gives them again.
func (r *Run) drafts() bridge.Outbox {
	params := make(map[string]string)
	for name, v := range r.opt.Params {
		if _, sensitive := r.File.SensitiveParams[name]; !sensitive {
			params[name] = v
		}
	}
	return Outbox(r.opt.Home).From(outbox.Origin{Task: r.path, Digest: r.File.Digest(), Params: params, Workspace: r.opt.Workspace})
}

// Outbox is the box of a home.
func Outbox(home string) *outbox.Box { return outbox.Open(filepath.Join(home, "outbox")) }

// Send sends one draft: the Run was opened with Options.Send, and stages nothing of
// that tool. It may be called once.
func (r *Run) Send(ctx context.Context, d bridge.Draft) (engine.Outcome, error) {
	if r.opt.Send == "" || r.opt.Send != d.Tool {
		return engine.Outcome{}, errors.New("assembly: the run was not opened to send a draft of " + d.Tool)
	}
	return r.engine.Send(ctx, r.Task, d)
}

// nobody stands for the model of a run that only sends a draft.
type nobody struct{}

func (nobody) Name() string { return "none" }

func (nobody) Complete(context.Context, models.Prompt) (models.Reply, error) {
	return models.Reply{}, errors.New("a draft is sent without a model")
}

// originFault says why a draft's task cannot be opened as it was.
func originFault(path string) error {
	if strings.TrimSpace(path) == "" {
		return errors.New("its task came from standard input, so it cannot be opened again: drop the draft")
	}
	return nil
}

// OpenDraft opens the task of a draft, to send it.
func OpenDraft(ctx context.Context, e outbox.Entry, opt Options) (*Run, error) {
	if err := originFault(e.Origin.Task); err != nil {
		return nil, err
	}
	params := make(map[string]string, len(e.Origin.Params)+len(opt.Params))
	for _, from := range []map[string]string{e.Origin.Params, opt.Params} {
		for k, v := range from {
			params[k] = v
		}
	}
	opt.Params, opt.Workspace, opt.Send = params, e.Origin.Workspace, e.Tool
	return Open(ctx, e.Origin.Task, opt)
}
