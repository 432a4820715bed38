package scan_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/google/go-cmp/cmp"
)

type row struct{ ID, Text, Kind string }

func corpus(t testing.TB, name string) []row {
	t.Helper()
	data, err := os.ReadFile("../../testdata/bench/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Rows []row }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Rows) < 100 {
		t.Fatalf("%s: %d rows", name, len(file.Rows))
	}
	return file.Rows
}

// tally counts rows and warnings by kind. With SCAN_ROWS=hits or SCAN_ROWS=misses the rows themselves are logged.
type tally map[string][2]int

func count(t *testing.T, name string) tally {
	n := tally{}
	for _, r := range corpus(t, name) {
		c := n[r.Kind]
		c[0]++
		if rep := scan.Injection(r.Text); rep.Score >= scan.Suspicious {
			c[1]++
			if os.Getenv("SCAN_ROWS") == "hits" {
				t.Log(r.Kind, rep.Hits)
			}
		} else if os.Getenv("SCAN_ROWS") == "misses" && !strings.HasPrefix(r.Kind, "hard:") {
			t.Log(r.Kind, rep.Hits, r.Text[:min(len(r.Text), 300)])
		}
		n[r.Kind] = c
	}
	for _, k := range slices.Sorted(maps.Keys(n)) {
		t.Logf("%-55s %3d of %3d", k, n[k][1], n[k][0])
	}
	return n
}

// share is the part of the rows with a warning, over the kinds with this prefix.
func (n tally) share(prefix string) float64 {
	var all, warned int
	for k, c := range n {
		if strings.HasPrefix(k, prefix) {
			all, warned = all+c[0], warned+c[1]
		}
	}
	return float64(warned) / float64(all)
}

// The table in testdata says, kind by kind, how many texts of the corpora score at least Suspicious. A change of the rules that changes
// it must change the file: SCAN_TABLE=write does.
func TestInjectionTable(t *testing.T) {
	const path = "testdata/injection.txt"
	var b strings.Builder
	b.WriteString("Texts with a warning (scan.Suspicious or more), by kind. TestInjectionTable compares this file.\n")
	for _, part := range []struct{ title, file string }{{"recall: texts that attack", "scanner_pos.json"}, {"false positives: texts that do not", "scanner_neg.json"}} {
		n := count(t, part.file)
		fmt.Fprintf(&b, "\n%s (%s)\n", part.title, part.file)
		for _, k := range slices.Sorted(maps.Keys(n)) {
			fmt.Fprintf(&b, "%-55s %3d of %3d\n", k, n[k][1], n[k][0])
		}
		if part.file == "scanner_pos.json" {
			fmt.Fprintf(&b, "direct: %.3f, indirect: %.3f, hard: %.3f (reported, not aimed at)\n", n.share("direct:"), n.share("indirect:"), n.share("hard:"))
			continue
		}
		delete(n, "mention-of-attack")
		fmt.Fprintf(&b, "all but mention-of-attack: %.4f\n", n.share(""))
	}
	if os.Getenv("SCAN_TABLE") == "write" {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Errorf("%s: %s", path, d)
	}
}

func TestInjectionRecall(t *testing.T) {
	n := count(t, "scanner_pos.json")
	for _, prefix := range []string{"direct:", "indirect:"} {
		t.Logf("recall of %s %.3f", prefix, n.share(prefix))
		if n.share(prefix) < 0.75 {
			t.Errorf("recall of %s is %.3f, want at least 0.75", prefix, n.share(prefix))
		}
	}
	t.Logf("recall of hard:, which is not aimed at: %.3f", n.share("hard:"))
}

func TestInjectionFalsePositives(t *testing.T) {
	n := count(t, "scanner_neg.json")
	mention := n["mention-of-attack"]
	delete(n, "mention-of-attack") // documents about attacks are reported apart, as the bench asks
	t.Logf("false positives %.4f; of mention-of-attack %d of %d", n.share(""), mention[1], mention[0])
	if n.share("") > 0.015 {
		t.Errorf("false positives %.4f, want at most 0.015", n.share(""))
	}
}
