package tools

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/policy"
)

// maxListedMoved is how many files of a directory a question about its move lists.
const maxListedMoved = 50

// A move replaces nothing, so that nothing is lost by one: who wants the place of
// another file deletes that first, and is asked about it.
func fsMove() bridge.Tool {
	return bridge.Tool{
		Name: "fs_move",
		Doc:  "Moves or renames a file or a directory in the workspace. Nothing is replaced: if to exists it is an error. Missing directories above to are made.",
		Params: bridge.MustSchema(`{"type":"object","required":["path","to"],"properties":{
			"path":{"type":"string"},"to":{"type":"string","description":"the whole new path, not only the directory"}}}`),
		Caps:         policy.Declare(policy.Destructive),
		Paths:        []string{"path", "to"},
		Destinations: []string{"path", "to"},
		Preview:      previewMove,
		Run: func(_ context.Context, p *bridge.Permit) (bridge.Output, error) {
			return bridge.Output{Local: true, MediaType: "text/plain"}, p.Root().Move(p.String("path"), p.String("to"))
		},
	}
}

// previewMove says what gets which name.
func previewMove(_ context.Context, p *bridge.Permit) (string, error) {
	path, to := p.String("path"), p.String("to")
	if err := p.Root().Movable(path, to); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "rename from %s\nrename to %s\n", path, to)
	files, bytes := 0, int64(0)
	err := p.Root().Walk(path, everything, func(rel string, info fs.FileInfo, _ bridge.ReadFunc) error {
		if files++; files <= maxListedMoved {
			fmt.Fprintf(&b, "  %s (%d bytes)\n", rel, info.Size())
		}
		bytes += info.Size()
		return nil
	})
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&b, "%d files, %d bytes; nothing is replaced\n", files, bytes)
	return b.String(), nil
}

func everything(string) bool { return true }
