package gitleaks_test

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/codeact-dev/codeact/bridge/scan/redact"
	"github.com/zricethezav/gitleaks/v8/detect"
)

const (
	piece     = 4 << 10 // bytes of a text that are judged at once: what a tool usually returns
	mostNoise = 0.01    // of the pieces of each corpus
)

// corpora are ordinary sources and prose: Go's standard library with its tests, and all of this repository but this directory.
// Both hold some keys, since both have tests about keys: what gitleaks finds too is not counted against us.
func corpora(t *testing.T) map[string][]string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	library := filepath.Join(strings.TrimSpace(string(root)), "src")
	return map[string][]string{
		"Go's library, sources": texts(t, library, ".go"),
		"Go's library, prose":   texts(t, library, ".md", ".txt", ".html"),
		"this repository":       texts(t, "../../..", ".go", ".md", ".yaml", ".star", ".txtar", ".mod", ".sum", ".txt"),
		"mails and web pages":   texts(t, "../../../testdata/bench", ".json"),
	}
}

func texts(t *testing.T, root string, kinds ...string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if path != root && (strings.HasPrefix(d.Name(), ".git") || d.Name() == "gitleaks") {
				return fs.SkipDir
			}
			return nil
		case !slices.Contains(kinds, filepath.Ext(path)):
			return nil
		}
		data, err := os.ReadFile(path)
		if err == nil && utf8.Valid(data) {
			list = append(list, string(data))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// pieces cuts a text at ends of lines.
func pieces(text string) (list []string) {
	for len(text) > piece {
		at := strings.LastIndexByte(text[:piece], '\n') + 1
		if at == 0 {
			at = piece
		}
		list, text = append(list, text[:at]), text[at:]
	}
	return append(list, text)
}

// A noise counts the pieces of a corpus in which something is redacted where gitleaks finds nothing.
type noise struct {
	pieces, false, agreed int
	rules                 map[string]int
}

func listen(d *detect.Detector, r *redact.Redactor, list []string, show func(rule, text string)) noise {
	n := noise{rules: map[string]int{}}
	for _, text := range list {
		for _, p := range pieces(text) {
			n.pieces++
			_, findings := r.String(p)
			if len(findings) == 0 {
				continue
			}
			if len(d.DetectString(p)) > 0 {
				n.agreed++
				continue
			}
			n.false++
			for _, f := range findings {
				n.rules[f.Rule] += f.N
				show(f.Rule, p)
			}
		}
	}
	return n
}

func TestOrdinaryTextIsLeftAlone(t *testing.T) {
	d, r := detector(t), new(redact.Redactor)
	all := corpora(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		n := listen(d, r, all[name], func(rule, text string) {
			if os.Getenv("SCAN_ROWS") == "hits" {
				out, _ := r.String(text)
				at := strings.Index(out, "[redacted:"+rule)
				t.Logf("%s: %q", rule, out[max(0, at-80):min(len(out), at+60)])
			}
		})
		t.Logf("%-26s %6d pieces of 4 KB, redacted %d (%.4f), by rule %v; where gitleaks finds something too %d", name, n.pieces, n.false, share(n.false, n.pieces), n.rules, n.agreed)
		if n.pieces < 100 {
			t.Errorf("%s: only %d pieces", name, n.pieces)
		}
		if share(n.false, n.pieces) > mostNoise {
			t.Errorf("%s: %.4f of the pieces are redacted for nothing, want at most %v", name, share(n.false, n.pieces), mostNoise)
		}
	}
}

func share(part, all int) float64 { return float64(part) / float64(all) }
