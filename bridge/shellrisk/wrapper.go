package shellrisk

import (
	"slices"
	"strings"
)

// A wrap describes a program that runs the command in its arguments.
type wrap struct {
	takes
	flags    string // further options that are known, without a value
	operands int    // before the command
	assigns  bool   // NAME=value may stand before the command
	floor    rank   // what the wrapper is by itself
	alone    rank   // what it is without a command
}

var wrappers = map[string]wrap{
	"command":  {flags: "-p", floor: low, alone: low},
	"builtin":  {floor: low, alone: low},
	"exec":     {takes: takes{short: "a"}, flags: "-c -l", floor: low, alone: low},
	"nice":     {takes: takes{"n", "--adjustment"}, flags: "-0 -1 -2 -3 -4 -5 -6 -7 -8 -9", floor: low, alone: low},
	"ionice":   {takes: takes{"cnpPu", "--class --classdata"}, flags: "-t --ignore", floor: low, alone: low},
	"stdbuf":   {takes: takes{"ioe", "--input --output --error"}, floor: low, alone: medium},
	"setsid":   {flags: "-c -f -w --ctty --fork --wait", floor: medium, alone: medium},
	"nohup":    {floor: medium, alone: medium}, // writes nohup.out
	"timeout":  {takes: takes{"ks", "--kill-after --signal"}, flags: "-v -f -p --verbose --foreground --preserve-status", operands: 1, floor: low, alone: medium},
	"time":     {flags: "-p -v --verbose --portability", floor: low, alone: low},
	"env":      {takes: takes{"uCSa", "--unset --chdir --split-string --argv0"}, flags: "-i -0 -v --ignore-environment --null --debug", assigns: true, floor: low, alone: medium},
	"sudo":     {takes: takes{"ugpCcrtThDRU", "--user --group --prompt --chdir --chroot --host --role --type --other-user --close-from --command-timeout"}, flags: "-A -b -B -E -e -H -i -K -k -l -N -n -P -S -s -v --preserve-env --login --shell --stdin --non-interactive --askpass --background --set-home --edit", assigns: true, floor: high, alone: high},
	"doas":     {takes: takes{short: "uCa"}, flags: "-L -n -s", floor: high, alone: high},
	"pkexec":   {takes: takes{long: "--user"}, flags: "--disable-internal-agent --keep-cwd", floor: high, alone: high},
	"chroot":   {takes: takes{long: "--userspec --groups"}, flags: "--skip-chdir", operands: 1, floor: high, alone: high},
	"unshare":  {takes: takes{"SGRw", "--setuid --setgid --root --wd --setgroups --propagation"}, flags: "-m -u -i -n -p -U -C -T -f -r -c --mount --uts --ipc --net --pid --user --cgroup --time --fork --map-root-user --map-current-user --mount-proc --keep-caps", floor: high, alone: high},
	"nsenter":  {takes: takes{"tSGrw", "--target --setuid --setgid --root --wd"}, flags: "-a -m -u -i -n -p -U -C -F --all --mount --uts --ipc --net --pid --user", floor: high, alone: high},
	"setpriv":  {takes: takes{long: "--reuid --regid --groups --inh-caps --ambient-caps --bounding-set --securebits"}, flags: "--no-new-privs --clear-groups --keep-groups --init-groups --reset-env", floor: high, alone: high},
	"xargs":    {takes: takes{"adEILnPs", "--arg-file --delimiter --max-args --max-procs --max-chars --max-lines --process-slot-var"}, flags: "-0 -r -t -p -x -o -i -e -l --null --no-run-if-empty --verbose --interactive --exit --replace --eof", floor: medium, alone: medium},
	"parallel": {takes: takes{"jaICSnNdk", "--jobs --arg-file --colsep --delimiter --delay --timeout --joblog"}, flags: "-0 -k -q -u -X -m --null --keep-order --bar --dry-run", floor: medium, alone: medium},
	"watch":    {takes: takes{"n", "--interval"}, flags: "-b -c -d -e -g -p -t -x --beep --color --differences --errexit --chgexit --precise --no-title --exec", floor: medium, alone: medium},
	"strace":   {takes: takes{"eopsuaEIOPSXb", "--output"}, flags: "-f -ff -c -C -d -h -i -k -n -q -r -t -T -v -V -x -y -z", floor: high, alone: high},
	"busybox":  {floor: medium, alone: medium},
	"toybox":   {floor: medium, alone: medium},
	"flock":    {takes: takes{"wEc", "--timeout --conflict-exit-code --command"}, flags: "-s -x -e -u -n -o -F --shared --exclusive --nonblock --close", operands: 1, floor: medium, alone: medium},
	"su":       {takes: takes{"cgGsTw", "--command --group --supp-group --shell --whitelist-environment"}, flags: "- -l -m -p -f -P --login --preserve-environment --pty", operands: 1, floor: high, alone: high},
	"runuser":  {takes: takes{"cgGsTwu", "--command --group --supp-group --shell --user"}, flags: "- -l -m -p -f -P --login --preserve-environment --pty", floor: high, alone: high},
	"script":   {takes: takes{"cEmoTIOB", "--command"}, flags: "-a -e -f -q --quiet --append --flush --return", operands: 1, floor: medium, alone: medium},
}

// transparent are the wrappers that are no worse than what they run.
func transparent(name string) bool { return wrappers[name].floor == low } // a missing one is blocked

// wrapper judges a program that runs its arguments, and what it runs.
func (r *reader) wrapper(c command) bool {
	w, ok := wrappers[c.name]
	if !ok {
		return false
	}
	opts, rest := w.split(c.args(), true)
	r.raise(w.floor, "%s runs another program with other rights or operands", c.name)
	r.wrapperOptions(c, w, opts)
	if c.name == "env" && len(rest) > 0 && rest[0].text == "-" {
		rest = rest[1:] // an old form of -i
	}
	for w.assigns && len(rest) > 0 && strings.Contains(rest[0].text, "=") && !strings.HasPrefix(rest[0].text, "=") {
		r.set(rest[0].text)
		rest = rest[1:]
	}
	if text, ok := w.text(c); ok {
		r.runText(c.name, text)
		return true
	}
	if len(rest) < w.operands {
		r.raise(w.alone, "%s without a command", c.name)
		return true
	}
	if rest = rest[w.operands:]; len(rest) > 0 && rest[0].text == "--" {
		rest = rest[1:]
	}
	if c.name == "command" && has(opts, "-v", "-V") {
		return true // asks where a program is
	}
	switch split, ok := value(opts, "-S", "--split-string"); {
	case ok && c.name == "env":
		r.runText(c.name, joined(append([]word{split}, rest...)))
	case len(rest) == 0:
		r.wrapsNothing(c, w, opts)
	case c.name == "watch" && !has(opts, "-x", "--exec"), c.name == "parallel":
		r.runText(c.name, joined(cutAt(rest, ":::", "::::", ":::+", "::::+")))
		r.raise(medium, "%s runs text", c.name)
	default:
		r.command(c.with(r.handed(c, opts, rest)))
	}
	return true
}

// text is the shell text of the wrappers that take -c. Their options may stand behind operands.
func (w wrap) text(c command) (word, bool) {
	if !slices.Contains([]string{"su", "runuser", "script", "flock"}, c.name) {
		return word{}, false
	}
	all, _ := w.split(c.args(), false)
	return value(all, "-c", "--command")
}

// wrapperOptions judges the options of a wrapper: one that is not known may take what looks like the command.
func (r *reader) wrapperOptions(c command, w wrap, opts []option) {
	for _, o := range opts {
		known := o.value != nil && strings.Contains(w.short, o.name[1:]) && len(o.name) == 2
		known = known || slices.Contains(strings.Fields(w.long+" "+w.flags), o.name)
		switch {
		case c.name == "command" && (o.name == "-v" || o.name == "-V"):
		case !known:
			r.raise(unparsed, "%s with an option that is not known, %s", c.name, o.name)
		case o.name == "-C" && c.name == "env", o.name == "--chdir", o.name == "-D" && c.name == "sudo":
			r.moved = true
			r.raise(medium, "%s changes the directory", c.name)
		case (o.name == "-o" || o.name == "--output") && c.name == "strace" && o.value != nil:
			r.write(c.name, *o.value)
		case (o.name == "-e" || o.name == "--edit") && c.name == "sudo":
			r.raise(high, "sudo edits files")
		}
	}
}

// wrapsNothing judges a wrapper without a command.
func (r *reader) wrapsNothing(c command, w wrap, opts []option) {
	switch c.name {
	case "sudo", "su", "doas", "chroot", "unshare", "nsenter", "runuser", "pkexec":
		if !has(opts, "-l", "-v", "-k", "-K") {
			r.blindRun = true
			r.raise(unparsed, "%s starts a shell that runs what it reads", c.name)
			return
		}
	case "parallel":
		r.blindRun = true
		r.raise(unparsed, "parallel runs what it reads")
		return
	case "xargs":
		r.raise(medium, "xargs prints what it reads")
		return
	}
	r.raise(w.alone, "%s without a command", c.name)
}

// handed is the inner command of a wrapper, with the operands that it gets from elsewhere.
func (r *reader) handed(c command, opts []option, rest []word) []word {
	if c.name != "xargs" {
		return rest
	}
	mark, replaces := value(opts, "-I", "--replace")
	if !replaces && has(opts, "-i", "--replace") {
		mark, replaces = literal("{}"), true
	}
	if !replaces || mark.text == "" {
		out := append(slices.Clone(rest), fedWord)
		if c.fed {
			for f := range strings.FieldsSeq(c.stdin) {
				out = append(out, literal(f))
			}
		}
		return out
	}
	return replaced(rest, mark.text)
}

// replaced marks every word that holds what another program will put there.
func replaced(words []word, mark string) []word {
	out := slices.Clone(words)
	for i, w := range out {
		switch {
		case !strings.Contains(w.text, mark):
		case w.text == mark && i > 0:
			out[i] = fedWord
		default:
			out[i].kind = open
		}
	}
	return out
}

// joined is the text that a program makes of its arguments before it hands them to a shell.
func joined(words []word) word {
	out := word{kind: plain}
	for i, w := range words {
		if i > 0 {
			out.add(" ")
		}
		out.text, out.bare, out.kind = out.text+w.text, out.bare+w.bare, min(out.kind, w.kind)
	}
	return out
}

func cutAt(words []word, marks ...string) []word {
	if i := slices.IndexFunc(words, func(w word) bool { return slices.Contains(marks, w.text) }); i >= 0 {
		return words[:i]
	}
	return words
}
