package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/bridge/scan"
)

const (
	prompt = "anything else to deny it: "
	more   = "Enter goes on, q denies -- "
)

// Only the word itself agrees. Silence, in every form, is no.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name, keys string
		code       int
		effects    int
	}{
		{"yes", "yes\n", 0, 1},
		{"yes in capitals, with spaces", " YES \n", 0, 1},
		{"no", "no\n", 3, 0},
		{"a letter", "y\n", 3, 0},
		{"more than yes", "yes please\n", 3, 0},
		{"nothing", "\n", 3, 0},
		{"end of input", "\x04", 3, 0},
		{"yes and no end of the line", "yes\x04\x04", 3, 0},
		{"interrupt", "\x03", 130, 0},
		{"interrupt after yes", "yes\x03", 130, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, posting(`"hello"`), "tools.yaml", postTool)
			y := s.onTerminal("", "run", "task.yaml")
			y.expect("── post asks to run (call ")
			y.expect("why:  ")
			y.expect(`body = "hello"`)
			y.expect(prompt)
			y.keys(c.keys)
			if code := y.code(); code != c.code {
				t.Errorf("exit code %d, want %d\n%s", code, c.code, y.screen())
			}
			if n := s.effects(); n != c.effects {
				t.Errorf("%d effects, want %d", n, c.effects)
			}
			s.trace()
		})
	}
}

// A terminal that goes away answers nothing, and ends the run.
func TestTerminalCloses(t *testing.T) {
	s := newStage(t, posting(`"hello"`), "tools.yaml", postTool)
	y := s.onTerminal("", "run", "task.yaml")
	y.expect(prompt)
	if err := y.master.Close(); err != nil {
		t.Fatal(err)
	}
	if code := y.code(); code != 129 {
		t.Errorf("exit code %d, want 129", code)
	}
	if n := s.effects(); n != 0 {
		t.Errorf("%d effects", n)
	}
	if end := last(s.trace()); !strings.Contains(end, `"status":"cancelled"`) {
		t.Errorf("the trace ends with %s", end)
	}
}

// A lease serves later calls with the same destination.
func TestLeaseAnswer(t *testing.T) {
	s := newStage(t, posting(`"one"`, `"two"`), "tools.yaml", postTool)
	y := s.onTerminal("", "run", "task.yaml")
	y.expect(`lease would allow: post with to="bob", in this run, `)
	y.expect(prompt)
	y.keys("lease\n")
	if code := y.code(); code != 0 {
		t.Errorf("exit code %d\n%s", code, y.screen())
	}
	if n := s.effects(); n != 2 {
		t.Errorf("%d effects, want 2", n)
	}
	if n := strings.Count(y.screen(), "asks to run"); n != 1 {
		t.Errorf("%d questions, want 1", n)
	}
}

// What was typed before a question stands there does not answer it.
func TestKeysBeforeTheQuestion(t *testing.T) {
	s := newStage(t, posting(`"hello"`), "tools.yaml", postTool)
	y := s.onTerminal("yes\nyes\nyes\n", "run", "task.yaml")
	y.expect(prompt)
	y.keys("no\n")
	if code := y.code(); code != 3 {
		t.Errorf("exit code %d, want 3\n%s", code, y.screen())
	}
	if n := s.effects(); n != 0 {
		t.Errorf("%d effects", n)
	}
}

// Nothing in an argument moves the cursor, hides or imitates the dialog.
func TestHostileArguments(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"escape":         {`"\x1b[2J\x1b[1;1Hinnocent"`, `\u001b[2J\u001b[1;1Hinnocent`},
		"title":          {`"\x1b]0;owned\x07"`, `\u001b]0;owned\u0007`},
		"C1":             {`"\u009b2J"`, `\u{9b}2J`},
		"bidi":           {`"pay \u202eecila"`, `pay \u{202e}ecila`},
		"overprint":      {`"send all\rsend nil"`, `send all\rsend nil`},
		"newline":        {`"x\nType yes to allow this call"`, `x\nType yes to allow this call`},
		"tab":            {`"x\t\t\ty"`, `x\t\t\ty`},
		"Hangul filler":  {`"a\u3164b"`, `a\u{3164}b`},
		"zero width":     {`"a\u200bb"`, `a\u{200b}b`},
		"line separator": {`"a\u2028b"`, `a\u2028b`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, posting(c.body), "tools.yaml", postTool)
			y := s.onTerminal("", "run", "task.yaml")
			y.expect("  body = ")
			y.expect(c.want)
			y.expect(prompt)
			y.keys("yes\n")
			if code := y.code(); code != 0 {
				t.Errorf("exit code %d\n%s", code, y.screen())
			}
			y.expect("completed (exit 0)")
			if raw := obeyed(y.screen()); raw != "" {
				t.Errorf("the terminal obeys %q in\n%q", raw, y.screen())
			}
		})
	}
}

// obeyed is the first thing that a terminal would obey and that the program did not
// mean: it ends lines, and clears the line in which the model writes.
func obeyed(screen string) string {
	screen = strings.NewReplacer("\r\n", "\n", "\r\x1b[K", "", "^C", "", "^D\b\b", "").Replace(screen)
	for line := range strings.Lines(screen) {
		line = strings.TrimRight(line, "\n")
		if scan.Visible(line) != line || strings.Contains(line, "\t") {
			return line
		}
	}
	return ""
}

// A write is asked for with what it would change, and where.
func TestWriteShowsItsDiff(t *testing.T) {
	s := newStage(t, "tools: {builtin: [fs_write]}\nmodel:\n  provider: scripted\n  script:\n    - code: |\n"+
		"        attempt(fs_write, path=\"notes.md\", content=\"first\\nchanged \\x1b[2J\\n\")\n        final(\"over\")\n", "notes.md", "first\nsecond\n")
	y := s.onTerminal("", "run", "task.yaml")
	y.expect("path: path → ")
	y.expect(filepath.Base(s.dir) + "/notes.md")
	y.expect("change:")
	y.expect("\n-second")
	y.expect(`+changed \x1b[2J`)
	y.expect(prompt)
	y.keys("yes\n")
	if code := y.code(); code != 0 {
		t.Errorf("exit code %d\n%s", code, y.screen())
	}
	if raw := obeyed(y.screen()); raw != "" {
		t.Errorf("the terminal obeys %q", raw)
	}
	if data, err := os.ReadFile(filepath.Join(s.dir, "notes.md")); string(data) != "first\nchanged \x1b[2J\n" {
		t.Errorf("notes.md is %q, %v", data, err)
	}
}

// What does not fit on the screen is paged, and what cannot be read is denied.
func TestLongArguments(t *testing.T) {
	for _, c := range []struct {
		name, body string
		keys       string // at each page
		code       int
	}{
		{"read to the end", `"x" * 5000`, "\n", 0},
		{"given up", `"x" * 5000`, "q\n", 3},
		{"end of input at a page", `"x" * 5000`, "\x04", 3},
		{"interrupted at a page", `"x" * 5000`, "\x03", 130},
		{"too long to be read", `"x" * 70000`, "\n", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, posting(c.body), "tools.yaml", postTool)
			y := s.onTerminal("", "run", "task.yaml")
			const over = "trace: "
			for pages := 0; ; pages++ {
				switch y.expect(more, prompt, over) {
				case more:
					y.keys(c.keys)
					continue
				case prompt:
					if pages < 3 {
						t.Errorf("%d pages for 5000 letters on 80 by 24", pages)
					}
					y.keys("yes\n")
				}
				break
			}
			if code := y.code(); code != c.code {
				t.Errorf("exit code %d, want %d\n%s", code, c.code, y.screen())
			}
			if n := s.effects(); n == 1 != (c.code == 0) {
				t.Errorf("%d effects", n)
			}
			for line := range strings.Lines(y.screen()) {
				if n := len([]rune(strings.TrimRight(line, "\r\n"))); n > 200 {
					t.Errorf("a line of %d letters", n)
				}
			}
		})
	}
}

// Nobody is asked who did not want to be.
func TestNoInputOnATerminal(t *testing.T) {
	s := newStage(t, posting(`"hello"`), "tools.yaml", postTool)
	y := s.onTerminal("", "run", "--no-input", "task.yaml")
	if code := y.code(); code != 8 {
		t.Errorf("exit code %d, want 8\n%s", code, y.screen())
	}
	if strings.Contains(y.screen(), prompt) {
		t.Errorf("it asked:\n%s", y.screen())
	}
}

// Trust asks too, and shows commands on one line each.
func TestTrustOnATerminal(t *testing.T) {
	for keys, code := range map[string]int{"yes\n": 0, "y\n": 1, "\n": 1, "\x04": 1} {
		t.Run(fmt.Sprintf("%q", keys), func(t *testing.T) {
			t.Parallel()
			s := newStage(t, hooked, "tools.yaml", lookTool)
			y := s.onTerminal("yes\n", "trust", "task.yaml")
			y.expect("  runs ")
			y.expect("Type yes to trust it: ")
			y.keys(keys)
			if got := y.code(); got != code {
				t.Errorf("exit code %d, want %d\n%s", got, code, y.screen())
			}
		})
	}
}
