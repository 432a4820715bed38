package shellrisk

import (
	"slices"
	"strings"
)

var (
	gitReads = set("status log diff show rev-parse ls-files ls-tree blame describe shortlog rev-list cat-file merge-base name-rev whatchanged count-objects version annotate")
	gitSends = set("push send-email request-pull svn p4 credential credential-store send-pack")
	gitAsks  = set("clone fetch pull ls-remote push submodule remote send-email svn lfs archive")
	// gitGrave lose work, or run what an argument or a file names.
	gitGrave = set("clean filter-branch filter-repo reflog gc prune update-ref bisect difftool mergetool rebase config hook daemon http-backend upload-pack receive-pack " +
		"instaweb gui web--browse fsmonitor--daemon maintenance replace symbolic-ref")
	// gitRuns are options by which git runs a program, writes a file or leaves the repository; they may be cut short.
	gitRuns = strings.Fields("--output --ext-diff --textconv --no-index --upload-pack --receive-pack --exec --open-files-in-pager --extcmd --tool --config --template " +
		"--force --hard --delete --mirror --prune --git-dir --work-tree --exec-path --config-env --paginate --filters")
)

// git judges git by its subcommand. A repository's own configuration may name programs that even status runs: writing
// .git/config is high for that reason.
func (r *reader) git(c command) {
	opts, rest := takes{"Cc", "--git-dir --work-tree --namespace --exec-path --super-prefix --config-env"}.split(c.args(), true)
	for _, o := range opts {
		switch o.name {
		case "-c", "--config-env", "--exec-path":
			r.raise(high, "git %s may name a program to run", o.name)
			if o.value != nil {
				r.gitConfig(*o.value)
			}
		case "-C", "--git-dir", "--work-tree":
			r.moved = true
			r.raise(medium, "git works in another directory")
		case "-P", "--no-pager", "--version", "--no-optional-locks":
		default:
			r.raise(medium, "git with %s", o.name)
		}
	}
	if len(rest) == 0 {
		r.raise(medium, "git without a subcommand")
		return
	}
	sub, args := rest[0], rest[1:]
	if sub.kind != plain {
		r.raise(unparsed, "a git command known only when the line runs")
		return
	}
	r.subcommand(sub.text, args)
	if gitReads[sub.text] {
		r.openOperands(c)
	}
}

// gitConfig judges name=value. An alias that begins with ! is shell text.
func (r *reader) gitConfig(w word) {
	name, text, _ := strings.Cut(w.text, "=")
	shell, isShell := strings.CutPrefix(text, "!")
	if isShell || strings.HasSuffix(strings.ToLower(name), "command") || w.kind == open {
		r.runText("git", word{shell, shell, w.kind})
	}
}

func (r *reader) subcommand(sub string, args []word) {
	if gitAsks[sub] {
		r.seen.Network = true
	}
	switch {
	case gitGrave[sub] && !(sub == "config" && len(args) > 0 && (args[0].text == "--get" || args[0].text == "--list" || args[0].text == "-l")), gitSends[sub]:
		r.raise(high, "git %s loses work, sends it, or runs programs", sub)
	case !gitReads[sub]:
		r.raise(medium, "git %s changes the repository", sub)
	}
	r.gitNested(sub, args)
	for i, a := range args {
		text, _, _ := strings.Cut(a.text, "=")
		switch {
		case a.text == "--":
			if sub == "checkout" || sub == "restore" {
				r.raise(high, "git %s overwrites files", sub)
			}
		case strings.HasPrefix(a.text, "ext::"), strings.HasPrefix(text, "--upload-pack"), strings.HasPrefix(text, "--ext-diff"):
			r.raise(high, "git runs what %s names", text)
		case strings.HasPrefix(text, "--output") && len(text) >= len("--output"):
			r.write("git", gitValue(args, i))
		case len(text) > 3 && slices.ContainsFunc(gitRuns, func(o string) bool { return strings.HasPrefix(o, text) || strings.HasPrefix(text, o) }):
			r.gitOption(sub, text)
		case gitShort(sub, text):
			r.raise(high, "git %s %s", sub, text)
		}
	}
	if sub == "restore" || (sub == "checkout" || sub == "stash") && len(args) > 0 && slices.Contains([]string{".", "-f", "drop", "clear"}, args[0].text) {
		r.raise(high, "git %s overwrites files", sub)
	}
}

// gitOption judges a long option, which may be cut short.
func (r *reader) gitOption(sub, text string) {
	for _, grave := range []string{"--exec", "--extcmd", "--receive-pack", "--open-files-in-pager", "--force", "--hard", "--delete", "--mirror", "--config", "--template"} {
		if strings.HasPrefix(grave, text) || strings.HasPrefix(text, grave) {
			r.raise(high, "git %s %s", sub, text)
			return
		}
	}
	r.raise(medium, "git %s %s", sub, text)
}

// gitShort reports short options that run programs or lose work.
func gitShort(sub, text string) bool {
	switch sub {
	case "grep":
		return strings.HasPrefix(text, "-O")
	case "clone", "fetch", "pull":
		return strings.HasPrefix(text, "-u") || text == "-c" || text == "-f"
	case "branch", "tag":
		return text == "-D" || text == "-d" || text == "-f" || text == "-M"
	case "checkout", "switch":
		return text == "-f" || text == "-C" || text == "-B"
	}
	return false
}

func gitValue(args []word, at int) word {
	if _, v, ok := strings.Cut(args[at].text, "="); ok {
		return word{v, v, args[at].kind}
	}
	if at+1 < len(args) {
		return args[at+1]
	}
	return word{}
}

// gitNested judges the commands that some subcommands run.
func (r *reader) gitNested(sub string, args []word) {
	var text []word
	switch {
	case sub == "submodule" && len(args) > 1 && args[0].text == "foreach":
		text = args[1:]
	case sub == "bisect" && len(args) > 1 && args[0].text == "run":
		r.command(command{words: args[1:]})
		return
	case sub == "rebase":
		for i, a := range args {
			if (a.text == "-x" || a.text == "--exec") && i+1 < len(args) {
				text = args[i+1 : i+2]
			} else if v, ok := strings.CutPrefix(a.text, "--exec="); ok {
				text = []word{{v, v, a.kind}}
			}
		}
	}
	if len(text) > 0 {
		r.raise(high, "git %s runs a command", sub)
		r.runText("git", joined(text))
	}
}
