package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

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

// diff is what writing text would change.
func diff(p *bridge.Permit, text string) (string, error) {
	path := p.String("path")
	old, err := current(p)
	if errors.Is(err, fs.ErrNotExist) {
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

func fsEdit() bridge.Tool {
	return bridge.Tool{
		Name: "fs_edit",
		Doc:  "Replaces text in a file: old must stand in it exactly once. Give old and new, or edits=[{old, new}, …]. Returns the size in bytes.",
		Params: bridge.MustSchema(`{"type":"object","required":["path"],"properties":{
			"path":{"type":"string"},"old":{"type":"string"},"new":{"type":"string"},
			"edits":{"type":"array","minItems":1,"items":{"type":"object","required":["old","new"],"additionalProperties":false,
				"properties":{"old":{"type":"string"},"new":{"type":"string"}}}}}}`),
		Caps:         policy.Declare(policy.PrivateData, policy.Destructive),
		Paths:        []string{"path"},
		Destinations: []string{"path"},
		Preview: func(_ context.Context, p *bridge.Permit) (string, error) {
			text, err := edited(p)
			if err != nil {
				return "", err
			}
			return diff(p, text)
		},
		Run: func(_ context.Context, p *bridge.Permit) (bridge.Output, error) {
			text, err := edited(p)
			if err != nil {
				return bridge.Output{Local: true}, err
			}
			return write(p, text)
		},
	}
}

// edited is the file's text after every edit, each on what the ones before left.
func edited(p *bridge.Permit) (string, error) {
	edits, err := editsOf(p)
	if err != nil {
		return "", err
	}
	text, err := current(p)
	if err != nil {
		return "", err
	}
	for i, e := range edits {
		switch n := strings.Count(text, e.old); {
		case e.old == "":
			return "", fmt.Errorf("edit %d: old is empty; to make a new file use fs_write", i+1)
		case n == 0:
			return "", fmt.Errorf("edit %d: old does not stand in the file; read it again and copy the text exactly", i+1)
		case n > 1:
			return "", fmt.Errorf("edit %d: old stands in the file %d times; give more of the text around it", i+1, n)
		}
		text = strings.Replace(text, e.old, e.new, 1)
	}
	return text, nil
}

type edit struct{ old, new string }

func editsOf(p *bridge.Permit) ([]edit, error) {
	list, many := p.Arg("edits").([]any)
	_, one := p.Arg("old").(string)
	if many == one {
		return nil, errors.New("give either old and new, or edits")
	}
	if one {
		return []edit{{p.String("old"), p.String("new")}}, nil
	}
	edits := make([]edit, 0, len(list))
	for _, e := range list {
		m, _ := e.(map[string]any)
		old, _ := m["old"].(string)
		new, _ := m["new"].(string)
		edits = append(edits, edit{old, new})
	}
	return edits, nil
}
