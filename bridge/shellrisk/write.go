package shellrisk

import (
	"regexp"
	"slices"
	"strings"
)

// write notes a file that is written, moved or deleted, and judges where it stands.
func (r *reader) write(by string, w word) {
	if w.kind == open {
		r.raise(unparsed, "%s writes a file known only when the line runs", by)
	} else if w.kind == pattern {
		r.raise(high, "%s writes what matches %s", by, w.text)
	}
	text := w.text
	switch p := clean(strings.ToLower(text)); {
	case harmlessDevice.MatchString(p):
		return
	case rawDevice.MatchString(p):
		r.raise(blocked, "%s writes to the device %s", by, text)
	case systemPath.MatchString(p):
		r.raise(high, "%s writes to the system, %s", by, text)
	case runsLater.MatchString(p):
		r.raise(high, "%s writes %s, which other programs run or trust", by, text)
	case strings.HasPrefix(p, "~"), strings.HasPrefix(p, "$home"):
		r.raise(high, "%s writes to a home directory, %s", by, text)
	default:
		r.raise(medium, "%s writes %s", by, text)
	}
	if w.kind != open {
		r.seen.Writes = append(r.seen.Writes, strings.ReplaceAll(text, "\x00", "$"))
	}
}

var (
	harmlessDevice = regexp.MustCompile(`^/dev/(?:null|zero|full|stdin|stdout|stderr|tty|fd/\d+)$`)
	rawDevice      = regexp.MustCompile(`^(?:/dev/(?:r?disk|sd|hd|vd|xvd|nvme|mmcblk|mapper|dm-|md|loop|ram|mem|kmem|port|mtd|nbd|zd|pmem|sr\d|block/)|/proc/sysrq-trigger|/sys/firmware/efi)`)
	systemPath     = regexp.MustCompile(`^/(?:dev|proc|sys|etc|bin|sbin|usr|lib\d*|boot|root|system|library|var/spool|var/lib|run|opt)(?:/|$)`)
)

// runsLater are files that a shell, an editor, git, a build or a scheduler runs or trusts without being told.
var runsLater = regexp.MustCompile(`(?:^|/)(?:\.ssh|authorized_keys\d?|\.(?:bash|zsh|ksh|csh|tcsh)\w*|\.profile|\.z?login|\.z?logout|\.inputrc|\.envrc|\.env|` +
	`\.(?:netrc|npmrc|yarnrc(?:\.yml)?|pypirc|gemrc|vimrc|exrc|nvimrc|emacs|emacs\.d|gdbinit|screenrc|tmux\.conf|curlrc|wgetrc|gitconfig|gitmodules|gitattributes|mailrc|pam_environment|xinitrc|xprofile|pythonrc|rprofile)|` +
	`\.git/(?:hooks|config|info|modules)|\.git|\.husky|\.pre-commit-config\.yaml|\.github|\.gitlab-ci\.yml|\.circleci|jenkinsfile|\.travis\.yml|\.vscode|\.idea|\.devcontainer|\.claude|\.cursor|\.mcp\.json|` +
	`\.config|\.local|\.gnupg|\.aws|\.kube|\.docker|\.cargo|\.m2|\.gradle|crontabs?|cron\.\w+|sudoers(?:\.d)?|ld\.so\.preload|launchagents|launchdaemons|autostart|sitecustomize\.py|conftest\.py)(?:/|$)`)

// secretPath are files that hold credentials.
var secretPath = regexp.MustCompile(`(?:^|/)(?:\.ssh|\.gnupg|\.aws|\.azure|\.kube|\.netrc|\.npmrc|\.pypirc|\.pgpass|\.my\.cnf|\.git-credentials|\.docker/config\.json|\.env(?:\.[\w-]+)?|id_(?:rsa|dsa|ecdsa|ed25519)|shadow|gshadow|sudoers|credentials|\.config/gcloud|\.vault-token)(?:/|$)|^/proc/[^/]+/(?:environ|mem)|\.(?:pem|key|p12|pfx|kdbx)$`)

// operand judges a file that is only named.
func (r *reader) operand(w word) {
	if secretPath.MatchString(strings.ToLower(w.text)) {
		r.raise(high, "names a file of credentials, %s", w.text)
	}
}

// openOperands takes low from a command whose operands are not all in the line: which files it opens cannot be told.
func (r *reader) openOperands(c command) {
	for _, a := range c.args() {
		if a.kind != plain {
			r.raise(medium, "%s has an operand known only when the line runs", c.name)
		}
	}
	if c.from != nil && c.from.kind != plain {
		r.raise(medium, "%s reads a file known only when the line runs", c.name)
	}
}

// A writer is a program that writes its operands.
type writer struct {
	takes
	skip int    // operands that are no files
	last bool   // only the last operand is written, or the value of -t
	out  string // options whose value is written
}

var writers = map[string]writer{
	"tee":      {takes: takes{long: "--output-error"}},
	"touch":    {takes: takes{"drt", "--date --reference --time"}},
	"mkdir":    {takes: takes{"m", "--mode"}},
	"mkfifo":   {takes: takes{"m", "--mode"}},
	"mktemp":   {takes: takes{"p", "--tmpdir --suffix"}},
	"truncate": {takes: takes{"sr", "--size --reference"}},
	"cp":       {takes: takes{"tS", "--target-directory --suffix"}, last: true, out: "-t --target-directory"},
	"install":  {takes: takes{"tSmgo", "--target-directory --suffix --mode --owner --group"}, last: true, out: "-t --target-directory"},
	"ln":       {takes: takes{"tS", "--target-directory --suffix"}, last: true, out: "-t --target-directory"},
	"mv":       {takes: takes{"tS", "--target-directory --suffix"}, out: "-t --target-directory"}, // what is moved is gone
	"rsync":    {takes: takes{"ef", "--rsh --rsync-path --exclude --include"}, last: true},
	"chmod":    {takes: takes{long: "--reference"}, skip: 1},
	"chown":    {takes: takes{long: "--reference --from"}, skip: 1},
	"chgrp":    {takes: takes{long: "--reference"}, skip: 1},
	"setfacl":  {takes: takes{"mxMX", "--modify --remove"}},
	"chattr":   {skip: 1},
	"gzip":     {takes: takes{"S", "--suffix"}},
	"gunzip":   {takes: takes{"S", "--suffix"}},
	"bzip2":    {}, "bunzip2": {}, "xz": {takes: takes{"TCFSM", ""}}, "unxz": {}, "zstd": {takes: takes{"oTD", ""}, out: "-o"},
	"patch": {takes: takes{"idoprBDFgVYz", "--input --directory --output --reject-file"}, out: "-o --output -r --reject-file"},
	"split": {takes: takes{"abClnt", "--filter --bytes --lines --number"}, skip: 1},
	"sort":  {takes: takes{"oktST", "--output --key --field-separator --buffer-size --temporary-directory --compress-program --files0-from --parallel --batch-size --random-source"}, skip: 1 << 20, out: "-o --output"},
	"curl":  {takes: takes{"AbcCdDeEFhHKmoPQrTuUwxXyYz", "--output --data --header --request --cookie-jar --dump-header --config --user --url --upload-file --form --user-agent --max-time --data-raw --data-binary --json"}, skip: 1 << 20, out: "-o --output -c --cookie-jar -D --dump-header"},
	"wget":  {takes: takes{"OoaPeiUtTwQADRIXlBp", "--output-document --output-file --directory-prefix --execute --post-data --post-file --header --user-agent"}, skip: 1 << 20, out: "-O --output-document -o --output-file -a -P --directory-prefix"},
	"gcc":   {takes: takes{"oILlDxU", ""}, skip: 1 << 20, out: "-o"},
	"cc":    {takes: takes{"oILlDxU", ""}, skip: 1 << 20, out: "-o"},
	"tar":   {takes: takes{"fCTXbgIFHKNV", "--file --directory --files-from --exclude --use-compress-program --to-command --checkpoint-action --rsh-command --info-script --new-volume-script"}, skip: 1 << 20, out: "-C --directory"},
	"unzip": {takes: takes{"dxP", ""}, skip: 1 << 20, out: "-d"},
	"zip":   {takes: takes{"bitnxPTO", "--unzip-command"}, skip: 1 << 20, out: "-b -O"},
	"uniq":  {takes: takes{"fsw", "--skip-fields --skip-chars --check-chars"}, skip: 1},
}

// writes notes the files that a known writer writes, and returns its options and operands.
func (r *reader) writes(c command) ([]option, []word) {
	w := writers[c.name]
	opts, rest := w.split(c.args(), false)
	for _, o := range opts {
		if o.value != nil && o.value.text != "-" && slices.Contains(strings.Fields(w.out), o.name) {
			r.write(c.name, *o.value)
		}
	}
	files := rest[min(w.skip, len(rest)):]
	if w.last {
		if _, ok := value(opts, strings.Fields(w.out)...); ok || len(files) == 0 {
			return opts, rest
		}
		files = files[len(files)-1:]
	}
	for _, f := range files {
		r.write(c.name, f)
	}
	return opts, rest
}
