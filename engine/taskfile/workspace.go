package taskfile

import (
	"fmt"
	"path/filepath"
	"strings"
)

// CheckWorkspace refuses a workspace, or an extra read root, that holds what no
// run may see: the file system's root, the user's home directory, or the home of
// codeact with its traces, keys and permits. A directory inside those is fine.
//
// A path that cannot be followed, as one that does not exist yet, is compared as
// written: refusing too much is recoverable.
func CheckWorkspace(dir, home, userHome string) error {
	for _, d := range forms(dir) {
		if filepath.Dir(d) == d {
			return fmt.Errorf("taskfile: workspace %q is the root of the file system: choose a directory for this task alone", dir)
		}
		for _, h := range forms(home) {
			if contains(d, h) {
				return fmt.Errorf("taskfile: workspace %q holds codeact's own home %q, with its traces and permits: choose a directory for this task alone", dir, home)
			}
		}
		for _, h := range forms(userHome) {
			if contains(d, h) {
				return fmt.Errorf("taskfile: workspace %q holds your home directory %q: choose a directory for this task alone", dir, userHome)
			}
		}
	}
	return nil
}

// forms returns path as written, where the part of it that exists leads when
// every link is followed, and where the system would go: it follows a link
// before it reads the ".." behind it, while names alone do not tell.
func forms(path string) []string {
	if path == "" {
		return nil
	}
	list := []string{filepath.Clean(path)}
	if abs, err := filepath.Abs(path); err == nil {
		list = []string{abs}
	}
	rest := ""
	for dir := list[0]; filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			list = append(list, filepath.Join(real, rest))
			break
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		if real, err = filepath.Abs(real); err == nil {
			list = append(list, real)
		}
	}
	return list
}

// contains reports whether path is dir or lies in it, by their names.
func contains(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
