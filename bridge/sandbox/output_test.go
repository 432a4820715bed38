package sandbox

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAnOutputIsItsHeadAndItsTail(t *testing.T) {
	for _, c := range []struct {
		writes []string
		want   string
	}{
		{nil, ""},
		{[]string{"abc"}, "abc"},
		{[]string{"abc", "defg"}, "abcdefg"},
		{[]string{"abcdefgh"}, "abc\n[... 1 bytes left out ...]\nefgh"},
		{[]string{"abcdefgh", "ij"}, "abc\n[... 3 bytes left out ...]\nghij"},
	} {
		o := newCapture(Limits{Head: 3, Tail: 4, Whole: 100})
		for _, w := range c.writes {
			fmt.Fprint(o, w)
		}
		if got := o.output(); string(got.Text) != c.want || string(got.Whole) != strings.Join(c.writes, "") {
			t.Errorf("%q: got %q, %q", c.writes, got.Text, got.Whole)
		}
	}
}

func TestNoByteOfAnOutputIsLostOrMadeUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Limits{Head: rapid.IntRange(0, 9).Draw(t, "head"), Tail: rapid.IntRange(1, 9).Draw(t, "tail"), Whole: rapid.IntRange(0, 30).Draw(t, "whole")}
		c := newCapture(l)
		var all []byte
		for _, w := range rapid.SliceOf(rapid.SliceOfN(rapid.ByteRange('a', 'z'), 0, 12)).Draw(t, "writes") {
			if n, err := c.Write(w); n != len(w) || err != nil {
				t.Fatal(n, err)
			}
			all = append(all, w...)
		}
		o := c.output()
		if o.Total != int64(len(all)) || !bytes.Equal(o.Whole, all[:min(len(all), l.Whole)]) {
			t.Fatalf("%d, %q of %q", o.Total, o.Whole, all)
		}
		head, tail := all[:min(l.Head, l.Whole, len(all))], all[max(0, len(all)-l.Tail):]
		if missing := len(all) - len(head) - len(tail); missing > 0 {
			want := fmt.Sprintf("%s\n[... %d bytes left out ...]\n%s", head, missing, tail)
			if string(o.Text) != want {
				t.Fatalf("%+v: got %q, want %q", l, o.Text, want)
			}
		} else if !bytes.Equal(o.Text, all) {
			t.Fatalf("%+v: got %q of %q", l, o.Text, all)
		}
	})
}

func TestOutermostKeepsWhatCoversAll(t *testing.T) {
	path := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "a.b", "ab"}), 1, 4), func(p []string) string { return "/" + strings.Join(p, "/") })
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(path).Draw(t, "paths")
		out := outermost(list)
		for _, p := range list {
			if n := len(slices.DeleteFunc(slices.Clone(out), func(o string) bool { return !within(o, p) })); n != 1 {
				t.Fatalf("%s is in %d of %s", p, n, out)
			}
		}
		for _, o := range out {
			if !slices.Contains(list, o) {
				t.Fatalf("%s is made up", o)
			}
		}
	})
}

func TestAnEnvironmentIsOnlyWhatWasGiven(t *testing.T) {
	t.Setenv("PATH", "/p")
	t.Setenv("LANG", "")
	t.Setenv("SECRET", "x")
	got := Config{Env: []string{"A=1", "TERM=xterm", "A=2"}}.environment("/h")
	want := []string{"A=2", "HOME=/h", "LANG=C.UTF-8", "PATH=/p", "TERM=xterm", "TMPDIR=/h"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
