package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushTerminal forgets what was typed and not read yet.
func flushTerminal(f *os.File) { _ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
