package models

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
)

// A dataDoor is a wire whose streams hold data alone. The OpenAI library takes the other
// fields of an event stream for pieces of an error: it gives up at 300 comments, which
// OpenRouter sends while a model thinks, and loses the error that follows an event's name.
type dataDoor struct{ *wire }

func (d dataDoor) Do(req *http.Request) (*http.Response, error) {
	resp, err := d.wire.Do(req)
	if err != nil {
		return nil, err
	}
	resp.Body = &dataLines{src: bufio.NewReader(resp.Body), Closer: resp.Body}
	return resp, nil
}

// dataLines leaves out empty lines, comments, and the fields event, id and retry. What is
// no event stream at all it leaves in, for the library to refuse.
type dataLines struct {
	io.Closer
	src  *bufio.Reader // its lines are bounded by the stream
	line []byte        // what is left to read of the current line
	err  error         // that ended src
}

func (d *dataLines) Read(p []byte) (int, error) {
	for len(d.line) == 0 {
		if d.err != nil {
			return 0, d.err
		}
		d.line, d.err = d.src.ReadBytes('\n')
		if !holdsData(d.line) {
			d.line = nil
		}
	}
	n := copy(p, d.line)
	d.line = d.line[n:]
	return n, nil
}

func holdsData(line []byte) bool {
	field, _, isField := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(":"))
	switch string(field) {
	case "", "event", "id", "retry":
		return false
	}
	return isField || bytes.HasPrefix(line, []byte("{"))
}
