package policy

import (
	"testing"

	"github.com/codeact-dev/codeact/policy/match"
)

func TestIsIDParam(t *testing.T) {
	for name, want := range map[string]bool{"id": true, "ID": true, "id_": true, "file_id": true, "fileId": true, "file-id": true, "idea": false, "paid": false, "to": false, "ids": false} {
		if got := isIDParam(name, false); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
		if !isIDParam(name, true) {
			t.Errorf("%s: a mark is ignored", name)
		}
	}
}

// Whatever a stranger's text holds, reading it ends, and learning it names
// nothing where the user wrote nothing.
func FuzzLearn(f *testing.F) {
	for _, s := range []string{
		`{"id": 1, "title": "Team sync"}`, "{'a': 'b\\x41', 'c': [None, (1,)]}", "- id: 1\n  title: 'x'\n", "a: |\n  b\n", "- - - a\n", "a: {b: [c]}\n", "? a\n: b\n", "a: \"\\u0041\"\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a := NewAuthority(AuthorityConfig{})
		a.Learn("c", "t", RecordSpec{}, s)
		a.Learn("c", "t", RecordSpec{Directory: true}, map[string]any{"result": s})
		if a.names("send", "to", match.TextTerm("eve@evil.com"), false) != a.directory["eve@evil.com"] {
			t.Fatalf("%q names a stranger", s)
		}
		a.Where(s)
	})
}
