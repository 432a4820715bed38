package workspacetest

import (
	"fmt"
	"strings"
)

// A Refusal is what an error must say: a part of the text that the model reads.
type Refusal string

// The refusals of package workspace.
const (
	Outside    Refusal = "outside the workspace"
	Denied     Refusal = "the operator denies reading this path"
	ReadOnly   Refusal = "not writable"
	NotRegular Refusal = "not a regular file"
	NotFound   Refusal = "no such file"
	Link       Refusal = "a link that cannot be followed"
	BadPath    Refusal = "not a usable path"
)

// An Attack is one path, and what a workspace holds when it is used. In Path and in the targets of links %OUT stands for the
// directory out of a World, %WS for the workspace and %BASE for what both lie in.
type Attack struct {
	Name  string
	Files map[string]string // as World.plant makes them
	Path  string

	Want   Refusal // of everything. "" where the path is a name like any other: it may work, and reaches nothing outside
	Change Refusal // of what would change or move the file; reading it may work
	Write  Refusal // of what would put content into it; moving and removing may work
	Reads  bool    // what it reads is the secret, and nothing can tell
}

// Attacks is the one table of paths. It speaks of Unix; what Windows takes for another name is in the tests of package workspace.
var Attacks = concat(upwards, absolute, links, denied, otherRoots, unusable, special_, settings, plain)

func concat(parts ...[]Attack) (all []Attack) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

type files = map[string]string

var upwards = []Attack{
	{Name: "parent", Path: "../out/secret", Want: Outside},
	{Name: "parent, ./", Path: "./../out/secret", Want: Outside},
	{Name: "parent, doubled slashes", Path: "..//out//secret", Want: Outside},
	{Name: "parent, trailing slash", Path: "../out/secret/", Want: Outside},
	{Name: "parent, from inside", Files: files{"d/": ""}, Path: "d/../../out/secret", Want: Outside},
	{Name: "parent, from deep inside", Path: "drafts/a/b/../../../../out/secret", Want: Outside},
	{Name: "parent of nothing", Path: "no/../../out/secret", Want: Outside},
	{Name: "parent of a file", Path: "other/../../out/secret", Want: Outside},
	{Name: "parent of a denied file", Files: files{"secrets/a": Secret}, Path: "secrets/../../out/secret", Want: Outside},
	{Name: "the parent itself", Path: "..", Want: Outside},
	{Name: "the parent itself, trailing slash", Path: "../", Want: Outside},
	{Name: "out and back in", Path: "../ws/other", Want: Outside},
	{Name: "many parents", Path: strings.Repeat("../", 200) + "etc/passwd", Want: Outside},
	{Name: "parent behind a home", Path: "~/../../out/secret", Want: Outside},
	{Name: "parent behind an unknown root", Path: "@nosuch/../../out/secret", Want: Outside},
}

var absolute = []Attack{
	{Name: "absolute", Path: "%OUT/secret", Want: Outside},
	{Name: "absolute, new", Path: "%OUT/new", Want: Outside},
	{Name: "absolute, doubled slash", Path: "/%OUT/secret", Want: Outside},
	{Name: "absolute, through the workspace", Path: "%WS/../out/secret", Want: Outside},
	{Name: "absolute, through the workspace, with a dot", Path: "%WS/./../out/secret", Want: Outside},
	{Name: "absolute, with the workspace as prefix of a name", Path: "%WS-evil/secret", Want: Outside},
	{Name: "the directory of the workspace", Path: "%BASE", Want: Outside},
	{Name: "the file system", Path: "/", Want: Outside},
	{Name: "the file system, doubled", Path: "//", Want: Outside},
	{Name: "above the file system", Path: "/../etc/passwd", Want: Outside},
	{Name: "a server", Path: "//server/share/secret", Want: Outside},
	{Name: "proc's root", Path: "/proc/self/root/etc/passwd", Want: Outside},
	{Name: "proc's directory", Path: "/proc/self/cwd", Want: Outside},
	{Name: "proc's environment", Path: "/proc/self/environ", Want: Outside},
	{Name: "a descriptor", Path: "/dev/fd/0", Want: Outside},
	{Name: "standard input", Path: "/dev/stdin", Want: Outside},
}

var links = []Attack{
	{Name: "link to a file outside", Files: files{"l": "-> ../out/secret"}, Path: "l", Want: Outside},
	{Name: "link to a file outside, trailing slash", Files: files{"l": "-> ../out/secret"}, Path: "l/", Want: Outside},
	{Name: "absolute link outside", Files: files{"l": "-> %OUT/secret"}, Path: "l", Want: Outside},
	{Name: "link to proc", Files: files{"l": "-> /proc/self/cwd"}, Path: "l/x", Want: Outside},
	{Name: "link to the file system", Files: files{"l": "-> /"}, Path: "l/etc/passwd", Want: Outside},
	{Name: "link to a device", Files: files{"l": "-> /dev/zero"}, Path: "l", Want: Outside},
	{Name: "link to a directory outside", Files: files{"l": "-> ../out"}, Path: "l/secret", Want: Outside},
	{Name: "link to a directory outside, and below it", Files: files{"l": "-> ../out"}, Path: "l/new/file", Want: Outside},
	{Name: "link to the parent", Files: files{"l": "-> .."}, Path: "l", Want: Outside},
	{Name: "link in the middle", Files: files{"a/l": "-> ../../out"}, Path: "a/l/dir/secret", Want: Outside},
	{Name: "chain of links", Files: files{"a": "-> b", "b": "-> c", "c": "-> ../out/secret"}, Path: "a", Want: Outside},
	{Name: "link out and back in", Files: files{"l": "-> ../ws/f", "f": Inside}, Path: "l", Want: Outside},
	{Name: "link through a link's parent", Files: files{"d/e/": "", "l": "-> d/e", "m": "-> l/../../../out/secret"}, Path: "m", Want: Outside},
	{Name: "link with many dots", Files: files{"d/l": "-> ./.././../out/./secret"}, Path: "d/l", Want: Outside},
	// The write of a system that fell back to the lexical path where a link could not be resolved went out by it (FAULTS B25).
	{Name: "dangling link outside", Files: files{"l": "-> ../out/new"}, Path: "l", Want: Outside},
	{Name: "dangling absolute link outside", Files: files{"l": "-> /elsewhere/new"}, Path: "l", Want: Outside},
	{Name: "dangling link inside", Files: files{"l": "-> drafts/new"}, Path: "l", Want: Link},
	{Name: "below a dangling link", Files: files{"l": "-> nowhere"}, Path: "l/x", Want: Link},
	{Name: "link to a missing parent", Files: files{"l": "-> no/such/file"}, Path: "l", Want: Link},
	{Name: "link to itself", Files: files{"l": "-> l"}, Path: "l", Want: Link},
	{Name: "links in a circle", Files: files{"a": "-> b", "b": "-> a/x"}, Path: "a", Want: Link},
	{Name: "more links than a system follows", Files: chain(60), Path: "l0", Want: Link},
	{Name: "link through a file", Files: files{"l": "-> other/../../out/secret"}, Path: "l", Want: NotFound},
	{Name: "below a file", Path: "other/g", Want: NotFound},
	{Name: "below a file, by a link", Files: files{"l": "-> other"}, Path: "l/g", Want: NotFound},
	{Name: "hard link to a file outside", Files: files{"h": "=> %OUT/secret"}, Path: "h", Write: Link, Reads: true},
	{Name: "hard link to a file inside", Files: files{"f": Inside, "h": "=> %WS/f"}, Path: "h", Write: Link},
}

// chain is n links, each to the next, and the file at their end.
func chain(n int) files {
	fs := files{fmt.Sprint("l", n): Inside}
	for i := range n {
		fs[fmt.Sprint("l", i)] = fmt.Sprint("-> l", i+1)
	}
	return fs
}

var secrets = files{"secrets/a": Secret, "secrets/sub/b": Secret, "src/": ""}

// with adds to the files of secrets.
func with(more files) files {
	for name, text := range secrets {
		more[name] = text
	}
	return more
}

var denied = []Attack{
	{Name: "denied", Files: secrets, Path: "secrets/a", Want: Denied},
	{Name: "denied, ./", Files: secrets, Path: "./secrets/a", Want: Denied},
	{Name: "denied, absolute", Files: secrets, Path: "%WS/secrets/a", Want: Denied},
	{Name: "denied, absolute with ..", Files: secrets, Path: "%WS/src/../secrets/a", Want: Denied},
	{Name: "denied, absolute and around", Files: secrets, Path: "%WS/../ws/secrets/a", Want: Denied},
	{Name: "denied, through ..", Files: secrets, Path: "src/../secrets/a", Want: Denied},
	{Name: "denied, through .. of nothing", Files: secrets, Path: "no/../secrets/a", Want: Denied},
	{Name: "denied, there and back", Files: secrets, Path: "secrets/sub/../a", Want: Denied},
	{Name: "denied, a dot inside", Files: secrets, Path: "secrets/./a", Want: Denied},
	{Name: "denied, doubled and trailing slashes", Files: secrets, Path: "secrets//a/", Want: Denied},
	{Name: "denied, new", Files: secrets, Path: "secrets/new", Want: Denied},
	{Name: "denied directory", Files: secrets, Path: "secrets", Want: Denied},
	{Name: "denied directory, trailing slash", Files: secrets, Path: "secrets/", Want: Denied},
	{Name: "denied directory, trailing dot", Files: secrets, Path: "secrets/.", Want: Denied},
	{Name: "denied directory that is not there", Path: "secrets", Want: Denied},
	{Name: "denied by a link inside", Files: with(files{"l": "-> secrets/a"}), Path: "l", Want: Denied},
	{Name: "denied by a link with ..", Files: with(files{"l": "-> src/../secrets/a"}), Path: "l", Want: Denied},
	{Name: "denied by a directory link", Files: with(files{"l": "-> secrets"}), Path: "l/a", Want: Denied},
	{Name: "denied by a link to here", Files: with(files{"l": "-> ."}), Path: "l/l/l/secrets/a", Want: Denied},
	{Name: "denied by an absolute link inside", Files: with(files{"l": "-> %WS/secrets/a"}), Path: "l", Want: Denied},
	{Name: "denied on the way of a chain", Files: files{"f": Inside, "secrets/l": "-> ../f", "l": "-> secrets/l"}, Path: "l", Want: Denied},
	{Name: "denied as given", Files: files{"f": Inside, "k.pem": "-> f"}, Path: "k.pem", Want: Denied},
	{Name: "denied kind of file, deep", Files: files{"a/b/k.pem": Secret}, Path: "a/b/k.pem", Want: Denied},
	{Name: "denied kind of file, trailing slash", Files: files{"k.pem": Secret}, Path: "k.pem/", Want: Denied},
	{Name: "below a denied kind of file", Files: files{"k.pem/f": Secret}, Path: "k.pem/f", Want: Denied},
	{Name: "denied dotfile, deep", Files: files{"a/.env.local": Secret}, Path: "a/.env.local", Want: Denied},
	{Name: "denied with a trailing slash in the rule", Files: files{"private/a": Secret}, Path: "private/a", Want: Denied},
	{Name: "denied with a trailing slash in the rule, itself", Files: files{"private/a": Secret}, Path: "private", Want: Denied},
	{Name: "denied below what does not exist yet", Files: files{"deep/": "", "l": "-> deep"}, Path: "l/new/key", Want: Denied},
}

var otherRoots = []Attack{
	{Name: "another root's name", Files: files{"@spill/a": Inside}, Path: "./@spill/a", Want: BadPath},
	{Name: "another root's name by ..", Path: "drafts/../@docs/manual", Want: BadPath},
	{Name: "another root's name by a link", Files: files{"@spill/a": Inside, "l": "-> @spill/a"}, Path: "l", Want: BadPath},
	{Name: "out of the spill", Path: "@spill/../secret", Want: Outside},
	{Name: "another conversation's spill", Path: "@spill/../other/r2.txt", Want: Outside},
	{Name: "another conversation's spill, absolute", Path: "%BASE/spill/other/r2.txt", Want: Outside},
	{Name: "another conversation's spill, relative", Path: "../spill/other/r2.txt", Want: Outside},
	{Name: "a directory in the spill", Path: "@spill/sub/x", Want: NotFound},
	{Name: "another conversation's file in this spill", Path: "@spill/r2.txt", Change: ReadOnly},
	{Name: "the spill", Path: "@spill", Change: ReadOnly},
	{Name: "out of an extra root", Path: "@docs/../out/secret", Want: Outside},
	{Name: "out of an extra root, absolute", Path: "%BASE/docs/manual", Want: Outside},
	{Name: "denied in an extra root", Path: "@docs/k.pem", Want: Denied},
	{Name: "a file of an extra root", Path: "@docs/manual", Change: ReadOnly},
	{Name: "a new file of an extra root", Path: "@docs/new", Change: ReadOnly},
	{Name: "an unknown root", Path: "@nosuch/secret"},
	{Name: "a root without a name", Path: "@/secret"},
}

var unusable = []Attack{
	{Name: "empty", Path: "", Want: BadPath},
	{Name: "NUL", Path: "other\x00.txt", Want: BadPath},
	{Name: "NUL behind a parent", Path: "../out/secret\x00", Want: BadPath},
	{Name: "newline", Path: "f\n", Want: BadPath},
	{Name: "carriage return", Path: "a\rb", Want: BadPath},
	{Name: "tab", Path: "a\tb", Want: BadPath},
	{Name: "escape sequence", Path: "\x1b[2Kf", Want: BadPath},
	{Name: "delete", Path: "a\x7f", Want: BadPath},
	{Name: "C1 control", Path: "f\u0085", Want: BadPath},
	{Name: "not UTF-8", Path: "f\xff", Want: BadPath},
	{Name: "dots in overlong UTF-8", Path: "\xc0\xae\xc0\xae/out/secret", Want: BadPath},
	{Name: "a surrogate", Path: "\xed\xa0\x80", Want: BadPath},
	{Name: "long path", Path: strings.Repeat("a/", 2049), Want: BadPath},
	{Name: "long path of dots", Path: strings.Repeat("./", 2049) + "other", Want: BadPath},
	{Name: "long component", Path: strings.Repeat("a", 300), Want: BadPath},
	{Name: "long component of few letters", Path: strings.Repeat("🂡", 64), Want: BadPath},
}

var special_ = []Attack{
	{Name: "FIFO", Files: files{"s": "|"}, Path: "s", Want: NotRegular},
	{Name: "FIFO by a link", Files: files{"s": "|", "l": "-> s"}, Path: "l", Want: NotRegular},
	{Name: "below a FIFO", Files: files{"s": "|"}, Path: "s/f", Want: NotRegular},
	{Name: "socket", Files: files{"s": "socket"}, Path: "s", Want: NotRegular},
	{Name: "device", Files: files{"s": "device"}, Path: "s", Want: NotRegular},
	{Name: "device, trailing slash", Files: files{"s": "device"}, Path: "s/", Want: NotRegular},
}

// settings is what configures the run: it is read, not changed.
var settings = []Attack{
	{Name: "the task", Path: "task.yaml", Change: ReadOnly},
	{Name: "the task, absolute", Path: "%WS/task.yaml", Change: ReadOnly},
	{Name: "the task, through ..", Path: "drafts/../task.yaml", Change: ReadOnly},
	{Name: "the task, trailing slash", Path: "task.yaml/", Change: ReadOnly},
	{Name: "the task, by a link", Files: files{"l": "-> task.yaml"}, Path: "l", Change: ReadOnly},
	{Name: "the task, by a hard link", Files: files{"h": "=> %WS/task.yaml"}, Path: "h", Write: Link},
	{Name: "below the task", Path: "task.yaml/x", Want: NotFound},
	{Name: "the policies", Path: "policy", Change: ReadOnly},
	{Name: "a new policy", Path: "policy/a.yaml", Change: ReadOnly},
	{Name: "a new policy, by a link", Files: files{"l": "-> policy"}, Path: "l/new.yaml", Change: ReadOnly},
	{Name: "a hook", Path: "hooks/pre.sh", Change: ReadOnly},
	{Name: "the workspace", Path: ".", Change: ReadOnly},
	{Name: "the workspace, absolute", Path: "%WS", Change: ReadOnly},
	{Name: "the workspace, slashes and dots", Path: ".//././", Change: ReadOnly},
}

// plain is names like any other here, whatever a shell, a browser or another system makes of them.
var plain = []Attack{
	{Name: "a variable", Files: secrets, Path: "$PWD/secrets/a"},
	{Name: "a variable in braces", Path: "${HOME}/x"},
	{Name: "a command", Path: "$(id)"},
	{Name: "a home", Path: "~/x"},
	{Name: "a user's home", Path: "~root/.ssh/id"},
	{Name: "a pattern", Files: secrets, Path: "secret?/*"},
	{Name: "an option", Path: "-rf"},
	{Name: "a file URL", Path: "file:///etc/passwd"},
	{Name: "an escaped parent", Path: "%2e%2e/out/secret"},
	{Name: "an escaped slash", Path: "..%2fout%2fsecret"},
	{Name: "a parent with backslashes", Path: `..\out\secret`},
	{Name: "a denied file with a backslash", Files: secrets, Path: `secrets\a`},
	{Name: "a drive", Path: `C:\out\secret`},
	{Name: "a drive with slashes", Path: "C:/out/secret"},
	{Name: "a server with backslashes", Path: `\\server\share\secret`},
	{Name: "a device path", Path: `\\?\C:\secret`},
	{Name: "a stream", Files: secrets, Path: "secrets::$DATA/a"},
	{Name: "a stream of a file", Path: "task.yaml:x"},
	{Name: "a short name", Files: secrets, Path: "SECRET~1/a"},
	{Name: "a device's name", Path: "CON"},
	{Name: "a trailing dot", Files: secrets, Path: "secrets./a"},
	{Name: "a trailing space", Files: secrets, Path: "secrets /a"},
	{Name: "a leading space", Path: " ../out/secret"},
	{Name: "three dots", Path: ".../out/secret"},
	{Name: "full-width dots", Path: "．．/out/secret"},
	{Name: "a slash that is none", Path: "..∕out∕secret"},
	{Name: "an invisible letter", Files: secrets, Path: "secrets\u200b/a"},
	{Name: "a reversed name", Path: "\u202etxt.a"},
	{Name: "a long name of many bytes", Path: strings.Repeat("ü", 127)},
}
