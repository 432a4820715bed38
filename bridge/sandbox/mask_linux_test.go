package sandbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/bridge/sandbox"
)

// masked adds what must not be readable: files and directories, where commands may write and where not.
func (w *world) masked(t *testing.T) func() ([]string, error) {
	for _, path := range []string{"ws/.env", "ws/keys/a/key", "ws/drafts/.env", "ws/drafts/private/deep/key", "ws/drafts/vault/key"} {
		w.write(t, path, secret)
	}
	if err := os.Symlink("keys/a/key", w.path("ws/alias")); err != nil {
		t.Fatal(err)
	}
	return func() ([]string, error) {
		return []string{w.path("ws/.env"), w.path("ws/keys"), w.path("ws/keys/a/key"), w.path("ws/alias"), w.path("ws/drafts/.env"),
			w.path("ws/drafts/private/deep/key"), w.path("ws/drafts/vault"), w.path("home/.ssh"), w.path("ws/not there")}, nil
	}
}

func TestB11AMaskedFileCannotBeRead(t *testing.T) {
	w := newWorld(t)
	box := w.open(t, sandbox.Config{Kind: sandbox.Bwrap, Masked: w.masked(t)})
	for _, script := range []string{
		`cat .env keys/a/key alias drafts/.env drafts/private/deep/key drafts/vault/key; ls keys drafts/vault`,
		`for f in $(find . -type f); do cat $f; done; tar c . | cat; grep -r . .`,
		`cat $WS/../ws/.env /proc/self/root$WS/.env /proc/self/cwd/.env /dev/fd/../cwd/.env`,
		`ln -s ../.env drafts/l; ln -s $WS/drafts/private drafts/p; cat drafts/l drafts/p/deep/key`,
		`ln .env drafts/h; ln drafts/.env drafts/h2; ln drafts/private/deep/key drafts/h3; cat drafts/h*`,
		`cp -a drafts drafts/copy; cp -a . /tmp/copy; find /tmp/copy drafts/copy -type f | xargs cat`,
		`mv drafts/.env drafts/env; mv drafts/private drafts/public; mv drafts/private/deep drafts/private/shallow; mv drafts/vault drafts/open; cat drafts/*/*/key drafts/*/key drafts/env`,
		`rm -f drafts/.env; rm -rf drafts/private drafts/vault; mv drafts d2`,
		`chmod -R 777 . ; chmod 777 drafts/vault keys .env; cat drafts/vault/key keys/a/key .env`,
		`umount .env keys; umount -l drafts/vault; cat .env keys/a/key drafts/vault/key`,
		`cat drafts/*/*/key drafts/*/key drafts/env drafts/.env`, // what the moves above have left
	} {
		r := w.sh(t, box, script)
		if strings.Contains(string(r.Stdout.Whole)+string(r.Stderr.Whole), secret) {
			t.Errorf("%s\nprinted it:\n%s", script, r.Stdout.Text)
		}
		for _, path := range []string{"ws/.env", "ws/keys/a/key", "ws/drafts/.env", "ws/drafts/private/deep/key", "ws/drafts/vault/key"} {
			if w.read(t, path) != secret {
				t.Errorf("%s\nchanged %s", script, path)
			}
		}
	}
	if r := w.sh(t, box, "cat drafts/note && echo more >> drafts/note && cat src/main.go"); r.ExitCode != 0 {
		t.Errorf("what is not masked: %s", r.Stderr.Text)
	}
}

func TestMasksAreListedAnewForEachCommand(t *testing.T) {
	w := newWorld(t)
	box := w.open(t, sandbox.Config{Kind: sandbox.Bwrap, Masked: func() ([]string, error) {
		return filepath.Glob(w.path("ws/drafts/*.key"))
	}})
	if r := w.sh(t, box, "echo "+secret+" > drafts/new.key && cat drafts/new.key"); r.ExitCode != 0 {
		t.Errorf("its own file: %s", r.Stderr.Text)
	}
	if r := w.sh(t, box, "cat drafts/new.key"); r.ExitCode == 0 {
		t.Errorf("the second command read it: %s", r.Stdout.Text)
	}
}

// One command puts a link where the next one's box has a directory to show.
func TestALinkInTheWayOfAMaskIsFollowed(t *testing.T) {
	w := newWorld(t)
	w.write(t, "ws/drafts/a/key", secret)
	box := w.open(t, sandbox.Config{Kind: sandbox.Bwrap, Masked: func() ([]string, error) { return []string{w.path("ws/drafts/a/key")}, nil }})
	if err := errors.Join(os.Rename(w.path("ws/drafts/a"), w.path("ws/drafts/b")), os.Symlink("b", w.path("ws/drafts/a"))); err != nil {
		t.Fatal(err)
	}
	if r := w.sh(t, box, "cat drafts/a/key drafts/b/key"); strings.Contains(string(r.Stdout.Text), secret) {
		t.Error("it was printed")
	}
}

func TestWhereNothingCanBeMaskedNothingRuns(t *testing.T) {
	w := newWorld(t)
	path := w.path("home")
	box := w.open(t, sandbox.Config{Kind: sandbox.Landlock, Masked: func() ([]string, error) {
		return []string{w.path("home/.ssh"), w.path("ws/none"), path}, nil
	}})
	if r := w.sh(t, box, "echo ran"); string(r.Stdout.Text) != "ran\n" {
		t.Errorf("what the box does not show is in nobody's way: %s", r.Stdout.Text)
	}
	for _, path = range []string{w.path("ws/src/main.go"), w.path("ws/drafts"), "/usr/share"} {
		_, err := box.Run(t.Context(), sandbox.Command{Argv: []string{"true"}})
		var mask *sandbox.MaskError
		if !errors.As(err, &mask) || mask.Path != path || !strings.Contains(err.Error(), path) {
			t.Errorf("got %v, want a refusal for %s", err, path)
		}
	}
}

func TestMasksThatCannotBeKnownRefuse(t *testing.T) {
	for _, kind := range confining {
		w := newWorld(t)
		var list []string
		var fail error
		box := w.open(t, sandbox.Config{Kind: kind, Masked: func() ([]string, error) { return list, fail }})
		if err := os.Symlink("loop", w.path("ws/loop")); err != nil {
			t.Fatal(err)
		}
		many := func() (list []string) {
			for i := range 1001 {
				list = append(list, w.path("ws/drafts/many/"+strings.Repeat("x", i/26+1)+string(rune('a'+i%26))))
				w.write(t, strings.TrimPrefix(list[i], w.base), "")
			}
			return list
		}()
		for want, set := range map[string]func(){
			"disk on fire":         func() { list, fail = nil, errors.New("disk on fire") },
			"absolute":             func() { list, fail = []string{"ws/.env"}, nil },
			"too many":             func() { list, fail = []string{w.path("ws/loop")}, nil },
			"the workspace itself": func() { list, fail = []string{w.base}, nil },
			"more than 1000":       func() { list, fail = many, nil },
		} {
			set()
			_, err := box.Run(t.Context(), sandbox.Command{Argv: []string{"true"}})
			var mask *sandbox.MaskError
			if !errors.As(err, &mask) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %s", kind, err, want)
			}
		}
	}
}

func TestAWritablePathIsNoLink(t *testing.T) {
	for _, kind := range confining {
		w := newWorld(t)
		box := w.open(t, sandbox.Config{Kind: kind, Writable: []string{w.path("ws/drafts"), w.path("ws/drafts/in"), w.path("ws/later")}})
		if r := w.sh(t, box, "ln -s ../src drafts/in; mkdir later"); r.ExitCode == 0 {
			t.Errorf("%s: made a directory in what is read-only", kind)
		}
		if r := w.sh(t, box, "echo x > src/main.go"); r.ExitCode == 0 { // drafts/in leads there now
			t.Errorf("%s: a command made the source writable", kind)
		}
		if err := os.Symlink("src", w.path("ws/later")); err != nil {
			t.Fatal(err)
		}
		if _, err := box.Run(t.Context(), sandbox.Command{Argv: []string{"true"}}); err == nil || !strings.Contains(err.Error(), "is a symbolic link to "+w.path("ws/src")) {
			t.Errorf("%s: got %v", kind, err)
		}
	}
}
