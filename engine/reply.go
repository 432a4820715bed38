package engine

import "strings"

// blockTags are the info strings of a fenced block that is run. Models write
// "python" for Starlark, and often nothing.
var blockTags = map[string]bool{"starlark": true, "python": true, "py": true, "": true}

// parseReply splits a reply into the blocks that are run, in order as one, and
// the text outside of them. ok says whether there was a block. A fence that is
// not closed runs to the end, as a reply that was cut off would have it.
func parseReply(text string) (code, thought string, ok bool) {
	var blocks, outside []string
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		fence, tag, opens := fenceOf(lines[i])
		if !opens {
			outside = append(outside, lines[i])
			continue
		}
		end := i + 1
		for end < len(lines) && !closes(lines[end], fence) {
			end++
		}
		if blockTags[tag] {
			blocks = append(blocks, strings.Join(lines[i+1:min(end, len(lines))], "\n"))
		} else {
			outside = append(outside, lines[i:min(end+1, len(lines))]...)
		}
		i = end
	}
	return strings.Join(blocks, "\n"), strings.TrimSpace(strings.Join(outside, "\n")), len(blocks) > 0
}

// fenceOf reads the opening line of a fenced block.
func fenceOf(line string) (fence, tag string, ok bool) {
	s := strings.TrimLeft(line, " ")
	if len(line)-len(s) > 3 {
		return "", "", false
	}
	n := len(s) - len(strings.TrimLeft(s, "`"))
	if n < 3 || strings.Contains(s[n:], "`") {
		return "", "", false
	}
	tag, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(s[n:])), " ")
	return s[:n], tag, true
}

func closes(line, fence string) bool {
	s := strings.TrimSpace(line)
	return len(s) >= len(fence) && strings.Trim(s, "`") == ""
}
