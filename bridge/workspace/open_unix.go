//go:build unix && !linux

package workspace

import (
	"os"

	"golang.org/x/sys/unix"
)

func openBeneath(r *root, rel string) (*os.File, error) { return openByComponents(r, rel) }

// renameNew renames without replacing what was there when it looked: only Linux refuses in the same call.
func renameNew(from *os.Root, name string, to *os.Root, toName string) error {
	if _, err := to.Lstat(toName); err == nil {
		return unix.EEXIST
	}
	return withHandles(from, to, func(a, b int) error { return unix.Renameat(a, name, b, toName) })
}
