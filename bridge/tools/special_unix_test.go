//go:build unix

package tools_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestPipesAndDevicesAreNeverOpened(t *testing.T) {
	for kind, create := range map[string]func(path string) error{
		"FIFO":   func(path string) error { return unix.Mkfifo(path, 0o666) },
		"device": func(path string) error { return unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))) }, // /dev/zero
	} {
		t.Run(kind, func(t *testing.T) {
			r := newRig(t, setup{files: map[string]string{"f": "x"}})
			err := create(filepath.Join(r.dir, "s"))
			if errors.Is(err, os.ErrPermission) {
				t.Skip("only root makes devices")
			}
			must(t, err)
			done := make(chan struct{})
			go func() { // it ends with the test, or the test has failed
				defer close(done)
				r.fails(t, "fs_read", args{"path": "s"}, "it is a "+kind)
				if got := names(t, r.value(t, "fs_search", args{"pattern": "x"})); got != "f:1" {
					t.Errorf("searched: %s", got)
				}
			}()
			select {
			case <-done:
			case <-time.After(10 * time.Second):
				t.Fatal("it blocks")
			}
		})
	}
}

// A directory that only its owner may open is common: a database's, beside the
// code. It must not make the rest unsearchable, and must not be left out unseen.
func TestWhatCannotBeOpenedIsSaidAndEndsNothing(t *testing.T) {
	r := newRig(t, setup{files: map[string]string{"a": "x", "locked/b": "x", "secret": "x", "z": "x"}})
	must(t, os.Chmod(filepath.Join(r.dir, "locked"), 0))
	must(t, os.Chmod(filepath.Join(r.dir, "secret"), 0))
	t.Cleanup(func() { os.Chmod(filepath.Join(r.dir, "locked"), 0o755) })
	asNobody(t)
	found := r.value(t, "fs_search", args{"pattern": "x"}).([]any)
	last := found[len(found)-1].(map[string]any)["text"].(string)
	if names(t, found) != "a:1 z:1 :0" || !strings.Contains(last, "2 things were left out") || !strings.Contains(last, "permission denied") {
		t.Errorf("search: %s %s", names(t, found), last)
	}
	listed := names(t, r.value(t, "fs_list", args{"glob": "**"}))
	if !strings.HasPrefix(listed, "a secret z [not everything is here: ") || !strings.Contains(listed, "(locked: permission denied)") {
		t.Errorf("list: %s", listed)
	}
	r.fails(t, "fs_list", args{"path": "locked"}, "permission denied")
}
