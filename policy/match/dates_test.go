package match

import (
	"strings"
	"testing"
)

func TestDateWritings(t *testing.T) {
	for _, test := range []struct {
		user, value string
		want        bool
	}{
		{"on 2024-05-26", "2024-05-26", true},
		{"on May 26th", "2024-05-26", true},
		{"on May 26", "2024-05-26", true},
		{"on May 26th, 2024.", "2024-05-26", true},
		{"on Sunday, May 26th", "2024-05-26", true},
		{"on the 26th of May", "2024-05-26", true},
		{"on 26 May 2024", "2024-05-26", true},
		{"on 26. May", "2024-05-26", true},
		{"on Sept. 3", "2024-09-03", true},
		{"on 26.05.", "2024-05-26", true},
		{"on 26.5.2024", "2024-05-26", true},
		{"on 5/26", "2024-05-26", true},
		{"on 26/5", "2024-05-26", true},
		{"on 26/5/2024", "2024-05-26", true},
		{"on 5/5", "2024-05-05", true},
		{"on 5/6", "2024-05-06", false}, // or June 5th
		{"on 5/6, so May 6", "2024-05-06", true},
		{"on 2024-05-26", "May 26", true},
		{"on 2024-05-26", "Sunday, 26 May", true},
		{"on May 26", "26/5", true},
		{"on May 6", "5/6", false}, // both readings must be named
		{"on May 6 and June 5", "5/6", true},
		{"on 5/6", "5/6", true}, // the user's own writing
		{"on 2025-05-26", "2024-05-26", false},
		{"on May 27", "2024-05-26", false},
		{"on May 2", "2024-05-26", false},
		{"on 2024-05-261", "2024-05-26", false},
		{"host 10.5.26.05.", "05-26", false},
		{"on 31.13.", "2024-13-31", false},
		{"on May 26 at 9:00", "2024-05-26 09:00", true},
		{"on May 26 at 09:00", "2024-05-26T9:00", true},
		{"at 2024-05-26T09:00:00", "2024-05-26 09:00", true},
		{"at 2024-05-26 09:00", "2024-05-26 at 09:00:00", true},
		{"on May 26 at 9:00", "2024-05-26 09:30", false},
		{"on May 26 at 0:15", "2024-05-26 00:15", true},
		{"at 9:00:05", "09:00:05", true},
		{"at 9:00", "09:00:05", false},
		{"at 19:00", "9:00", false},
		{"on May 26", "2024-05-26 09:00", false},
		{"at 9:00", "2024-05-26 09:00", false},
		{"May I?", "may", true},
		{"on 26.05.", "26.05. or so", false},
	} {
		w := NewWording()
		w.Add(test.user)
		if got := w.Names(TermOf(test.value)); got != test.want {
			t.Errorf("%q names %q: got %v, want %v", test.user, test.value, got, test.want)
		}
	}
}

func TestADateBlanksItsDigits(t *testing.T) {
	for _, s := range []string{"June 13th", "13 June", "13.06.", "6/13", "2024-06-13"} {
		w := NewWording()
		w.Add("event " + s)
		if w.namesID("13", []string{"event"}) || w.numbers["13"] {
			t.Errorf("%q names 13", s)
		}
	}
}

func FuzzDates(f *testing.F) {
	for _, s := range []string{"on May 26th, 2024 at 09:00", "26.05.", "5/6", "2024-05-26t9:00z", "1/", "t:00", ".1.1.1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = Fold(s)
		ds := datesIn(s)
		for _, d := range ds {
			if d.start < 0 || d.end > len(s) || d.start >= d.end || len(d.readings) == 0 {
				t.Fatalf("%q: %+v", s, d)
			}
			for _, r := range d.readings {
				if r.month < 1 || r.month > 12 || r.day < 1 || r.day > 31 {
					t.Fatalf("%q: no such day %+v", s, r)
				}
			}
		}
		if got := withoutDates(s, ds); len(got) != len(s) || strings.Count(got, " ") > strings.Count(s, " ") {
			t.Fatalf("%q became %q", s, got)
		}
	})
}
