package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
)

// plant makes what the canary is to look for. done takes it away again.
func plant(c Config) (p probes, done func(), err error) {
	dir, err := plantDir(c)
	if err != nil {
		return p, nil, err
	}
	inside, outside := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	secret := filepath.Join(outside, "secret")
	p.Inside, p.Masked, p.Kept = filepath.Join(inside, "open"), filepath.Join(inside, "masked"), filepath.Join(inside, "writable", "dir", "kept")
	err = errors.Join(os.MkdirAll(filepath.Dir(p.Kept), 0o700), os.Mkdir(outside, 0o700))
	for _, path := range []string{p.Inside, p.Masked, p.Kept, secret} {
		err = errors.Join(err, os.WriteFile(path, []byte(rand.Text()), 0o600))
	}
	dial, hangUp, listenErr := listeners(inside)
	p.Dial, err = dial, errors.Join(err, listenErr)
	done = func() {
		hangUp()
		_ = removeAll(dir) // of no use to anybody
	}
	if err != nil {
		done()
		return p, nil, err
	}
	p.Outside = []string{secret, fmt.Sprintf("/proc/%d/root%s", os.Getpid(), secret), "/proc/1/root" + secret, "/proc/self/root" + secret}
	p.Write = []string{filepath.Join(outside, "written"), filepath.Join(inside, "written")}
	if !slices.Contains(c.Writable, c.Dir) {
		p.Write = append(p.Write, filepath.Join(c.Dir, ".codeact-canary-"+rand.Text()))
	}
	p.Host, p.HostSpace, p.Environ = os.Getpid(), "unknown", digestOf("/proc/self/environ")
	if space, err := os.Readlink("/proc/self/ns/pid"); err == nil {
		p.HostSpace = space
	}
	p.Limits, p.Processes = c.Limits.rlimits(), c.Limits.Processes+reservedPids+1
	return p, done, nil
}

// listeners are there for the canary to reach. A machine may lack some of the network's, but not the Unix sockets, of which those with a
// path are in dir, which the box shows.
func listeners(dir string) (dial [][2]string, done func(), err error) {
	var open []io.Closer
	for _, l := range [][2]string{{"tcp4", "127.0.0.1:0"}, {"tcp6", "[::1]:0"}, {"unix", "@codeact-canary-" + rand.Text()},
		{"unix", filepath.Join(dir, "stream")}} {
		if listener, failed := net.Listen(l[0], l[1]); failed == nil {
			open, dial = append(open, listener), append(dial, [2]string{l[0], listener.Addr().String()})
		} else if l[0] == "unix" {
			err = errors.Join(err, failed)
		}
	}
	datagrams := filepath.Join(dir, "datagrams")
	if conn, failed := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: datagrams}); failed == nil {
		open, dial = append(open, conn), append(dial, [2]string{"unixgram", datagrams})
	} else {
		err = errors.Join(err, failed)
	}
	if len(dial) < 4 { // an address and the Unix sockets
		err = errors.Join(err, fmt.Errorf("of what could be seen to be unreachable, here is only %q", dial))
	}
	return dial, func() {
		for _, l := range open {
			l.Close()
		}
	}, err
}

// maxBase is how long a path may be, in bytes, for sockets to have theirs below it: of 107, and 39 are ours.
const maxBase = 68

// plantDir makes a directory that the box does not show.
func plantDir(c Config) (string, error) {
	var last error = fs.ErrNotExist
	for _, base := range []string{os.TempDir(), "/var/tmp", "/dev/shm"} {
		base, err := filepath.EvalSymlinks(base)
		if err != nil || len(base) > maxBase || slices.ContainsFunc(c.roots(nil), func(r string) bool { return within(r, base) }) {
			continue
		}
		dir, err := os.MkdirTemp(base, "codeact-canary-")
		if err == nil {
			return dir, nil
		}
		last = err
	}
	return "", fmt.Errorf("no directory for what the canary must not see: %w", last)
}
