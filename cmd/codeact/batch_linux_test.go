package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// together is a task that posts three texts in one parallel, and goes on whatever
// comes of them.
func together(second string) string {
	return "tools: {mock: tools.yaml}\nmodel:\n  provider: scripted\n  script:\n    - code: |\n" +
		"        parallel([(post, {\"to\": \"bob\", \"body\": \"one\"}), (post, {\"to\": \"bob\", \"body\": " + second + "}), (post, {\"to\": \"bob\", \"body\": \"three\"})])\n" +
		"        final(\"over\")\n"
}

// posted is which bodies were really posted, each as often as it was.
func (s *stage) posted() string {
	data, _ := os.ReadFile(filepath.Join(s.dir, "effects.jsonl"))
	var bodies []string
	for _, b := range []string{"one", "two", "three"} {
		for range strings.Count(string(data), `"`+b+`"`) {
			bodies = append(bodies, b)
		}
	}
	return strings.Join(bodies, " ")
}

// The calls of one batch are all in sight before the first of them is answered, and
// each answer is for its own call. What was typed before its question is none.
func TestABatchIsShownBeforeItIsAnswered(t *testing.T) {
	for _, c := range []struct {
		name, before string
		keys         [3]string // at each question
		code         int
		posted       string
	}{
		{"yes, no, yes", "", [3]string{"yes\n", "no\n", "yes\n"}, 3, "one three"},
		{"yes to all", "", [3]string{"yes\n", "yes\n", "yes\n"}, 0, "one two three"},
		{"typed before the questions", "yes\nyes\nyes\n", [3]string{"no\n", "no\n", "no\n"}, 3, ""},
		{"typed before the second question", "", [3]string{"yes\nyes\nyes\n", "no\n", "no\n"}, 3, "one"},
		{"end of input", "", [3]string{"\x04", "\x04", "\x04"}, 3, ""},
		{"end of input at one", "", [3]string{"yes\n", "\x04", "yes\n"}, 3, "one three"},
		{"interrupt at the second", "", [3]string{"yes\n", "\x03"}, 130, ""},
		{"interrupt at the first", "", [3]string{"\x03"}, 130, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, together(`"two"`), "tools.yaml", postTool)
			y := s.onTerminal(c.before, "run", "task.yaml")
			y.expect("3 calls of one batch ask; they would run at the same time.")
			for _, body := range []string{"one", "two", "three"} {
				y.expect("── post asks to run (call ")
				y.expect(`body = "` + body + `"`)
			}
			if shown := y.screen(); strings.Contains(shown, prompt) && strings.Index(shown, prompt) < strings.LastIndex(shown, "asks to run") {
				t.Errorf("it asked before all was shown:\n%s", shown)
			}
			for i, keys := range c.keys {
				if keys == "" {
					break
				}
				y.expect([]string{"1 of 3, post (call ", "2 of 3, post (call ", "3 of 3, post (call "}[i])
				y.expect(prompt)
				y.keys(keys)
			}
			if code := y.code(); code != c.code {
				t.Errorf("exit code %d, want %d\n%s", code, c.code, y.screen())
			}
			if got := s.posted(); got != c.posted {
				t.Errorf("posted %q, want %q", got, c.posted)
			}
			s.trace()
		})
	}
}

// A call that nobody read to its end is denied, and the others are still asked for.
func TestABatchGoesOnWithoutTheCallThatWasNotRead(t *testing.T) {
	for name, c := range map[string]struct{ second, keys string }{
		"given up at a page":   {`"x" * 5000`, "q\n"},
		"too long to be shown": {`"x" * 70000`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, together(c.second), "tools.yaml", postTool)
			y := s.onTerminal("", "run", "task.yaml")
			if c.keys != "" {
				y.expect(more)
				y.keys(c.keys)
			}
			for _, which := range []string{"1 of 3, ", "3 of 3, "} {
				y.expect(which)
				y.expect(prompt)
				y.keys("yes\n")
			}
			if code := y.code(); code != 3 {
				t.Errorf("exit code %d, want 3\n%s", code, y.screen())
			}
			if strings.Contains(y.screen(), "2 of 3") {
				t.Error("it asked for what was not read")
			}
			if got := s.posted(); got != "one three" {
				t.Errorf("posted %q, want one and three", got)
			}
		})
	}
}
