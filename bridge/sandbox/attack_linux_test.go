package sandbox_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/bridge/sandbox"
)

// confining are the kinds that hold.
var confining = []string{sandbox.Bwrap, sandbox.Landlock}

// scripts try to get the secret, or to change what is not writable. None may print it. After each the world is as it was.
var scripts = []struct{ name, script string }{
	{"read a key", `cat $OUT/.ssh/planted`},
	{"read a key through the root of a process", `for p in 1 self $PPID; do cat /proc/$p/root$OUT/.ssh/planted; done`},
	{"read a key through a link", `ln -s $OUT drafts/home && cat drafts/home/.ssh/planted`},
	{"read a key through a hard link", `ln $OUT/.ssh/planted drafts/key && cat drafts/key`},
	{"read a key through a bind", `mkdir -p /tmp/m && mount --bind $OUT /tmp/m && cat /tmp/m/.ssh/planted`},
	{"read the environments", `cat /proc/*/environ /proc/*/task/*/environ; env; set`},
	{"read the arguments", `cat /proc/*/cmdline`},
	{"read shadow", `cat /etc/shadow | sed "s/^/` + secret + `/"`},
	{"write a key", `echo x >> $OUT/.ssh/planted`},
	{"write beside it", `echo x > $OUT/new`},
	{"empty a key", `: > $OUT/.ssh/planted; truncate -s 0 $OUT/.ssh/planted`},
	{"write a source", `echo x > src/main.go`},
	{"add a source", `echo x > src/new.go; echo x > new.go; mkdir new`},
	{"delete a source", `rm -rf src; mv src drafts/`},
	{"write a git hook", `printf '#!/bin/sh\n' > .git/hooks/pre-commit; chmod +x .git/hooks/sample; echo x > .git/config`},
	{"write through a link", `ln -s ../src drafts/s; ln -s $OUT drafts/o; echo x > drafts/s/main.go; echo x > drafts/o/new; echo x > drafts/o/.ssh/planted`},
	{"write through a hard link", `ln src/main.go drafts/h && echo x > drafts/h`},
	{"write through descriptors", `exec 3< src/main.go; echo x > /proc/self/fd/3; exec 4< .; echo x > /dev/fd/4/new.go`},
	{"swap the writable directory", `mv drafts d2; rm -rf drafts; ln -s $OUT drafts; echo x > drafts/new`},
	{"change modes", `chmod 777 $OUT $OUT/.ssh/planted src/main.go src; chmod u+s src/main.go`},
	{"change times", `touch -d 2001-01-01 $OUT/.ssh/planted src/main.go`},
	{"set attributes", `chown 12345 src/main.go $OUT/.ssh/planted; setfattr -n user.x -v y src/main.go $OUT/.ssh/planted`},
	{"remount", `mount -o remount,rw,bind $WS; umount $WS; umount -l /tmp; echo x > src/main.go`},
	{"a device of its own", `mknod /tmp/d b 254 0; mknod drafts/d c 1 3; head -c 64 /dev/mem /dev/kmsg /dev/vda`},
	{"change the kernel", `echo x > /proc/sys/kernel/core_pattern; echo x > /proc/sysrq-trigger; echo 1 > /proc/sys/kernel/hostname; echo x > /sys/kernel/mm/ksm/run`},
	{"unmask by namespaces", `unshare -Urm sh -c "umount -l $WS; cat $OUT/.ssh/planted"; nsenter -t 1 -m cat $OUT/.ssh/planted`},
	{"replace the system", `echo x > /usr/bin/codeact-attack; echo x > /etc/codeact-attack; echo x > /codeact-attack; touch /run/codeact/stage`},
}

// snapshot is everything of the world that no command may change.
func (w *world) snapshot(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	err := filepath.Walk(w.base, func(path string, info os.FileInfo, err error) error {
		if err != nil || path == w.path("ws/drafts") {
			if info != nil && info.IsDir() && err == nil {
				fmt.Fprintln(&b, path, info.Mode())
				return filepath.SkipDir
			}
			return err
		}
		content := ""
		if info.Mode().IsRegular() {
			content = w.read(t, strings.TrimPrefix(path, w.base))
		}
		modified := ""
		if !info.IsDir() {
			modified = info.ModTime().String()
		}
		fmt.Fprintln(&b, path, info.Mode(), modified, content)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestNoScriptGetsOutOrChangesWhatItMayNot(t *testing.T) {
	t.Setenv("PLANTED", secret)
	for _, kind := range confining {
		w := newWorld(t)
		box := w.open(t, sandbox.Config{Kind: kind})
		for _, s := range scripts {
			t.Run(kind+"/"+s.name, func(t *testing.T) {
				before := w.snapshot(t)
				r := w.sh(t, box, s.script)
				if strings.Contains(string(r.Stdout.Whole)+string(r.Stderr.Whole), secret) {
					t.Errorf("it was printed:\n%s%s", r.Stdout.Text, r.Stderr.Text)
				}
				if after := w.snapshot(t); after != before {
					t.Errorf("before\n%s\nafter\n%s", before, after)
				}
				for _, path := range []string{"/usr/bin/codeact-attack", "/etc/codeact-attack", "/codeact-attack"} {
					if os.Remove(path) == nil {
						t.Errorf("%s was written", path)
					}
				}
			})
		}
	}
}

func TestTheScriptsAreAttacks(t *testing.T) { // without a box, so that a script with a typing error is seen
	t.Setenv("PLANTED", secret)
	w := newWorld(t)
	box := w.open(t, sandbox.Config{Kind: sandbox.None, Env: []string{"PLANTED=" + secret}})
	for _, name := range []string{"read a key", "read a key through a link", "read a key through a hard link", "read the environments",
		"write a key", "write a source", "write a git hook", "write through a link", "write through a hard link", "change modes", "change times"} {
		for _, s := range scripts {
			if s.name != name {
				continue
			}
			before := w.snapshot(t)
			r := w.sh(t, box, s.script+"\nrm -rf drafts/*")
			if !strings.Contains(string(r.Stdout.Whole), secret) && w.snapshot(t) == before {
				t.Errorf("%s does nothing, even without a box: %s", name, r.Stderr.Text)
			}
		}
	}
}

func TestACommandWorksInItsBox(t *testing.T) {
	for _, kind := range append([]string{sandbox.None}, confining...) {
		w := newWorld(t)
		box := w.open(t, sandbox.Config{Kind: kind, Env: []string{"GREETING=hello"}})
		r, err := box.Run(t.Context(), sandbox.Command{Stdin: []byte("from stdin\n"), Dir: w.path("ws/src"), Argv: []string{"sh", "-c",
			`cat; cat main.go; pwd; echo $GREETING $TERM; echo made > ../drafts/new; mkdir ../drafts/d && mv ../drafts/new ../drafts/d/
			 echo t > $TMPDIR/t && cat $HOME/t; echo gone > /dev/null; head -c 4 /dev/urandom | wc -c; sort < /dev/null; echo problem >&2; exit 42`}})
		want := "from stdin\npackage main" + w.path("ws/src") + "\nhello dumb\nt\n4\n"
		if err != nil || r.ExitCode != 42 || r.Signal != "" || string(r.Stdout.Text) != want || string(r.Stderr.Text) != "problem\n" {
			t.Errorf("%s: %d %q %q, %v", kind, r.ExitCode, r.Stdout.Text, r.Stderr.Text, err)
		}
		if got := w.read(t, "ws/drafts/d/new"); got != "made\n" {
			t.Errorf("%s: wrote %q", kind, got)
		}
	}
}

// Each of these is this program as the attacker.
func TestNoProgramGetsOut(t *testing.T) {
	tcp4, tcp6, abstract := listen(t, "tcp4", "127.0.0.1:0"), listen(t, "tcp6", "[::1]:0"), listen(t, "unix", "@"+filepath.Base(t.TempDir())+strconv.Itoa(os.Getpid()))
	for _, kind := range confining {
		w := newWorld(t)
		box := w.open(t, sandbox.Config{Kind: kind})
		path, in, drafts := listen(t, "unix", w.path("home/sock")), listen(t, "unix", w.path("ws/src/sock")), listen(t, "unix", w.path("ws/drafts/sock"))
		for _, attack := range [][]string{
			{"connect", "tcp4", tcp4}, {"connect", "tcp6", tcp6}, {"connect", "unix", abstract}, {"connect", "unix", path},
			{"connect", "unix", in}, {"connect", "unix", drafts}, {"datagram", listenDatagrams(t, w.path("ws/drafts/log"))},
			{"raw"}, {"ptrace"}, {"limits"}, {"namespaces"}, {"terminal"}, {"fds"},
			{"signal", strconv.Itoa(os.Getpid() + 1<<22)}, // the host's, seen below; here: a process that is not there
		} {
			r := run(t, box, append([]string{w.program(kind), attackMarker}, attack...)...)
			if r.ExitCode != exitRefused || !strings.Contains(string(r.Stdout.Text), refused) {
				t.Errorf("%s %s: exit %d: %s%s", kind, attack, r.ExitCode, r.Stdout.Text, r.Stderr.Text)
			}
		}
	}
	w := newWorld(t)
	box := w.open(t, sandbox.Config{Kind: sandbox.None})
	for _, attack := range [][]string{{"connect", "tcp4", tcp4}, {"connect", "tcp6", tcp6}, {"connect", "unix", abstract},
		{"connect", "unix", listen(t, "unix", w.path("ws/src/sock"))}, {"datagram", listenDatagrams(t, w.path("ws/drafts/log"))}} {
		if r := run(t, box, append([]string{w.self, attackMarker}, attack...)...); r.ExitCode != 0 {
			t.Errorf("%s does nothing, even without a box: %s", attack, r.Stdout.Text)
		}
	}
}

func listen(t *testing.T, network, address string) string {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

func listenDatagrams(t *testing.T, path string) string {
	t.Helper()
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return path
}

// Without sockets of files, what people work with works: it talks by pairs and pipes.
func TestProgramsWorkWithoutUnixSockets(t *testing.T) {
	t.Setenv("HOME", "/nonexistent")
	for _, kind := range confining {
		w := newWorld(t)
		box := w.open(t, sandbox.Config{Kind: kind})
		for name, script := range map[string]string{
			"a shell":     `x=$(echo a | { read y; echo $y; }) && [ $x = a ] && { sleep 0 & wait $!; }`,
			"sort":        `printf 'b\na\n' | sort | head -1 | grep -q a`,
			"a perl pair": `perl -MSocket -e 'socketpair(A, B, AF_UNIX, SOCK_STREAM, 0) or die $!; syswrite A, "x"; sysread B, $x, 1; exit($x ne "x")'`,
			"names":       `getent passwd root && ls -l src`,
		} {
			if r := w.sh(t, box, script); r.ExitCode != 0 {
				t.Errorf("%s: %s: exit %d: %s%s", kind, name, r.ExitCode, r.Stdout.Text, r.Stderr.Text)
			}
		}
	}
}

func TestForeignCallsKill(t *testing.T) {
	for _, kind := range confining {
		w := newWorld(t)
		r := run(t, w.open(t, sandbox.Config{Kind: kind}), w.program(kind), attackMarker, "foreign")
		if r.Signal != "SIGSYS" && r.ExitCode != exitRefused {
			t.Errorf("%s: %d %s %s", kind, r.ExitCode, r.Signal, r.Stdout.Text)
		}
	}
}

// Without a pid namespace of its own, a command sees the numbers of the host's processes.
func TestTheHostCannotBeSignalled(t *testing.T) {
	for _, kind := range confining {
		w := newWorld(t)
		r := w.sh(t, w.open(t, sandbox.Config{Kind: kind}), fmt.Sprintf("kill -0 %d && echo reached; kill -9 -1; echo on", os.Getpid()))
		if strings.Contains(string(r.Stdout.Text), "reached") {
			t.Errorf("%s: %s", kind, r.Stdout.Text)
		}
	}
}

func TestLimitsHold(t *testing.T) {
	limits := sandbox.Limits{Memory: 768 << 20, FileSize: 1 << 20, Processes: 64, Tmp: 1 << 20, Files: 64}
	for _, kind := range confining {
		w := newWorld(t)
		box := w.open(t, sandbox.Config{Kind: kind, Limits: limits})
		if r := run(t, box, "perl", "-e", "$x = 'a' x (1 << 30); print length $x"); r.ExitCode == 0 || r.Stdout.Total != 0 {
			t.Errorf("%s: 1 GiB was to be had", kind)
		}
		if r := run(t, box, "perl", "-e", "$x = 'a' x (64 << 20); print length $x"); r.ExitCode != 0 {
			t.Errorf("%s: 64 MiB were not to be had: %s", kind, r.Stderr.Text)
		}
		w.sh(t, box, "head -c 5000000 /dev/zero > drafts/big")
		if info, err := os.Stat(w.path("ws/drafts/big")); err != nil || info.Size() != 1<<20 {
			t.Errorf("%s: %v, %v", kind, info, err)
		}
		if r := w.sh(t, box, "for i in 1 2 3 4 5 6 7; do head -c 500000 /dev/zero > $TMPDIR/$i || exit 9; done"); kind == sandbox.Bwrap && r.ExitCode != 9 {
			t.Errorf("%s: /tmp has no end: %d", kind, r.ExitCode)
		}
		const reserved, slack = 300, 8 // see pid_max in child_linux.go; the threads of the attacker itself
		r := run(t, box, w.program(kind), attackMarker, "forks")
		n, err := strconv.Atoi(strings.TrimSpace(strings.Split(string(r.Stdout.Text), "\n")[0]))
		if err != nil || r.ExitCode != exitRefused || n > limits.Processes+reserved || os.Geteuid() != 0 && n > limits.Processes+slack {
			t.Errorf("%s: %d processes, exit %d, %v: %s", kind, n, r.ExitCode, err, r.Stderr.Text)
		}
	}
}

// All memory of a box that is a file system has a limit.
func TestABoxsOwnDirectoriesAreReadOnly(t *testing.T) {
	w := newWorld(t)
	r := w.sh(t, w.open(t, sandbox.Config{Kind: sandbox.Bwrap}), "for d in / /etc /run /run/codeact /var /dev /usr; do touch $d/x && echo $d; done; df -k --output=size,target /dev/shm /var/tmp /tmp")
	want := "524288 /dev/shm 524288 /var/tmp 524288 /tmp"
	if got := strings.Join(strings.Fields(string(r.Stdout.Text)), " "); !strings.HasSuffix(got, want) || strings.Contains(got, "/ ") || !strings.HasPrefix(got, "1K") {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestCPUTimeIsLimited(t *testing.T) {
	w := newWorld(t)
	box := w.open(t, sandbox.Config{Kind: sandbox.Bwrap, Limits: sandbox.Limits{CPU: 1}})
	if r := run(t, box, "sh", "-c", "while :; do :; done"); r.Signal != "SIGKILL" && r.Signal != "SIGXCPU" {
		t.Errorf("got %+v", r)
	}
}

func TestAFloodIsDrainedAndCut(t *testing.T) {
	w := newWorld(t)
	box := w.open(t, sandbox.Config{Limits: sandbox.Limits{Head: 10, Tail: 10, Whole: 1000}})
	r := run(t, box, "sh", "-c", "yes | head -c 20000000; printf 0123456789")
	if r.Stdout.Total != 20000010 || len(r.Stdout.Whole) != 1000 || string(r.Stdout.Text) != "y\ny\ny\ny\ny\n\n[... 19999990 bytes left out ...]\n0123456789" {
		t.Errorf("got %d, %d, %q", r.Stdout.Total, len(r.Stdout.Whole), r.Stdout.Text)
	}
}

// suidProgram is an environment variable that names this program, with root as its owner and the bit set.
const suidProgram = "SANDBOX_TEST_SUID"

func TestSetuidProgramsGainNothing(t *testing.T) {
	program := os.Getenv(suidProgram)
	if program == "" {
		program = plantSuid(t)
	}
	for _, kind := range confining {
		w := newWorld(t)
		box := w.open(t, sandbox.Config{Kind: kind, Read: []string{filepath.Dir(program)}})
		if r := run(t, box, program, attackMarker, "whoami"); r.ExitCode != exitRefused {
			t.Errorf("%s: exit %d: %s", kind, r.ExitCode, r.Stdout.Text)
		}
	}
}

// plantSuid copies this program to a directory that all users can read.
func plantSuid(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sandbox-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	path := filepath.Join(dir, "suid")
	to, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	for path, mode := range map[string]os.FileMode{dir: 0o755, path: 0o755 | os.ModeSetuid} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	return path
}
