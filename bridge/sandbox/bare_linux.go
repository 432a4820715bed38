package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/codeact-dev/codeact/bridge/sandbox/restrict"
)

// bareBox starts commands without namespaces: confined by landlock and seccomp, or, for the kind none, not at all.
type bareBox struct {
	cfg  Config
	self string
	pids bool // root: see bwrapBox
}

func (b *bareBox) program() string { return b.self }

func (b *bareBox) prepare(ctx context.Context, j job, status *os.File) (*process, error) {
	if err := b.refuseMasks(j); err != nil {
		return nil, err
	}
	writable, err := b.writable()
	if err != nil {
		return nil, err
	}
	home, err := os.MkdirTemp("", "codeact-box-")
	if err != nil {
		return nil, err
	}
	p := &process{}
	j.plan.Env, j.plan.Home = b.cfg.environment(home), home
	if b.cfg.Kind == Landlock {
		network := b.cfg.Network == HostNet
		j.plan.Calls, j.plan.Scoped = &restrict.Calls{Bare: true, Network: network}, true
		j.plan.Files = &restrict.Files{
			Read:    slices.Concat([]string{b.cfg.Dir, b.self}, b.cfg.Read, j.read, systemDirs, systemFiles, procFiles),
			Write:   slices.Concat(writable, []string{home}, devices),
			Network: network,
		}
	}
	if uid := os.Geteuid(); uid != 0 {
		j.plan.Limits.Processes += threadsOf(uid) // the kernel counts all that the user has
	}
	life, hold, err := os.Pipe()
	p.own(life, err)
	p.command(ctx, []string{b.self, marker, roleSupervise}, p.own(j.plan.file()), status, life)
	if b.pids {
		p.cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWPID
	}
	p.kill = hold.Close // the supervisor kills, and ends when nothing is left
	p.release = func() error {
		_ = hold.Close() // kill may have been before
		return removeAll(home)
	}
	return p, p.err
}

// refuseMasks: landlock cannot take a part from what it shows.
func (b *bareBox) refuseMasks(j job) error {
	if b.cfg.Kind != Landlock {
		return nil
	}
	masks, err := b.cfg.masks(b.cfg.roots(j.read))
	if err == nil && len(masks) > 0 {
		err = &MaskError{masks[0], "it exists, and landlock can hide no part of what it shows; move it out of the workspace, or install bubblewrap"}
	}
	return err
}

// writable refuses, too, where a part of it is to stay as it is.
func (b *bareBox) writable() ([]string, error) {
	writable, err := b.cfg.writable()
	if err != nil || b.cfg.Kind != Landlock {
		return writable, err
	}
	writable, kept := b.cfg.readOnly(writable)
	if len(kept) > 0 {
		return nil, &ReadOnlyError{kept[0], "it lies in what is writable, and landlock can keep no part of that; move it, make less writable, or install bubblewrap"}
	}
	return writable, nil
}

// removeAll removes a directory, in which a command may have left others that not even their owner may enter.
func removeAll(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o700) // before it is read
		}
		return err
	})
	return errors.Join(err, os.RemoveAll(dir))
}
