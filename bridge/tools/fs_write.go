package tools

import (
	"context"
	"errors"
	"fmt"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/policy"
)

func fsWrite() bridge.Tool {
	return bridge.Tool{
		Name: "fs_write",
		Doc:  "Writes a text file in the workspace, replacing it if it is there. Returns its size in bytes.",
		Params: bridge.MustSchema(`{"type":"object","required":["path","content"],"properties":{
			"path":{"type":"string"},"content":{"type":"string"}}}`),
		Caps:         policy.Declare(policy.Destructive),
		Paths:        []string{"path"},
		Writes:       []string{"path"},
		Destinations: []string{"path"},
		Idempotent:   true,
		Preview: func(_ context.Context, p *bridge.Permit) (string, error) {
			return diff(p, p.String("content"))
		},
		Run: func(_ context.Context, p *bridge.Permit) (bridge.Output, error) {
			return write(p, p.String("content"))
		},
	}
}

func write(p *bridge.Permit, text string) (bridge.Output, error) {
	out := bridge.Output{Local: true, Value: int64(len(text)), MediaType: "text/plain"}
	return out, p.Root().Write(p.String("path"), []byte(text))
}

// diff is what writing text would change. Nobody is asked about what cannot be
// written.
func diff(p *bridge.Permit, text string) (string, error) {
	path := p.String("path")
	if err := p.Root().Writable(path); err != nil {
		return "", err
	}
	old, err := current(p)
	if errors.Is(err, bridge.ErrNotFound) {
		return udiff.Unified("/dev/null", path, "", text), nil
	}
	if err != nil {
		return "", err
	}
	return udiff.Unified(path, path, old, text), nil
}

// current is the text of the file that the call is about.
func current(p *bridge.Permit) (string, error) {
	path := p.String("path")
	data, more, err := p.Root().ReadFile(path, maxWhole)
	if err != nil {
		return "", err
	}
	if more {
		return "", fmt.Errorf("%s has more than %d MiB, which is not edited", path, maxWhole>>20)
	}
	return asText(path, data)
}
