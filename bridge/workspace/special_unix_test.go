//go:build unix

package workspace

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// special makes what is not a file. Each would block, or do something, if it were opened in the usual way.
var special = map[string]func(t *testing.T, path string){
	"FIFO": func(t *testing.T, path string) { must(t, syscall.Mkfifo(path, 0o644)) },
	"socket": func(t *testing.T, path string) {
		l, err := net.Listen("unix", path)
		must(t, err)
		t.Cleanup(func() { l.Close() })
	},
	"device": func(t *testing.T, path string) {
		err := unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))) // /dev/zero
		if errors.Is(err, os.ErrPermission) {
			t.Skip("only root makes devices")
		}
		must(t, err)
	},
}

func TestSpecialFilesAreNeitherReadNorWritten(t *testing.T) {
	eachOpener(t, func(t *testing.T, o opener) {
		for kind, create := range special {
			t.Run(kind, func(t *testing.T) {
				t.Chdir(t.TempDir()) // a socket's path is short
				w := newWorld(t, o, Config{Writable: []string{"**"}}, map[string]string{"other": "x", "d/l": "-> ../s"})
				must(t, os.Chdir(w.ws))
				create(t, "s")
				for _, path := range []string{"s", "./s", "d/l", w.ws + "/s"} {
					if _, err := w.space.Resolve(path); !errors.Is(err, ErrNotRegular) {
						t.Errorf("resolve %s: %v", path, err)
					}
				}
				missed := w.space.target("s", w.space.main, "s") // it was a file when it was judged
				for op, err := range promptly(t, func() map[string]error { return everyOp(w.space, missed, w.resolve(t, "other")) }) {
					if err == nil {
						t.Errorf("%s went through", op)
					}
				}
				below := w.space.target("s/f", w.space.main, "s/f")
				for op, err := range promptly(t, func() map[string]error { return everyOp(w.space, below, w.resolve(t, "other")) }) {
					if err == nil {
						t.Errorf("%s went through below it", op)
					}
				}
				if got := names(t, w.ws); got != "d other s" {
					t.Errorf("left: %s", got)
				}
			})
		}
	})
}

// promptly fails the test when f waits for something.
func promptly[T any](t *testing.T, f func() T) T {
	t.Helper()
	done := make(chan T, 1)
	go func() { done <- f() }()
	select {
	case v := <-done:
		return v
	case <-time.After(10 * time.Second):
		t.Fatal("blocked")
		panic("unreachable")
	}
}

// TestAFIFOInPlaceOfADirectoryDoesNotBlock holds the "/." in step.
func TestAFIFOInPlaceOfADirectoryDoesNotBlock(t *testing.T) {
	w := newWorld(t, openByComponents, Config{}, nil)
	must(t, syscall.Mkfifo(w.ws+"/d", 0o644))
	err := promptly(t, func() error {
		_, err := w.space.main.dir.OpenRoot("d/.")
		return err
	})
	if err == nil {
		t.Error("opened a FIFO as a directory")
	}
}

func TestHardLinksAreReadNotWritten(t *testing.T) {
	w := newWorld(t, openBeneath, Config{Writable: []string{"**"}}, map[string]string{"d/": ""})
	must(t, os.Link(w.out+"/secret", w.ws+"/hard"))
	target := w.resolve(t, "hard")
	for _, mode := range []WriteMode{Create, Replace} {
		if err := w.space.WriteFile(target, []byte("x"), mode); !errors.Is(err, ErrLink) {
			t.Errorf("write %d: %v", mode, err)
		}
	}
	if got := onDisk(t, w.out+"/secret"); got != secret {
		t.Errorf("written through: %q", got)
	}
	must(t, w.space.Remove(target)) // takes one name; the other stays
	if got := onDisk(t, w.out+"/secret"); got != secret {
		t.Errorf("removed: %q", got)
	}
}

func TestAHardLinkOfAProtectedFileIsKnown(t *testing.T) {
	base := realPath(t.TempDir())
	w := newWorld(t, openBeneath, Config{Writable: []string{"**"}, Protected: []string{base + "/task.yaml"}}, nil)
	must(t, os.WriteFile(base+"/task.yaml", nil, 0o644))
	must(t, os.Rename(base+"/task.yaml", w.ws+"/moved"))
	must(t, os.Symlink(w.ws+"/moved", base+"/task.yaml"))
	if err := w.space.WriteFile(w.resolve(t, "moved"), []byte("x"), Replace); !errors.Is(err, ErrReadOnly) {
		t.Errorf("got %v", err)
	}
}

func TestModeBits(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	w := newWorld(t, openBeneath, Config{Writable: []string{"**"}}, map[string]string{"run.sh": "old"})
	must(t, os.Chmod(w.ws+"/run.sh", 0o4751))
	must(t, w.space.WriteFile(w.resolve(t, "run.sh"), []byte("new"), Replace))
	must(t, w.space.WriteFile(w.resolve(t, "new"), []byte("new"), Create))
	for name, want := range map[string]os.FileMode{"run.sh": 0o751, "new": 0o644} {
		if info, err := os.Stat(w.ws + "/" + name); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, want %v; %v", name, info.Mode(), want, err)
		}
	}
}

func TestASpillThatOthersCanUseIsRefused(t *testing.T) {
	for name, create := range map[string]func(dir string) error{
		"open to all": func(dir string) error { return errors.Join(os.Mkdir(dir, 0o755), os.Chmod(dir, 0o755)) },
		"a file":      func(dir string) error { return os.WriteFile(dir, nil, 0o600) },
		"a link":      func(dir string) error { return os.Symlink(filepath.Dir(dir), dir) },
	} {
		dir := filepath.Join(realPath(t.TempDir()), "spill")
		w := newWorld(t, openBeneath, Config{SpillDir: dir}, nil)
		must(t, create(dir))
		if _, err := w.space.Resolve("@spill/a"); !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: resolve: %v", name, err)
		}
		if _, err := w.space.Spill("a", nil); err == nil {
			t.Errorf("%s: spilled", name)
		}
	}
}
