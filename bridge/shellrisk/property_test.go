package shellrisk_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/codeact-dev/codeact/bridge/shellrisk"
)

// pieces are whole commands of every level: none is open at its end.
var pieces = []string{
	"ls", "cat a", "git status", "echo $x", "sort a", "find . -name b", "cd src", "sed -n 1p a", "true", "timeout 5 ls",
	"make", "cat $x", "ls > a", "frob a b", "cp a b", "curl https://x", "python x.py", "X=1 ls", "f() { ls; }", "export X=1", "xargs ls",
	"rm -r a", "sudo ls", "git push", "echo x > ~/.bashrc", "python -c 1", "PATH=x ls", "cat .env", "find . -delete", "nc h 1",
	"$x", "eval $x", "sh", "tee $x", "((1))", "echo $'a'", "source <(ls)", "sudo -s", "git $x",
	"rm -rf /", "dd of=/dev/sda", "reboot", "kill -1", ":(){ :|:& };:", "mkfs x", "chmod -R 777 /", "curl x | sh",
}

func quoted(line string) string { return "'" + strings.ReplaceAll(line, "'", `'\''`) + "'" }

func TestAnotherCommandNeverLowersTheLevel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 5).Draw(t, "commands")
		sep := rapid.SampledFrom([]string{"; ", " && ", " || ", "\n", " & "}).Draw(t, "separator")
		worst, names := 0, 0
		for _, p := range list {
			got := shellrisk.Classify(p)
			worst, names = max(worst, severity(got.Level)), names+len(got.Commands)
		}
		got := shellrisk.Classify(strings.Join(list, sep))
		if severity(got.Level) < worst || len(got.Commands) != names {
			t.Fatalf("%q is %s with %q; its parts are as bad as %d and have %d commands", list, got.Level, got.Commands, worst, names)
		}
	})
}

func TestNoWrapperLowersTheLevel(t *testing.T) {
	wraps := map[string]func(string) string{
		"subshell":      func(s string) string { return "( " + s + "\n)" },
		"block":         func(s string) string { return "{ " + s + "\n}" },
		"not":           func(s string) string { return "! {\n" + s + "\n}" },
		"if":            func(s string) string { return "if " + s + "\nthen :; fi" },
		"else":          func(s string) string { return "if :; then :; else " + s + "\nfi" },
		"while":         func(s string) string { return "while " + s + "\ndo :; done" },
		"for":           func(s string) string { return "for i in a; do " + s + "\ndone" },
		"case":          func(s string) string { return "case a in b) " + s + "\n;; esac" },
		"function":      func(s string) string { return "g() {\n" + s + "\n}" },
		"pipe to":       func(s string) string { return "ls | {\n" + s + "\n}" },
		"pipe from":     func(s string) string { return "{\n" + s + "\n} | cat" },
		"redirect":      func(s string) string { return "{\n" + s + "\n} 2>/dev/null" },
		"background":    func(s string) string { return "{\n" + s + "\n} &" },
		"substitution":  func(s string) string { return "echo \"$( " + s + "\n)\"" },
		"assignment":    func(s string) string { return "x=$( " + s + "\n) ls" },
		"process":       func(s string) string { return "cat <( " + s + "\n)" },
		"here-document": func(s string) string { return "cat <<E\n$( " + s + "\n)\nE" },
		"target":        func(s string) string { return "ls < \"$( " + s + "\n)\"" },
		"sh -c":         func(s string) string { return "sh -c " + quoted(s) },
		"env sh -c":     func(s string) string { return "env -i A=1 bash -ec " + quoted(s) },
		"eval":          func(s string) string { return "eval " + quoted(s) },
		"sudo":          func(s string) string { return "sudo -u x sh -c " + quoted(s) },
		"timeout":       func(s string) string { return "timeout 5 nice -n 1 sh -c " + quoted(s) },
		"fed":           func(s string) string { return "sh <<< " + quoted(s) },
		"find":          func(s string) string { return "find . -exec sh -c " + quoted(s) + " \\;" },
		"git alias":     func(s string) string { return "git -c alias.x=" + quoted("!"+s) + " x" },
		"xargs":         func(s string) string { return "xargs -n 1 sh -c " + quoted(s) },
		"unknown":       func(s string) string { return "wrap -x sh -c " + quoted(s) },
	}
	names := slices.Sorted(maps.Keys(wraps))
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom(pieces).Draw(t, "command")
		floor := severity(shellrisk.Classify(line).Level)
		for _, name := range rapid.SliceOfN(rapid.SampledFrom(names), 1, 3).Draw(t, "wraps") {
			line = wraps[name](line)
			got := shellrisk.Classify(line)
			if severity(got.Level) < floor {
				t.Fatalf("%q is only %s (%s)", line, got.Level, got.Reason)
			}
			floor = severity(got.Level)
		}
	})
}

func TestArgumentsAndTheirQuotedLineAreTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		argv := append([]string{rapid.SampledFrom([]string{"ls", "rm", "git", "env", "sudo", "sh", "find", "xargs", "frob", "sort", "python", "sed", "cp"}).Draw(t, "program")},
			rapid.SliceOfN(rapid.SampledFrom([]string{"-rf", "-c", "-n", "-exec", ";", "--", "a b", "/", "*", "$x", "rm", "ls", "sh", "status", "push", "-", "x=1", "a;b", "~", "-o", ""}), 0, 6).Draw(t, "operands")...)
		var words []string
		for _, a := range argv {
			words = append(words, quoted(a))
		}
		byLine, byWords := shellrisk.Classify(strings.Join(words, " ")), shellrisk.ClassifyArgv(argv)
		if byLine.Level != byWords.Level || !slices.Equal(byLine.Commands, byWords.Commands) || !slices.Equal(byLine.Writes, byWords.Writes) {
			t.Fatalf("%q: as a line %+v, as arguments %+v", argv, byLine, byWords)
		}
	})
}

// lowIsHarmless holds for every Risk, whatever the line.
func lowIsHarmless(t testing.TB, line string, got shellrisk.Risk) {
	t.Helper()
	if severity(got.Level) == 0 || got.Reason == "" || got.Level == shellrisk.Unparsed && got.Parsed {
		t.Errorf("%q: %+v", line, got)
	}
	if got.Level != shellrisk.Low {
		return
	}
	if !got.Parsed || got.Network || len(got.Writes) > 0 || len(got.Reads) > 0 || len(got.Commands) == 0 {
		t.Errorf("%q is low, and yet %+v", line, got)
	}
	for _, name := range got.Commands {
		if !shellrisk.MayBeLow(name) {
			t.Errorf("%q is low with %s", line, name)
		}
	}
}

func FuzzClassify(f *testing.F) {
	for _, p := range slices.Concat(pieces, lowLines) {
		f.Add(p)
	}
	for _, p := range []string{"", "(", "$x`\\[[\n(;`(", "ls ]]\n[[\n(* for&' <( )", "$((", "<<", "cat <<EOF\n$(", "((((((((((", "`\\`", "${x", "a=(", "[[ ", "xargs -I", "env -S", "find -exec", "sh -c", "git -c", "sed -i", "kill", "rm -", "chmod -R", "sort -o", "tar -f", "\xff"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, line string) {
		once := shellrisk.Classify(line)
		lowIsHarmless(t, line, once)
		lowIsHarmless(t, line, shellrisk.ClassifyArgv(strings.Fields(line)))
		if !once.Parsed || strings.HasSuffix(line, "\\") || 2*len(line)+1 > shellrisk.MaxLine || len(once.Commands) == 0 {
			return // what is open at its end changes what follows
		}
		if twice := shellrisk.Classify(line + "\n" + line); severity(twice.Level) < severity(once.Level) {
			t.Errorf("%q is %s, but twice only %s", line, once.Level, twice.Level)
		}
	})
}
