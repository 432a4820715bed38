package bridge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

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
// box shows, so the call brings in what any of them holds; and what it left in the
// writable parts is recorded as written by it.
func (e *Exec) Run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	if e.box == nil {
		return sandbox.Result{}, errNoBox
	}
	before, err := e.root.survey(true)
	if err != nil {
		return sandbox.Result{}, err
	}
	if e.box.Report().Network != sandbox.NoNetwork || !e.box.Report().Confined {
		e.p.network = true
	}
	res, err := e.box.Run(ctx, c)
	after, also := e.root.survey(false)
	if also == nil {
		e.root.changed(before, after)
	}
	return res, errors.Join(err, also)
}

// surveyed bounds what is hashed before and after a command, in bytes: beyond it
// only names and sizes are compared, and every file counts as a third party's.
const surveyed = 64 << 20

// survey is the files of the workspace with the digest of each, "" of one that was
// not read. With note, it joins what they hold to what the call brings in.
func (r *Root) survey(note bool) (map[string]fingerprint, error) {
	if r.space == nil {
		return nil, errNoFiles
	}
	files := make(map[string]fingerprint)
	left := int64(surveyed)
	start, err := r.space.Resolve(".")
	if err != nil {
		return nil, err
	}
	err = r.space.Walk(start, func(f workspace.Target, info fs.FileInfo) error {
		if info.IsDir() {
			return nil
		}
		at := fingerprint{size: info.Size(), writable: f.Writable}
		known := true
		if left -= info.Size(); left >= 0 {
			if _, at.sha256, err = r.sum(f); err == nil {
				known = info.Size() > 0 && r.known(at.sha256)
			}
		}
		if note {
			r.note(f, known)
		}
		files[f.Rel] = at
		return nil
	}, workspace.Limits{})
	if errors.Is(err, workspace.ErrPartial) {
		r.p.brought = r.p.brought.Join(policy.Tainted(policy.Untrusted, r.p.id)) // what was left out may hold anything
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("the workspace could not be looked at, so nothing was run: %w", err)
	}
	return files, nil
}

// A fingerprint is a file as a survey saw it.
type fingerprint struct {
	size     int64
	sha256   string
	writable bool
}

// changed records what a command did to the files.
func (r *Root) changed(before, after map[string]fingerprint) {
	for _, rel := range slices.Sorted(maps.Keys(after)) {
		is := after[rel]
		was, there := before[rel]
		if is.writable && (!there || is.sha256 == "" || was != is) {
			r.p.wrote = append(r.p.wrote, Written{Path: rel, SHA256: is.sha256, Untrusted: r.exposed(), New: !there})
		}
	}
	for _, rel := range slices.Sorted(maps.Keys(before)) {
		if _, there := after[rel]; !there {
			r.p.wrote = append(r.p.wrote, Written{Path: rel, Gone: true})
		}
	}
}
