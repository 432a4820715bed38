package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// readOnly takes what is to stay as it is from what is writable. It returns the writable paths that are left, and those in them that are
// not to be.
func (c Config) readOnly(writable []string) (left, kept []string) {
	left = slices.Clone(writable)
	for _, p := range c.ReadOnly {
		for _, at := range []string{p, resolved(p)} {
			left = slices.DeleteFunc(left, func(w string) bool { return within(at, w) })
			if slices.ContainsFunc(writable, func(w string) bool { return within(w, at) && w != at }) {
				kept = append(kept, at)
			}
		}
	}
	slices.Sort(kept)
	return left, slices.Compact(kept)
}

// resolved follows the symbolic links of as much of a path as is there.
func resolved(path string) string {
	for head, tail := path, ""; ; head, tail = filepath.Dir(head), filepath.Join(filepath.Base(head), tail) {
		if real, err := filepath.EvalSymlinks(head); err == nil {
			return filepath.Join(real, tail)
		}
		if head == filepath.Dir(head) {
			return path
		}
	}
}

// holdable says whether a mount on this path keeps everybody in a box from changing or replacing what is there.
func holdable(path string) error {
	var st unix.Stat_t
	switch err := unix.Lstat(path, &st); {
	case err == unix.ENOENT:
		return &ReadOnlyError{path, "it is not there, and a command could make it; make it first"}
	case err != nil:
		return &ReadOnlyError{path, err.Error()}
	}
	if real := resolved(path); real != path {
		return &ReadOnlyError{path, "it leads to " + real + " by a symbolic link, which a command could replace; use that path instead, and remove the link"}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR && st.Nlink > 1 {
		return &ReadOnlyError{path, fmt.Sprintf("it has %d names (hard links), and a command could write it by another; copy it", st.Nlink)}
	}
	return nil
}

// holds are bubblewrap's mounts of what is to stay as it is. As a mount none of it can be moved or removed either.
func holds(kept []string) (args []string, err error) {
	if len(kept) > maxMasks {
		return nil, &ReadOnlyError{kept[0], fmt.Sprintf("and %d others: more than %d; name whole directories instead", len(kept)-1, maxMasks)}
	}
	for _, p := range kept {
		if err := holdable(p); err != nil {
			return nil, err
		}
	}
	for _, p := range outermost(kept) {
		args = append(args, "--ro-bind", p, p)
	}
	return args, nil
}

// changeable tries all that would change or replace a file that is to stay as it is.
func changeable(path string) string {
	before, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	dir := filepath.Dir(path)
	moved := dir + ".moved"
	for _, try := range []func() error{
		func() error { return os.WriteFile(path, []byte("written"), 0o600) },
		func() error { return os.Chmod(path, 0o777) },
		func() error { return os.Rename(path, path+".moved") },
		func() error { return os.Remove(path) },
		func() error { return os.Link(path, path+".link") },
		func() error { return os.Rename(dir, moved) },
	} {
		if try() == nil {
			return "changed " + path
		}
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		return fmt.Sprintf("%s is another file now, %v", path, err)
	}
	return ""
}
