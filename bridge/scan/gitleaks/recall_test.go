package gitleaks_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/bridge/scan/redact"
	"github.com/rs/zerolog"
	"github.com/zricethezav/gitleaks/v8/detect"
	"github.com/zricethezav/gitleaks/v8/logging"
)

func detector(t *testing.T) *detect.Detector {
	t.Helper()
	logging.Logger = zerolog.Nop()
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// ours are the rule ids of package redact, as its source says: all but two are those of gitleaks.
func ours(t *testing.T, d *detect.Detector) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../redact/shapes.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	ast.Inspect(file, func(n ast.Node) bool {
		kv, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		key, ok := kv.Key.(*ast.Ident)
		lit, isLit := kv.Value.(*ast.BasicLit)
		if !ok || !isLit || key.Name != "id" {
			return true
		}
		id, err := strconv.Unquote(lit.Value)
		if err != nil {
			t.Fatal(err)
		}
		switch _, known := d.Config.Rules[id]; {
		case slices.Contains([]string{"authorization-header", "url-password"}, id), slices.Contains(ids, id):
		case !known:
			t.Errorf("redact/shapes.go: %s is not a rule of gitleaks", id)
		default:
			ids = append(ids, id)
		}
		return true
	})
	return ids
}

// remains reports a secret of which enough is left to be worth stealing: 12 characters that stand together.
func remains(out, secret string) bool {
	const enough = 12
	if len(secret) <= enough {
		return strings.Contains(out, secret)
	}
	for i := range len(secret) - enough + 1 {
		if strings.Contains(out, secret[i:i+enough]) {
			return true
		}
	}
	return false
}

// A tally counts what gitleaks finds by one rule in its fixtures, and how much of that is redacted: as the fixture stands, and with
// nothing around the secret that could give it away.
type tally struct{ found, redacted, bareFound, bareRedacted int }

func (c tally) plus(o tally) tally {
	return tally{c.found + o.found, c.redacted + o.redacted, c.bareFound + o.bareFound, c.bareRedacted + o.bareRedacted}
}

// measure compares the two over the fixtures of one rule.
func measure(t *testing.T, d *detect.Detector, r *redact.Redactor, f fixture) (c tally) {
	t.Helper()
	bare := map[string]bool{}
	for _, text := range f.Positives {
		out, _ := r.String(text)
		for _, secret := range secrets(d, f.Rule, text) {
			bare[secret] = true
			if c.found++; !remains(out, secret) {
				c.redacted++
			} else {
				t.Logf("missed %s: %.160q", f.Rule, text)
			}
		}
	}
	for _, secret := range slices.Sorted(maps.Keys(bare)) {
		text := "saw " + secret + "\nthere"
		if !slices.Contains(secrets(d, f.Rule, text), secret) {
			continue // gitleaks needs what stands around it
		}
		out, _ := r.String(text)
		if c.bareFound++; !remains(out, secret) {
			c.bareRedacted++
		} else {
			t.Logf("missed bare %s: %.160q", f.Rule, text)
		}
	}
	return c
}

// inventions are rules whose fixtures are random text that the service itself would never issue. They count in the sum.
var inventions = map[string]string{"jwt": "two thirds of them do not begin with eyJ, which is how base64 of a JSON object begins"}

func TestRecallIsThatOfGitleaks(t *testing.T) {
	d, r := detector(t), new(redact.Redactor)
	ids, counts, total := ours(t, d), map[string]tally{}, tally{}
	if len(ids) < 50 {
		t.Fatalf("only %d rule ids are shared", len(ids))
	}
	for _, f := range fixtures(t) {
		if slices.Contains(ids, f.Rule) {
			counts[f.Rule] = counts[f.Rule].plus(measure(t, d, r, f))
		}
	}
	var table strings.Builder
	for _, id := range append(ids, "all") {
		c := counts[id]
		if id == "all" {
			c = total
		}
		total = total.plus(c)
		fmt.Fprintf(&table, "%-40s %4d of %4d, bare %3d of %3d\n", id, c.redacted, c.found, c.bareRedacted, c.bareFound)
		if c.found == 0 {
			t.Errorf("%s: gitleaks finds none of its own fixtures", id)
		}
		if inventions[id] != "" {
			continue
		}
		if float64(c.redacted) < leastRecall*float64(c.found) || float64(c.bareRedacted) < leastRecall*float64(c.bareFound) {
			t.Errorf("%s: recall is %d of %d, bare %d of %d, want at least %v", id, c.redacted, c.found, c.bareRedacted, c.bareFound, leastRecall)
		}
	}
	t.Logf("what gitleaks finds and we redact\n%s", table.String())
}

// leastRecall is asked of every rule and of all together.
const leastRecall = 0.95

// secrets are what gitleaks finds in a text by one rule, with its whole configuration.
func secrets(d *detect.Detector, rule, text string) (out []string) {
	for _, f := range d.DetectString(text) {
		if f.RuleID == rule {
			out = append(out, f.Secret)
		}
	}
	return out
}
