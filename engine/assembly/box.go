package assembly

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/egress"
	"github.com/codeact-dev/codeact/bridge/sandbox"
	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/policy"
)

// openBox opens the box that the shell tool runs in, after it was seen to hold. A
// task that grants no shell needs none.
func (r *Run) openBox(ctx context.Context) error {
	if !slices.Contains(r.File.Tools.Builtin, "shell") || r.opt.Look {
		return nil
	}
	cfg, err := r.boxConfig()
	if err != nil {
		return err
	}
	r.box, err = sandbox.Open(ctx, cfg)
	if errors.Is(err, sandbox.ErrUnavailable) && r.optional() {
		r.Warnings = append(r.Warnings, "shell runs without a box: "+err.Error())
		cfg.Kind, cfg.Network = sandbox.None, sandbox.HostNet
		r.box, err = sandbox.Open(ctx, cfg)
	}
	if errors.Is(err, sandbox.ErrUnavailable) {
		return fmt.Errorf("%w: shell needs a box that holds: %w; `workspace.sandbox: {required: false}` would run it without one", ErrPrecondition, err)
	}
	if err == nil && !r.box.Report().Confined {
		r.Loosened = append(r.Loosened, "sandbox: none, shell runs with your rights")
	}
	return err
}

// optional reports whether the operator lets commands run without a box.
func (r *Run) optional() bool { return r.opt.BestEffort || r.File.Workspace.Sandbox.Optional }

// boxConfig is the files of the run as whole directories. What readDeny matches is
// looked for again before each command.
func (r *Run) boxConfig() (sandbox.Config, error) {
	s, _, err := workspace.Open(r.files("box"))
	if err != nil {
		return sandbox.Config{}, err
	}
	defer s.Close()
	c, err := s.Confine()
	if err != nil {
		return sandbox.Config{}, err
	}
	if err := makeWritable(c); err != nil {
		return sandbox.Config{}, fmt.Errorf("%w: workspace.writable: %w", ErrState, err)
	}
	if len(c.Unwritable) > 0 {
		r.Warnings = append(r.Warnings, "commands may not write "+strings.Join(c.Unwritable, ", ")+": in a box only whole directories are writable, as drafts/**")
	}
	cfg := sandbox.Config{Kind: r.File.Workspace.Sandbox.Kind, Network: r.File.Workspace.Sandbox.Network, Dir: c.Dir, Writable: c.Writable, Read: c.Read,
		Masked: r.masked, ReadOnly: c.Protected}
	if cfg.Network == sandbox.Allowlist {
		cfg.Dial, err = r.allowlisted()
	}
	return cfg, err
}

// makeWritable makes the directories that commands may write: a box can only show
// what is there. No link leads out of the workspace.
func makeWritable(c workspace.Confines) error {
	root, err := os.OpenRoot(c.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, dir := range c.Writable {
		rel, err := filepath.Rel(c.Dir, dir)
		if err == nil {
			err = root.MkdirAll(rel, 0o755)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Run) masked() ([]string, error) {
	s, _, err := workspace.Open(r.files("box"))
	if err != nil {
		return nil, err
	}
	defer s.Close()
	c, err := s.Confine()
	return slices.Concat(c.Hidden, []string{filepath.Join(r.opt.Home, "keys"), filepath.Join(r.opt.Home, "outbox")}, r.secretFiles()), err
}

// allowlisted dials the hosts of workspace.sandbox.allow, by the rules of every other
// tool that reaches the network.
func (r *Run) allowlisted() (func(context.Context, string, string) (net.Conn, error), error) {
	if len(r.File.Workspace.Sandbox.Allow) == 0 {
		return nil, r.File.Fault("$.workspace.sandbox.network", "allowlist needs the hosts under allow")
	}
	c, err := egress.New(egress.Config{AllowPrivate: r.File.Security.PrivateIPs, Allow: r.Home.Security.AllowPrivate, AllowedDomains: r.File.Workspace.Sandbox.Allow})
	if err != nil {
		return nil, err
	}
	return c.DialContext, nil
}

// unboxed refuses a shell with the user's rights beside anything that could tell it
// what to do: an injection would have the machine.
func (r *Run) unboxed(ts []bridge.Tool) error {
	i := slices.IndexFunc(ts, func(t bridge.Tool) bool { return t.Name == "shell" && !t.Sandboxed })
	if i < 0 || r.opt.Look || r.Home.Permits("unsandboxed-shell") {
		return nil
	}
	for _, t := range ts {
		if t.Name != "shell" && (t.Caps.Has(policy.UntrustedInput) || t.Name == "fs_read" || t.Name == "fs_search") {
			return fmt.Errorf("%w: shell runs without a box here, and %s could bring in text that tells it what to do: give the shell a box, take one of them out, or put `permit: [unsandboxed-shell]` into %s",
				ErrPrecondition, t.Name, filepath.Join(r.opt.Home, "config.yaml"))
		}
	}
	return nil
}

// boxed is what was seen to hold of the box, for the record.
func (r *Run) boxed() []string {
	if r.box == nil {
		return nil
	}
	b := r.box.Report()
	return append([]string{b.Kind, "network " + b.Network}, b.Enforced...)
}
