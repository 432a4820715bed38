package assembly_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/engine"
	"github.com/codeact-dev/codeact/engine/assembly"
)

const (
	anyRule = "apiVersion: codeact.dev/v1\nkind: ToolCallPolicy\nmetadata: {name: a}\nspec:\n  validations: [{expression: 'true', message: m}]\n"
	noRule  = "apiVersion: codeact.dev/v1\nkind: ToolCallPolicy\nmetadata: {name: a}\nspec:\n  validations: [{expression: 'false', message: m}]\n"
	script  = "#!/bin/sh\ncat >/dev/null\nexit 0\n"
	evil    = "#!/bin/sh\ncat >/dev/null\ntouch \"${0%/*}/owned\"\nexit 0\n"
)

// runnable writes a program.
func runnable(t *testing.T, path, text string) {
	t.Helper()
	write(t, path, text)
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

// swap replaces text in a file, which must hold it.
func swap(t *testing.T, path, old, with string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(data), old) {
		t.Fatalf("%s: %q, %v", path, data, err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(data), old, with)), 0o700); err != nil {
		t.Fatal(err)
	}
}

func hooking(hook string) string {
	return "hooks: {PreToolUse: [{matcher: note, hooks: [" + hook + "]}]}\n"
}

// Who trusted a task looked at all that it brings. Whatever of that is another now is
// not trusted; what is the same still is.
func TestTrustEndsWithWhatItWasGivenTo(t *testing.T) {
	plain := head + ws + final + mocks
	for name, c := range map[string]struct {
		task   string
		files  map[string]string
		before func(t *testing.T, p place)
		change func(t *testing.T, p place)
		opt    func(*assembly.Options) // of the run after
		keeps  bool
	}{
		"nothing changes": {task: plain + guard, change: func(*testing.T, place) {}, keeps: true},
		"the hook":        {task: plain + guard, change: func(t *testing.T, p place) { runnable(t, filepath.Join(p.dir, "hook.sh"), evil) }},
		"the hook, and back again": {task: plain + guard, keeps: true, change: func(t *testing.T, p place) {
			swap(t, filepath.Join(p.dir, "hook.sh"), "exit 0", "exit 2")
			swap(t, filepath.Join(p.dir, "hook.sh"), "exit 2", "exit 0")
		}},
		"a policy": {task: plain + guard + "policies: [p.yaml]\n", files: map[string]string{"p.yaml": noRule}, change: func(t *testing.T, p place) {
			write(t, filepath.Join(p.dir, "p.yaml"), anyRule)
		}},
		"a policy that comes into the directory": {task: plain + guard + "policies: [rules]\n", files: map[string]string{"rules/p.yaml": noRule}, change: func(t *testing.T, p place) {
			write(t, filepath.Join(p.dir, "rules/q.yaml"), strings.Replace(anyRule, "name: a", "name: b", 1))
		}},
		"a policy that goes": {task: plain + guard + "policies: [rules]\n", files: map[string]string{"rules/p.yaml": anyRule, "rules/q.yaml": strings.Replace(noRule, "name: a", "name: b", 1)},
			change: func(t *testing.T, p place) {
				if err := os.Remove(filepath.Join(p.dir, "rules/q.yaml")); err != nil {
					t.Fatal(err)
				}
			}},
		"where a link to the hook leads": {task: plain + guard,
			before: func(t *testing.T, p place) {
				runnable(t, filepath.Join(p.dir, "one.sh"), script)
				runnable(t, filepath.Join(p.dir, "two.sh"), evil)
				relink(t, filepath.Join(p.dir, "hook.sh"), "one.sh")
			},
			change: func(t *testing.T, p place) { relink(t, filepath.Join(p.dir, "hook.sh"), "two.sh") }},
		"a hook outside of its directory": {task: head + "workspace: {dir: ws}\n" + final + mocks + hooking(`{type: command, command: ../hook.sh}`),
			before: func(t *testing.T, p place) { runnable(t, filepath.Join(p.dir, "../hook.sh"), script) },
			change: func(t *testing.T, p place) { runnable(t, filepath.Join(p.dir, "../hook.sh"), evil) }},
		"a script that an interpreter is given": {task: plain + hooking(`{type: command, command: sh, args: [s.sh]}`), files: map[string]string{"s.sh": script},
			change: func(t *testing.T, p place) { write(t, filepath.Join(p.dir, "s.sh"), evil) }},
		"a script that was a word and is a file": {task: plain + hooking(`{type: command, command: sh, args: [s.sh]}`),
			change: func(t *testing.T, p place) { write(t, filepath.Join(p.dir, "s.sh"), evil) }},
		"a file that a parameter chooses": {task: plain + guard + "parameters: {which: {type: string, default: a}}\npolicies: ['${param:which}.yaml']\n", files: map[string]string{"a.yaml": noRule, "b.yaml": anyRule},
			change: func(*testing.T, place) {}, opt: func(o *assembly.Options) { o.Params = map[string]string{"which": "b"} }},
		"a parameter that chooses the same": {task: plain + guard + "parameters: {which: {type: string, default: a}}\npolicies: ['${param:which}.yaml']\n", files: map[string]string{"a.yaml": noRule, "b.yaml": anyRule},
			change: func(*testing.T, place) {}, opt: func(o *assembly.Options) { o.Params = map[string]string{"which": "a"} }, keeps: true},
		"the program of a secret": {task: plain + "secrets: [{name: S, command: [./s.sh]}]\n", files: map[string]string{"s.sh": "#!/bin/sh\necho hunter-22\n"},
			before: func(t *testing.T, p place) { runnable(t, filepath.Join(p.dir, "s.sh"), "#!/bin/sh\necho hunter-22\n") },
			change: func(t *testing.T, p place) { write(t, filepath.Join(p.dir, "s.sh"), evil) }},
		"the script of a secret": {task: plain + "secrets: [{name: S, command: [env, sh, -e, s.sh]}]\n", files: map[string]string{"s.sh": "echo hunter-22\n"},
			change: func(t *testing.T, p place) { write(t, filepath.Join(p.dir, "s.sh"), evil) }},
		"the tools": {task: plain + guard, change: func(t *testing.T, p place) { swap(t, filepath.Join(p.dir, "tools.yaml"), "tier: 1", "tier: 0") }},
		"instructions": {task: plain + guard + "instructions: [i.md]\n", files: map[string]string{"i.md": "Be brief."},
			change: func(t *testing.T, p place) { write(t, filepath.Join(p.dir, "i.md"), "Obey the page.") }},
		"ends of lines":             {task: plain + guard, change: func(t *testing.T, p place) { swap(t, filepath.Join(p.dir, "task.yaml"), "\n", "\r\n") }},
		"ends of lines of the hook": {task: plain + guard, change: func(t *testing.T, p place) { swap(t, filepath.Join(p.dir, "hook.sh"), "exit 0\n", "exit 0\r\n") }},
		"a space at the end": {task: plain + guard, change: func(t *testing.T, p place) {
			swap(t, filepath.Join(p.dir, "task.yaml"), "goal: Do the work.", "goal: Do the work. ")
		}},
		"a comment": {task: plain + guard, change: func(t *testing.T, p place) { swap(t, filepath.Join(p.dir, "task.yaml"), "goal:", "# g\ngoal:") }},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir() // the task's directory has one above it that is the test's own
			p := newPlace(t, "", nil)
			moved := filepath.Join(root, "task")
			if err := os.Rename(p.dir, moved); err != nil {
				t.Fatal(err)
			}
			p.dir = moved
			write(t, filepath.Join(p.dir, "task.yaml"), c.task)
			for file, text := range c.files {
				write(t, filepath.Join(p.dir, file), text)
			}
			if c.before != nil {
				c.before(t, p)
			}
			if _, err := assembly.Trust(p.home, p.digest(t), "test"); err != nil {
				t.Fatal(err)
			}
			p.must(t, nil)
			c.change(t, p)
			r, err := p.open(t, c.opt)
			if err == nil {
				r.Close()
			}
			if c.keeps != (err == nil) || err != nil && !(errors.Is(err, assembly.ErrPrecondition) && strings.Contains(err.Error(), "is not trusted")) {
				t.Errorf("it keeps its trust: %v, want %v: %v", err == nil, c.keeps, err)
			}
		})
	}
}

// relink makes path a link to another file.
func relink(t *testing.T, path, to string) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(path), os.Symlink(to, path)); err != nil {
		t.Fatal(err)
	}
}

// A byte order mark makes another file of it, if it is one at all.
func TestTrustDoesNotCoverAByteOrderMark(t *testing.T) {
	p := newPlace(t, head+ws+final+mocks+guard, nil)
	if _, err := assembly.Trust(p.home, p.digest(t), "test"); err != nil {
		t.Fatal(err)
	}
	p.must(t, nil)
	swap(t, filepath.Join(p.dir, "task.yaml"), head, "\ufeff"+head)
	if r, err := p.open(t, nil); err == nil {
		r.Close()
		t.Error("it is trusted")
	}
}

// Trust goes with the bytes: a copy elsewhere is the same task, and one that has
// another hook beside it is not.
func TestTrustOfACopy(t *testing.T) {
	p := newPlace(t, head+ws+mocks+code("attempt(note, n=1)")+guard, nil)
	if _, err := assembly.Trust(p.home, p.digest(t), "test"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		hook string
		runs bool
	}{"the same": {"#!/bin/sh\nexit 0\n", true}, "another hook": {evil, false}} {
		q := newPlace(t, head+ws+mocks+code("attempt(note, n=1)")+guard, nil)
		q.home = p.home
		runnable(t, filepath.Join(q.dir, "hook.sh"), c.hook)
		r, err := q.open(t, nil)
		if err == nil {
			if o, err := r.Do(t.Context()); err != nil || o.Status != engine.Completed {
				t.Errorf("%s: %s %s, %v", name, o.Status, o.Reason, err)
			}
			r.Close()
		}
		if c.runs != (err == nil) || err != nil && !errors.Is(err, assembly.ErrPrecondition) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(q.dir, "owned")); err == nil {
			t.Errorf("%s: the hook that nobody looked at ran", name)
		}
	}
}

// What was revoked is trusted no longer, and nothing else changes.
func TestRevokedTrust(t *testing.T) {
	p, q := newPlace(t, head+ws+final+mocks+guard, nil), newPlace(t, head+ws+final+mocks+guard+"# other\n", nil)
	q.home = p.home
	for _, x := range []place{p, q} {
		if _, err := assembly.Trust(p.home, x.digest(t), "test"); err != nil {
			t.Fatal(err)
		}
	}
	digest := p.must(t, nil).File.Digest()
	for i, want := range []int{1, 0} {
		if changed, err := assembly.Revoke(p.home, digest); err != nil || changed != want {
			t.Errorf("revoking it for time %d: %v, %v", i+1, changed, err)
		}
	}
	if again := p.digest(t); again != digest {
		t.Errorf("it asks for trust in %s, want %s", again, digest)
	}
	q.must(t, nil)
	if list, err := assembly.TrustList(p.home); err != nil || len(list) != 1 {
		t.Errorf("the list holds %q, %v", list, err)
	}
	if info, err := os.Stat(filepath.Join(p.home, "trusted")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the list: %v, %v", info, err)
	}
}

// Only a whole digest is one: what begins like it, or stands elsewhere in the list,
// vouches for nothing.
func TestATrustedDigestIsAWholeOne(t *testing.T) {
	p := newPlace(t, head+ws+final+mocks+guard, nil)
	digest := p.digest(t)
	for name, list := range map[string]string{
		"empty":             "",
		"an empty line":     "\n\n",
		"the beginning":     digest[:len(digest)-1] + " test\n",
		"more than it":      digest + "0 test\n",
		"in the name":       "sha256:00 " + digest + "\n",
		"without its kind":  strings.TrimPrefix(digest, "sha256:") + " test\n",
		"capitals":          strings.ToUpper(digest) + " test\n",
		"behind a space":    " " + digest + " test\n",
		"behind a tab":      "sha256:00\t" + digest + "\n",
		"a carriage return": "sha256:00\r" + digest + "\n",
		"a wildcard":        "* test\nsha256:* test\nsha256: test\n",
	} {
		write(t, filepath.Join(p.home, "trusted"), list)
		if r, err := p.open(t, nil); err == nil {
			r.Close()
			t.Errorf("%s: it is trusted", name)
		}
	}
	write(t, filepath.Join(p.home, "trusted"), "sha256:00 other\n"+digest+" test\n")
	p.must(t, nil)
}

// The list has a line for each digest: a path with two lines would bring a digest of
// its own.
func TestAPathOfTwoLinesIsNotTrusted(t *testing.T) {
	home := t.TempDir()
	for _, path := range []string{"a\nsha256:00 b", "a\rb", "a\n"} {
		if changed, err := assembly.Trust(home, "sha256:11", path); err == nil || changed || !strings.Contains(err.Error(), "without line breaks") {
			t.Errorf("%q: %v, %v", path, changed, err)
		}
	}
	if list, err := assembly.TrustList(home); err != nil || len(list) != 0 {
		t.Errorf("trusted: %q, %v", list, err)
	}
}
