package assembly

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/engine/store"
	"github.com/codeact-dev/codeact/engine/taskfile/strictyaml"
)

// check refuses what a file may say and this version does not do, all at once: a
// setting that is accepted and not enforced would be worse than none.
func (r *Run) check() error {
	t := r.File
	var faults []error
	not := func(present bool, path, instead string) {
		if present {
			faults = append(faults, t.Fault(path, "is not there yet in this version; %s", instead))
		}
	}
	not(t.Trace.OTLP.Endpoint != "", "$.trace.otlp", "remove it; the trace is a file")
	not(t.Model.Provider == "replay", "$.model.provider", "use scripted, anthropic or openai-compatible")
	not(len(t.Model.Roles) > 0, "$.model.roles", "remove it")
	not(t.Reflection.Enabled && t.Reflection.AutoApply, "$.reflection.autoApply", "remove it; lessons are only proposed")
	not(len(t.Reflection.LessonsFrom) > 0, "$.reflection.lessonsFrom", "remove it; lessons are only proposed")
	return strictyaml.Join(faults...)
}

// options applies what the caller adds. It can only narrow.
func (r *Run) options() error {
	var faults []error
	for _, l := range r.opt.Limits {
		if err := r.File.Limits.Lower(l); err != nil {
			faults = append(faults, err)
		}
	}
	switch r.opt.Mode {
	case "", "interactive", "unattended", "plan":
	default:
		faults = append(faults, fmt.Errorf("mode %q: want interactive, unattended or plan", r.opt.Mode))
	}
	switch r.opt.OnAsk {
	case "", "pause", "deny":
	default:
		faults = append(faults, fmt.Errorf("on-ask %q: want pause or deny", r.opt.OnAsk))
	}
	if r.opt.Mode == "interactive" && r.opt.Approver == nil {
		faults = append(faults, errors.New("mode interactive needs a terminal to ask on; without one leave it out, and questions pause the run"))
	}
	return strictyaml.Join(faults...)
}

// vouch refuses what needs leave that was not given: looser settings than the
// home permits, and commands of a task that nobody trusts.
func (r *Run) vouch() error {
	loosened, missing := r.File.Loosened(r.Home)
	r.Loosened = loosened
	var texts []string
	for _, m := range missing {
		texts = append(texts, fmt.Sprintf("%s:%d: %s is looser than the default and needs `permit: [%s]` in %s", r.File.Path, m.Line, m.Setting, m.Name,
			filepath.Join(r.opt.Home, "config.yaml")))
	}
	if r.opt.BestEffort {
		r.Loosened = append(r.Loosened, "sandbox: best-effort")
		if !r.Home.Permits("sandbox.optional") {
			texts = append(texts, "--sandbox best-effort needs `permit: [sandbox.optional]` in "+filepath.Join(r.opt.Home, "config.yaml"))
		}
	}
	if d := r.File.Trace.Dir; d != "" && !within(d, r.opt.Home) && !r.trusted() {
		texts = append(texts, fmt.Sprintf("trace.dir %s lies outside the home, where only a trusted task may write; to trust it, give --trust %s", d, r.File.Digest()))
	}
	if r.opt.Trust != "" && r.opt.Trust != r.File.Digest() {
		texts = append(texts, fmt.Sprintf("the digest given to --trust is not this task's: it is %s now; look at what changed before you trust it", r.File.Digest()))
	}
	if needs := r.File.NeedsTrust(); len(needs) > 0 && !r.trusted() {
		texts = append(texts, fmt.Sprintf("%s brings commands and is not trusted:\n  %s\nlook at them, then run `codeact trust %s`, or give --trust %s for one run",
			r.File.Path, strings.Join(needs, "\n  "), r.File.Path, r.File.Digest()))
	}
	if texts != nil {
		return fmt.Errorf("%w: %s", ErrPrecondition, strings.Join(texts, "\n"))
	}
	return nil
}

// trusted reports whether the operator vouches for the task as it stands: every
// byte of it and of what it names.
func (r *Run) trusted() bool {
	return r.opt.Trust == r.File.Digest() || Trusted(r.opt.Home, r.File.Digest())
}

// trustFile is the list of digests that the operator trusts, one a line, in the
// home.
const trustFile = "trusted"

// Trusted reports whether the home trusts the digest of a task.
func Trusted(home, digest string) bool {
	f, err := os.Open(filepath.Join(home, trustFile))
	if err != nil {
		return false
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if word, _, _ := strings.Cut(s.Text(), " "); word == digest {
			return true
		}
	}
	return false
}

// Trust adds a digest to the home's list, with the path of its task for people.
// changed is false when it was there.
func Trust(home, digest, path string) (changed bool, err error) {
	if strings.ContainsAny(digest+path, "\r\n") { // a second line would be a second digest
		return false, fmt.Errorf("assembly: trust %q: want a path without line breaks", path)
	}
	if Trusted(home, digest) {
		return false, nil
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return false, fmt.Errorf("assembly: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(home, trustFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return false, fmt.Errorf("assembly: %w", err)
	}
	_, err = fmt.Fprintf(f, "%s %s\n", digest, path)
	return err == nil, errors.Join(err, f.Close())
}

// TrustList returns the lines of the home's list: a digest and the path of its task.
func TrustList(home string) ([]string, error) {
	data, err := os.ReadFile(filepath.Join(home, trustFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("assembly: %w", err)
	}
	return strings.FieldsFunc(string(data), func(c rune) bool { return c == '\n' }), nil
}

// Revoke takes a digest off the home's list, or every digest of the task at a path.
// It returns how many there were.
func Revoke(home, what string) (n int, err error) {
	list, err := TrustList(home)
	kept := slices.DeleteFunc(slices.Clone(list), func(line string) bool {
		digest, path, _ := strings.Cut(line, " ")
		return digest == what || path == what
	})
	if n = len(list) - len(kept); err != nil || n == 0 {
		return n, err
	}
	var text strings.Builder
	for _, line := range kept {
		text.WriteString(line + "\n")
	}
	return n, store.Replace(home, trustFile, []byte(text.String()))
}

// ownHome refuses a home in which somebody else could put permits, trusted digests
// or keys. One that does not exist yet is made by whoever writes to it first.
func ownHome(home string) error {
	for _, name := range []string{"", "config.yaml", trustFile} {
		path := filepath.Join(home, name)
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return fmt.Errorf("%w: %w", ErrState, err)
		case info.Mode().Perm()&0o022 != 0:
			return fmt.Errorf("%w: others may write %s: chmod go-w it", ErrPrecondition, path)
		case !mine(info):
			return fmt.Errorf("%w: %s belongs to another user, who could permit anything: chown it, or set CODEACT_HOME to a directory of your own", ErrPrecondition, path)
		}
	}
	return nil
}

// workspaceDir is the directory of the run, which must hold nothing of the home.
func (r *Run) workspaceDir() (string, error) {
	dir := r.File.Workspace.Dir
	if r.opt.Workspace != "" {
		dir = r.opt.Workspace
	}
	if dir == "" {
		dir = workspace.DefaultDir(r.opt.Home, r.File.Metadata.Name)
		if r.opt.Look {
			return dir, nil
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", fmt.Errorf("%w: %w", ErrState, err)
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("assembly: %w", err)
	}
	roots := append([]string{dir}, r.readRoots()...)
	texts := r.exposed(roots)
	for _, d := range roots {
		if err := workspace.CheckRoot(d, r.opt.Home, r.opt.UserHome); err != nil {
			texts = append(texts, err.Error())
		}
	}
	if within(r.traceDir(), dir) && r.File.Trace.Dir != "" {
		texts = append(texts, "trace.dir lies in the workspace, where the run could read and change it")
	}
	if texts != nil {
		return "", fmt.Errorf("%w: %s", ErrPrecondition, strings.Join(texts, "\n"))
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return "", r.File.Fault("$.workspace.dir", "there is no directory %s", dir)
		}
		return "", fmt.Errorf("assembly: %w", err)
	}
	return dir, nil
}

func (r *Run) readRoots() []string {
	var dirs []string
	for _, x := range r.File.Workspace.Read {
		dirs = append(dirs, x.Path)
	}
	return dirs
}

func (r *Run) traceDir() string {
	if r.File.Trace.Dir != "" {
		return r.File.Trace.Dir
	}
	return filepath.Join(r.opt.Home, "traces")
}

// within reports whether path is dir or lies in it, as written.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
