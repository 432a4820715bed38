package workspace

import (
	"io/fs"
	"syscall"
	"time"
)

// ChangeTime is when the system last changed a file or what it knows of it: no program sets it. The zero time is not known.
func ChangeTime(info fs.FileInfo) time.Time {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}
	}
	return time.Unix(st.Ctim.Unix())
}
