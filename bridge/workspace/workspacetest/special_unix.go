//go:build unix

package workspacetest

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// special makes what is not a file. Each would block, or do something, if it were opened in the usual way.
var special = map[string]func(t testing.TB, at string){
	"|": func(t testing.TB, at string) { must(t, unix.Mkfifo(at, 0o644)) },
	// A device that reads as zeros without end.
	"device": func(t testing.TB, at string) { must(t, unix.Mknod(at, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5)))) },
	"socket": func(t testing.TB, at string) {
		short, err := os.MkdirTemp("", "s") // a socket's path is short
		must(t, err)
		defer os.RemoveAll(short)
		l, err := net.Listen("unix", filepath.Join(short, "s"))
		must(t, err)
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		t.Cleanup(func() { l.Close() })
		must(t, os.Rename(filepath.Join(short, "s"), at))
	},
}
