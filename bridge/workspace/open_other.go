//go:build !unix

package workspace

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

const openFlags = 0

func openBeneath(r *root, rel string) (*os.File, error) { return openByComponents(r, rel) }

// renameNew goes by name: os.Root cannot rename from one handle to another. Both directories were opened without a link a moment ago.
func renameNew(from *os.Root, name string, to *os.Root, toName string) error {
	if _, err := to.Lstat(toName); err == nil {
		return syscall.EEXIST
	}
	return os.Rename(filepath.Join(from.Name(), name), filepath.Join(to.Name(), toName))
}

func links(fs.FileInfo) uint64 { return 1 }

// syncDir does nothing: a directory cannot be flushed here.
func syncDir(*os.Root) error { return nil }

// privateMode is true: the access list of the parent decides here, not mode bits.
func privateMode(fs.FileInfo) bool { return true }
