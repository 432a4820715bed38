package shellrisk

import (
	"path"
	"slices"
	"strings"
)

// A command is one program with its arguments.
type command struct {
	words []word
	name  string // of the program, in lower case, without directory and version
	stdin string // what it reads, where the line says it
	fed   bool   // stdin is all that it reads
	from  *word  // the file that it reads instead, if any
}

func (c command) args() []word { return c.words[1:] }

// with is the command that c runs. It reads what c reads.
func (c command) with(words []word) command {
	return command{words: words, stdin: c.stdin, fed: c.fed, from: c.from}
}

// command judges one simple command, and what it runs in turn.
func (r *reader) command(c command) {
	r.depth++
	defer func() { r.depth-- }()
	if r.commands++; r.commands > maxCommands || r.depth > maxDepth {
		r.raise(unparsed, "more commands than can be judged")
		return
	}
	if len(c.words) == 0 || c.words[0].text == "" && c.words[0].kind == plain || c.words[0].kind == plain && strings.Trim(c.words[0].text, "-") == "" {
		r.raise(blocked, "no command")
		return
	}
	if w := c.words[0]; w.kind != plain || strings.HasPrefix(w.text, "~") {
		r.blindRun = true
		r.raise(unparsed, "a command known only when the line runs")
		return
	}
	c.name = r.name(c.words[0].text)
	if !r.wrapper(c) && !r.shell(c) && !r.code(c) && !r.destroyer(c) && !r.tool(c) && !r.reads(c) {
		r.unknown(c)
	}
}

// systemDirs are where the programs of a system stand. One that stands elsewhere is not the one of that name.
var systemDirs = set("/bin /usr/bin /sbin /usr/sbin")

// name notes a program and returns what to judge it by. Case counts for what is harmless; on some file systems RM is rm all the same.
func (r *reader) name(text string) string {
	base := path.Base(text)
	if strings.Contains(text, "/") && !systemDirs[path.Dir(text)] {
		r.seen.Commands = append(r.seen.Commands, text)
		r.seen.Reads = append(r.seen.Reads, text)
		r.raise(medium, "runs the file %s", text)
	} else {
		r.seen.Commands = append(r.seen.Commands, base)
	}
	lower := strings.ToLower(base)
	if lower != base {
		r.raise(medium, "%s is not a known program", base)
	}
	if short := strings.TrimRight(lower, "0123456789."); versioned[short] {
		return short
	}
	return lower
}

// versioned are programs whose name may end in a version, as python3.12 does.
var versioned = set("python pypy perl ruby php lua node tclsh bash")

// unknown judges a program that nobody described: it may do anything, and may run its arguments. Where those look like a
// dangerous command, it is taken for a wrapper.
func (r *reader) unknown(c command) {
	r.raise(medium, "%s is not a known program", c.name)
	for i, w := range c.args() {
		rest := c.words[i+1:]
		if i > 32 || w.kind != plain || len(rest) < 2 || !strings.Contains(dangerous, " "+path.Base(w.text)+" ") {
			continue
		}
		inner := newReader()
		inner.depth, inner.commands = r.depth, r.commands+1
		inner.command(command{words: rest})
		if r.commands = inner.commands; inner.rank < medium {
			r.raise(inner.rank, "%s may be a wrapper: %s", c.name, strings.TrimPrefix(inner.reason, c.name+" may be a wrapper: "))
			r.absorb(inner)
			return
		}
	}
}

// dangerous are programs that are looked for behind an unknown wrapper.
const dangerous = " rm dd mkfs shred chmod chown git kill sh bash dash zsh ksh env sudo xargs busybox find curl wget eval python python3 perl node ruby tee mv cp "

func (r *reader) absorb(inner *reader) {
	r.seen.Commands = append(r.seen.Commands, inner.seen.Commands...)
	r.seen.Writes = append(r.seen.Writes, inner.seen.Writes...)
	r.seen.Reads = append(r.seen.Reads, inner.seen.Reads...)
	r.seen.Network = r.seen.Network || inner.seen.Network
	r.unclear, r.fetched = r.unclear || inner.unclear, r.fetched || inner.fetched
	r.blindRun, r.moved = r.blindRun || inner.blindRun, r.moved || inner.moved
}

// runScript judges a file that an interpreter runs.
func (r *reader) runScript(by string, w word) {
	if w.kind == open || w == fedWord || strings.HasPrefix(w.text, "/dev/") || strings.HasPrefix(w.text, "/proc/") {
		r.blindRun = true
		r.raise(unparsed, "%s runs a file known only when the line runs", by)
		return
	}
	r.seen.Reads = append(r.seen.Reads, w.text)
	r.raise(medium, "%s runs %s", by, w.text)
}

// runText judges shell text that a program runs.
func (r *reader) runText(by string, w word) {
	if w.kind == open || w == fedWord {
		r.blindRun = true
		r.raise(unparsed, "%s runs text known only when the line runs", by)
		return
	}
	r.raise(medium, "%s runs text", by)
	r.script(w.text)
}

// runStdin judges a program that runs what it reads.
func (r *reader) runStdin(c command) {
	switch {
	case c.from != nil:
		r.runScript(c.name, *c.from)
	case c.fed && shells[c.name]:
		r.runText(c.name, literal(c.stdin))
	default:
		r.blindRun = true
		r.raise(unparsed, "%s runs what it reads", c.name)
	}
}

// An option is one flag of a command.
type option struct {
	name  string // -x or --long
	value *word  // nil: none
}

// takes are the options of a program that have a value: letters, and long names separated by spaces.
type takes struct{ short, long string }

// split parts options from operands. With first it stops at the first operand, as wrappers do, and returns the rest as it stands.
func (t takes) split(args []word, first bool) (opts []option, rest []word) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a.text == "--" && a.kind == plain:
			return opts, append(rest, args[i+1:]...)
		case strings.HasPrefix(a.text, "--"):
			name, value, ok := strings.Cut(a.text, "=")
			o := option{name: name}
			if ok {
				o.value = &word{value, value, a.kind}
			} else if i+1 < len(args) && slices.Contains(strings.Fields(t.long), name) {
				i++
				o.value = &args[i]
			}
			opts = append(opts, o)
		case len(a.text) > 1 && a.text[0] == '-':
			var used bool
			opts, used = t.cluster(opts, args, i)
			if used {
				i++
			}
		case first:
			return opts, args[i:]
		default:
			rest = append(rest, a)
		}
	}
	return opts, rest
}

// cluster reads -abc; it reports whether the last letter took the next argument.
func (t takes) cluster(opts []option, args []word, at int) ([]option, bool) {
	a := args[at]
	for j := 1; j < len(a.text); j++ {
		o := option{name: "-" + a.text[j:j+1]}
		if strings.IndexByte(t.short, a.text[j]) < 0 {
			opts = append(opts, o)
			continue
		}
		if value := a.text[j+1:]; value != "" {
			o.value = &word{value, value, a.kind}
			return append(opts, o), false
		}
		if at+1 < len(args) {
			o.value = &args[at+1]
		}
		return append(opts, o), true
	}
	return opts, false
}

// has reports an option by one of its names.
func has(opts []option, names ...string) bool {
	return slices.ContainsFunc(opts, func(o option) bool { return slices.Contains(names, o.name) })
}

// value is that of the last option of these names.
func value(opts []option, names ...string) (word, bool) {
	for _, o := range slices.Backward(opts) {
		if o.value != nil && slices.Contains(names, o.name) {
			return *o.value, true
		}
	}
	return word{}, false
}
