package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/policy"
)

// The most that one call returns, and looks at.
const (
	maxMatches = 500
	maxText    = 3200    // bytes of one match, or of its context
	maxScanned = 8 << 20 // bytes of one file
)

func fsSearch() bridge.Tool {
	return bridge.Tool{
		Name: "fs_search",
		Doc: "Returns the lines that match a regular expression (RE2), each {path, line, text}; with context, also the lines around it. " +
			"Files that are no text are left out. If some could not be searched, the last text says so in brackets.",
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

// A finder is one search.
type finder struct {
	re     *regexp.Regexp
	around int // lines of context
	list   []any
	out    gaps

	texts  int    // files that were searched
	noText string // why the first of the others was not
}

func runSearch(ctx context.Context, p *bridge.Permit) (bridge.Output, error) {
	out := bridge.Output{Local: true, MediaType: "text/plain"}
	re, err := regexp.Compile(p.String("pattern"))
	if err != nil {
		return out, fmt.Errorf("pattern: %w", err)
	}
	keep, err := globFilter(p.String("glob"))
	if err != nil {
		return out, err
	}
	f := finder{re: re, around: p.Int("context", 0), list: []any{}}
	err = p.Root().Walk(p.String("path"), keep, func(rel string, _ fs.FileInfo, read bridge.ReadFunc) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return f.file(rel, read)
	})
	if err := f.out.walked(err); err != nil {
		return out, err
	}
	if f.texts == 0 && f.noText != "" { // a search of nothing must not read as nothing found
		f.out.add(f.noText)
	}
	if f.out.n > 0 {
		f.list = append(f.list, match("", 0, f.out.String()))
	}
	out.Value = f.list
	return out, nil
}

// file searches one file. That one cannot be read ends nothing.
func (f *finder) file(rel string, read bridge.ReadFunc) error {
	data, more, err := read(maxScanned)
	switch {
	case errors.Is(err, bridge.ErrNotFound): // it has gone meanwhile
		return nil
	case err != nil:
		f.out.add(err.Error())
		return nil
	case more:
		data = wholeRunes(data)
	}
	text, err := asText(rel, data)
	if err != nil { // a binary file matches nothing
		f.noText = cmp.Or(f.noText, err.Error())
		return nil
	}
	f.texts++
	if more {
		f.out.add(fmt.Sprintf("%s was searched in its first %d MiB only", rel, maxScanned>>20))
	}
	return f.lines(rel, strings.Split(text, "\n"))
}

func (f *finder) lines(rel string, lines []string) error {
	for i, line := range lines {
		line = strings.TrimSuffix(line, "\r")
		if !f.re.MatchString(line) || i > 0 && i == len(lines)-1 && line == "" { // behind the last newline is no line
			continue
		}
		if len(f.list) == maxMatches {
			return fmt.Errorf("more than %d lines match; narrow the pattern, or give path= or glob=", maxMatches)
		}
		m := match(rel, int64(i+1), line)
		if f.around > 0 {
			m["context"] = clip(strings.Join(lines[max(0, i-f.around):min(len(lines), i+f.around+1)], "\n"))
		}
		f.list = append(f.list, m)
	}
	return nil
}

func match(path string, line int64, text string) map[string]any {
	return map[string]any{"path": path, "line": line, "text": clip(text)}
}

func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	return string(wholeRunes([]byte(s[:maxText]))) + "…"
}
