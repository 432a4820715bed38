//go:build unix

package mcp

import (
	"io/fs"
	"os"
	"os/exec"
	"syscall"
)

// systemVars are further variables without which programs do not start.
var systemVars []string

// detach gives the server a session of its own: no terminal to ask on, and a
// process group that can be ended as one.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

func terminateGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGTERM) }

// killGroup ends the group. It is called at once after the leader was reaped too:
// the id of a group that has members is not given to another process.
func killGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }

// private reports whether the owner alone may write the file.
func private(m fs.FileMode) bool { return m.Perm()&0o022 == 0 }
