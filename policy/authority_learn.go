package policy

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/codeact-dev/codeact/policy/match"
)

// A RecordSpec is a tool's declaration of how its results name things. Its fields
// are names of fields in the records that it returns; empty ones mean the usual
// names.
type RecordSpec struct {
	ID        string   `json:"id,omitempty"`
	Title     string   `json:"title,omitempty"`
	Metadata  []string `json:"metadata,omitempty"`  // who wrote, owns or takes part; never body text
	Directory bool     `json:"directory,omitempty"` // the results list an account's own directory, and name its entries
	Opaque    bool     `json:"opaque,omitempty"`    // the results are somebody's text, as a page or a file: they hold no records
}

// Bounds of what a conversation learns, far over what tools return in one.
const (
	maxRecords = 8192    // of a conversation; beyond it records name nothing, which asks
	maxEntries = 8192    // of the directory; the entries after them are not named
	maxNodes   = 1 << 16 // values of one result that are looked at
	maxDepth   = 32      // containers inside each other in a result
)

// The usual names of fields, in snake case, for a tool that declares none.
var (
	titleFields    = []string{"title", "name", "subject", "filename", "label"}
	metadataFields = []string{"sender", "from", "participants", "attendees", "organizer", "owner", "author", "reply_to"}
	entryFields    = []string{"email", "mail", "address", "user", "username", "login", "handle", "phone", "iban"}
)

// Learn takes the result of a call. The value is plain data; a text that is one
// JSON, YAML or Python literal is read too, but texts inside records are body
// text and are not. Memory is bounded: when more records come than it keeps,
// records name nothing any more.
func (a *Authority) Learn(call, tool string, spec RecordSpec, value any) {
	a.keep(call, tool, value)
	if spec.Opaque {
		return
	}
	nodes := maxNodes
	a.learn(spec, unwrap(value), maxDepth, &nodes)
}

// unwrap reads a result that is a text, also in the envelope {"result": text}
// that some servers put around it.
func unwrap(v any) any {
	if m, ok := v.(map[string]any); ok && len(m) == 1 {
		if s, ok := m["result"].(string); ok {
			v = s
		}
	}
	if s, ok := v.(string); ok {
		if data, ok := match.ReadData(s); ok {
			return data
		}
	}
	return v
}

func (a *Authority) learn(spec RecordSpec, v any, depth int, nodes *int) {
	if *nodes--; *nodes < 0 || depth < 0 {
		a.records.full = true // what was not looked at could be a second record of the same title
		return
	}
	switch v := v.(type) {
	case map[string]any:
		inner := spec
		if r := a.learnRecord(spec, v); len(r.titles) > 0 || r.hasID {
			inner.Directory = false // the details of an entry are no entries
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if _, text := v[k].(string); !text {
				a.learn(inner, v[k], depth-1, nodes)
			}
		}
	case []any:
		for _, e := range v {
			a.learn(spec, e, depth-1, nodes)
		}
	default:
		if spec.Directory {
			a.enter(v)
		}
	}
}

// enter adds one entry of the directory.
func (a *Authority) enter(v any) {
	if k := match.TermOf(v).ID(); k != "" && len(a.directory) < maxEntries {
		a.directory[k] = true
	}
}

func (a *Authority) learnRecord(spec RecordSpec, m map[string]any) *record {
	r := readRecord(spec, m)
	if spec.Directory {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if isEntryField(spec, match.Snake(name)) {
				for _, e := range scalars(m[name]) {
					a.enter(e)
				}
			}
		}
	}
	a.records.add(r)
	return r
}

// isEntryField reports whether a field of a directory's record says who or what
// the entry is.
func isEntryField(spec RecordSpec, n string) bool {
	return isIDField(n, spec.ID) || slices.Contains(titleNames(spec), n) || slices.Contains(entryFields, n) ||
		slices.Contains(metadataNames(spec), n)
}

func readRecord(spec RecordSpec, m map[string]any) *record {
	r := &record{ids: make(map[string]string), idName: match.Snake(spec.ID)}
	titles, meta := titleNames(spec), metadataNames(spec)
	var self, all []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		n := match.Snake(name)
		if slices.Contains(meta, n) {
			r.addMetadata(m[name])
		}
		t := match.TermOf(m[name])
		k := t.ID()
		if k == "" || len(k) > maxField {
			continue
		}
		r.ids[n] = k
		all = append(all, n+"="+k)
		if isIDField(n, spec.ID) {
			r.hasID = true
			self = append(self, n+"="+k)
		}
		if slices.Contains(titles, n) {
			if title := match.Fold(t.Raw()); letters(title) >= minTitle {
				r.titles = append(r.titles, title)
			}
			self = append(self, n)
		}
	}
	if !r.hasID {
		self = append(all, r.meta...) // without an id only the same content is the same record
	}
	r.self = strings.Join(self, "\x00")
	return r
}

func (r *record) addMetadata(v any) {
	for _, e := range scalars(v) {
		if k := match.TermOf(e).ID(); k != "" && len(k) <= maxField {
			r.meta = append(r.meta, k)
		}
	}
}

// maxField bounds a field that can be an id, a title or metadata, in bytes.
const maxField = 256

// minTitle is how many letters a title needs to count as one.
const minTitle = 4

func letters(s string) (n int) {
	for _, r := range s {
		if unicode.IsLetter(r) {
			n++
		}
	}
	return n
}

func titleNames(spec RecordSpec) []string {
	if spec.Title != "" {
		return []string{match.Snake(spec.Title)}
	}
	return titleFields
}

func metadataNames(spec RecordSpec) []string {
	if len(spec.Metadata) == 0 {
		return metadataFields
	}
	names := make([]string, len(spec.Metadata))
	for i, n := range spec.Metadata {
		names[i] = match.Snake(n)
	}
	return names
}

// isIDField reports whether a field of a record is its id: the declared one, or
// one with a usual name.
func isIDField(name, declared string) bool {
	if declared != "" {
		return name == match.Snake(declared)
	}
	return name == "key" || name == "number" || isIDParam(name, false)
}

// scalars returns the value, or the members of a list, that are not containers.
func scalars(v any) []any {
	switch v := v.(type) {
	case []any:
		var out []any
		for _, e := range v {
			if _, list := e.([]any); !list {
				out = append(out, scalars(e)...)
			}
		}
		return out
	case map[string]any:
		return nil
	}
	return []any{v}
}
