package tools

import (
	"context"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/policy"
)

// The most that one call returns. A model that gets more reads none of it.
const (
	maxEntries = 2000
	maxMatches = 500
	maxText    = 3200    // bytes of one match with its context
	maxScanned = 8 << 20 // bytes of one file that is searched
)

func fsList() bridge.Tool {
	return bridge.Tool{
		Name: "fs_list",
		Doc:  "Returns the entries of a directory, each {name, dir, size}; with glob (as **/*.go), the matching files below it by path.",
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

func runList(_ context.Context, p *bridge.Permit) (bridge.Output, error) {
	out := bridge.Output{Local: true, MediaType: "text/plain"}
	if glob := p.String("glob"); glob != "" {
		list, err := globbed(p, glob)
		out.Value = list
		return out, err
	}
	entries, more, err := p.Root().List(p.String("path"), maxEntries)
	if err != nil {
		return out, err
	}
	list := make([]any, 0, len(entries))
	for _, e := range entries {
		list = append(list, map[string]any{"name": e.Name, "dir": e.Dir, "size": e.Size})
	}
	if more {
		return out, fmt.Errorf("%s has more than %d entries; narrow it with glob=", p.String("path"), maxEntries)
	}
	out.Value = list
	return out, nil
}

func globbed(p *bridge.Permit, glob string) ([]any, error) {
	if !doublestar.ValidatePattern(glob) {
		return nil, fmt.Errorf("glob %q is not a pattern; write as src/**/*.go", glob)
	}
	list := []any{}
	err := p.Root().Walk(p.String("path"), func(rel string, info fs.FileInfo, _ bridge.ReadFunc) error {
		if !matches(p, glob, rel) || info.IsDir() {
			return nil
		}
		if len(list) == maxEntries {
			return fmt.Errorf("more than %d files match; narrow the pattern", maxEntries)
		}
		list = append(list, map[string]any{"name": rel, "dir": false, "size": info.Size()})
		return nil
	})
	return list, err
}

// matches holds a pattern against the path below the directory that was asked
// for.
func matches(p *bridge.Permit, glob, rel string) bool {
	if base := p.Root().Rel(p.String("path")); base != "." {
		rel = strings.TrimPrefix(strings.TrimPrefix(rel, base), "/")
	}
	ok, err := doublestar.Match(glob, rel)
	return ok && err == nil
}

func fsSearch() bridge.Tool {
	return bridge.Tool{
		Name: "fs_search",
		Doc:  "Returns the lines that match a regular expression (RE2), each {path, line, text}; with context, also the lines around it.",
		Params: bridge.MustSchema(`{"type":"object","required":["pattern"],"properties":{
			"pattern":{"type":"string"},
			"path":{"type":"string","default":"."},
			"glob":{"type":"string"},
			"context":{"type":"integer","minimum":0,"maximum":20}}}`),
		Caps:       policy.Declare(policy.PrivateData, policy.UntrustedInput),
		Paths:      []string{"path"},
		Record:     policy.RecordSpec{Opaque: true},
		Idempotent: true,
		Run:        runSearch,
	}
}

func runSearch(_ context.Context, p *bridge.Permit) (bridge.Output, error) {
	out := bridge.Output{Local: true, MediaType: "text/plain"}
	re, err := regexp.Compile(p.String("pattern"))
	if err != nil {
		return out, fmt.Errorf("pattern: %w", err)
	}
	list := []any{}
	glob := p.String("glob")
	err = p.Root().Walk(p.String("path"), func(rel string, info fs.FileInfo, read bridge.ReadFunc) error {
		if info.IsDir() || glob != "" && !matches(p, glob, rel) {
			return nil
		}
		data, _, err := read(maxScanned)
		if err != nil {
			return err
		}
		text, err := asText(rel, data)
		if err != nil {
			return nil // a binary file matches nothing
		}
		list = append(list, found(re, rel, text, p.Int("context", 0), maxMatches+1-len(list))...)
		if len(list) > maxMatches {
			return fmt.Errorf("more than %d lines match; narrow the pattern, or give path= or glob=", maxMatches)
		}
		return nil
	})
	out.Value = list
	return out, err
}

func found(re *regexp.Regexp, rel, text string, around, most int) []any {
	var list []any
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if len(list) == most {
			break
		}
		if !re.MatchString(line) {
			continue
		}
		m := map[string]any{"path": rel, "line": int64(i + 1), "text": clip(line)}
		if around > 0 {
			m["context"] = clip(strings.Join(lines[max(0, i-around):min(len(lines), i+around+1)], "\n"))
		}
		list = append(list, m)
	}
	return list
}

func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}
