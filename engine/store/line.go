package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// lineVersion is the only value of "v" that this package reads and writes.
const lineVersion = 1

// maxLine bounds a line, in bytes without its newline. Larger content belongs in a blob.
const maxLine = 16 << 20

// zeroPrev stands where the hash of the line before would, in the first line.
const zeroPrev = "0000000000000000000000000000000000000000000000000000000000000000"

// reserved are the keys that Append writes itself.
var reserved = []string{"v", "seq", "ts", "run_id", "type", "prev"}

// reservedLike returns the reserved key that some readers would take key for, or "". encoding/json, for one, takes
// "Seq" for "seq".
func reservedLike(key string) string {
	for _, r := range reserved {
		if strings.EqualFold(r, key) {
			return r
		}
	}
	return ""
}

// Line is one line of a trace.
type Line struct {
	V      int
	Seq    int64 // from 1, without gaps
	TS     time.Time
	RunID  string
	Type   string
	Body   json.RawMessage // the whole line as an object, without the newline
	Prev   string          // hex SHA-256 of the bytes of the line before; 64 zeros in the first
	Offset int64           // of the line's first byte in the file
}

func hashLine(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}

// parsed is a line with where its chained values stand in it.
type parsed struct {
	Line
	seqAt, runIDAt, prevAt int
}

// parse reads one line by itself. That it follows from the line before is for scanner to check.
// The Body is src itself.
func (r *objectReader) parse(src []byte) (parsed, *fault) {
	p := parsed{Line: Line{Body: src}}
	if f := r.read(src); f != nil {
		return p, f
	}
	seen := 0
	for _, m := range r.top {
		key := reservedLike(m.key)
		if key == "" {
			continue
		}
		if key != m.key {
			return p, &fault{at: m.at, why: fmt.Sprintf("key %q can be taken for %q", m.key, key)}
		}
		seen++
		if why := p.set(m, src[m.valAt:m.valTo]); why != "" {
			return p, &fault{at: m.valAt, why: why}
		}
	}
	if seen == len(reserved) {
		return p, nil
	}
	has := func(key string) bool {
		return slices.ContainsFunc(r.top, func(m member) bool { return m.key == key })
	}
	missing := slices.IndexFunc(reserved, func(key string) bool { return !has(key) })
	return p, &fault{why: fmt.Sprintf("no %q", reserved[missing])}
}

// set takes over the value of a reserved key, or says why it cannot be.
func (p *parsed) set(m member, value []byte) (why string) {
	var err error
	switch m.key {
	case "v":
		if string(value) != strconv.Itoa(lineVersion) {
			return fmt.Sprintf("v is %s, and only %d is known", clip(value), lineVersion)
		}
		p.V = lineVersion
		return ""
	case "seq":
		p.seqAt = m.valAt
		if p.Seq, err = strconv.ParseInt(string(value), 10, 64); err != nil {
			return fmt.Sprintf("seq is %s, not a whole number", clip(value))
		}
		return ""
	}
	if value[0] != '"' {
		return fmt.Sprintf("%s is %s, not a string", m.key, clip(value))
	}
	s := unquote(value)
	switch m.key {
	case "ts":
		if p.TS, err = time.Parse(time.RFC3339Nano, s); err != nil {
			return fmt.Sprintf("ts is %s, not a time", clip(value))
		}
	case "run_id":
		p.RunID, p.runIDAt = s, m.valAt
	case "type":
		p.Type = s
	case "prev":
		p.Prev, p.prevAt = s, m.valAt
	}
	return ""
}

// clip keeps a value that may be megabytes long out of an error text.
func clip(value []byte) string {
	const most = 40
	if len(value) <= most {
		return string(value)
	}
	return fmt.Sprintf("%q…", value[:most])
}
