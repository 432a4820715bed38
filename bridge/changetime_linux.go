package bridge

import (
	"io/fs"
	"syscall"
	"time"
)

// changeTime is when the system last changed a file or what it knows of it.
func changeTime(info fs.FileInfo) time.Time {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}
	}
	return time.Unix(st.Ctim.Unix())
}
