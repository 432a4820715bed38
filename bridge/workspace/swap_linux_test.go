package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestM7SwapsDuringOperations exchanges a directory with a link to the outside, as fast as it can, while operations run (M7:
// check-then-use on path strings).
func TestM7SwapsDuringOperations(t *testing.T) {
	for _, link := range []string{"../out", "private"} { // os.Root alone stops at the first, not at the second
		t.Run(link, func(t *testing.T) {
			eachOpener(t, func(t *testing.T, o opener) { swapDuringOperations(t, o, link) })
		})
	}
}

func swapDuringOperations(t *testing.T, o opener, link string) {
	w := newWorld(t, o, Config{Writable: []string{"**"}, ReadDeny: []string{"private"}}, map[string]string{"d/f": "inside", "swap": "-> " + link, "private/f": secret, "private/secret": secret})
	must(t, os.WriteFile(w.out+"/f", []byte(secret), 0o644))
	before := snapshot(t, w.out) + snapshot(t, w.ws+"/private")
	stop := swapping(t, w.ws+"/d", w.ws+"/swap")
	var through, refused int
	for range 2000 {
		target, err := w.space.Resolve("d/f")
		if err != nil {
			refused++
			continue
		}
		through += useAll(t, w.space, target)
	}
	stop()
	if through == 0 || refused == 0 {
		t.Errorf("nothing was tested: %d operations went through, %d paths refused", through, refused)
	}
	if after := snapshot(t, w.out) + snapshot(t, w.ws+"/private"); after != before {
		t.Errorf("written where no tool may:\n%s\nwas\n%s", after, before)
	}
}

// TestFileSwapsDuringReads exchanges the last component with a link to a denied file.
func TestFileSwapsDuringReads(t *testing.T) {
	eachOpener(t, func(t *testing.T, o opener) {
		w := newWorld(t, o, Config{ReadDeny: []string{"private"}}, map[string]string{"d/f": "inside", "d/swap": "-> ../private/f", "private/f": secret})
		target := w.resolve(t, "d/f")
		stop := swapping(t, w.ws+"/d/f", w.ws+"/d/swap")
		var read, refused int
		for range 5000 {
			switch data, err := w.space.ReadFile(target, 100); {
			case err == nil && string(data) == "inside":
				read++
			case errors.Is(err, ErrLink):
				refused++
			default:
				t.Fatalf("read %q, %v", data, err)
			}
		}
		stop()
		if read == 0 || refused == 0 {
			t.Errorf("nothing was tested: %d read, %d refused", read, refused)
		}
	})
}

// swapping exchanges two names until stop is called, which waits for it to end.
func swapping(t *testing.T, a, b string) (stop func()) {
	var done atomic.Bool
	ended := make(chan error, 1)
	go func() {
		var err error
		for err == nil && !done.Load() {
			err = unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
		}
		ended <- err
	}()
	return func() {
		done.Store(true)
		must(t, <-ended)
	}
}

// useAll reads, lists, walks, writes, moves and removes, checks that nothing of the outside is seen, and counts what went through.
func useAll(t *testing.T, s *Space, target Target) (through int) {
	t.Helper()
	if data, err := s.ReadFile(target, 100); err == nil {
		through++
		if string(data) == secret {
			t.Fatal("read from outside")
		}
	}
	dir := s.target("d", s.main, "d")
	if entries, _, err := s.ReadDir(dir, 10); err == nil {
		through++
		for _, e := range entries {
			if e.Name == "secret" {
				t.Fatal("listed the outside")
			}
		}
	}
	err := s.Walk(dir, func(e Target, _ fs.FileInfo) error {
		if strings.Contains(e.Rel, "secret") {
			t.Fatal("walked outside")
		}
		return nil
	}, Limits{})
	sub := s.target("", s.main, "d/n/x")
	moved := s.target("", s.main, "d/moved")
	for _, err := range []error{
		err, s.WriteFile(target, []byte("written"), Replace), s.WriteFile(sub, []byte("written"), Create), s.Rename(sub, moved), s.Remove(moved),
	} {
		if err == nil {
			through++
		}
	}
	return through
}

// TestAFullDisk writes to a file system of 64 KiB.
func TestAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("needs root, to mount a small file system: %v", err)
	}
	defer func() { must(t, unix.Unmount(dir, unix.MNT_DETACH)) }()
	must(t, os.WriteFile(filepath.Join(dir, "old"), []byte("whole"), 0o640))
	s, _, err := Open(Config{Dir: dir, Writable: []string{"**"}})
	must(t, err)
	defer s.Close()
	for name, mode := range map[string]WriteMode{"old": Replace, "new": Create} {
		target, err := s.Resolve(name)
		must(t, err)
		err = s.WriteFile(target, make([]byte, 1<<20), mode)
		if !errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := names(t, dir); got != "old" {
		t.Errorf("left: %s", got)
	}
	if got := onDisk(t, filepath.Join(dir, "old")); got != "whole" {
		t.Errorf("the old file: %q", got)
	}
}

// asNobody runs f without the rights of root over files: the file system ids belong to the thread.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Getuid() != 0 {
		f()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if _, err := unix.SetfsgidRetGid(65534); err != nil {
			t.Error(err)
		}
		if _, err := unix.SetfsuidRetUid(65534); err != nil {
			t.Error(err)
		}
		f()
	}()
	<-done
}

func TestWithoutPermission(t *testing.T) {
	eachOpener(t, func(t *testing.T, o opener) {
		w := newWorld(t, o, Config{Writable: []string{"**"}}, map[string]string{"locked/f": secret, "ro/f": "x", "unreadable": secret, "l": "-> locked/f", "a/f": "x", "z/f": "x"})
		for dir := w.ws; dir != "/" && strings.HasPrefix(dir, os.TempDir()+"/"); dir = filepath.Dir(dir) {
			must(t, os.Chmod(dir, 0o755))
		}
		before := snapshot(t, w.ws)
		must(t, os.Chmod(w.ws+"/locked", 0))
		must(t, os.Chmod(w.ws+"/unreadable", 0))
		must(t, os.Chmod(w.ws+"/ro", 0o555))
		asNobody(t, func() {
			for _, path := range []string{"locked/f", "locked/none", "l"} {
				if _, err := w.space.Resolve(path); !errors.Is(err, os.ErrPermission) || strings.Contains(err.Error(), w.ws) {
					t.Errorf("resolve %s: %v", path, err)
				}
			}
			if _, err := w.space.ReadFile(w.resolve(t, "unreadable"), 9); !errors.Is(err, os.ErrPermission) {
				t.Errorf("read: %v", err)
			}
			ro := w.resolve(t, "ro/f")
			for op, err := range map[string]error{
				"write": w.space.WriteFile(ro, nil, Replace), "remove": w.space.Remove(ro), "rename": w.space.Rename(ro, w.resolve(t, "x")),
			} {
				if !errors.Is(err, os.ErrPermission) {
					t.Errorf("%s: %v", op, err)
				}
			}
			var seen []string
			err := w.space.Walk(w.resolve(t, "."), func(e Target, _ fs.FileInfo) error { seen = append(seen, e.Rel); return nil }, Limits{})
			if got := strings.Join(seen, " "); got != "a a/f locked ro ro/f unreadable z z/f" || !errors.Is(err, os.ErrPermission) {
				t.Errorf("a walk goes on and says so: %s; %v", got, err)
			}
		})
		for _, path := range []string{"locked", "unreadable", "ro"} {
			must(t, os.Chmod(w.ws+"/"+path, 0o755))
		}
		if after := snapshot(t, w.ws); after != before {
			t.Errorf("the disk changed:\n%s\nwas\n%s", after, before)
		}
	})
}

// TestReadingWhileItIsReplaced sees the old content or the new, never a part.
func TestReadingWhileItIsReplaced(t *testing.T) {
	w := newWorld(t, openBeneath, Config{Writable: []string{"**"}}, map[string]string{"f": strings.Repeat("a", 1<<16)})
	target := w.resolve(t, "f")
	ended := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < 50 && err == nil; i++ {
			err = w.space.WriteFile(target, []byte(strings.Repeat(string(rune('b'+i%20)), 1<<16)), Replace)
		}
		ended <- err
	}()
	for range 200 {
		f, _, err := w.space.OpenFile(target)
		must(t, err)
		data, err := io.ReadAll(f)
		f.Close()
		must(t, err)
		if len(data) != 1<<16 || strings.Count(string(data), string(data[0])) != 1<<16 {
			t.Fatalf("torn: %d bytes", len(data))
		}
	}
	must(t, <-ended)
}

func TestCheckRootSeesABindMount(t *testing.T) {
	base := realPath(t.TempDir())
	tree(t, base, map[string]string{"you/.codeact/": "", "mnt/": ""})
	if err := unix.Mount(base+"/you", base+"/mnt", "", unix.MS_BIND, ""); err != nil {
		t.Skipf("needs root, to mount: %v", err)
	}
	defer func() { must(t, unix.Unmount(base+"/mnt", unix.MNT_DETACH)) }()
	if err := CheckRoot(base+"/mnt", base+"/you/.codeact", ""); !errors.Is(err, ErrUnsafeRoot) {
		t.Errorf("got %v", err)
	}
}
