package tools

import (
	"bytes"
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/policy"
)

// The sizes of what is read, in bytes. A whole file is meant to be looked at; a
// range may come from a log.
const (
	maxWhole = 4 << 20
	maxRange = 64 << 20
)

func fsRead() bridge.Tool {
	return bridge.Tool{
		Name: "fs_read",
		Doc:  "Returns the text of a file in the workspace; with start (from 1) and lines, only those lines.",
		Params: bridge.MustSchema(`{"type":"object","required":["path"],"properties":{
			"path":{"type":"string","description":"relative to the workspace; @name/… in an extra root, @spill/… for a result that was too large"},
			"start":{"type":"integer","minimum":1,"description":"first line"},
			"lines":{"type":"integer","minimum":1,"description":"how many lines"}}}`),
		Caps:       policy.Declare(policy.PrivateData, policy.UntrustedInput),
		Paths:      []string{"path"},
		Record:     policy.RecordSpec{Opaque: true},
		Idempotent: true,
		Run:        runRead,
	}
}

func runRead(_ context.Context, p *bridge.Permit) (bridge.Output, error) {
	local := bridge.Output{Local: true, MediaType: "text/plain"}
	path, limit := p.String("path"), int64(maxWhole)
	ranged := p.Arg("start") != nil || p.Arg("lines") != nil
	if ranged {
		limit = maxRange
	}
	data, more, err := p.Root().ReadFile(path, limit)
	if err != nil {
		return local, err
	}
	if more && !ranged {
		return local, fmt.Errorf("%s has more than %d MiB; read parts of it with start= and lines=, or look for what you need with fs_search", path, maxWhole>>20)
	}
	if ranged {
		whole := len(data)
		data = cutLines(data, p.Int("start", 1), p.Int("lines", 1<<30))
		if more && (len(data) == 0 || len(data) == whole || data[len(data)-1] != '\n') {
			return local, fmt.Errorf("%s: the lines reach past its first %d MiB, and only those are read; ask for fewer, or for earlier ones", path, maxRange>>20)
		}
	}
	text, err := asText(path, data)
	local.Value = text
	return local, err
}

// cutLines returns n lines of data from the first, counted from 1.
func cutLines(data []byte, first, n int) []byte {
	for range first - 1 {
		i := bytes.IndexByte(data, '\n')
		if i < 0 {
			return nil
		}
		data = data[i+1:]
	}
	end := 0
	for ; n > 0 && end < len(data); n-- {
		i := bytes.IndexByte(data[end:], '\n')
		if i < 0 {
			return data
		}
		end += i + 1
	}
	return data[:end]
}

// asText refuses what is no text, and says what it is instead.
func asText(path string, data []byte) (string, error) {
	if bytes.IndexByte(data, 0) >= 0 {
		return "", fmt.Errorf("%s is a binary file (%d bytes), which cannot be read as text", path, len(data))
	}
	if !utf8.Valid(data) {
		return "", fmt.Errorf("%s is not UTF-8 text; byte %d is no part of a character", path, badByte(data)+1)
	}
	return string(data), nil
}

func badByte(data []byte) int {
	i := 0
	for i < len(data) {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		i += n
	}
	return i
}

// wholeRunes is data that was cut somewhere, without the character that the cut
// went through.
func wholeRunes(data []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(data); n++ {
		if at := len(data) - n; utf8.RuneStart(data[at]) {
			if !utf8.FullRune(data[at:]) {
				return data[:at]
			}
			break
		}
	}
	return data
}
