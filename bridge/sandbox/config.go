package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/go-multierror"
)

// check fills in the defaults and returns every fault at once.
func (c Config) check() (Config, error) {
	faults := &multierror.Error{}
	bad := func(format string, a ...any) {
		faults = multierror.Append(faults, fmt.Errorf("sandbox: "+format, a...))
	}
	c.Kind, c.Network = orDefault(c.Kind, Auto), orDefault(c.Network, NoNetwork)
	if !slices.Contains([]string{Auto, Bwrap, Landlock, None}, c.Kind) {
		bad("kind %q: want auto, bwrap, landlock or none", c.Kind)
	}
	if !slices.Contains([]string{NoNetwork, Allowlist, HostNet}, c.Network) {
		bad("network %q: want none, allowlist or host", c.Network)
	}
	if c.Network == Allowlist && c.Dial == nil {
		bad("network allowlist: nothing that dials")
	}
	if err := canonicalDir(c.Dir); err != nil {
		bad("dir: %w", err)
	}
	for _, err := range slices.Concat(checkWritable(c.Dir, c.Writable), checkReadOnly(c.ReadOnly), checkRead(c.Read), checkEnv(c.Env)) {
		bad("%w", err)
	}
	l := c.Limits
	if slices.Min([]int64{l.Memory, int64(l.Processes), int64(l.Files), l.FileSize, int64(l.CPU), l.Tmp, int64(l.Head), int64(l.Tail), int64(l.Whole)}) < 0 {
		bad("limits: one is below 0: %+v", l)
	}
	c.Writable = outermost(c.Writable)
	c.Limits = l.withDefaults()
	return c, faults.ErrorOrNil()
}

func orDefault(s, def string) string {
	if s == "" {
		return def
	}
	return s
}

func canonicalDir(dir string) error {
	if err := showable(dir); err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	if real != dir {
		return fmt.Errorf("%s leads to %s: give that", dir, real)
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s: not a directory", dir)
	}
	return err
}

// showable says whether a box can show this path without showing all, or the kernel's own files, or losing its private /tmp.
func showable(path string) error {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return fmt.Errorf("%q: want a clean absolute path", path)
	}
	if slices.Contains([]string{"/", "/tmp", "/run"}, path) {
		return fmt.Errorf("%s: cannot be shown in a box", path)
	}
	for _, kernel := range []string{"/proc", "/sys", "/dev"} {
		if within(kernel, path) {
			return fmt.Errorf("%s: belongs to the kernel, and is not for a box", path)
		}
	}
	return nil
}

// within reports that path is dir or inside it. Both are clean.
func within(dir, path string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

func checkWritable(dir string, list []string) (errs []error) {
	for _, w := range list {
		if filepath.Clean(w) != w || !within(dir, w) {
			errs = append(errs, fmt.Errorf("writable %q: want a clean path inside %s", w, dir))
		}
	}
	return errs
}

func checkReadOnly(list []string) (errs []error) {
	for _, p := range list {
		if !filepath.IsAbs(p) || filepath.Clean(p) != p {
			errs = append(errs, fmt.Errorf("read-only %q: want a clean absolute path", p))
		}
	}
	return errs
}

func checkRead(list []string) (errs []error) {
	for _, r := range list {
		if err := showable(r); err != nil {
			errs = append(errs, fmt.Errorf("read: %w", err))
		}
	}
	return errs
}

func checkEnv(list []string) (errs []error) {
	for _, e := range list {
		name, _, ok := strings.Cut(e, "=")
		if !ok || name == "" || strings.ContainsRune(e, 0) {
			errs = append(errs, fmt.Errorf("env %q: want NAME=VALUE", name))
		}
	}
	return errs
}

// outermost drops the paths that are inside another of the list.
func outermost(list []string) (out []string) {
	sorted := slices.Sorted(slices.Values(list))
	for _, p := range sorted {
		if !slices.ContainsFunc(out, func(o string) bool { return within(o, p) }) {
			out = append(out, p)
		}
	}
	return out
}

// environment is that of every command. Later entries win over earlier ones.
func (c Config) environment(home string) []string {
	env := map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": home, "TMPDIR": home, "TERM": "dumb"}
	for _, name := range []string{"PATH", "LANG"} {
		if v := os.Getenv(name); v != "" {
			env[name] = v
		}
	}
	for _, e := range c.Env {
		name, value, _ := strings.Cut(e, "=")
		env[name] = value
	}
	if c.Network == Allowlist {
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy"} {
			env[name] = "http://" + forwardAddr
		}
		env["NO_PROXY"], env["no_proxy"] = "localhost,127.0.0.1,::1", "localhost,127.0.0.1,::1"
	}
	var out []string
	for name, value := range env {
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}

// forwardAddr is where a box with an allow-list has its proxy: on its own loopback, which nobody else shares.
const forwardAddr = "127.0.0.1:3128"

// maxMasks bounds the masks of one command. Each is a mount, and bubblewrap reads the table of mounts for each: 1000 take 1 s.
const maxMasks = 1000

// masks lists what must be hidden of what roots show: real paths, none inside another.
func (c Config) masks(roots []string) ([]string, error) {
	if c.Masked == nil {
		return nil, nil
	}
	list, err := c.Masked()
	if err != nil {
		return nil, &MaskError{Reason: err.Error()}
	}
	var out []string
	for _, p := range list {
		if !filepath.IsAbs(p) {
			return nil, &MaskError{p, "want an absolute path"}
		}
		real, err := filepath.EvalSymlinks(p)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, &MaskError{p, err.Error()}
		}
		if within(real, c.Dir) {
			return nil, &MaskError{p, "the workspace itself is to be hidden"}
		}
		if slices.ContainsFunc(roots, func(r string) bool { return within(r, real) || within(real, r) }) {
			out = append(out, real)
		}
	}
	out = outermost(out)
	if len(out) > maxMasks {
		return nil, &MaskError{out[0], fmt.Sprintf("and %d others: more than %d; deny whole directories instead", len(out)-1, maxMasks)}
	}
	return out, nil
}

// writable returns the writable paths that are there. The parents of each are read-only in every box, so no command can have put a
// symbolic link in its place; if there is one, somebody else did.
func (c Config) writable() ([]string, error) {
	var out []string
	for _, w := range c.Writable {
		real, err := filepath.EvalSymlinks(w)
		switch {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("writable: %w", err)
		case real != w:
			return nil, fmt.Errorf("writable %s is a symbolic link to %s: give that", w, real)
		default:
			out = append(out, w)
		}
	}
	return out, nil
}
