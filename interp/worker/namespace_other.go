//go:build unix && !linux

package worker

import (
	"syscall"
	"time"
)

// isolated is nil: this system has no namespaces.
func isolated() *syscall.SysProcAttr { return nil }

// CPU is not known here; the wall clock bounds it.
func (p *Process) CPU() (time.Duration, bool) { return 0, false }
