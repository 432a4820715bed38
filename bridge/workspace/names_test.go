package workspace

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestNamesThatAFileSystemMayTakeForOne holds readDeny against file systems that fold: what a rule names must be denied in every
// spelling that reaches the file there.
func TestNamesThatAFileSystemMayTakeForOne(t *testing.T) {
	for _, c := range []struct{ a, b string }{
		{".env", ".ENV"},
		{"secrets", "SECRETS"},
		{"secrets", "ſecretſ"},
		{"keys", "\u212aeys"}, // the sign of the unit kelvin
		{"ångström", "A\u030angstro\u0308m"},
		{"ångström", "\u212bngström"},
		{"straße", "STRASSE"},
		{"ﬁle", "FILE"},
		{".git", ".g\u200cit"}, // HFS+ leaves it out
		{".git", "\ufeff.git"},
		{"σ", "ς"},
	} {
		if foldName(c.a) != foldName(c.b) {
			t.Errorf("%q and %q stay apart: %q, %q", c.a, c.b, foldName(c.a), foldName(c.b))
		}
	}
	for _, c := range []struct{ a, b string }{{"a", "b"}, {"secrets", "secret"}, {".env", "env"}, {"o", "ö"}, {"a/b", "a\\b"}} {
		if foldName(c.a) == foldName(c.b) {
			t.Errorf("%q and %q are brought together", c.a, c.b)
		}
	}
}

func TestFoldingAgainChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "name")
		once := foldName(s)
		if again := foldName(once); again != once {
			t.Fatalf("%q is %q, then %q", s, once, again)
		}
		ascii := rapid.StringMatching(`[a-zA-Z._-]*`).Draw(t, "ascii")
		if foldName(strings.ToUpper(ascii)) != foldName(strings.ToLower(ascii)) {
			t.Fatalf("%q: its cases stay apart", ascii)
		}
	})
}

func TestNamesThatWindowsTakesForOthers(t *testing.T) {
	for _, name := range []string{
		"a:stream", "a::$DATA", "C:", "SECRET~1", "a.", "a ", "a. .", "...", "con", "CON", "con.txt", "Nul", "nul .txt", "aux", "PRN", "COM1", "lpt9.log", "COM¹", "CONIN$",
		"a\\b", "a*", "a?", "a|b", `a"b`, "<a>",
	} {
		if !dosAlias(name) {
			t.Errorf("%q is taken as it stands", name)
		}
	}
	for _, name := range []string{".", "..", "a", "console", "com", "com10", "acon", ".env", "a.b", "nulls.txt", "ü", " a"} {
		if dosAlias(name) {
			t.Errorf("%q is refused", name)
		}
	}
}
