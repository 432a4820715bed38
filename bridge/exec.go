package bridge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/codeact-dev/codeact/bridge/sandbox"
	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/policy"
)

var errNoBox = errors.New("this run has no box for commands")

// Exec is the handle to commands.
func (p *Permit) Exec() *Exec { return &Exec{p: p, box: p.box, root: p.Root()} }

// Exec runs commands in the box of the run.
type Exec struct {
	p    *Permit
	box  *sandbox.Box
	root *Root
}

// Run performs one command in the workspace. It may have read every file that the
// box shows, so the call brings in what any of them holds, and what any host says
// where the box has a network; and what it left in the writable parts is recorded as
// written by it.
func (e *Exec) Run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	if e.box == nil {
		return sandbox.Result{}, errNoBox
	}
	before, err := e.root.survey(true)
	if err != nil {
		return sandbox.Result{}, fmt.Errorf("the workspace could not be looked at, so nothing was run: %w", err)
	}
	e.p.unconfined = !e.box.Report().Confined
	if r := e.box.Report(); r.Network != sandbox.NoNetwork || !r.Confined {
		e.p.network = true
		e.p.brought = e.p.brought.Join(policy.Tainted(policy.Untrusted, e.p.id))
	}
	res, err := e.box.Run(ctx, c)
	if e.p.sent == nil && len(res.Sent) > 0 {
		e.p.sent = make(map[string]int64, len(res.Sent))
	}
	for host, n := range res.Sent {
		e.p.sent[host] += n
	}
	return res, errors.Join(err, e.root.changed(before))
}

// surveyed bounds what of the workspace is read to know what a command may have
// read, in bytes: the rest counts as a third party's. Some 0.1 s on one core.
const surveyed = 64 << 20

// survey is the files of the workspace as they are. With note, it joins what they
// hold to what the call brings in.
func (r *Root) survey(note bool) (map[string]footprint, error) {
	if r.space == nil {
		return nil, errNoFiles
	}
	files := make(map[string]footprint)
	left := int64(surveyed)
	start, err := r.space.Resolve(".")
	if err != nil {
		return nil, err
	}
	err = r.space.Walk(start, func(f workspace.Target, info fs.FileInfo) error {
		if info.IsDir() {
			return nil
		}
		at := footprint{target: f, size: info.Size(), modified: info.ModTime(), changed: workspace.ChangeTime(info)}
		defer func() { files[f.Rel] = at }()
		if !note {
			return nil
		}
		known := true // what is not read may hold anything
		if left -= info.Size(); left >= 0 {
			if _, at.sha256, err = r.sum(f); err == nil {
				known = info.Size() > 0 && r.known(at.sha256)
			}
		}
		r.note(f, known)
		return nil
	}, workspace.Limits{})
	if errors.Is(err, workspace.ErrPartial) && note {
		r.p.brought = r.p.brought.Join(policy.Tainted(policy.Untrusted, r.p.id)) // what was left out may hold anything
		err = nil
	}
	return files, err
}

// A footprint is a file as a survey saw it. The time of its last change is the
// system's: no program sets it.
type footprint struct {
	target   workspace.Target
	size     int64
	modified time.Time
	changed  time.Time // zero where the system does not tell
	sha256   string    // "" of one that was not read
}

// same compares all but the content.
func (f footprint) same(g footprint) bool {
	return f.size == g.size && f.modified.Equal(g.modified) && f.changed.Equal(g.changed)
}

// everywhere is the path that stands for all files in State.Tainted: what was
// written could not be told from what was there.
const everywhere = "."

// changed records what a call did to the files since a survey.
func (r *Root) changed(before map[string]footprint) error {
	after, err := r.survey(false)
	if err != nil {
		r.p.wrote = append(r.p.wrote, Written{Path: everywhere, Untrusted: true})
	}
	for _, rel := range slices.Sorted(maps.Keys(after)) {
		is := after[rel]
		was, there := before[rel]
		if !is.target.Writable && !r.p.unconfined || there && was.same(is) {
			continue
		}
		_, sum, _ := r.sum(is.target) // of one that cannot be read only the name is known
		if sum != "" && sum == was.sha256 {
			continue
		}
		r.p.wrote = append(r.p.wrote, Written{Path: rel, SHA256: sum, Untrusted: r.exposed(), New: !there})
	}
	for _, rel := range slices.Sorted(maps.Keys(before)) {
		if _, there := after[rel]; !there && err == nil {
			r.p.wrote = append(r.p.wrote, Written{Path: rel, Gone: true})
		}
	}
	if err != nil {
		return fmt.Errorf("what it changed in the workspace could not be told, so all of it counts as a third party's: %w", err)
	}
	return nil
}
