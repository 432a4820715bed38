package assembly

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/hooks"
	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/bridge/scan/redact"
	"github.com/codeact-dev/codeact/bridge/tools"
	"github.com/codeact-dev/codeact/engine/models"
	"github.com/codeact-dev/codeact/engine/taskfile"
)

// The bounds of where a secret comes from.
const (
	secretWait = 10 * time.Second // of a command
	maxSecret  = 64 << 10         // bytes of a file
)

// secrets reads the values that the task names, each once: a command may count, or
// ask a person. Each one that is missing is named, and what was tried. Who only
// looks needs none, and must not start a command.
func (r *Run) secrets(ctx context.Context) (map[string]string, error) {
	values := make(map[string]string)
	if r.opt.Look {
		return values, nil
	}
	var missing []string
	for _, s := range r.File.Secrets {
		v, err := r.secret(ctx, s, values)
		if err == nil {
			err = redact.Findable(v)
		}
		if err != nil {
			missing = append(missing, fmt.Sprintf("secret %s: %v", s.Name, err))
			continue
		}
		values[s.Name] = v
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("assembly: secrets: %w", err) // it is no secret that is missing
	}
	if missing != nil {
		return nil, fmt.Errorf("%w: %s", ErrCredential, strings.Join(missing, "\n"))
	}
	return values, nil
}

func (r *Run) secret(ctx context.Context, s taskfile.Secret, known map[string]string) (string, error) {
	switch {
	case s.File != "":
		return secretFile(s.File)
	case len(s.Command) > 0:
		return r.secretCommand(ctx, s.Command, known)
	}
	name := cmp.Or(s.Env, s.Name)
	if v, ok := r.env(name); ok && v != "" {
		return v, nil
	}
	return "", fmt.Errorf("the environment variable %s is not set", name)
}

// secretFile reads a file that nobody else may read or put in its place. A link
// may lead to it, as it does where secrets are mounted.
func secretFile(path string) (string, error) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return "", cmp.Or(err, fmt.Errorf("%s is no regular file", path)) // to open a pipe would wait
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat() // of what was opened: the name may lead elsewhere by now
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is no regular file", path)
	case info.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("%s may be read by others: chmod 600 it", path)
	case !mine(info):
		return "", fmt.Errorf("%s belongs to another user, who knows it and can change it: chown it", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	v := strings.TrimRight(string(data), "\r\n")
	switch {
	case err != nil:
		return "", err
	case len(data) > maxSecret:
		return "", fmt.Errorf("%s has more than %d bytes: that is no secret", path, maxSecret)
	case v == "":
		return "", fmt.Errorf("%s is empty", path)
	}
	return v, nil
}

// secretFiles are the files of the task's secrets.
func (r *Run) secretFiles() (paths []string) {
	for _, s := range r.File.Secrets {
		if s.File != "" {
			paths = append(paths, s.File)
		}
	}
	return paths
}

// exposed names the files of secrets that lie in dirs, where the run can look: its
// tools would read what the model must not.
func (r *Run) exposed(dirs []string) (texts []string) {
	for _, s := range r.File.Secrets {
		if s.File != "" && slices.ContainsFunc(dirs, func(d string) bool { return holds(d, s.File) }) {
			texts = append(texts, fmt.Sprintf("secret %s: its file %s lies where the run can read it: keep it outside of the workspace and of workspace.read", s.Name, s.File))
		}
	}
	return texts
}

// holds reports whether a file lies in dir, by its name or by where links lead. The
// directories above it are compared by identity: a name has many spellings.
func holds(dir, file string) bool {
	top, err := os.Stat(dir)
	if err != nil {
		return false // there is nothing in it
	}
	paths := []string{file}
	if real, err := filepath.EvalSymlinks(file); err == nil {
		paths = append(paths, real)
	}
	for _, p := range paths {
		for ; ; p = filepath.Dir(p) {
			if info, err := os.Stat(p); err == nil && os.SameFile(info, top) {
				return true
			}
			if p == filepath.Dir(p) {
				break
			}
		}
	}
	return false
}

// secretCommand asks a program of the operator's. Only a trusted task gets here:
// see vouch.
func (r *Run) secretCommand(ctx context.Context, argv []string, known map[string]string) (string, error) {
	v, err := hooks.Read(ctx, argv, r.File.Dir, secretWait)
	if err == nil {
		return v.Text, nil
	}
	err = fmt.Errorf("command %s: %w", scan.Line(argv[0], 200), err)
	if v.Stderr == "" {
		return "", err
	}
	text := v.Stderr
	if v.Text != "" { // it may have said here what it should have printed
		text = strings.ReplaceAll(text, v.Text, "[redacted]")
	}
	if red, bad := redact.New(redact.Config{Secrets: known}); bad == nil {
		text, _ = red.String(text)
	}
	return "", fmt.Errorf("%w: it said: %s", err, scan.Line(text, 400))
}

// known is every value that no text of the run may hold: its secrets, its sensitive
// parameters, and the keys of models. A parameter that cannot be told from ordinary text cannot
// be kept out of one either.
func (r *Run) known(secrets map[string]string) (map[string]string, error) {
	all := maps.Clone(secrets)
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(r.File.SensitiveParams)) {
		v := r.File.SensitiveParams[name]
		if v == "" {
			continue // there is nothing to keep
		}
		if err := redact.Findable(v); err != nil {
			faults = append(faults, r.unquoted("$.parameters."+name, "it is sensitive, and could not be redacted: %v", err))
			continue
		}
		all["parameter "+name] = v
	}
	for _, name := range r.keyVariables() {
		if v, ok := r.env(name); ok && redact.Findable(v) == nil {
			all["key "+name] = v
		}
	}
	return all, errors.Join(faults...)
}

// keyVariables are the variables that hold the keys of models. The run needs one at
// most; the others are no less secret.
func (r *Run) keyVariables() []string {
	m := r.File.Model
	list := []string{models.DefaultKeyEnv(models.Anthropic, ""), models.DefaultKeyEnv(models.OpenAICompatible, ""), models.DefaultKeyEnv(m.Provider, m.BaseURL)}
	if r.trusted() {
		list = append(list, m.APIKeyEnv) // live asks no other task's own variable
	}
	return slices.DeleteFunc(list, func(name string) bool { return name == "" })
}

// secretList gives the tool of that name what it lists.
func (r *Run) secretList(ts []bridge.Tool) {
	for i := range ts {
		if ts[i].Name == "secret_list" {
			var names []string
			for _, s := range r.File.Secrets {
				names = append(names, s.Name)
			}
			ts[i] = tools.SecretList(names)
		}
	}
}
