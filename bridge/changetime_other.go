//go:build !linux

package bridge

import (
	"io/fs"
	"time"
)

// changeTime is not told here: sizes and times of modification must do.
func changeTime(fs.FileInfo) time.Time { return time.Time{} }
