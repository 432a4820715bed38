package hooks

import (
	"io/fs"
	"os"
	"os/exec"
	"syscall"
)

// shell runs the command that follows.
var shell = []string{"cmd", "/C"}

// systemVars are further variables without which programs do not start.
var systemVars = []string{"SystemRoot", "ComSpec", "PATHEXT", "TEMP", "USERPROFILE"}

// detach hides the console. Windows has no process groups to kill: a child that a hook leaves behind lives on, and waitDelay alone
// ends the wait for it.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{HideWindow: true} }

func killGroup(p *os.Process) error { return p.Kill() }

// executable: Windows tells programs by their names.
func executable(fs.FileMode) bool { return true }
