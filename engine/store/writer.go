package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// writer makes the lines of one run. It keeps its buffers between lines.
type writer struct {
	runID  string
	seq    int64  // of the last line
	head   string // hash of the last line
	fields bytes.Buffer
	object objectReader
	line   []byte // the line being made, with its newline
}

var (
	errType    = errors.New("want a type like noun.verb, of a-z, 0-9, '_' and '.'")
	errTooLong = fmt.Errorf("over the limit of %d bytes; put large content into a blob", maxLine)
	errYear    = errors.New("the year of its time is not within 0 and 9999")
)

// encode returns the next line with its newline, good until the following call.
func (w *writer) encode(typ string, body any, ts time.Time) ([]byte, error) {
	if !isType(typ) {
		return nil, errType
	}
	ts = ts.UTC()
	if y := ts.Year(); y < 0 || y > 9999 {
		return nil, errYear // RFC 3339 cannot write it
	}
	fields, err := w.encodeBody(body)
	if err != nil {
		return nil, err
	}
	b := append(w.line[:0], `{"v":1,"seq":`...)
	b = strconv.AppendInt(b, w.seq+1, 10)
	b = append(b, `,"ts":"`...)
	b = ts.AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","run_id":"`...)
	b = append(b, w.runID...)
	b = append(b, `","type":"`...)
	b = append(b, typ...)
	b = append(b, `",`...)
	if len(fields) > 0 {
		b = append(b, fields...)
		b = append(b, ',')
	}
	b = append(b, `"prev":"`...)
	b = append(b, w.head...)
	b = append(b, "\"}\n"...)
	w.line = b
	if len(b)-1 > maxLine {
		return nil, errTooLong
	}
	return b, nil
}

// encodeBody returns the fields of body without the braces, on one line.
func (w *writer) encodeBody(body any) ([]byte, error) {
	w.fields.Reset()
	enc := json.NewEncoder(&w.fields)
	enc.SetEscapeHTML(false) // a trace is read by people: <a> stays <a>
	if err := enc.Encode(body); err != nil {
		return nil, err
	}
	text := bytes.TrimSuffix(w.fields.Bytes(), []byte("\n"))
	f := checkText(text) // a json.RawMessage may be no UTF-8; that all is valid JSON, the encoder has seen to
	if f == nil {
		f = w.object.walk(text)
	}
	if f != nil {
		return nil, fmt.Errorf("body: byte %d: %s", f.at, f.why)
	}
	for _, m := range w.object.top {
		if reservedLike(m.key) != "" {
			return nil, fmt.Errorf("body: key %q is kept for the trace itself; name the field otherwise", m.key)
		}
	}
	return text[1 : len(text)-1], nil
}

// accept makes the encoded line the last one.
func (w *writer) accept(typ string, ts time.Time) Line {
	body := bytes.Clone(w.line[:len(w.line)-1])
	w.seq++
	l := Line{V: lineVersion, Seq: w.seq, TS: ts.UTC(), RunID: w.runID, Type: typ, Body: body, Prev: w.head}
	w.head = hashLine(body)
	return l
}

func isType(s string) bool {
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '.' {
			return false
		}
	}
	return s != ""
}
