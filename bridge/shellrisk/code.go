package shellrisk

import (
	"regexp"
	"slices"
	"strings"
)

var shells = set("sh bash dash zsh ksh mksh ash rbash yash posh csh tcsh fish")

// shell judges what runs shell text or shell files.
func (r *reader) shell(c command) bool {
	switch {
	case shells[c.name]:
		r.runShell(c)
	case c.name == "eval":
		r.runText(c.name, joined(c.args()))
	case c.name == "source" || c.name == ".":
		if len(c.args()) == 0 {
			r.raise(medium, "%s without a file", c.name)
			return true
		}
		r.runScript(c.name, c.args()[0])
	case c.name == "trap" || c.name == "alias" || c.name == "bind" || c.name == "complete":
		r.raise(medium, "%s changes the shell", c.name)
		for _, a := range c.args() {
			text := a
			if _, v, ok := strings.Cut(a.text, "="); ok && c.name == "alias" {
				text = word{v, v, a.kind}
			}
			if strings.ContainsAny(text.text, " \t\n;|&") || a.kind == open {
				r.runText(c.name, text)
			}
		}
	case c.name == "ssh":
		r.remote(c)
	default:
		return false
	}
	return true
}

// runShell judges a shell by its text, its file, or what it reads.
func (r *reader) runShell(c command) {
	r.raise(medium, "starts %s", c.name)
	opts, rest := takes{"oO", "--rcfile --init-file"}.split(c.args(), true)
	for len(rest) > 0 && strings.HasPrefix(rest[0].text, "+") {
		rest = rest[1:] // +x, an option turned off
	}
	for _, name := range []string{"--rcfile", "--init-file"} {
		if file, ok := value(opts, name); ok {
			r.runScript(c.name, file)
		}
	}
	switch {
	case has(opts, "--version", "--help"):
	case has(opts, "-c") && len(rest) > 0:
		if csh := set("csh tcsh fish"); csh[c.name] {
			r.raise(high, "%s has another language", c.name)
		}
		r.runText(c.name, rest[0])
	case len(rest) > 0 && !has(opts, "-s", "-c") && rest[0].text != "-":
		r.runScript(c.name, rest[0])
	default:
		r.runStdin(c)
	}
}

// remote judges ssh, whose operands run on another machine.
func (r *reader) remote(c command) {
	r.seen.Network = true
	r.raise(high, "%s runs commands on another machine", c.name)
	opts, rest := takes{short: "BbcDEeFIiJLlmOopQRSWw"}.split(c.args(), true)
	for _, o := range opts {
		if o.value == nil || o.name != "-o" {
			continue
		}
		at := strings.IndexAny(o.value.text, "= ")
		if at > 0 && strings.Contains(strings.ToLower(o.value.text[:at]), "command") {
			text := o.value.text[at+1:]
			r.runText(c.name, word{text, text, o.value.kind})
		}
	}
	if len(rest) > 1 {
		r.runText(c.name, joined(rest[1:]))
	}
}

// An interpreter runs a program in a language that is not read here.
type interpreter struct {
	takes
	inline string // options whose value is the program
	module string // options whose value names one
}

var interpreters = map[string]interpreter{
	"python":  {takes{"cmWXQ", "--check-hash-based-pycs"}, "-c", "-m"},
	"pypy":    {takes{"cmWX", ""}, "-c", "-m"},
	"perl":    {takes{"eEIMmx", ""}, "-e -E", ""},
	"ruby":    {takes{"eIrCEKTW", ""}, "-e", ""},
	"node":    {takes{"eprC", "--eval --print --require --import --conditions"}, "-e -p --eval --print", ""},
	"nodejs":  {takes{"eprC", "--eval --print --require --import --conditions"}, "-e -p --eval --print", ""},
	"php":     {takes{"rfcdBREFzt", "--run --file --process-code"}, "-r -B -R -E --run --process-code", ""},
	"lua":     {takes{"el", ""}, "-e", ""},
	"rscript": {takes{"e", ""}, "-e", ""},
	"pwsh":    {takes{"cf", ""}, "-c", ""},
	"tclsh":   {takes{}, "", ""},
	"expect":  {takes{"cf", ""}, "-c", ""},
	"ed":      {takes{"p", "--prompt"}, "", ""},
	"ex":      {takes{"cS", "--cmd"}, "-c --cmd", ""},
	"vim":     {takes{"cSsWuiT", "--cmd"}, "-c --cmd", ""},
	"vi":      {takes{"cSsWuiT", "--cmd"}, "-c --cmd", ""},
	"nvim":    {takes{"cSsWuiTl", "--cmd"}, "-c --cmd", ""},
	"view":    {takes{"cSsWuiT", "--cmd"}, "-c --cmd", ""},
	"emacs":   {takes{"lf", "--eval --load --funcall --script"}, "--eval", ""},
	"gdb":     {takes{"xpcds", "-ex -x"}, "", ""},
	"sqlite3": {takes{"", "-cmd -init"}, "", ""},
	"psql":    {takes{"cfdhpUvo", "--command --file"}, "-c --command", ""},
	"mysql":   {takes{"eDhPu", "--execute"}, "-e --execute", ""},
}

var awks = set("awk gawk mawk nawk original-awk")

// editors take options behind operands.
var editors = set("ed ex vim vi nvim view emacs")

// code judges interpreters of other languages.
func (r *reader) code(c command) bool {
	if awks[c.name] {
		r.awk(c)
		return true
	}
	if c.name == "sed" || c.name == "gsed" {
		r.sed(c)
		return true
	}
	it, ok := interpreters[c.name]
	if !ok {
		return false
	}
	r.raise(medium, "starts %s", c.name)
	opts, rest := it.split(c.args(), !editors[c.name])
	inline := slices.ContainsFunc(opts, func(o option) bool { return slices.Contains(strings.Fields(it.inline), o.name) })
	plus := slices.ContainsFunc(c.args(), func(w word) bool { return strings.HasPrefix(w.text, "+") || strings.HasPrefix(w.text, "-ex") })
	switch {
	case inline || plus:
		r.raise(high, "%s runs code in the command, which is not read here", c.name)
		for _, o := range opts {
			if o.value != nil && o.value.kind == open {
				r.blindRun = true
				r.raise(unparsed, "%s runs code known only when the line runs", c.name)
			}
		}
	case it.module != "" && has(opts, it.module), has(opts, "--version", "--help", "-V", "-h"):
	case len(rest) > 0 && rest[0].text != "-":
		r.runScript(c.name, rest[0])
	case c.fed:
		r.raise(high, "%s runs code in the command, which is not read here", c.name)
	default:
		r.runStdin(c)
	}
	return true
}

// awkActs finds what lets an awk program run, read or write something. A comparison looks the same.
var awkActs = regexp.MustCompile(`system|getline|[|>@]|close\(|-i`)

func (r *reader) awk(c command) {
	r.raise(medium, "awk runs a program")
	opts, rest := takes{"fvFieEl", "--file --assign --field-separator --include --exec --source --load"}.split(c.args(), true)
	for _, o := range opts {
		switch {
		case o.value != nil && slices.Contains([]string{"-f", "--file", "-E", "--exec"}, o.name):
			r.runScript(c.name, *o.value)
		case !slices.Contains([]string{"-F", "-v", "--field-separator", "--assign"}, o.name):
			r.raise(high, "awk with %s", o.name)
		}
	}
	if has(opts, "-f", "--file", "-E", "--exec") || len(rest) == 0 {
		return
	}
	if rest[0].kind == open {
		r.blindRun = true
		r.raise(unparsed, "awk runs code known only when the line runs")
	} else if awkActs.MatchString(rest[0].text) {
		r.raise(high, "the awk program may run commands or write files")
	}
}

// sedPart is text up to the delimiter %, where no sed can see another end: one reads `\%` and `[%]` otherwise than the next.
const sedPart = `(?:[^%\\\[\n]|\\[^%\n]|\[[^%\]\n]*\])*`

// sedSafe are scripts that neither write (w, W, s///w) nor run (e, s///e).
var sedSafe = regexp.MustCompile(`^(?:` + sedAddress + `?(?:,` + sedAddress + `)?!?(?:[pdq=]|s(?:` + sedReplace("/") + `|` + sedReplace("|") + `|` + sedReplace("#") + `|` + sedReplace(",") + `)[gpI0-9]*);?[ ]*)+$`)

var sedAddress = `(?:\d+|\$|/` + strings.ReplaceAll(sedPart, "%", "/") + `/)`

func sedReplace(delimiter string) string {
	d := regexp.QuoteMeta(delimiter)
	part := strings.ReplaceAll(sedPart, "%", d)
	return d + part + d + part + d
}

func (r *reader) sed(c command) {
	opts, rest := takes{"efl", "--expression --file --line-length"}.split(c.args(), false)
	var scripts []word
	for _, o := range opts {
		switch o.name {
		case "-e", "--expression":
			if o.value != nil {
				scripts = append(scripts, *o.value)
			}
		case "-f", "--file":
			if o.value != nil {
				r.runScript(c.name, *o.value)
			}
		}
	}
	if !has(opts, "-e", "--expression", "-f", "--file") && len(rest) > 0 {
		scripts, rest = rest[:1], rest[1:]
	}
	for _, s := range scripts {
		if s.kind != plain || !sedSafe.MatchString(s.text) {
			r.raise(high, "the sed script may run commands or write files")
		}
	}
	if i := slices.IndexFunc(opts, func(o option) bool { return o.name == "-i" || o.name == "-I" || strings.HasPrefix(o.name, "--in") }); i >= 0 {
		for _, f := range rest {
			r.write(c.name, f)
		}
		r.raise(medium, "sed edits files")
		return
	}
	if slices.ContainsFunc(opts, func(o option) bool { return !slices.Contains(sedKnown, o.name) }) {
		r.raise(medium, "sed with an option that is not known")
	}
	r.openOperands(c)
}

var sedKnown = strings.Fields("-n -r -E -s -u -z -e --quiet --silent --regexp-extended --expression")
