package shellrisk

import "strings"

// A reading program and the options of it that do no harm. The criterion: with these options and whatever operands, the program
// opens files only to read them, runs no other program, sends nothing, and leaves nothing changed when it ends. It is taken from
// the manuals of GNU coreutils, grep, diffutils and findutils, and of the BSDs. An option that is not listed is not low, so a new
// one of a later version is not either.
type readOnly struct {
	takes
	flags string // letters of short options without a value
	long  string // long options without a value
}

var readOnlyPrograms = map[string]readOnly{
	"ls":        {takes{"wITD", "--width --ignore --hide"}, "aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1", "--all --almost-all --color --human-readable --recursive --reverse --size --sort --time --classify --directory --inode --time-style --full-time --group-directories-first"},
	"cat":       {takes{}, "AbeEnstTuv", "--number --show-all --squeeze-blank --number-nonblank"},
	"head":      {takes{"nc", "--lines --bytes"}, "qvz0123456789", "--quiet --verbose"},
	"tail":      {takes{"nc", "--lines --bytes"}, "qvzr0123456789", "--quiet --verbose"},
	"wc":        {takes{}, "clmwL", "--lines --words --bytes --chars --max-line-length"},
	"grep":      {takes{"efmABCdD", "--regexp --file --max-count --after-context --before-context --context --include --exclude --exclude-dir"}, "abcEFGHhiIlLnoPqrRsUvVwxyzZT0123456789", "--ignore-case --recursive --line-number --color --colour --count --files-with-matches --files-without-match --word-regexp --line-regexp --invert-match --extended-regexp --fixed-strings --perl-regexp --only-matching --quiet --silent --no-messages --with-filename --no-filename --null --text"},
	"sort":      {takes{"kt", "--key --field-separator"}, "bdfghiMnRrVcCmsuz", "--numeric-sort --reverse --unique --human-numeric-sort --version-sort --ignore-case --check --stable"},
	"uniq":      {takes{"fsw", "--skip-fields --skip-chars --check-chars"}, "cdDiuz", "--count --repeated --unique --ignore-case"},
	"cut":       {takes{"bcdf", "--bytes --characters --delimiter --fields --output-delimiter"}, "nsz", "--complement --only-delimited"},
	"tr":        {takes{}, "cCdst", "--delete --squeeze-repeats --complement --truncate-set1"},
	"diff":      {takes{"UCW", "--unified --context --width --exclude"}, "abBcdeEiNnpqrstTuwy0123456789", "--brief --recursive --color --ignore-all-space --ignore-space-change --ignore-blank-lines --side-by-side --new-file --text --report-identical-files"},
	"cmp":       {takes{"in", "--ignore-initial --bytes"}, "bls", "--silent --quiet --verbose --print-bytes"},
	"comm":      {takes{}, "123z", "--nocheck-order --total"},
	"stat":      {takes{"c", "--format --printf"}, "Lft", "--dereference --file-system --terse"},
	"file":      {takes{}, "bhiLNr0", "--brief --mime --mime-type --mime-encoding --dereference"},
	"du":        {takes{"dB", "--max-depth --block-size --exclude"}, "abchHklLmPsSx0", "--human-readable --summarize --total --apparent-size --all --bytes"},
	"df":        {takes{"tx", "--type"}, "ahHiklPT", "--human-readable --total --inodes --print-type"},
	"basename":  {takes{"s", "--suffix"}, "az", "--multiple --zero"},
	"dirname":   {takes{}, "z", "--zero"},
	"realpath":  {takes{}, "emLPqsz", "--canonicalize-existing --canonicalize-missing --relative-to --no-symlinks"},
	"readlink":  {takes{}, "efmnqsvz", "--canonicalize"},
	"nl":        {takes{"bfhvisnwdl", ""}, "p", ""},
	"tac":       {takes{"s", "--separator"}, "br", ""},
	"rev":       {},
	"fold":      {takes{"w", "--width"}, "bs", "--spaces --bytes"},
	"paste":     {takes{"d", "--delimiters"}, "sz", "--serial"},
	"join":      {takes{"aeotvj12", ""}, "iz", "--header"},
	"column":    {takes{"sco", "--separator --output-separator"}, "txn", "--table"},
	"seq":       {takes{"fs", "--format --separator"}, "w0123456789", "--equal-width"},
	"od":        {takes{"AjNtw", ""}, "abcdfiloxsv", ""},
	"md5sum":    {takes{}, "btz", "--binary --text --tag"},
	"sha1sum":   {takes{}, "btz", "--binary --text --tag"},
	"sha256sum": {takes{}, "btz", "--binary --text --tag"},
	"sha512sum": {takes{}, "btz", "--binary --text --tag"},
	"uname":     {takes{}, "asnrvmpio", "--all"},
	"whoami":    {}, "nproc": {takes{}, "", "--all"}, "arch": {}, "uptime": {takes{}, "ps", ""}, "groups": {}, "tty": {takes{}, "s", ""},
	"id":    {takes{}, "gGnruz", "--user --group --groups --name --real"},
	"which": {takes{}, "as", "--all"},
	"type":  {takes{}, "afptP", ""},
	"tree":  {takes{"LPI", ""}, "adfilpsugDhFrtvxnC", "--dirsfirst --noreport"},
	"jq":    {takes{}, "acCeMnrRsSj", "--arg --argjson --args --raw-output --compact-output --slurp --raw-input --null-input --exit-status --sort-keys --tab"},
	"sleep": {}, "pwd": {takes{}, "LP", ""}, "set": {takes{"o", ""}, "eux", ""},
	"date": {takes{"dr", "--date --reference"}, "uRI", "--utc --iso-8601 --rfc-3339 --rfc-email"},
}

// inert programs do nothing with a file, whatever their operands are.
var inert = set("echo true false : exit return break continue shift")

// reads judges the programs of the list. Whatever has an option that is not listed is medium.
func (r *reader) reads(c command) bool {
	if inert[c.name] {
		return true
	}
	switch c.name {
	case "test", "[":
		for _, a := range c.args() {
			if a.text == "-v" || a.text == "-R" { // bash evaluates the index of an array here
				r.raise(medium, "test %s evaluates its operand", a.text)
			}
		}
		r.openOperands(c)
		return true
	case "printf":
		if args := c.args(); len(args) == 0 || args[0].kind != plain || strings.HasPrefix(args[0].text, "-") {
			r.raise(medium, "printf may set a variable")
		}
		return true
	}
	p, ok := readOnlyPrograms[c.name]
	if !ok {
		return false
	}
	opts, rest := p.split(c.args(), false)
	for _, o := range opts {
		if !p.allows(o) {
			r.raise(medium, "%s with %s", c.name, o.name)
		}
	}
	switch {
	case c.name == "date" && len(rest) > 0 && !strings.HasPrefix(rest[0].text, "+"):
		r.raise(medium, "date sets the clock")
	case c.name == "set" && len(rest) > 0 && rest[0].text != "pipefail":
		r.raise(medium, "set changes the operands")
	}
	r.openOperands(c)
	return true
}

func (p readOnly) allows(o option) bool {
	if !strings.HasPrefix(o.name, "--") {
		return strings.Contains(p.flags+p.short, o.name[1:])
	}
	return o.name == "--help" || o.name == "--version" || set(p.long + " " + p.takes.long)[o.name]
}
