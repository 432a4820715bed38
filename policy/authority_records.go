package policy

import (
	"maps"
	"slices"
	"strings"

	"github.com/codeact-dev/codeact/policy/match"
)

// A record is an object in a tool's result.
type record struct {
	self   string            // what tells it from another record of the same title
	ids    map[string]string // scalar fields, by name; the value in its id form
	hasID  bool
	idName string   // the declared field of the id; "" means the usual ones
	titles []string // folded
	meta   []string // id forms
}

// records are the objects in all results of a conversation.
type records struct {
	byTitle map[string][]*record
	byValue map[string][]*record // by every scalar and metadata value
	count   int
	full    bool
}

func newRecords() records {
	return records{byTitle: make(map[string][]*record), byValue: make(map[string][]*record)}
}

func (rs *records) add(r *record) {
	if len(r.titles) == 0 {
		return
	}
	if rs.count == maxRecords {
		rs.full = true
		return
	}
	rs.count++
	for _, t := range r.titles {
		rs.byTitle[t] = append(rs.byTitle[t], r)
	}
	seen := make(map[string]bool)
	for _, k := range slices.Concat(slices.Sorted(maps.Values(r.ids)), r.meta) {
		if !seen[k] {
			seen[k] = true
			rs.byValue[k] = append(rs.byValue[k], r)
		}
	}
}

// name reports whether t is named by rule 4, as the id of a record whose title
// the user wrote, or by rule 5, as metadata of such a record.
func (rs *records) name(user *match.Wording, param string, t match.Term) bool {
	k := t.ID()
	if k == "" || rs.full {
		return false
	}
	for _, r := range rs.byValue[k] {
		for _, title := range r.titles {
			if r.identifies(param, k) && rs.only(title) && rs.written(user, title, false) ||
				rs.inMetadata(title, k) && rs.only(title) && rs.written(user, title, true) {
				return true
			}
		}
	}
	return false
}

// identifies reports whether value k is the record's id, or stands in the field
// that has the parameter's name.
func (r *record) identifies(param, k string) bool {
	for n, v := range r.ids {
		if v == k && (isIDField(n, r.idName) || r.idName == "" && n == match.Snake(param)) {
			return true
		}
	}
	return false
}

// only reports whether all records with the title are one and the same.
func (rs *records) only(title string) bool {
	of := rs.byTitle[title]
	return !slices.ContainsFunc(of, func(r *record) bool { return r.self != of[0].self })
}

// inMetadata reports whether k is metadata of every sight of the record that has
// any metadata: a later sight can take away, and never adds.
func (rs *records) inMetadata(title, k string) bool {
	in := false
	for _, r := range rs.byTitle[title] {
		if len(r.meta) > 0 {
			if !slices.Contains(r.meta, k) {
				return false
			}
			in = true
		}
	}
	return in
}

// written reports whether the user wrote the title, and not only as a part of a
// longer title that is known too: 'Dinner' is not named by 'Dinner with Sam'.
// With pointed a title of one word must also be pointed at.
func (rs *records) written(user *match.Wording, title string, pointed bool) bool {
	for text, i := range user.Places(title) {
		if !rs.inLonger(text, title, i) && (!pointed || match.PointedAt(text, i, i+len(title))) {
			return true
		}
	}
	return false
}

func (rs *records) inLonger(text, title string, at int) bool {
	for other := range rs.byTitle {
		if len(other) <= len(title) || !strings.Contains(other, title) {
			continue
		}
		for from := 0; ; {
			i, ok := match.Find(text, other, from)
			if !ok || i > at {
				break
			}
			if at+len(title) <= i+len(other) {
				return true
			}
			from = i + len(other)
		}
	}
	return false
}
