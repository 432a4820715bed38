//go:build unix

package assembly

import (
	"io/fs"
	"os"
	"syscall"
)

// mine reports whether the file belongs to who runs this, or to root.
func mine(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && (s.Uid == 0 || int(s.Uid) == os.Geteuid())
}
