package shellrisk

import (
	"path"
	"slices"
	"strings"
)

var (
	// network are programs that talk to the network whenever they do what they are for.
	network = set("curl wget nc ncat netcat socat telnet ftp tftp lftp sftp scp rsync aria2c axel http https xh httpie nmap ping ping6 traceroute dig host nslookup " +
		"whois openssl gh hub glab aws gcloud az kubectl helm terraform pulumi doctl heroku fly vercel netlify npx bunx pnpx dlx uvx pipx pip pip3 uv poetry conda mamba npm " +
		"yarn pnpm bun deno gem bundle cargo go apt apt-get aptitude dnf yum zypper pacman apk brew snap flatpak docker podman nerdctl ollama rclone restic mail mailx sendmail mutt msmtp " +
		"ssh-copy-id mosh rsh rlogin svn hg twine")
	// fetchers are those that bring in what somebody else wrote.
	fetchers = set("curl wget nc ncat netcat socat ftp tftp lftp sftp scp aria2c axel http https xh httpie dig rclone telnet")
	// grave change a system, its accounts or its schedule, act on machines elsewhere, or run what they download.
	grave = set("nc ncat netcat socat telnet ftp tftp lftp sftp scp rsync rclone crontab at batch useradd userdel usermod groupadd adduser deluser passwd chpasswd chsh visudo vipw " +
		"mount umount losetup swapoff swapon insmod modprobe rmmod sysctl iptables ip6tables nft ufw firewall-cmd ip ifconfig route service launchctl systemd-run docker podman nerdctl kubectl " +
		"helm terraform pulumi aws gcloud az npx bunx pnpx dlx uvx pipx apt apt-get aptitude dnf yum zypper pacman apk brew snap flatpak dpkg rpm update-alternatives setcap " +
		"ssh-copy-id ssh-keygen ssh-add gpg mail mailx sendmail mutt msmtp twine ltrace ptrace bpftrace perf capsh bwrap firejail rsh rlogin mosh start-stop-daemon " +
		"enable hash")
	// runners are options whose value is a command, by program.
	runners = map[string]string{
		"tar": "--to-command --checkpoint-action --use-compress-program -I --rsh-command --info-script --new-volume-script -F", "sort": "--compress-program",
		"rsync": "-e --rsh --rsync-path", "split": "--filter", "zip": "--unzip-command -T",
	}
)

// tool judges programs that do more than one thing.
func (r *reader) tool(c command) bool {
	if network[c.name] {
		r.seen.Network = true
		r.raise(medium, "%s uses the network", c.name)
		r.fetched = r.fetched || fetchers[c.name]
	}
	if grave[c.name] {
		r.raise(high, "%s changes the system, or acts on another", c.name)
	}
	switch c.name {
	case "git":
		r.git(c)
	case "find":
		r.find(c)
	case "cd", "pushd", "popd", "chdir":
		r.moved = true
		if c.name != "cd" || len(c.args()) > 1 {
			r.raise(medium, "%s changes the directory", c.name)
		}
		r.openOperands(c)
	case "make", "gmake", "ninja", "just", "task", "rake", "cmake", "bazel", "gradle", "mvn":
		r.build(c)
	case "npm", "yarn", "pnpm", "bun", "cargo", "go", "pip", "pip3", "uv", "gem", "deno":
		r.packages(c)
	case "curl", "wget":
		r.download(c)
	case "sort", "uniq":
		opts, _ := r.writes(c)
		r.runsValue(c, opts)
		return false // if it does no more than that it reads
	default:
		return r.writer(c) || network[c.name] || grave[c.name]
	}
	return true
}

func (r *reader) writer(c command) bool {
	if _, ok := writers[c.name]; !ok {
		return false
	}
	r.raise(medium, "%s writes files", c.name)
	opts, rest := r.writes(c)
	r.runsValue(c, opts)
	if file, ok := value(opts, "-f", "--file"); c.name == "tar" && ok && len(opts) > 0 && !has(opts, "-x", "-t", "--extract", "--list", "--get") {
		r.write(c.name, file)
	}
	if c.name == "zip" && len(rest) > 0 {
		r.write(c.name, rest[0])
	}
	return true
}

// runsValue judges options whose value is a command. Long options may be cut short.
func (r *reader) runsValue(c command, opts []option) {
	for _, o := range opts {
		for name := range strings.FieldsSeq(runners[c.name]) {
			if o.name != name && !(len(o.name) > 4 && strings.HasPrefix(name, o.name)) {
				continue
			}
			r.raise(high, "%s %s runs a command", c.name, o.name)
			if o.value != nil {
				text := strings.TrimPrefix(o.value.text, "exec=")
				r.runText(c.name, word{text, text, o.value.kind})
			}
		}
	}
}

// reading are the predicates of find that only look; their values do no harm, so they need not be told apart.
var reading = set("-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size -empty -mtime -mmin -atime -amin -ctime -cmin -newer -anewer " +
	"-cnewer -perm -user -group -uid -gid -links -inum -samefile -readable -writable -executable -maxdepth -mindepth -depth -mount -xdev -prune -quit -print -print0 -printf -ls " +
	"-a -o -and -or -not -true -false -follow -L -H -P -daystart -noleaf -E")

func (r *reader) find(c command) {
	args := c.args()
	var from []word
	started := false // the expression, behind the places to begin at
	for i := 0; i < len(args); i++ {
		a := args[i]
		if started = started || strings.HasPrefix(a.text, "-") && !slices.Contains([]string{"-H", "-L", "-P"}, a.text) || a.text == "(" || a.text == "!"; !started {
			from = append(from, a)
		}
		switch {
		case slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, a.text):
			end := i + 1
			for end < len(args) && args[end].text != ";" && !(args[end].text == "+" && args[end-1].text == "{}") {
				end++
			}
			r.raise(medium, "find runs a command")
			inner := replaced(args[i+1:end], "{}")
			r.command(command{words: inner})
			r.findsAll(from, len(inner) > 0 && slices.Contains([]string{"rm", "shred", "unlink", "chmod", "chown", "mv"}, path.Base(inner[0].text)))
			i = end
		case a.text == "-delete":
			r.raise(high, "find deletes what it finds")
			r.findsAll(from, true)
		case strings.HasPrefix(a.text, "-fprint") || a.text == "-fls":
			if i+1 < len(args) {
				r.write(c.name, args[i+1])
			}
			r.raise(medium, "find writes a file")
		case strings.HasPrefix(a.text, "-") && a.kind == plain:
			if !reading[a.text] && strings.Trim(a.text, "-+0123456789ckMGwbrxugoa=/,") != "" {
				r.raise(medium, "find with %s", a.text)
			}
		case a.kind != plain:
			r.raise(medium, "find has an operand known only when the line runs")
		}
	}
}

// findsAll blocks a deletion that starts at the top of a machine or home.
func (r *reader) findsAll(from []word, deletes bool) {
	for _, w := range from {
		if deletes && wholesale(w) && w.text != "." && w.text != "./" && w.text != "*" {
			r.raise(blocked, "find deletes below %s", strings.ReplaceAll(w.text, "\x00", "$"))
		}
	}
}

// build judges programs that run what a file in the workspace says.
func (r *reader) build(c command) {
	r.raise(medium, "%s runs what its files say", c.name)
	opts, rest := takes{"fCjIo", "--file --makefile --directory --eval"}.split(c.args(), false)
	if file, ok := value(opts, "-f", "--file", "--makefile"); ok {
		r.runScript(c.name, file)
	}
	if _, ok := value(opts, "-C", "--directory"); ok {
		r.moved = true
	}
	if has(opts, "--eval", "-E") {
		r.raise(high, "%s evaluates an argument", c.name)
	}
	for _, w := range rest {
		if name, _, ok := strings.Cut(w.text, "="); ok {
			r.set(w.text)
			if steersPrograms(name) || strings.HasPrefix(name, "SHELL") || strings.HasPrefix(name, ".SHELL") {
				r.raise(high, "%s runs what %s says", c.name, name)
			}
		}
	}
}

// outward are the subcommands of package managers that publish, or run what they download or what an argument names.
var outward = set("publish unpublish login logout token owner yank exec x dlx create init generate eval link config env")

// packages judges package managers and the tools of a language: medium while they build and test.
func (r *reader) packages(c command) {
	r.raise(medium, "%s runs what its files say", c.name)
	_, rest := takes{short: "C", long: "--prefix --dir"}.split(c.args(), false)
	if len(rest) > 0 && outward[rest[0].text] {
		r.raise(high, "%s %s", c.name, rest[0].text)
	}
	for i, a := range c.args() {
		switch name, _, _ := strings.Cut(a.text, "="); name {
		case "-g", "--global", "-exec", "-toolexec", "-vettool", "-overlay", "--config", "-A", "--allow-all", "--script-shell", "--node-options":
			r.raise(high, "%s %s may run what it names", c.name, name)
		case "-o", "--output":
			if i+1 < len(c.args()) {
				r.write(c.name, c.args()[i+1])
			}
		}
	}
}

// sending are options by which a downloader sends more than a request.
var sending = set("-d -F -T -X -K --data --data-raw --data-binary --data-urlencode --data-ascii --json --form --form-string --upload-file --request --config --url-query -u --user " +
	"--post-data --post-file --body-data --body-file --method --execute -e --use-askpass --proxy -x --preproxy --socks5 --resolve --unix-socket --input-file -i")

func (r *reader) download(c command) {
	opts, rest := r.writes(c)
	for _, o := range opts {
		if sending[o.name] && !(c.name == "curl" && (o.name == "-i" || o.name == "-e")) {
			r.raise(high, "%s %s sends data, or is told what to do by a file", c.name, o.name)
		}
	}
	named := c.name == "curl" && has(opts, "-O", "--remote-name") || c.name == "wget" && !has(opts, "-O", "--output-document", "--spider")
	for _, w := range rest {
		if name := path.Base(clean(w.text)); named && strings.Contains(w.text, "/") && w.kind == plain {
			r.write(c.name, literal(name)) // the file is named as the address ends
		} else if w.kind == open {
			r.raise(high, "%s asks an address known only when the line runs", c.name)
		}
	}
}
