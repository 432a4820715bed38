package shellrisk

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// The levels of Risk, from the worst to the best. A level that is not Low says only what was seen: nothing worse is ruled out.
const (
	Blocked  = "blocked"  // no command at all, or one that destroys a machine or runs what it downloads
	Unparsed = "unparsed" // some command or written file is known only when the line runs
	High     = "high"     // destroys, sends, gains rights, or makes something run later
	Medium   = "medium"   // anything else
	Low      = "low"      // only programs of the list in low.go, with flags that only read
)

// A Risk says what a line was taken for. The zero Risk is unread.
type Risk struct {
	Parsed   bool     // every command and every written file could be told from the text
	Level    string   // Blocked, Unparsed, High, Medium or Low
	Reason   string   // of the level, for people
	Commands []string // names of programs as written, in order; wrappers and what they run; system directories are cut off
	Writes   []string // files that are written, moved or deleted, as written; a pattern stays a pattern
	Reads    []string // scripts that are run, as written
	Network  bool     // a program that talks to the network was seen, or the line was not understood
}

const (
	maxLine     = 16 << 10 // bytes; a longer line is a script, and belongs into a file
	maxDepth    = 24       // levels of commands and texts that run one another
	maxCommands = 500      // in a line
	maxReason   = 200      // bytes
	maxNesting  = 100      // brackets that are open at once; the parser recurses
)

// Classify reads a line as the shell would.
func Classify(line string) Risk {
	r := newReader()
	if r.legible(line) {
		r.script(line)
	}
	return r.risk()
}

// ClassifyArgv reads a program and its arguments, which no shell will expand.
func ClassifyArgv(argv []string) Risk {
	r := newReader()
	if r.legible(strings.Join(argv, "\n")) && len(argv) > 0 {
		words := make([]word, len(argv))
		for i, a := range argv {
			words[i] = literal(a)
			r.operand(words[i])
		}
		r.command(command{words: words})
	}
	return r.risk()
}

// A rank is a level that can be compared. The zero rank is the worst.
type rank int

const (
	blocked rank = iota
	unparsed
	high
	medium
	low
)

var levels = [...]string{Blocked, Unparsed, High, Medium, Low}

// A reader collects what a line holds. Its rank only ever gets worse, so that no command can hide behind another.
type reader struct {
	rank     rank
	reason   string
	seen     Risk
	unclear  bool // some part could not be read
	depth    int
	commands int
	fetched  bool // something was downloaded
	blindRun bool // something ran that is not in the line
	moved    bool // the working directory changed
}

func newReader() *reader { return &reader{rank: low} }

// raise notes the reason if it is worse than all before. Two reasons of one rank are one that came first.
func (r *reader) raise(to rank, format string, args ...any) {
	if to == unparsed {
		r.unclear = true
	}
	if to < r.rank {
		r.rank, r.reason = to, fmt.Sprintf(format, args...)
		if len(r.reason) > maxReason {
			r.reason = strings.ToValidUTF8(r.reason[:maxReason], "") + "…"
		}
	}
}

// risk judges the line as a whole.
func (r *reader) risk() Risk {
	if len(r.seen.Commands) == 0 {
		if !r.unclear {
			r.raise(blocked, "no command")
		}
		return r.result()
	}
	if r.fetched && (r.blindRun || r.runsWritten()) {
		r.raise(blocked, "runs what it downloads")
	}
	if r.moved && slices.ContainsFunc(r.seen.Writes, func(p string) bool { return !strings.HasPrefix(p, "/") }) {
		r.raise(high, "writes a relative path after changing the directory")
	}
	return r.result()
}

// runsWritten reports a script that the same line wrote.
func (r *reader) runsWritten() bool {
	return slices.ContainsFunc(r.seen.Reads, func(script string) bool {
		return slices.ContainsFunc(r.seen.Writes, func(p string) bool {
			return clean(p) == clean(script) || strings.HasPrefix(clean(script), clean(p)+"/")
		})
	})
}

func (r *reader) result() Risk {
	out := r.seen
	out.Level, out.Reason, out.Parsed = levels[r.rank], r.reason, !r.unclear
	out.Network = out.Network || r.unclear
	if r.rank == low {
		out.Reason = "only reads"
	}
	return out
}

// legible refuses what a person would not see as it runs: control characters, invisible and bidirectional ones, blanks that look
// like a space and separate nothing.
func (r *reader) legible(text string) bool {
	if len(text) > maxLine {
		r.raise(unparsed, "longer than %d bytes", maxLine)
		return false
	}
	if !utf8.ValidString(text) {
		r.raise(unparsed, "not UTF-8")
		return false
	}
	for _, c := range text {
		if c != '\n' && c != '\t' && c != ' ' && (!unicode.IsPrint(c) || unicode.In(c, unseen)) {
			r.raise(unparsed, "an invisible character, %U", c)
			return false
		}
	}
	return true
}

// unseen are letters and marks that show nothing. IsPrint is false for the rest: controls, formats, tags, blanks, unassigned.
var unseen = &unicode.RangeTable{
	R16: []unicode.Range16{{0x034f, 0x034f, 1}, {0x115f, 0x1160, 1}, {0x17b4, 0x17b5, 1}, {0x180b, 0x180f, 1}, {0x2800, 0x2800, 1},
		{0x3164, 0x3164, 1}, {0xfe00, 0xfe0f, 1}, {0xffa0, 0xffa0, 1}},
	R32: []unicode.Range32{{0xe0100, 0xe01ef, 1}},
}

// script reads shell text that the line holds, or is.
func (r *reader) script(text string) {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > maxDepth || nesting(text) > maxNesting {
		r.raise(unparsed, "nested too deeply")
		return
	}
	parser := syntax.NewParser(syntax.Variant(syntax.LangBash))
	for stmt, err := range parser.StmtsSeq(strings.NewReader(text)) {
		if err != nil { // what stands before it would still run
			r.raise(unparsed, "not shell: %s", err)
			continue // the sequence ends by itself; v3.14.1 panics in some inputs if it is left here
		}
		r.walk(stmt)
	}
}

// nesting is the number of brackets and words that may be open at once, counted high: it bounds the parser's recursion.
func nesting(text string) (most int) {
	open := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{', '`', '[', '!':
			open++
		case ')', '}', ']':
			open = max(0, open-1)
		}
		most = max(most, open)
	}
	for _, w := range []string{"if ", "while ", "until ", "for ", "case ", "select ", "time ", "coproc ", "function "} {
		most += strings.Count(text, w)
	}
	return most
}
