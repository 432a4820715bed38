package scan

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/bridge/scan/words"
)

// adversarial are texts that are dear to scan, as parts that are repeated.
var adversarial = map[string]string{
	"keys alone":               "ignore ",
	"keys of many rules":       "show list forget ignore print send tell me what is as a imagine system: ",
	"a key and a word":         "ignore. instructions ",
	"a key, far from a word":   "ignore " + strings.Repeat("x ", 200) + "instructions ",
	"brackets":                 "<a",
	"tags":                     "<b>x",
	"percent escapes":          "%41",
	"source escapes":           `\u0041`,
	"character references":     "&#65;",
	"base64":                   "aWdub3JlIGFsbCBwcmV2aW91cyBpbnN0cnVjdGlvbnM=\n",
	"one run":                  "QUJD",
	"split words":              "a\u200bb",
	"no width":                 "\u200b",
	"tag characters":           "\U000e0061\U000e0062 ",
	"marks":                    "\u0301",
	"full width":               "ｉ",
	"a character that is 18":   "\ufdfa",
	"Korean":                   "무시",
	"gaps":                     " \t\n",
	"bytes that are not UTF-8": "\xff",
}

// The readings of a text, and the expressions that run on them, are no more than in proportion to it.
func TestWorkIsLinear(t *testing.T) {
	tried := 0
	testOnlyMatch = func() { tried++ }
	defer func() { testOnlyMatch = nil }()
	work := func(s string) (bytes, matches int) {
		tried = 0
		Injection(s)
		for _, r := range readings(s, marksOf(s)) {
			bytes += len(r.text)
		}
		for _, part := range decodedRuns(s) {
			for _, r := range ways(nil, part, true) {
				bytes += len(r.text)
			}
		}
		return bytes, tried
	}
	const size = 256 << 10 // as much as the bridge lets be read
	for name, part := range adversarial {
		s := strings.Repeat(part, size/len(part)+1)[:size]
		bytes, matches := work(s)
		half, fewer := work(s[:len(s)/2])
		if bytes > 24*len(s) || bytes > 2*half+1000 {
			t.Errorf("%s: %d bytes are read, %d of the half", name, bytes, half)
		}
		if matches > len(s)/8 || matches > 2*fewer+100 {
			t.Errorf("%s: %d expressions run, %d on the half", name, matches, fewer)
		}
	}
}

// A gram leads to few terms, so that a byte costs no more than a few comparisons.
func TestABucketHoldsFewTerms(t *testing.T) {
	for name, x := range map[string]*words.Index{"keys": ruleKeys(), "words": ruleWords().Index} {
		if n := x.Fullest(); n > 80 {
			t.Errorf("%s: a bucket holds %d terms", name, n)
		}
	}
}

// The words that a rule waits for may keep its expression from running only where it cannot match.
func TestRequiredWordsStandInEveryMatch(t *testing.T) {
	known, matched, texts := 0, 0, rows(t)
	for i, r := range rules {
		list := required(r.text)
		if list == nil {
			continue
		}
		known++
		anywhere := regexp.MustCompile(r.text)
		for _, key := range r.keys {
			for _, s := range texts {
				at := strings.Index(s, key)
				if at < 0 {
					continue
				}
				if m := anywhere.FindString(s[at:min(len(s), at+2*ruleWindow)]); m != "" && !holdsOne(m, list) {
					t.Errorf("rule %d, %s: %q holds none of %q", i, r.id, m, list)
				}
				matched++
			}
		}
	}
	if matched < 1000 {
		t.Errorf("only %d texts hold a key", matched)
	}
	if known < len(rules)*3/4 {
		t.Errorf("words are known of %d rules of %d", known, len(rules))
	}
}

func TestRequired(t *testing.T) {
	for _, tt := range []struct {
		text string
		want string // separated by |; none where nothing is known
	}{
		{`abc`, "abc"}, {`ab`, ""}, {`ab(?:cd|ef)`, "abcd|abef"}, {`.*abc.*`, "abc"}, {`x+(?:long|words)y*`, "long|words"}, {`(?:abc)?def`, "def|abcdef"},
		{`[ab]cd`, "acd|bcd"}, {`(?i)abc`, ""}, {`abc|.`, ""}, {`(abc){2,}`, "abc"}, {`(?:abc){0,2}`, ""}, {`\w+`, ""}, {`(`, ""}, {`key.{0,9}?(?:alpha|beta)`, "beta|alpha"}, {`key.*xy`, "key"},
	} {
		got := required(tt.text)
		for _, w := range strings.Split(tt.want, "|") {
			if tt.want != "" && !holdsOne(w, got) {
				t.Errorf("required(%q) = %q, which %q does not hold", tt.text, got, w)
			}
		}
		if (got == nil) != (tt.want == "") {
			t.Errorf("required(%q) = %q", tt.text, got)
		}
	}
}

func holdsOne(s string, list []string) bool {
	for _, w := range list {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// rows are the tidy texts of both corpora.
func rows(t *testing.T) (list []string) {
	for _, name := range []string{"scanner_pos.json", "scanner_neg.json"} {
		data, err := os.ReadFile("../../testdata/bench/" + name)
		if err != nil {
			t.Fatal(err)
		}
		var file struct{ Rows []struct{ Text string } }
		if err := json.Unmarshal(data, &file); err != nil {
			t.Fatal(err)
		}
		for _, r := range file.Rows {
			list = append(list, tidy(r.Text))
		}
	}
	return list
}
