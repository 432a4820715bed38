package sandbox_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/codeact-dev/codeact/bridge/sandbox"
)

// governed is a world whose workspace is writable, but for what configures its run.
func governed(t *testing.T) (w *world, kept []string) {
	t.Helper()
	w = newWorld(t)
	for _, path := range []string{"ws/task.yaml", "ws/conf/deep/policy.yaml", "ws/hooks/run.sh"} {
		w.write(t, path, "as it was")
	}
	return w, []string{w.path("ws/task.yaml"), w.path("ws/conf/deep/policy.yaml"), w.path("ws/hooks")}
}

// state is all that can be told of a file or directory that is to stay as it is, by its path.
func state(t *testing.T, w *world) string {
	t.Helper()
	var b strings.Builder
	for _, path := range []string{"ws/task.yaml", "ws/conf/deep/policy.yaml", "ws/hooks", "ws/hooks/run.sh"} {
		var st unix.Stat_t
		if err := unix.Lstat(w.path(path), &st); err != nil {
			fmt.Fprintln(&b, path, err)
			continue
		}
		content := ""
		if path != "ws/hooks" {
			content = w.read(t, path)
		}
		attribute := make([]byte, 8)
		n, _ := unix.Lgetxattr(w.path(path), "user.x", attribute) // none is the usual case
		fmt.Fprintln(&b, path, st.Ino, st.Mode, st.Uid, st.Nlink, st.Mtim, content, n)
	}
	return b.String()
}

// Each changes something where nothing is read-only, but for those that need a box to get out of.
var rewrites = []struct {
	name, script string
	needsBox     bool
}{
	{"write", `echo x > task.yaml; echo x >> conf/deep/policy.yaml; echo x > hooks/run.sh`, false},
	{"empty", `: > task.yaml; truncate -s 0 conf/deep/policy.yaml hooks/run.sh`, false},
	{"unlink", `rm -f task.yaml; rm -f conf/deep/policy.yaml; rm -rf hooks`, false},
	{"rename", `mv task.yaml t; mv conf/deep/policy.yaml p; mv hooks h`, false},
	{"replace", `echo x > new; mv -f new task.yaml; echo x > new; cp --remove-destination new conf/deep/policy.yaml; echo x > new; mv -f new hooks/run.sh`, false},
	{"replace by a link", `ln -sf drafts/note task.yaml; ln -sf ../../drafts/note conf/deep/policy.yaml; mv hooks h; ln -s drafts hooks`, false},
	{"rename a parent", `mv conf c; mkdir -p conf/deep; echo x > conf/deep/policy.yaml`, false},
	{"rename the nearest parent", `mv conf/deep conf/d; mkdir conf/deep; echo x > conf/deep/policy.yaml`, false},
	{"remove a parent", `rm -rf conf; mkdir -p conf/deep; echo x > conf/deep/policy.yaml`, false},
	{"rename the workspace", `cd /; mv $WS $WS.moved; mkdir $WS; echo x > $WS/task.yaml`, false},
	{"hard link", `ln task.yaml l && echo x > l; ln conf/deep/policy.yaml drafts/l && echo x > drafts/l`, false},
	{"modes and times", `chmod 777 task.yaml conf/deep/policy.yaml hooks hooks/run.sh; touch -d 2001-01-01 task.yaml hooks/run.sh`, false},
	{"attributes", `setfattr -n user.x -v y task.yaml; perl -e 'utime 1, 1, "hooks/run.sh"'`, false},
	{"add a hook", `echo x > hooks/new.sh; mkdir hooks/d`, false},
	{"by descriptors", `exec 3< task.yaml; echo x > /proc/self/fd/3; exec 4< .; echo x > /proc/self/fd/4/task.yaml`, false},
	{"by other paths", `echo x > /proc/self/cwd/task.yaml; echo x > /proc/self/root$WS/task.yaml; echo x > drafts/../task.yaml`, false},
	{"remount", `mount -o remount,rw,bind task.yaml; umount task.yaml; umount -l hooks conf/deep/policy.yaml conf/deep conf; echo x > task.yaml; mv conf c`, true},
	{"new namespaces", `unshare -Urm sh -c "mount -o remount,rw,bind $WS/task.yaml; umount -l $WS/task.yaml; echo x > $WS/task.yaml"`, true},
}

func TestWhatIsReadOnlyStaysAsItIs(t *testing.T) {
	w, kept := governed(t)
	box := w.open(t, sandbox.Config{Kind: sandbox.Bwrap, Writable: []string{w.dir}, ReadOnly: kept})
	before := state(t, w)
	for _, r := range rewrites {
		w.sh(t, box, r.script)
		if after := state(t, w); after != before {
			t.Errorf("%s: before\n%s\nafter\n%s", r.name, before, after)
		}
	}
	if r := w.sh(t, box, `cat task.yaml conf/deep/policy.yaml hooks/run.sh && echo x > conf/new && echo x > conf/deep/new && echo x > made && rm made`); r.ExitCode != 0 {
		t.Errorf("the rest is not writable, or nothing can be read: %s", r.Stderr.Text)
	}
}

func TestRewritesAreAttacks(t *testing.T) { // without a box, so that a script with a typing error is seen
	for _, r := range rewrites {
		w, kept := governed(t)
		box := w.open(t, sandbox.Config{Kind: sandbox.None, Writable: []string{w.dir}, ReadOnly: kept})
		before := state(t, w)
		w.sh(t, box, r.script)
		if !r.needsBox && state(t, w) == before {
			t.Errorf("%s does nothing, even without a box", r.name)
		}
	}
}

// What a mask hides in a read-only directory is hidden, and what is read-only in a masked directory does not show it.
func TestMasksAndReadOnlyPathsMeet(t *testing.T) {
	w, kept := governed(t)
	w.write(t, "ws/hooks/.env", secret)
	w.write(t, "ws/conf/deep/key", secret)
	box := w.open(t, sandbox.Config{Kind: sandbox.Bwrap, Writable: []string{w.dir}, ReadOnly: kept, Masked: func() ([]string, error) {
		return []string{w.path("ws/hooks/.env"), w.path("ws/conf/deep")}, nil
	}})
	before := state(t, w)
	r := w.sh(t, box, `cat hooks/.env conf/deep/key conf/deep/policy.yaml; mv hooks/.env hooks/env; mv conf c; rm -rf conf/deep hooks; echo x > hooks/run.sh; echo x > task.yaml; cat hooks/run.sh`)
	if state(t, w) != before || string(r.Stdout.Text) != "as it was" {
		t.Errorf("printed %s\nbefore\n%s\nafter\n%s", r.Stdout.Text, before, state(t, w))
	}
}

// Nothing is writable in a read-only directory, and what lies outside the writable ones needs no help.
func TestAReadOnlyDirectoryComesBeforeAWritableOne(t *testing.T) {
	for _, kind := range confining {
		w, _ := governed(t)
		box := w.open(t, sandbox.Config{Kind: kind, Writable: []string{w.path("ws/drafts"), w.path("ws/conf/deep"), w.path("ws/hooks")},
			ReadOnly: []string{w.path("ws/conf"), w.path("ws/hooks"), w.path("ws/task.yaml"), w.path("ws/none"), w.path("home")}})
		before := state(t, w)
		r := w.sh(t, box, `echo x > drafts/new; echo x > conf/deep/policy.yaml; echo x > conf/deep/new || echo refused; echo x > hooks/run.sh; echo x > task.yaml`)
		if state(t, w) != before || string(r.Stdout.Text) != "refused\n" || w.read(t, "ws/drafts/new") != "x\n" {
			t.Errorf("%s: printed %s, before\n%s\nafter\n%s", kind, r.Stdout.Text, before, state(t, w))
		}
	}
}

func TestWhatCannotStayAsItIsRefuses(t *testing.T) {
	for _, test := range []struct {
		name, readOnly, refused, want string
		spoil                         func(w *world) error
	}{
		{"gone", "ws/task.yaml", "ws/task.yaml", "not there", func(w *world) error { return os.Remove(w.path("ws/task.yaml")) }},
		{"a link", "ws/task.yaml", "ws/task.yaml", "leads to", func(w *world) error {
			return errors.Join(os.Rename(w.path("ws/task.yaml"), w.path("ws/t")), os.Symlink("t", w.path("ws/task.yaml")))
		}},
		{"behind a link", "ws/conf/deep/policy.yaml", "ws/conf/deep/policy.yaml", "leads to", func(w *world) error {
			return errors.Join(os.Rename(w.path("ws/conf"), w.path("ws/c")), os.Symlink("c", w.path("ws/conf")))
		}},
		{"two names", "ws/task.yaml", "ws/task.yaml", "2 names", func(w *world) error { return os.Link(w.path("ws/task.yaml"), w.path("ws/drafts/other")) }},
		{"two names, found by a link from outside", "home/link.yaml", "ws/task.yaml", "2 names", func(w *world) error {
			return os.Link(w.path("ws/task.yaml"), w.path("ws/drafts/other"))
		}},
	} {
		w, _ := governed(t)
		if err := os.Symlink(w.path("ws/task.yaml"), w.path("home/link.yaml")); err != nil {
			t.Fatal(err)
		}
		c := sandbox.Config{Kind: sandbox.Bwrap, Dir: w.dir, Writable: []string{w.dir}, ReadOnly: []string{w.path(test.readOnly)}}
		box := w.open(t, c)
		if r := run(t, box, "true"); r.ExitCode != 0 {
			t.Errorf("%s: before, it ran: %+v", test.name, r)
		}
		if err := test.spoil(w); err != nil {
			t.Fatal(err)
		}
		_, err := box.Run(t.Context(), sandbox.Command{Argv: []string{"true"}})
		var refusal *sandbox.ReadOnlyError
		if !errors.As(err, &refusal) || refusal.Path != w.path(test.refused) || !strings.Contains(refusal.Reason, test.want) ||
			!strings.HasPrefix(err.Error(), "sandbox: refused: read-only path "+refusal.Path) {
			t.Errorf("%s: got %v", test.name, err)
		}
		if _, err := sandbox.Open(t.Context(), c); !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), w.path(test.refused)+": it ") {
			t.Errorf("%s: opened anew: %v", test.name, err)
		}
	}
}

func TestLandlockRefusesWhatItCannotKeep(t *testing.T) {
	w, kept := governed(t)
	for _, p := range append(kept, w.path("ws/none")) {
		_, err := sandbox.Open(t.Context(), sandbox.Config{Kind: sandbox.Landlock, Dir: w.dir, Writable: []string{w.dir}, ReadOnly: []string{p}})
		if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), p+": it lies in what is writable") {
			t.Errorf("got %v, want a refusal for %s", err, p)
		}
	}
	later := w.path("ws/later")
	box := w.open(t, sandbox.Config{Kind: sandbox.Landlock, Writable: []string{later}, ReadOnly: []string{filepath.Join(later, "task.yaml")}})
	if r := run(t, box, "true"); r.ExitCode != 0 {
		t.Errorf("what is not there is not writable: %+v", r)
	}
	w.write(t, "ws/later/x", "")
	_, err := box.Run(t.Context(), sandbox.Command{Argv: []string{"true"}})
	var refusal *sandbox.ReadOnlyError
	if !errors.As(err, &refusal) || refusal.Path != filepath.Join(later, "task.yaml") {
		t.Errorf("got %v", err)
	}
}

func TestReadOnlyPathsAreBounded(t *testing.T) {
	w, _ := governed(t)
	var many []string
	for i := range 1001 {
		w.write(t, fmt.Sprintf("ws/many/%d", i), "")
		many = append(many, w.path(fmt.Sprintf("ws/many/%d", i)))
	}
	_, err := sandbox.Open(t.Context(), sandbox.Config{Kind: sandbox.Bwrap, Dir: w.dir, Writable: []string{w.dir}, ReadOnly: many})
	if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "more than 1000") {
		t.Errorf("got %v", err)
	}
}
