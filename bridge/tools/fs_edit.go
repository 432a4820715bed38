package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/policy"
)

func fsEdit() bridge.Tool {
	return bridge.Tool{
		Name: "fs_edit",
		Doc: "Replaces text in a file: old must stand in it exactly once. Give old and new, or edits=[{old, new}, …]. " +
			"An old of \"\" makes a file that is not there. Returns the size in bytes.",
		Params: bridge.MustSchema(`{"type":"object","required":["path"],"properties":{
			"path":{"type":"string"},"old":{"type":"string"},"new":{"type":"string"},
			"edits":{"type":"array","minItems":1,"items":{"type":"object","required":["old","new"],"additionalProperties":false,
				"properties":{"old":{"type":"string"},"new":{"type":"string"}}}}}}`),
		Caps:         policy.Declare(policy.PrivateData, policy.Destructive),
		Paths:        []string{"path"},
		Writes:       []string{"path"},
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

// edited is the file's text after every edit, each on what the ones before left. An
// edit of nothing begins a file that is not there, or is empty: what people know
// from such tools, and nothing is lost by it.
func edited(p *bridge.Permit) (string, error) {
	edits, err := editsOf(p)
	if err != nil {
		return "", err
	}
	if err := p.Root().Writable(p.String("path")); err != nil {
		return "", err
	}
	text, err := current(p)
	begins := edits[0].old == ""
	if err != nil && !(begins && errors.Is(err, bridge.ErrNotFound)) {
		return "", err
	}
	for i, e := range edits {
		if i == 0 && begins && text == "" {
			text = e.new
			continue
		}
		if text, err = e.apply(text); err != nil {
			return "", fmt.Errorf("edit %d: %w", i+1, err)
		}
	}
	return text, nil
}

// What an edit may be refused for, as the model reads it.
var (
	errNoOld    = errors.New("old is empty, and the file is not; give the text to replace, or replace the whole file with fs_write")
	errNotThere = errors.New("old does not stand in the file; read it again and copy the text exactly")
	errLineEnds = errors.New(`old does not stand in the file so: its lines end in \r\n; write them so in old and new`)
	errTwice    = errors.New("old stands in the file more than once; give more of the text around it")
)

func (e edit) apply(text string) (string, error) {
	at := strings.Index(text, e.old)
	switch {
	case e.old == "":
		return "", errNoOld
	case at < 0 && strings.Contains(strings.ReplaceAll(text, "\r\n", "\n"), e.old):
		return "", errLineEnds
	case at < 0:
		return "", errNotThere
	case at != strings.LastIndex(text, e.old): // also where two of them overlap
		return "", errTwice
	}
	return text[:at] + e.new + text[at+len(e.old):], nil
}

type edit struct{ old, new string }

func editsOf(p *bridge.Permit) ([]edit, error) {
	list, many := p.Arg("edits").([]any)
	old, hasOld := p.Arg("old").(string)
	new, hasNew := p.Arg("new").(string)
	switch {
	case many && !hasOld && !hasNew:
	case !many && hasOld && hasNew:
		return []edit{{old, new}}, nil
	default: // a missing new must not mean that old is removed
		return nil, errors.New("give either old and new, or edits; to remove text give new as an empty text")
	}
	edits := make([]edit, len(list))
	for i, e := range list {
		m, _ := e.(map[string]any) // the schema has seen to it
		edits[i].old, _ = m["old"].(string)
		edits[i].new, _ = m["new"].(string)
	}
	return edits, nil
}
