package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/policy"
)

// maxEntries is the most that one call returns. A model that gets more reads none
// of it.
const maxEntries = 2000

func fsList() bridge.Tool {
	return bridge.Tool{
		Name: "fs_list",
		Doc: "Returns the entries of a directory, each {name, dir, size}; with glob (as **/*.go), the matching files below it by path. " +
			"If some could not be listed, the last name says so in brackets.",
		Params: bridge.MustSchema(`{"type":"object","properties":{
			"path":{"type":"string","default":"."},
			"glob":{"type":"string","description":"* within a name, ** over directories"}}}`),
		Caps:       policy.Declare(policy.PrivateData, policy.UntrustedInput),
		Paths:      []string{"path"},
		Record:     policy.RecordSpec{Opaque: true},
		Idempotent: true,
		Run:        runList,
	}
}

func runList(ctx context.Context, p *bridge.Permit) (bridge.Output, error) {
	out := bridge.Output{Local: true, MediaType: "text/plain"}
	if p.String("glob") != "" {
		list, err := globbed(ctx, p)
		out.Value = list
		return out, err
	}
	entries, more, err := p.Root().List(p.String("path"), maxEntries)
	if err != nil {
		return out, err
	}
	if more {
		return out, fmt.Errorf("%s has more than %d entries; narrow it with glob=", p.String("path"), maxEntries)
	}
	list := make([]any, 0, len(entries))
	for _, e := range entries {
		list = append(list, listed(e.Name, e.Dir, e.Size))
	}
	out.Value = list
	return out, nil
}

func listed(name string, dir bool, size int64) any {
	return map[string]any{"name": name, "dir": dir, "size": size}
}

func globbed(ctx context.Context, p *bridge.Permit) ([]any, error) {
	keep, err := globFilter(p.String("glob"))
	if err != nil {
		return nil, err
	}
	list := []any{}
	var out gaps
	err = p.Root().Walk(p.String("path"), keep, func(rel string, info fs.FileInfo, _ bridge.ReadFunc) error {
		if len(list) == maxEntries {
			return fmt.Errorf("more than %d files match; narrow the pattern", maxEntries)
		}
		list = append(list, listed(rel, false, info.Size()))
		return ctx.Err()
	})
	if err := out.walked(err); err != nil {
		return nil, err
	}
	if out.n > 0 {
		list = append(list, listed(out.String(), false, 0))
	}
	return list, nil
}

// globFilter accepts the paths that a pattern matches, and every path where there
// is none.
func globFilter(glob string) (func(below string) bool, error) {
	if glob == "" {
		return func(string) bool { return true }, nil
	}
	if !doublestar.ValidatePattern(glob) {
		return nil, fmt.Errorf("glob %q is not a pattern; write as src/**/*.go", glob)
	}
	return func(below string) bool { return doublestar.MatchUnvalidated(glob, below) }, nil
}

// gaps counts what a walk left out. One directory that this user may not open must
// not make a tree unsearchable, and a result that is silent about it would be read
// as complete: so the text stands at the end of the result, where a person, a
// model and a script that prints it see it. A cap of the tool's own is an error
// instead, since a narrower call avoids it.
type gaps struct {
	n     int
	first string
}

func (g *gaps) add(what string) {
	if g.n++; g.n == 1 {
		g.first = what
	}
}

// walked takes in how a walk ended. It returns what is no gap.
func (g *gaps) walked(err error) error {
	if !errors.Is(err, bridge.ErrPartial) {
		return err
	}
	g.add(err.Error())
	return nil
}

func (g *gaps) String() string {
	if g.n == 1 {
		return fmt.Sprintf("[not everything is here: %s]", g.first)
	}
	return fmt.Sprintf("[not everything is here: %d things were left out, the first: %s]", g.n, g.first)
}
