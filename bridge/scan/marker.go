package scan

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"html"
	"regexp"
	"strings"
)

// A Marker encloses text that is not to be obeyed. Its name is random for each run, so a text written before cannot name it; what
// looks like any such marker is taken out of the text all the same. The zero Marker shows nothing.
type Marker struct{ id string }

// An Attr is written in the opening marker.
type Attr struct{ Name, Value string }

// minRandom is the least that NewMarker takes, in bytes.
const minRandom = 16

// NewMarker makes the marker of a run.
// Preconditions: rand holds at least 16 random bytes; with fewer the Marker is the zero one.
func NewMarker(rand []byte) Marker {
	if len(rand) < minRandom {
		return Marker{}
	}
	sum := sha256.Sum256(rand)
	return Marker{hex.EncodeToString(sum[:8])}
}

var markerID = regexp.MustCompile(`^[0-9a-f]{16}$`)

// ParseMarker reads what String wrote, so that a resumed run keeps its marker.
func ParseMarker(s string) (Marker, error) {
	if !markerID.MatchString(s) {
		return Marker{}, errors.New("scan: marker: want 16 hexadecimal digits")
	}
	return Marker{s}, nil
}

// String is what ParseMarker reads.
func (m Marker) String() string { return m.id }

var attrName = regexp.MustCompile(`^[a-z][a-z_]{0,31}$`)

// maxAttr bounds an attribute's value, in bytes.
const maxAttr = 300

// Wrap encloses text. Attributes whose names are not lower-case words are left out.
func (m Marker) Wrap(text string, attrs ...Attr) string {
	if m.id == "" {
		return "[text withheld: this run has no marker]"
	}
	var b strings.Builder
	b.WriteString("<" + markerWord + "-" + m.id)
	for _, a := range attrs {
		if attrName.MatchString(a.Name) {
			b.WriteString(" " + a.Name + `="` + html.EscapeString(Line(m.neutral(a.Value), maxAttr)) + `"`)
		}
	}
	b.WriteString(">\n" + m.neutral(text) + "\n</" + markerWord + "-" + m.id + ">")
	return b.String()
}
