package store

import (
	"errors"
	"os"
	"strings"
	"testing"
)

func digestOf(s string) string { return hashLine([]byte(s)) }

func mark(t *testing.T, s *Store, digest string) {
	t.Helper()
	if err := s.MarkUntrusted(digest); err != nil {
		t.Fatal(err)
	}
}

func TestAMarkOutlivesTheStoreThatMadeIt(t *testing.T) {
	s := newStore(t)
	if s.Untrusted(digestOf("a")) {
		t.Error("marked before anything was")
	}
	mark(t, s, digestOf("a"))
	mark(t, s, digestOf("a"))
	other := must[*Store](t)(Open(s.dir))
	for _, st := range []*Store{s, other} {
		if !st.Untrusted(digestOf("a")) || st.Untrusted(digestOf("b")) {
			t.Error("want a and not b")
		}
	}
	mark(t, other, digestOf("b"))
	if !s.Untrusted(digestOf("b")) {
		t.Error("what another store marked later is not seen")
	}
	if got := string(must[[]byte](t)(os.ReadFile(s.index.path))); got != "\n"+digestOf("a")+"\n\n"+digestOf("b")+"\n" {
		t.Errorf("the file: %q", got)
	}
}

// A crash, or a full disk, may leave any part of a line at the end; the next mark must not be glued to it.
func TestATornMarkDoesNotSwallowTheNext(t *testing.T) {
	line := "\n" + digestOf("torn") + "\n"
	for size := range len(line) {
		s := newStore(t)
		mark(t, s, digestOf("a"))
		appendText(t, s.index.path, line[:size])
		if size > 0 && s.Untrusted(digestOf("torn")) {
			t.Errorf("%d bytes: half a line counts", size)
		}
		mark(t, s, digestOf("b"))
		fresh := must[*Store](t)(Open(s.dir))
		for _, st := range []*Store{s, fresh} {
			if !st.Untrusted(digestOf("a")) || !st.Untrusted(digestOf("b")) {
				t.Errorf("%d bytes: a mark is lost", size)
			}
		}
	}
}

func TestOnlyADigestCanBeMarked(t *testing.T) {
	s := newStore(t)
	for _, d := range []string{"", "abc", strings.ToUpper(digestOf("a")), digestOf("a") + "\n", digestOf("a")[:63] + "g"} {
		if err := s.MarkUntrusted(d); err == nil || !strings.Contains(err.Error(), "64 lower-case hex digits") {
			t.Errorf("%q: %v", d, err)
		}
		if !s.Untrusted(d) {
			t.Errorf("%q is vouched for", d)
		}
	}
}

func TestAnIndexThatCannotBeReadVouchesForNothing(t *testing.T) {
	s := newStore(t)
	if err := errors.Join(os.Mkdir(s.index.path, 0o700), os.WriteFile(s.index.path+"/x", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if !s.Untrusted(digestOf("a")) {
		t.Error("trusted")
	}
	if err := s.MarkUntrusted(digestOf("a")); err == nil {
		t.Error("marked in a directory")
	}
	if err := os.RemoveAll(s.index.path); err != nil {
		t.Fatal(err)
	}
	if s.Untrusted(digestOf("a")) {
		t.Error("a passing fault stays")
	}
}

func TestWhatWasMarkedStaysMarkedWhenTheFileShrinksOrGoes(t *testing.T) {
	s := newStore(t)
	mark(t, s, digestOf("a"))
	mark(t, s, digestOf("b"))
	for _, change := range []func() error{
		func() error { return os.Truncate(s.index.path, 10) },
		func() error { return os.Remove(s.index.path) },
		func() error { return nil },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if !s.Untrusted(digestOf("a")) || !s.Untrusted(digestOf("b")) {
			t.Error("a mark is lost")
		}
	}
	mark(t, s, digestOf("c"))
	if !must[*Store](t)(Open(s.dir)).Untrusted(digestOf("c")) {
		t.Error("the new file lacks the new mark")
	}
}

func TestAMarkThatCannotBeWrittenIsAnError(t *testing.T) {
	s := newStore(t)
	s.index.path += "/missing/untrusted.idx"
	if err := s.MarkUntrusted(digestOf("a")); err == nil {
		t.Error("no error")
	}
}
