package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadDeny(t *testing.T) {
	for _, c := range []struct {
		glob, path string
		denied     bool
	}{
		{"secrets/**", "secrets", true},
		{"secrets/**", "secrets/a/b", true},
		{"secrets/**", "secretsfile", false},
		{"secrets/**", "x/secrets/a", false},
		{"secrets", "secrets/a/b", true},
		{"secrets/", "secrets/a", true},
		{"secrets/", "secrets", true},
		{"./secrets/", "secrets/a", true},
		{"a/b/*.key", "a/b/c.key", true},
		{"a/b/*.key", "a/b/c.key/below", true},
		{"a/b/*.key", "a/b", false},
		{".env*", ".env.local", true},
		{".env*", "deep/down/.env", true},
		{"**/*.pem", "k.pem", true},
		{"{a,b}/x", "b/x", true},
		{"[ab]", "c", false},
		{"**", "anything", true},
		{"SECRETS/**", "secrets/a", fold("A") == "a"},
	} {
		w := newWorld(t, openBeneath, Config{ReadDeny: []string{c.glob}}, nil)
		if _, err := w.space.Resolve(c.path); errors.Is(err, ErrDenied) != c.denied || (err != nil) != c.denied {
			t.Errorf("%s, %s: %v", c.glob, c.path, err)
		}
	}
}

func TestWritable(t *testing.T) {
	for _, c := range []struct {
		glob, path string
		writable   bool
	}{
		{"", "a", false},
		{"drafts/**", "drafts/a", true},
		{"drafts/**", "drafts/a/b/c", true},
		{"drafts/**", "drafts", false},
		{"drafts/**", "drafts2/a", false},
		{"drafts/**", ".", false},
		{"drafts/", "drafts/a", true},
		{"drafts/", "drafts", false},
		{"**", ".", false},
		{"**", "a/b", true},
		{"*", ".", false},
		{"notes.md", "notes.md", true},
		{"notes.md", "notes.md/x", false},
		{"out/*.md", "out/a.txt", false},
	} {
		var globs []string
		if c.glob != "" {
			globs = []string{c.glob}
		}
		w := newWorld(t, openBeneath, Config{Writable: globs}, nil)
		target := w.resolve(t, c.path)
		if target.Writable != c.writable {
			t.Errorf("%s, %s: writable %v", c.glob, c.path, target.Writable)
		}
		if err := w.space.WriteFile(target, []byte("x"), Create); (err == nil) != c.writable {
			t.Errorf("%s, %s: write: %v", c.glob, c.path, err)
		}
	}
}

func TestUntrusted(t *testing.T) {
	w := newWorld(t, openBeneath, Config{
		Untrusted: []string{"vendor/**", "**/node_modules/**", "**/*.eml", "downloads/"},
	}, map[string]string{"vendor/a": "", "mine": "", "l": "-> vendor/a", "downloads/l": "-> ../mine"})
	for path, want := range map[string]bool{
		"mine": false, "vendor/a": true, "vendor": true, "x/node_modules/y/z": true, "a.eml": true, "b/a.eml": true, "downloads/x/y": true,
		"l": true, "downloads/l": true, ".": false,
	} {
		if got := w.resolve(t, path).Untrusted; got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func TestProtectedFilesAreReadNotWritten(t *testing.T) {
	base := realPath(t.TempDir())
	tree(t, base, map[string]string{"ws/task.yaml": "task", "ws/conf/hooks/h.sh": "hook", "ws/conf/x": "", "other/policy.yaml": "p", "ws/linked": "x", "link.yaml": "-> ws/linked"})
	s, _, err := Open(Config{
		Dir: base + "/ws", Writable: []string{"**"},
		Protected: []string{base + "/ws/task.yaml", base + "/ws/conf/hooks", base + "/other/policy.yaml", base + "/link.yaml", base + "/ws/new.yaml"},
	})
	must(t, err)
	w := world{ws: base + "/ws", space: s}
	defer s.Close()
	for path, writable := range map[string]bool{
		"task.yaml": false, "conf/hooks/h.sh": false, "conf/hooks/new": false, "conf/hooks": false, "conf": false, "linked": false, "new.yaml": false,
		"conf/x": true, "task.yaml2": true,
	} {
		target := w.resolve(t, path)
		if target.Writable != writable {
			t.Errorf("%s: writable %v", path, target.Writable)
		}
		if writable {
			continue
		}
		if err := s.WriteFile(target, nil, Replace); !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: write: %v", path, err)
		}
		if err := s.Remove(target); !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: remove: %v", path, err)
		}
		if err := s.Rename(target, w.resolve(t, "away")); !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: rename: %v", path, err)
		}
		if err := s.Rename(w.resolve(t, "conf/x"), target); !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: rename to it: %v", path, err)
		}
	}
	if got := w.read(t, "task.yaml"); got != "task" {
		t.Errorf("read: %q", got)
	}
}

func TestExtraRoots(t *testing.T) {
	base := realPath(t.TempDir())
	tree(t, base, map[string]string{
		"ws/keys/k": secret, "ws/docs/a": "inner", "ref/a": "ref", "ref/l": "-> sub/b", "ref/sub/b": "b", "ref/out": "-> ../ws/docs/a", "ref/k.pem": secret, "ref/private/x": secret,
	})
	s, warnings, err := Open(Config{
		Dir: base + "/ws", Writable: []string{"**"}, ReadDeny: []string{"keys/**", "*.pem", "@ref/private/**"},
		Read: []Extra{{"ref", base + "/ref"}, {"up", base}, {"in", base + "/ws/docs"}, {"gone", base + "/gone"}},
	})
	must(t, err)
	defer s.Close()
	w := world{space: s}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "@gone") || !strings.Contains(warnings[0], "it is empty") {
		t.Errorf("warnings: %q", warnings)
	}
	for path, want := range map[string]string{"@ref/a": "ref", "@ref/l": "b", "@ref//sub/../a": "ref", "@in/a": "inner", "@up/ref/a": "ref"} {
		target := w.resolve(t, path)
		if got := w.read(t, path); got != want || !target.Extra || !target.Untrusted || target.Writable {
			t.Errorf("%s: %q %+v", path, got, target)
		}
		if err := s.WriteFile(target, nil, Replace); !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: write: %v", path, err)
		}
	}
	for path, want := range map[string]error{
		"@ref/../ws/docs/a": ErrOutside, "@ref/out": ErrOutside, base + "/ref/a": ErrOutside,
		"@ref/k.pem": ErrDenied, "@ref/private/x": ErrDenied, "@up/ws/keys/k": ErrDenied,
	} {
		if _, err := s.Resolve(path); !errors.Is(err, want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	entries, more, err := s.ReadDir(w.resolve(t, "@up/ws"), 10)
	if err != nil || more || len(entries) != 1 || entries[0].Name != "docs" {
		t.Errorf("list around the workspace: %v %v %v", entries, more, err)
	}
	if got := w.resolve(t, "@ref").Rel; got != "@ref" {
		t.Errorf("the root of an extra root: %s", got)
	}
	if target := w.resolve(t, "@unknown/a"); target.Extra || target.Rel != "@unknown/a" {
		t.Errorf("no such extra root: %+v", target)
	}
}

func TestAnExtraRootThatDoesNotExistIsEmpty(t *testing.T) {
	w := newWorld(t, openBeneath, Config{Read: []Extra{{"gone", "/nowhere/at/all"}}, SpillDir: filepath.Join(t.TempDir(), "later")}, nil)
	for _, root := range []string{"@gone", "@spill"} {
		dir := w.resolve(t, root)
		if entries, more, err := w.space.ReadDir(dir, 10); err != nil || more || len(entries) > 0 {
			t.Errorf("list %s: %v %v %v", root, entries, more, err)
		}
		if err := w.space.Walk(dir, nil, Limits{}); err != nil {
			t.Errorf("walk %s: %v", root, err)
		}
		for op, err := range everyOp(w.space, w.resolve(t, root+"/a"), w.resolve(t, "x")) {
			if !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrReadOnly) {
				t.Errorf("%s %s/a: %v", op, root, err)
			}
		}
	}
}

func TestCheckRoot(t *testing.T) {
	base := realPath(t.TempDir())
	home, codeact := base+"/you", base+"/you/.codeact"
	tree(t, base, map[string]string{"you/.codeact/work/task/": "", "you/project/": "", "you/link": "-> ..", "data/real/": "", "moved": "-> data/real"})
	for _, c := range []struct {
		name, dir, codeact, home, want string
	}{
		{"a project", home + "/project", codeact, home, ""},
		{"inside the codeact home", codeact + "/work/task", codeact, home, ""},
		{"not there yet", home + "/project/new", codeact, home, ""},
		{"no home known", home, "", "", ""},
		{"a name that begins alike", base + "/yo", codeact, home, ""},
		{"the home", home, codeact, "", "contains the codeact home"},
		{"the codeact home", codeact, codeact, home, "contains the codeact home"},
		{"above", base, "", home, "contains your home"},
		{"by ..", home + "/project/../..", codeact, home, "contains the codeact home"},
		{"by a link", home + "/link", codeact, home, "contains the codeact home"},
		{"a home behind a link", base + "/data", base + "/moved", home, "contains the codeact home"},
		{"a home behind a link, as written", base, base + "/moved", "", "contains the codeact home"},
		{"a home that does not exist", base + "/gone", base + "/gone/.codeact", home, "contains the codeact home"},
		{"everything", "/", codeact, home, "the whole file system"},
	} {
		err := CheckRoot(c.dir, c.codeact, c.home)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if !errors.Is(err, ErrUnsafeRoot) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "--workspace") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestCheckRootOfARelativeDirectory(t *testing.T) {
	home := realPath(t.TempDir())
	must(t, os.MkdirAll(home+"/project", 0o755))
	t.Chdir(home)
	if err := CheckRoot(".", home+"/.codeact", home); !errors.Is(err, ErrUnsafeRoot) {
		t.Errorf("the home: %v", err)
	}
	if err := CheckRoot("project", home+"/.codeact", home); err != nil {
		t.Errorf("a project: %v", err)
	}
}

func TestDefaultDir(t *testing.T) {
	if got, want := DefaultDir("/h", "mail-triage.v2"), filepath.FromSlash("/h/work/mail-triage.v2"); got != want {
		t.Errorf("got %s", got)
	}
	seen := map[string]string{}
	for _, task := range []string{"", ".", "..", "../../etc", "a/b", "a\\b", "a b", "/abs", strings.Repeat("x", 300), "ü", "ä", ".hidden"} {
		dir := DefaultDir("/h", task)
		if filepath.Dir(dir) != filepath.FromSlash("/h/work") || len(filepath.Base(dir)) > 100 {
			t.Errorf("%q works in %s", task, dir)
		}
		if other, ok := seen[dir]; ok {
			t.Errorf("%q and %q share %s", task, other, dir)
		}
		seen[dir] = task
	}
}
