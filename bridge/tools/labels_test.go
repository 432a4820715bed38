package tools_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/tools"
	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/policy"
)

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// What a file brings in depends on who may have written it: the user's own files
// are private and unvouched; what third parties wrote is untrusted beside.
func TestFilesBringInWhatTheirAuthorsDo(t *testing.T) {
	docs := t.TempDir()
	must(t, os.WriteFile(filepath.Join(docs, "manual"), []byte("m x"), 0o644))
	const own, third = "private+unvouched", "private+untrusted+unvouched"
	s := setup{
		files: map[string]string{"f": "own x", "src/g": "own x", "vendor/lib/v": "third x", "mail/a.eml": "third x", "mail/b.txt": "own x", "l": "-> vendor/lib/v",
			"copied": "by an earlier run x", "empty": ""},
		space: workspace.Config{Untrusted: []string{"vendor/**", "**/*.eml"}, Read: []workspace.Extra{{Name: "docs", Path: docs}}},
	}
	for _, c := range []struct {
		tool string
		args args
		want string
	}{
		{"fs_read", args{"path": "f"}, own},
		{"fs_read", args{"path": "empty"}, own},
		{"fs_read", args{"path": "none"}, "private"}, // a failed call is as private as one that succeeds
		{"fs_read", args{"path": "vendor/lib/v"}, third},
		{"fs_read", args{"path": "vendor/lib/v", "start": int64(1)}, third},
		{"fs_read", args{"path": "l"}, third},
		{"fs_read", args{"path": "mail/a.eml"}, third},
		{"fs_read", args{"path": "@docs/manual"}, third},
		{"fs_read", args{"path": "copied"}, third},
		{"fs_list", args{}, own}, // the name vendor is the operator's
		{"fs_list", args{"path": "src"}, own},
		{"fs_list", args{"path": "vendor"}, third},
		{"fs_list", args{"path": "mail"}, third}, // a sender names his mail
		{"fs_list", args{"path": "@docs"}, third},
		{"fs_list", args{"glob": "**/*.go"}, own},
		{"fs_list", args{"glob": "**/v"}, third},
		{"fs_list", args{"path": "mail", "glob": "*.txt"}, own},
		{"fs_search", args{"pattern": "x", "glob": "src/**"}, own},
		{"fs_search", args{"pattern": "x", "path": "mail"}, third},
		{"fs_search", args{"pattern": "x", "path": "copied"}, third},
		{"fs_search", args{"pattern": "x"}, third},
		{"fs_search", args{"pattern": "x", "path": "@docs"}, third},
	} {
		r := newRig(t, s)
		r.journal.State.Untrusted = func(sum string) bool { return sum == digest("by an earlier run x") || sum == digest("") }
		rep := r.call(t, c.tool, c.args)
		if got := rep.outcome.Taint.String(); got != c.want {
			t.Errorf("%s(%v) brings %q, want %q (%v)", c.tool, c.args, got, c.want, rep.err)
		}
		if rep.outcome.External {
			t.Errorf("%s(%v) is told to come from outside", c.tool, c.args)
		}
	}
}

// page is a tool whose result comes from outside.
func page() bridge.Tool {
	return tools.Mock(bridge.Tool{Name: "page", Caps: policy.Declare(policy.UntrustedInput)}, []tools.MockResponse{{Value: "obey"}}, nil)
}

func TestWhatIsWrittenWithThirdPartyContentStaysThirdPartyContent(t *testing.T) {
	all, err := tools.Builtin(tools.Names()...)
	must(t, err)
	r := newRig(t, setup{tools: append(all, page()), files: map[string]string{"old": "own text"}, space: workspace.Config{Writable: []string{"**"}}})
	untrusted := func(path string) bool {
		t.Helper()
		rep := r.call(t, "fs_read", args{"path": path})
		must(t, rep.err)
		return rep.outcome.Taint.Untrusted()
	}
	r.value(t, "fs_write", args{"path": "before", "content": "clean"})
	if w := r.journal.Records["r1/1/1"].Outcome.Wrote; len(w) != 1 || w[0] != (bridge.Written{Path: "before", SHA256: digest("clean"), New: true}) {
		t.Errorf("written: %+v", w)
	}
	r.value(t, "page", nil)
	r.value(t, "fs_write", args{"path": "after", "content": "obey"})
	r.value(t, "fs_edit", args{"path": "old", "old": "own", "new": "their"})
	r.value(t, "fs_write", args{"path": "obey/x/me", "content": "obey"})
	if rep := r.call(t, "fs_list", args{"path": "obey/x"}); !rep.outcome.Taint.Untrusted() {
		t.Errorf("a name that was chosen with third-party content brings %v", rep.outcome.Taint)
	}
	r.put(t, "copy", "obey")     // by whatever means
	r.put(t, "after", "changed") // the path is known, too
	r.put(t, "user", "own text")
	for path, want := range map[string]bool{"before": false, "user": false, "after": true, "copy": true, "old": true} {
		if got := untrusted(path); got != want {
			t.Errorf("%s is untrusted: %v, want %v", path, got, want)
		}
	}
}

// An edit of a third party's file must not make it anyone else's, though the
// conversation held nothing before.
func TestAnEditDoesNotLaunder(t *testing.T) {
	r := newRig(t, setup{files: map[string]string{"page.txt": "obey me"}, space: workspace.Config{Writable: []string{"**"}}})
	r.journal.State.Untrusted = func(sum string) bool { return sum == digest("obey me") }
	rep := r.call(t, "fs_edit", args{"path": "page.txt", "old": "me", "new": "us"})
	must(t, rep.err)
	if w := rep.outcome.Wrote; len(w) != 1 || !w[0].Untrusted || w[0].SHA256 != digest("obey us") {
		t.Errorf("written: %+v", w)
	}
	if !rep.outcome.Taint.Untrusted() || rep.outcome.External {
		t.Errorf("it brings %v, external: %v", rep.outcome.Taint, rep.outcome.External)
	}
}

// A tool that reads a part of a file reads a third party's words all the same: the
// index knows whole files.
func TestAPartOfAThirdPartysFileIsThirdPartyContent(t *testing.T) {
	text := strings.Repeat("a line of a download, and x\n", 400_000) // over 8 MiB, what is searched of one file
	r := newRig(t, setup{files: map[string]string{"big": text}})
	r.journal.State.Untrusted = func(sum string) bool { return sum == digest(text) }
	for tool, a := range map[string]args{"fs_read": {"path": "big", "start": int64(9), "lines": int64(1)}, "fs_search": {"pattern": "^b", "path": "big"}} {
		if rep := r.call(t, tool, a); rep.err != nil || !rep.outcome.Taint.Untrusted() {
			t.Errorf("%s brings %v, %v", tool, rep.outcome.Taint, rep.err)
		}
	}
}

// Who chose the name of a directory is known as long as the run goes on.
func TestTheNameOfADirectoryKeepsItsLabel(t *testing.T) {
	r := newRig(t, setup{tools: append(builtins(t), page()), files: map[string]string{"mine/f": "x"}, space: allWritable})
	untrusted := func(path string) bool { return r.call(t, "fs_list", args{"path": path}).outcome.Taint.Untrusted() }
	r.value(t, "page", nil)
	for _, path := range []string{".", "mine"} {
		if untrusted(path) {
			t.Errorf("%s holds nothing of a third party", path)
		}
	}
	r.value(t, "fs_write", args{"path": "mine/OBEY/x/f", "content": ""})
	if !untrusted("mine") || !untrusted("mine/OBEY") {
		t.Error("a directory's name that was chosen with third-party content is taken for the user's")
	}
}
