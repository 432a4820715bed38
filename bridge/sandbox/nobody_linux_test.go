package sandbox_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// asNobody is set in the process that runs all tests of this package again, as a user without rights.
const asNobody = "SANDBOX_TEST_NOBODY"

func TestAllHoldsForNobodyToo(t *testing.T) {
	if os.Geteuid() != 0 {
		return // it does: this is such a user
	}
	if os.Getenv(asNobody) != "" {
		t.Fatal("root, after all")
	}
	program := plantSuid(t)
	tmp := filepath.Join(filepath.Dir(program), "tmp")
	const nobody = 65534
	if err := errors.Join(os.Mkdir(tmp, 0o700), os.Chown(tmp, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(filepath.Dir(program), "plain")
	if err := exec.Command("install", "-m", "755", program, plain).Run(); err != nil {
		t.Fatal(err)
	}
	args := []string{"-test.v"}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	cmd := exec.CommandContext(t.Context(), plain, args...)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), asNobody+"=1", suidProgram+"="+program, "TMPDIR="+tmp, "HOME="+tmp)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if passed := bytes.Count(out, []byte("\n--- PASS: Test")); err != nil || passed < 30 || bytes.Contains(out, []byte("--- SKIP")) {
		lines := strings.Split(string(out), "\n")
		var failed []string
		for i, l := range lines {
			if strings.Contains(l, "--- FAIL") || strings.HasPrefix(l, "panic") {
				failed = append(failed, lines[i:min(i+8, len(lines))]...)
			}
		}
		t.Errorf("%v, %d passed:\n%s", err, passed, strings.Join(failed, "\n"))
	}
}
