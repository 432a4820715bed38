package engine

import (
	"strings"
	"testing"
)

func TestTheBlocksOfAReplyAreOne(t *testing.T) {
	const q = "```"
	for _, test := range []struct {
		name, reply   string
		code, thought string
		ok            bool
	}{
		{"starlark", "I read.\n" + q + "starlark\nx = 1\n" + q + "\nDone.", "x = 1", "I read.\nDone.", true},
		{"python", q + "python\nx = 1\n" + q, "x = 1", "", true},
		{"py", q + "py\nx = 1\n" + q, "x = 1", "", true},
		{"no tag", q + "\nx = 1\n" + q, "x = 1", "", true},
		{"a tag in capitals, with more behind it", q + "Python title=\"a\"\nx = 1\n" + q, "x = 1", "", true},
		{"several are one", q + "\nx = 1\n" + q + "\nthen\n" + q + "py\nprint(x)\n" + q, "x = 1\nprint(x)", "then", true},
		{"another language is text", q + "json\n{\"a\": 1}\n" + q, "", q + "json\n{\"a\": 1}\n" + q, false},
		{"another language beside a block", q + "sh\nls\n" + q + "\n" + q + "\nx = 1\n" + q, "x = 1", q + "sh\nls\n" + q, true},
		{"none", "final(1)", "", "final(1)", false},
		{"nothing", "", "", "", false},
		{"an empty block", q + "\n" + q, "", "", true},
		{"not closed", q + "starlark\nx = 1\nfinal(x)", "x = 1\nfinal(x)", "", true},
		{"not closed, and nothing in it", q + "starlark", "", "", true},
		{"a fence in a string, in a longer fence", q + "`starlark\nx = \"\"\"\n" + q + "\n\"\"\"\n" + q + "`", "x = \"\"\"\n" + q + "\n\"\"\"", "", true},
		{"a fence within a line of code", q + "\nx = \"" + q + "py\"\n" + q, "x = \"" + q + "py\"", "", true},
		{"a closing fence may be longer and indented", q + "\nx = 1\n  " + q + "`  \nend", "x = 1", "end", true},
		{"three spaces are a fence", "   " + q + "\nx = 1\n" + q, "x = 1", "", true},
		{"four spaces are text", "    " + q + "\nx = 1", "", q + "\nx = 1", false},
		{"two ticks are text", "``\nx = 1\n``", "", "``\nx = 1\n``", false},
		{"code in one line is text", q + "x = 1" + q, "", q + "x = 1" + q, false},
		{"tildes are no fence", "~~~\nx = 1\n~~~", "", "~~~\nx = 1\n~~~", false},
		{"carriage returns", q + "py\r\nx = 1\r\n" + q + "\r\n", "x = 1", "", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, thought, ok := parseReply(test.reply)
			if code != test.code || thought != test.thought || ok != test.ok {
				t.Errorf("got %q, %q, %v; want %q, %q, %v", code, thought, ok, test.code, test.thought, test.ok)
			}
		})
	}
}

// A reply is a stranger's text. What is run stands in it, line for line, and
// nothing is run without a fence.
func FuzzParseReply(f *testing.F) {
	for _, s := range []string{"", "```\nx\n```", "```py\nx", "a\n````\n```\n````", "``` ```\n```json\nfinal(1)\n```", "\r\n```\r\n", "```\n```\n```\n0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, reply string) {
		code, _, ok := parseReply(reply)
		if !ok && code != "" {
			t.Errorf("code %q without a block", code)
		}
		if ok && !strings.Contains(reply, "```") {
			t.Errorf("a block without a fence")
		}
		lines := strings.Split(strings.ReplaceAll(reply, "\r\n", "\n"), "\n")
		at := 0
		for line := range strings.SplitSeq(code, "\n") {
			if line == "" {
				continue // an empty block is an empty line, which need not stand in the reply
			}
			for at < len(lines) && lines[at] != line {
				at++
			}
			if at == len(lines) {
				t.Fatalf("line %q is not in the reply, or not in this order", line)
			}
		}
	})
}
