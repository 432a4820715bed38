package match

import (
	"testing"

	"pgregory.net/rapid"
)

func TestAnIDIsNamedByWhatItStandsFor(t *testing.T) {
	for _, test := range []struct {
		user, tool, param, id string
		want                  bool
	}{
		{"close #13", "close", "id", "13", true},
		{"close issue 13", "close", "issue_id", "13", true},
		{"close ticket 13", "close", "issue_id", "13", true},
		{"close file 13", "close", "issue_id", "13", false},
		{"delete file 13", "delete_file", "id", "13", true},
		{"delete files 11, 12 and 13", "delete_file", "id", "13", true},
		{"delete the file with ID '13'", "delete_file", "id", "13", true},
		{"delete id 13", "anything", "target", "13", true},
		{"delete the widget with id 13", "drop", "widgetId", "13", true},
		{"delete widget no. 13", "drop", "widgetId", "13", true},
		{"delete sprocket 13", "drop", "widgetId", "13", false},
		{"the event with id 13", "drop", "widgetId", "13", false},
		{"order 13", "run", "id", "13", true},
		{"order 13 minutes of peace", "run", "id", "13", false},
		{"close the issue. 13 people wait", "close", "issue_id", "13", false},
		{"13", "close", "issue_id", "13", false},
		{"close issue 13", "close", "issue_id", "", false},
		{"close issue 13", "close", "issue_id", "1\u200b3", false},
	} {
		w := NewWording()
		w.Add(test.user)
		if got := w.NamesID(TermOf(test.id), test.tool, test.param); got != test.want {
			t.Errorf("%q names %s of %s(%s=…): got %v", test.user, test.id, test.tool, test.param, got)
		}
	}
}

func TestAWordIsPointedAt(t *testing.T) {
	for _, test := range []struct {
		text string // with the word between brackets
		want bool
	}{
		{"[team sync] it is", true},
		{"read '[invoice]' now", true},
		{"the mail about the [invoice]", true},
		{"the mail titled [invoice]", true},
		{"join the [standup] meeting.", true},
		{"move the meeting [standup]", true},
		{"[please] answer it", false},
		{"answer it [please]", false},
		{"the [invoice]", false},
	} {
		var text string
		var i, j int
		for _, r := range test.text {
			switch r {
			case '[':
				i = len(text)
			case ']':
				j = len(text)
			default:
				text += string(r)
			}
		}
		if got := PointedAt(text, i, j); got != test.want {
			t.Errorf("%s: got %v", test.text, got)
		}
	}
}

func TestSnakeWritesOneForm(t *testing.T) {
	for in, want := range map[string]string{"fileId": "file_id", "reply-to": "reply_to", "A b.c": "a_b_c", "URL": "url", "h2O": "h2_o"} {
		if got := Snake(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func TestPlacesAreWhereTheWholePhraseStands(t *testing.T) {
	w := NewWording()
	w.Add("Dinner, then dinner; never dinners")
	w.Add("no lunch")
	w.Add("DINNER")
	var at []int
	for text, i := range w.Places("dinner") {
		if text[i:i+6] != "dinner" {
			t.Errorf("%q at %d", text, i)
		}
		at = append(at, i)
	}
	if len(at) != 3 || at[0] != 0 || at[1] != 13 || at[2] != 0 {
		t.Errorf("places %v", at)
	}
	for range w.Places("dinner") {
		return // leaving early must end the walk
	}
	t.Error("no place")
}

// A place that is found has borders on both sides, and none before it was missed.
func TestFindReturnsTheFirstWholeToken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[ab .,@/-]{0,20}`).Draw(t, "text")
		v := rapid.StringMatching(`[ab]{1,3}`).Draw(t, "value")
		i, ok := Find(text, v, 0)
		if ok && (text[i:i+len(v)] != v || !leftBorder(text, i) || !rightBorder(text, i+len(v))) {
			t.Fatalf("%q is not at %d of %q", v, i, text)
		}
		for j := 0; j+len(v) <= len(text) && (!ok || j < i); j++ {
			if text[j:j+len(v)] == v && leftBorder(text, j) && rightBorder(text, j+len(v)) {
				t.Fatalf("%q is at %d of %q, not first at %d", v, j, text, i)
			}
		}
	})
}
