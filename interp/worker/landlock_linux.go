package worker

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/codeact-dev/codeact/interp/kernel"
)

// landlock refuses files, the network, signals and abstract sockets on every thread. It returns the version that it used, also
// with the error that this version is less than strict: one that does not scope signals and abstract sockets.
func landlock() (version int, err error) {
	if version, err = kernel.Landlock(); err != nil {
		return 0, err
	}
	if !rebornInside() {
		if err := (kernel.Ruleset{}).RestrictProcess(); err != nil {
			return 0, err
		}
	}
	if err := refused(); err != nil {
		return 0, err
	}
	if version < kernel.Scopes {
		return version, fmt.Errorf("version %d of the kernel's interface, want %d", version, kernel.Scopes)
	}
	return version, nil
}

// refused sees that a file cannot be opened any more.
func refused() error {
	fd, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
		return errors.New("it was set, and files can still be opened")
	}
	return nil
}

// inside stands before Marker in the arguments of a worker that was started again under landlock.
const inside = "inside"

func rebornInside() bool { return len(os.Args) > 2 && os.Args[len(os.Args)-2] == inside }

// rebirth restricts this thread and starts the program again from it, since all threads of the new image then come from
// a restricted one. Only a program with C code needs it, where Go cannot reach its own threads. It may read and run only
// the files that are this program: itself and the libraries that it has mapped. It returns only if it cannot.
func rebirth() error {
	if _, err := kernel.Landlock(); err != nil || rebornInside() || kernel.ReachesThreads() {
		return err
	}
	self, err := mapped()
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := (kernel.Ruleset{Allow: self}).RestrictThread(); err != nil {
		return err
	}
	args := append(append([]string{}, os.Args[:len(os.Args)-1]...), inside, Marker)
	return unix.Exec("/proc/self/exe", args, os.Environ())
}

// mapped are the files of which this process is made, to be read and run.
func mapped() (files []kernel.Access, err error) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(maps)) {
		const pathField = 5 // address, permissions, offset, device, inode, path
		fields := strings.SplitN(strings.Join(strings.Fields(line), " "), " ", pathField+1)
		if len(fields) <= pathField || fields[pathField][0] != '/' || seen[fields[pathField]] {
			continue
		}
		seen[fields[pathField]] = true
		files = append(files, kernel.Access{Path: fields[pathField], Rights: kernel.Read})
	}
	return files, nil
}
