package mcp

import (
	"io/fs"
	"os"
	"os/exec"
	"syscall"
)

// systemVars are further variables without which programs do not start.
var systemVars = []string{"SystemRoot", "ComSpec", "PATHEXT", "TEMP", "USERPROFILE"}

// detach hides the console. Windows has no process groups to end: a child that a
// server leaves behind lives on.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{HideWindow: true} }

func terminateGroup(p *os.Process) error { return p.Kill() }

func killGroup(p *os.Process) error { return p.Kill() }

// private: the modes that Go shows on Windows say nothing about who may write.
func private(fs.FileMode) bool { return true }
