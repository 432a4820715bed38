package tools

import (
	"context"
	"errors"
	"fmt"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/policy"
)

// maxDeleted is the most of a text that a question about its deletion shows, in
// bytes: an approval can show 64 KiB, and a diff is longer than its text.
const maxDeleted = 32 << 10

func fsDelete() bridge.Tool {
	return bridge.Tool{
		Name:         "fs_delete",
		Doc:          "Deletes a file in the workspace, or a directory that is empty. It cannot be undone.",
		Params:       bridge.MustSchema(`{"type":"object","required":["path"],"properties":{"path":{"type":"string"}}}`),
		Caps:         policy.Declare(policy.Destructive),
		Paths:        []string{"path"},
		Destinations: []string{"path"},
		Preview:      previewDelete,
		Run: func(_ context.Context, p *bridge.Permit) (bridge.Output, error) {
			return bridge.Output{Local: true, MediaType: "text/plain"}, p.Root().Remove(p.String("path"))
		},
	}
}

// previewDelete shows what would be lost: the text, or what else it is.
func previewDelete(_ context.Context, p *bridge.Permit) (string, error) {
	path := p.String("path")
	if err := p.Root().Removable(path); err != nil {
		return "", err
	}
	gone := func(what string, args ...any) string {
		return fmt.Sprintf("--- %s\n+++ /dev/null\n"+what+"\n", append([]any{path}, args...)...)
	}
	data, more, err := p.Root().ReadFile(path, maxDeleted)
	switch {
	case errors.Is(err, bridge.ErrNotRegular):
		return gone("an empty directory"), empty(p, path)
	case err != nil:
		return "", err
	case len(data) == 0:
		return gone("an empty file"), nil
	}
	if text, err := asText(path, data); err == nil && !more {
		return udiff.Unified(path, "/dev/null", text, ""), nil
	}
	size, sum, err := p.Root().Sum(path)
	if err != nil {
		return "", err
	}
	kind := "a binary file"
	if _, err := asText(path, wholeRunes(data)); err == nil {
		kind = "a text"
	}
	return gone("%s of %d bytes, sha256 %s", kind, size, sum), nil
}

// empty is an error where a directory is not. What the operator hides counts for
// the system, which then refuses.
func empty(p *bridge.Permit, path string) error {
	entries, _, err := p.Root().List(path, 1)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("%s is a directory that is not empty; delete what is in it first", path)
	}
	return err
}
