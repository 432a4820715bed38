package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// CheckRoot refuses a directory that holds what no run may see: the codeact home, the user's home, or everything. The direction
// matters: a workspace inside either home is fine. A path that cannot be canonicalised is compared as written, since refusing
// too much is recoverable. Empty homes are not checked. The text is for the operator, not for the model.
func CheckRoot(dir, codeactHome, userHome string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("workspace %s: %w: %w", dir, ErrUnsafeRoot, err)
	}
	for _, d := range forms(abs) {
		if filepath.Dir(d) == d {
			return unsafeRoot(dir, "is the whole file system", "every file of this machine")
		}
	}
	if codeactHome != "" && contains(abs, codeactHome) {
		return unsafeRoot(dir, "contains the codeact home ("+codeactHome+")", "the tokens, every trace and the lessons")
	}
	if userHome != "" && contains(abs, userHome) {
		return unsafeRoot(dir, "contains your home ("+userHome+")", "your keys, your mail and every project")
	}
	return nil
}

func unsafeRoot(dir, what, exposed string) error {
	return fmt.Errorf("workspace %s %s, so its tools would reach %s: %w; run from a project directory instead, or name one with --workspace DIR",
		dir, what, exposed, ErrUnsafeRoot)
}

// contains compares by name, in every spelling, and by identity, which sees bind mounts and file systems that ignore case.
func contains(dir, home string) bool {
	home, err := filepath.Abs(home)
	if err != nil {
		return true
	}
	for _, h := range forms(home) {
		for _, d := range forms(dir) {
			if covers(d, h) {
				return true
			}
		}
		if aboveByIdentity(dir, h) {
			return true
		}
	}
	return false
}

func aboveByIdentity(dir, path string) bool {
	top, err := os.Stat(dir)
	if err != nil {
		return false
	}
	for {
		if info, err := os.Stat(path); err == nil && os.SameFile(top, info) {
			return true
		}
		up := filepath.Dir(path)
		if up == path {
			return false
		}
		path = up
	}
}

var plainTask = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// DefaultDir is where a task without workspace.dir works: <home>/work/<task>. A name that is no plain component is made one, with
// a digest, so that two such tasks do not meet.
func DefaultDir(codeactHome, task string) string {
	if !plainTask.MatchString(task) {
		sum := sha256.Sum256([]byte(task))
		plain := strings.Map(func(r rune) rune {
			if r < 0x80 && plainTask.MatchString(string(r)) {
				return r
			}
			return '-'
		}, task)
		task = "task-" + plain[:min(len(plain), 60)] + "-" + hex.EncodeToString(sum[:4])
	}
	return filepath.Join(codeactHome, "work", task)
}
