//go:build unix

package hooks

import (
	"io/fs"
	"os"
	"os/exec"
	"syscall"
)

// shell runs the command that follows.
var shell = []string{"/bin/sh", "-c"}

// systemVars are further variables without which programs do not start.
var systemVars []string

// detach gives the hook a session of its own: no terminal to ask on, and a process group that can be killed as one.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

func killGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }

func executable(m fs.FileMode) bool { return m&0o111 != 0 }
