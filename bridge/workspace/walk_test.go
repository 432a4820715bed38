package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

func TestAWalkSaysWhereItLeftSomethingOut(t *testing.T) {
	eachOpener(t, func(t *testing.T, o opener) {
		w := newWorld(t, o, Config{}, map[string]string{"a/b/f": "x", "z": "x"})
		var seen []string
		err := w.space.Walk(w.resolve(t, "."), func(e Target, _ fs.FileInfo) error { seen = append(seen, e.Rel); return nil }, Limits{Depth: 1})
		if !errors.Is(err, ErrPartial) || !errors.Is(err, ErrTooBig) || !strings.Contains(err.Error(), "(a: too big") {
			t.Errorf("left out: %v", err)
		}
		if fmt.Sprint(seen) != "[a z]" {
			t.Errorf("walked: %v", seen)
		}
		err = w.space.Walk(w.resolve(t, "none"), nil, Limits{})
		if errors.Is(err, ErrPartial) || !errors.Is(err, ErrNotFound) {
			t.Errorf("a start that is not there: %v", err)
		}
	})
}

func TestAListingSaysWhichNamesThirdPartiesChose(t *testing.T) {
	eachOpener(t, func(t *testing.T, o opener) {
		w := newWorld(t, o, Config{Untrusted: []string{"vendor/**", "**/*.eml"}}, map[string]string{"vendor/v": "x", "a.eml": "x", "f": "x"})
		for dir, want := range map[string]string{".": "a.eml:true f:false vendor:false", "vendor": "v:true"} {
			entries, _, err := w.space.ReadDir(w.resolve(t, dir), 10)
			must(t, err)
			var got []string
			for _, e := range entries {
				got = append(got, fmt.Sprintf("%s:%v", e.Name, e.Untrusted))
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s: %v, want %s", dir, got, want)
			}
		}
	})
}
